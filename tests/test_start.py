"""What starts often starts fast: nothing is loaded that it does not need.

Counted in modules, not in seconds.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

# What takes long to load, and what much else hangs on.
HEAVY = {
    *("dotenv", "elementpath", "hypothesis", "jinja2", "jsonpath", "jsonschema", "lsprotocol"),
    *("matplotlib", "pure_protobuf", "pygls", "pygments", "pytest", "rich", "urllib3"),
    *("orgrest.rendering", "orgrest.editor.server", "orgrest.run", "orgrest.http"),
    *("scriptschema.base", "scriptschema.luau", "scriptschema.messages", "scriptschema.wire"),
}


def loaded_by(code: str) -> set[str]:
    """The modules that are loaded when Python has run the code and ends."""
    tell = (
        f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {code}"
    )
    done = subprocess.run(
        [sys.executable, "-c", tell], capture_output=True, text=True, timeout=120, check=True
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("option", ["--help", "--version"])
@pytest.mark.parametrize("package", ["orgrest", "scriptschema"])
def test_help_and_version_load_nothing_heavy(package: str, option: str) -> None:
    code = f"sys.argv[1:] = ['{option}']; from {package}.commands.main import main; main()"
    assert not loaded_by(code) & HEAVY


def test_a_key_that_completes_a_word_loads_nothing_heavy() -> None:
    code = """import os; os.environ.update(
        _ORGREST_COMPLETE="bash_complete", COMP_WORDS="orgrest --dr", COMP_CWORD="1"
    ); from orgrest.commands.main import main; main()"""
    assert not loaded_by(code) & HEAVY


@pytest.mark.parametrize(
    "module", ["scriptschema", "scriptschema.hypothesis_plugin", "orgrest.pytest_plugin"]
)
def test_what_others_load_costs_them_nothing(module: str) -> None:
    found = loaded_by(f"import {module}") - loaded_by("pass")
    foreign = {one for one in found if one.partition(".")[0] not in sys.stdlib_module_names}
    assert foreign - {module, module.partition(".")[0]} == set()
