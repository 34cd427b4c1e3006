"""Properties of templates that are known without compiling them."""

import json
import subprocess
import sys
from pathlib import Path

from scriptschema.generation.programs.templates import MEASURES

_SCRIPT = Path(__file__).with_name("measuring.py")


def test_programs_are_chosen_by_what_their_templates_really_are(tmp_path: Path) -> None:
    written = tmp_path / "measured.json"
    subprocess.run([sys.executable, _SCRIPT, written], check=True)
    measured, known = json.loads(written.read_text()), json.loads(MEASURES.read_text())
    current = {key: row for key, row in known.items() if key in measured}
    assert current == {key: measured[key] for key in current}, f"run {_SCRIPT}"
    # Those that are not known are compiled, which takes time: the script adds them.
    assert len(current) > 0.9 * len(measured), f"run {_SCRIPT}"
