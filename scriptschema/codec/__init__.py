"""The implementation of `wire`: fast compiled readers and writers, and slower ones for any input.

The modules of this package import `scriptschema.messages`, which loads `wire` after defining all
message classes, and `wire` imports the modules. To avoid an import cycle, the package imports
`scriptschema.messages` before any of its modules is loaded.
"""

import scriptschema.messages  # noqa: F401
