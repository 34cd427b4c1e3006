"""The implementation of `wire`: fast compiled readers and writers, and slower careful ones.

These modules need the complete messages, and `wire` is loaded as soon as the messages are complete.
So this package imports the messages first, no matter which of its modules is imported.
"""

import scriptschema.messages  # noqa: F401
