"""The implementation of `wire`: fast compiled readers and writers, and slower ones for any input.

The import below avoids an import cycle: `messages` loads `wire`, which loads the modules of this
package, and these import `messages`.
"""

import scriptschema.messages  # noqa: F401
