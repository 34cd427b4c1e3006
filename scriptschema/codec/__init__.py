"""The implementation of `wire`: errors, varints, and the careful and the compiled functions.

These modules are derived from the messages, and `wire` is loaded as soon as the messages are
complete. So this package imports the messages first, no matter which of its modules is imported.
"""

import scriptschema.messages  # noqa: F401
