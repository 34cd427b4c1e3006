"""Frequent commands start fast: they load no module that they do not need.

The tests count modules, not seconds.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# What takes long to load, and what much else hangs on.
HEAVY = {
    *("dotenv", "elementpath", "hypothesis", "jinja2", "jsonpath", "jsonschema", "lsprotocol"),
    *("pure_protobuf", "pygls", "pygments", "pytest", "rich", "urllib3"),
    *("orgrest.rendering", "orgrest.editor.server", "orgrest.run", "orgrest.http"),
    *("scriptschema.base", "scriptschema.luau", "scriptschema.messages", "scriptschema.wire"),
}


def loaded_by(code: str, *, check: bool = True) -> set[str]:
    """Return the modules that are loaded after Python has run the code."""
    tell = (
        f"import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); {code}"
    )
    done = subprocess.run(
        [sys.executable, "-c", tell], capture_output=True, text=True, timeout=120, check=check
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


def test_a_dry_run_loads_nothing_that_sends_or_shows_responses(tmp_path: Path) -> None:
    path = tmp_path / "a.org"
    path.write_text("#+begin_src http\nGET http://h/\nAccept: a/b\n#+end_src\n")
    start = "from orgrest.commands.main import main; main()"
    found = loaded_by(f"sys.argv[1:] = ['--dry-run', {str(path)!r}]; {start}")
    assert "orgrest.run.run" in found
    assert not found & {"urllib3", "http.client", "ssl", "hashlib", "orgrest.http.auth.oauth2"}
    assert not found & {
        f"orgrest.rendering.{name}" for name in ("results", "pretty", "layout", "jq")
    }


def test_a_request_file_is_run_without_the_modules_that_read_org_documents(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.http"
    start = "from orgrest.commands.main import main; main()"
    with socket.socket() as refusing:  # it does not listen
        refusing.bind(("127.0.0.1", 0))
        path.write_text(f"GET http://127.0.0.1:{refusing.getsockname()[1]}/\n?? status == 200\n")
        found = loaded_by(f"sys.argv[1:] = ['test', {str(path)!r}]; {start}", check=False)
    assert "orgrest.http.parsing.request_file.reader" in found
    reading = ("arguments", "argument_syntax", "document", "known", "lisp", "placing", "reader")
    assert not found & {f"orgrest.org.{name}" for name in reading}


@pytest.mark.parametrize(
    ("arguments", "most"), [(["--version"], 125), (["--dry-run", "FILE"], 235), (["FILE"], 365)]
)
def test_a_run_loads_few_modules(arguments: list[str], most: int, tmp_path: Path) -> None:
    path = tmp_path / "a.org"
    with socket.socket() as listener:  # which answers nothing: all that sends is loaded
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        text = f"#+begin_src restclient\nGET http://127.0.0.1:{port}/\n#+end_src\n"
        path.write_text(text)
        given = [argument.replace("FILE", str(path)) for argument in arguments]
        start = "from orgrest.commands.main import main; main()"
        loaded = loaded_by(f"sys.argv[1:] = {given!r}; {start}", check=False)
    assert "orgrest.commands.main" in loaded
    assert len(loaded) <= most


def ours(modules: set[str]) -> set[str]:
    """Return the modules of the two packages."""
    return {name for name in modules if name.partition(".")[0] in ("orgrest", "scriptschema")}


def test_scriptschemas_version_loads_nothing_but_the_command_line() -> None:
    start = "sys.argv[1:] = ['--version']; from scriptschema.commands.main import main; main()"
    found = loaded_by(start)
    assert len(ours(found)) <= 4
    assert len(found - loaded_by("import click")) <= 10


def test_the_strategies_load_nothing_that_only_programs_need() -> None:
    found = loaded_by("from scriptschema import strategies") - loaded_by("import hypothesis")
    assert not {
        n for n in found if n.startswith(("scriptschema.generation.programs", "scriptschema.luau"))
    }
    assert len(ours(found)) <= 25
    assert len(found) <= 85  # a few more with newer Pythons
