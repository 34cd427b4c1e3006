"""Every installation command in the documentation works as written, in a fresh clone."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from built import ROOT, run, tool

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "editors/vscode/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.py")),
]
# What a release does, from the index and with its number.
LEFT_OUT = {ROOT / "docs/releasing.md"}

_INSTALLS = re.compile(
    r"(?:\S*/)?(?:pip|pip3) install (?!-e$)|python\S* -m pip install |pipx (?:install|inject|run) |"
    r"uv (?:tool|pip) install |uvx |git submodule add "
)
_CODE = re.compile(r"^( *)```\w*[^\n]*\n(.*?)^\1```|`([^`]+)`", re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[tuple[str, ...]]:
    """Return the commands on a page that install something. Those of one block belong together."""
    text = page.read_text("utf-8")
    if page.suffix == ".py":
        pieces = re.findall(r"^ +(pip install .*)$", text, re.MULTILINE)
    else:
        pieces = [block or " ".join(inline.split()) for _, block, inline in _CODE.findall(text)]
    found = []
    for piece in pieces:
        piece = re.sub(r"sh '([^']+)'", r"\1", piece)  # of Jenkins
        steps = re.split(r"\n|&&", piece.replace("\\\n", " ").replace("&&\n", "&& "))
        kept = [step for step in map(_command, steps) if step]
        if any(_INSTALLS.match(step) for step in kept):
            found.append(tuple(kept))
    return found


def _command(step: str) -> str:
    """Return the command of a line if it installs something or prepares for that, else ""."""
    step = re.sub(r"^(?:- )?(?:(?:run|script): )?", "", step.strip())
    prepares = step.startswith(("echo ", "python3 -m venv ")) or "activate" in step
    return step if _INSTALLS.match(step) or prepares else ""


LINES = {
    steps: page for page in PAGES if page not in LEFT_OUT for steps in reversed(commands(page))
}


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with a known origin, and an environment. `tools/scriptschema` is a clone, too."""
    folder = tmp_path_factory.mktemp("clones") / "scriptschema"
    run("git", "clone", "--quiet", ROOT, folder)
    (folder / "tools").mkdir()
    (folder / "tools" / "scriptschema").symlink_to(folder)
    run(sys.executable, "-m", "venv", folder / ".venv")
    return folder


def test_the_pages_are_read() -> None:
    written = {" ".join(steps) for steps in LINES}
    assert {"pip install ./orgrest", "uv tool install ./scriptschema"} <= written
    assert "pip install tools/scriptschema/orgrest" in written
    assert len(written) > 20


@pytest.mark.parametrize("steps", LINES, ids=lambda steps: f"{LINES[steps].name}: {steps[-1]}")
def test_an_installation_line_works(steps: tuple[str, ...], clone: Path, tmp_path: Path) -> None:
    if "git submodule add" in steps[-1]:
        own = tmp_path / "own"
        run("git", "init", "--quiet", own)
        (tmp_path / "scriptschema").symlink_to(clone)
        # git takes a submodule from a path only where that is allowed; the pages' is an address.
        allowed = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow"}
        run("sh", "-ec", steps[-1], cwd=own, GIT_CONFIG_VALUE_0="always", **allowed)
        assert (own / "tools/scriptschema/orgrest/pyproject.toml").exists()
        return
    places = {
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "bin"),
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "bin"),
        "UV_PYTHON": sys.executable,
        "PIPX_DEFAULT_PYTHON": sys.executable,
        "PATH": f"{clone / '.venv/bin'}:{tool('uv').parent}:{os.environ['PATH']}",
    }
    output = run("sh", "-ec", "\n".join(steps), cwd=clone, **places)
    assert "does not provide the extra" not in output
    assert "does not have an extra" not in output
