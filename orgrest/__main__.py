"""Runs the command line as ``python -m orgrest``."""

import os
import sys

# `python -m` looks for modules in the working folder first, which is often the folder of another
# person's document: a `json.py` next to the document would run.
if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:  # noqa: PTH109  # less to import
    del sys.path[0]

from orgrest.commands.main import run  # found by the path above

if __name__ == "__main__":
    run()
