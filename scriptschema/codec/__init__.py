"""The implementation of `wire`: errors, varints, the careful and the compiled functions.

Its modules are derived from the messages, which load `wire` when they are complete: so the
messages are imported first, no matter which of the modules is imported.
"""

import scriptschema.messages  # noqa: F401
