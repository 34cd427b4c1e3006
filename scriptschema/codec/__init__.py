"""What `wire` is made of: errors, varints, the careful and the compiled functions.

Its modules are made from the messages, which load `wire` once they are complete: so the messages
come first, whichever of the modules is imported.
"""

import scriptschema.messages  # noqa: F401
