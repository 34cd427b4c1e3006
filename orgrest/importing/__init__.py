"""Imports requests from other tools: everything that people come with, as one collection.

`sources` recognizes what a file holds by its content and has it read by the module for that format:
`commands` (curl, in `shell_scripts`), `messages` (raw HTTP), `har`, `fetch` ... Each builds a
`model.Collection`. `writing` makes a request file or an Org document of one: every request is
parsed again before it is kept, so what is written reads back as what the source says, or is
reported. `environment_files` says what becomes of environments.

An importer reads JSON and YAML through `fields.Fields`, which remembers what was read: what nobody
asked for is reported at the end, so that nothing is lost in silence. Sources are hostile: their
size and depth are limited, nothing of them runs, and nothing is fetched.
"""

from orgrest.importing.errors import ImportingError
from orgrest.importing.model import Collection, Environment, Folder, Note, Request
from orgrest.importing.sources import read

__all__ = ["Collection", "Environment", "Folder", "ImportingError", "Note", "Request", "read"]
