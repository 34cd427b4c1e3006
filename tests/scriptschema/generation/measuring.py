"""Measures all templates, and writes the results, so that scriptschema need not compile them.

    python tests/scriptschema/generation/measuring.py [FILE]

Run this after a change to templates or to their compiler. By default, the file that scriptschema
reads is written.
"""

import json
import sys
from pathlib import Path

from scriptschema.generation.programs import grammar_of
from scriptschema.generation.programs.grammar import exports, module
from scriptschema.generation.programs.templates import MEASURES, measures
from scriptschema.versions import TODAY


def measured() -> str:
    """Compile all templates, and return the file's text."""
    measures().clear()
    for types in ("random", "sound"):
        exports(types == "sound")
        for newer in (False, True):
            module(types == "sound", newer)
            for runs in (False, True):
                grammar_of(None, types=types, luau=TODAY if newer else None, runs=runs)
    lines = (f'"{key}": {json.dumps(row)}' for key, row in sorted(measures().items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    Path(*sys.argv[1:2] or [MEASURES]).write_text(measured(), encoding="ascii")
