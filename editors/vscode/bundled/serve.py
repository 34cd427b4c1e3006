"""Runs the orgrest beside this file, of which the Python that runs it knows nothing."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name("libs")))

from orgrest.commands.main import main

main()
