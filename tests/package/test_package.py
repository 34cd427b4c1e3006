"""What is published: the sdist and the wheel, looked into, installed and run as users do.

`tox -e package` runs this; it needs a clone (git says what belongs to the project) and the index
that dependencies come from.
"""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]


def run(*command: object, status: int = 0, **variables: str) -> str:
    """Run a program and return what it printed to both of its outputs."""
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def tool(name: str) -> Path:
    """A program of this environment."""
    return Path(sys.executable).with_name(name)


DESCRIPTION = """\
openapi: 3.1.0
info: {title: Tasks, version: "1"}
servers: [{url: http://127.0.0.1:1}]
paths: {/tasks: {get: {responses: {"200": {description: all tasks}}}}}
"""


class Built(NamedTuple):
    sdist: Path
    wheel: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("dist")
    run(tool("uv"), "build", "--quiet", "--out-dir", folder, ROOT)  # the wheel from the sdist
    [sdist], [wheel] = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Built(sdist, wheel)


@pytest.fixture(scope="session")
def bare(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment where the wheel is installed without extras."""
    folder = tmp_path_factory.mktemp("bare") / "venv"
    run(tool("uv"), "venv", "--quiet", "--python", sys.executable, folder)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    run(tool("uv"), "pip", "install", "--quiet", "--python", programs / "python", built.wheel)
    return programs


@pytest.fixture(scope="session")
def known() -> set[str]:
    return set(run("git", "-C", ROOT, "ls-files").split("\n")) - {""}


def test_the_sdist_has_all_that_git_knows_but_what_runs_ci(built: Built, known: set[str]) -> None:
    with tarfile.open(built.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names == {name for name in known if not name.startswith(".ci/")} | {"PKG-INFO"}


def test_the_wheel_has_both_packages_and_nothing_else(built: Built, known: set[str]) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        names = set(archive.namelist())
    own = {name for name in known if re.match("(?:scriptschema|orgrest)/", name)}
    info = "METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"
    folder = "-".join(built.wheel.name.split("-")[:2]) + ".dist-info"
    assert names == own | {f"{folder}/{name}" for name in info}


def test_who_builds_from_the_sdist_gets_the_same_wheel(built: Built, tmp_path: Path) -> None:
    run(tool("uv"), "build", "--quiet", "--wheel", "--out-dir", tmp_path, ROOT)
    assert (tmp_path / built.wheel.name).read_bytes() == built.wheel.read_bytes()


def test_the_index_can_show_what_it_is_told(built: Built) -> None:
    run(sys.executable, "-m", "twine", "check", "--strict", built.sdist, built.wheel)
    run(tool("check-wheel-contents"), "--config", ROOT / "pyproject.toml", built.wheel)


def test_the_readme_that_the_index_shows_is_the_whole_one(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    payload = metadata.get_payload(decode=True)
    assert isinstance(payload, bytes)
    assert payload.decode().strip() == (ROOT / "README.md").read_text().strip()
    assert metadata["Description-Content-Type"] == "text/markdown"


def test_scriptschema_without_extras_generates_shows_and_tests(bare: Path, tmp_path: Path) -> None:
    run(bare / "scriptschema", "generate", "--programs", "-n", 2, "-o", tmp_path / "programs")
    assert "ModuleSet" in run(bare / "scriptschema", "show", tmp_path / "programs" / "0.pb")
    code = "from scriptschema import strategies; print(strategies.module_sets().example())"
    assert run(bare / "python", "-W", "ignore", "-c", code).startswith("ModuleSet(")


def test_what_people_meet_in_their_first_hour_needs_no_extra(bare: Path, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    run(bare / "scriptschema", "generate", "--programs", "-n", 2, "-o", programs)
    text = tmp_path / "text"
    run(bare / "scriptschema", "convert", programs / "0.pb", "--to", "text", "-o", text)
    campaign, target = tmp_path / "campaign", f"command:{sys.executable} -c pass {{file}}"
    run(bare / "scriptschema", "fuzz", "--target", target, "-o", campaign, "--count", 5)
    run(bare / "scriptschema", "report", campaign, "-o", tmp_path / "report.html")
    assert "<svg" in (tmp_path / "report.html").read_text()
    (tmp_path / "api.yaml").write_text(DESCRIPTION)
    run(bare / "orgrest", "import", tmp_path / "api.yaml", "-o", tmp_path / "api.http")
    assert "GET" in (tmp_path / "api.http").read_text()
    (tmp_path / "schema.json").write_text('{"type": "array"}')
    (tmp_path / "a.http").write_text("GET http://127.0.0.1:1/\n?? body schema schema.json\n")
    run(bare / "orgrest", "test", tmp_path / "a.http", "--html", tmp_path / "r.html", status=1)
    assert "<html" in (tmp_path / "r.html").read_text()


def test_orgrest_without_extras_answers_its_tour(bare: Path) -> None:
    assert " 0 failed" in run(bare / "orgrest", "demo")


def test_both_programs_know_the_version_that_the_wheel_has(bare: Path, built: Built) -> None:
    version = built.wheel.name.split("-")[1]
    for program in ("scriptschema", "orgrest"):
        assert run(bare / program, "--version").split()[-1] == version


@pytest.mark.parametrize("program", ["scriptschema", "orgrest"])
def test_uvx_runs_it_from_the_wheel(built: Built, program: str) -> None:
    command = tool("uvx"), "--quiet", "--isolated", "--from", built.wheel, program, "--version"
    assert run(*command).split()[-1] in built.wheel.name


@pytest.mark.parametrize("program", ["scriptschema", "orgrest"])
def test_pipx_runs_it_from_the_wheel(built: Built, program: str, tmp_path: Path) -> None:
    command = tool("pipx"), "run", "--spec", built.wheel, program, "--version"
    assert run(*command, PIPX_HOME=str(tmp_path)).split()[-1] in built.wheel.name
