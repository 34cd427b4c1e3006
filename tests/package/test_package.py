"""The published files: both sdists and wheels, inspected, installed alone and run as users do.

`tox -e package` runs this. It needs a clone (git knows which files belong to the project) and the
index that dependencies come from.
"""

from __future__ import annotations

import email
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from built import PACKAGES, ROOT, Built, run, tool

NOT_INSTALLED = {"LICENSE", "README.md", "pyproject.toml"}
DESCRIPTION = """\
openapi: 3.1.0
info: {title: Tasks, version: "1"}
servers: [{url: http://127.0.0.1:1}]
paths: {/tasks: {get: {responses: {"200": {description: all tasks}}}}}
"""


@pytest.fixture(scope="session")
def alone(built: dict[str, Built], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The program folders of environments in which each wheel is installed alone."""
    folders = {}
    for package, (_, wheel) in built.items():
        folder = tmp_path_factory.mktemp(package) / "venv"
        run(tool("uv"), "venv", "--quiet", "--python", sys.executable, folder)
        folders[package] = folder / "bin"
        python = folder / "bin" / "python"
        run(tool("uv"), "pip", "install", "--quiet", "--python", python, wheel, "pytest")
    return folders


def known(package: str) -> set[str]:
    """Return the files of a package that git tracks, relative to its folder."""
    return set(run("git", "-C", ROOT / package, "ls-files").split("\n")) - {""}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_sdist_has_what_git_knows_of_the_package(built: dict[str, Built], package: str) -> None:
    with tarfile.open(built[package].sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names == known(package) | {"PKG-INFO", ".gitignore"}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_wheel_has_the_package_and_nothing_else(built: dict[str, Built], package: str) -> None:
    wheel = built[package].wheel
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    own = {f"{package}/{name}" for name in known(package) - NOT_INSTALLED}
    info = "METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"
    folder = "-".join(wheel.name.split("-")[:2]) + ".dist-info"
    assert names == own | {f"{folder}/{name}" for name in info}


@pytest.mark.parametrize("package", PACKAGES)
def test_who_builds_from_the_sdist_gets_the_same_wheel(
    built: dict[str, Built], package: str, tmp_path: Path
) -> None:
    run(tool("uv"), "build", "--quiet", "--wheel", "--out-dir", tmp_path, ROOT / package)
    wheel = built[package].wheel
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize("package", PACKAGES)
def test_the_index_can_show_what_it_is_told(built: dict[str, Built], package: str) -> None:
    run(sys.executable, "-m", "twine", "check", "--strict", *built[package])
    run(tool("check-wheel-contents"), "--toplevel", package, built[package].wheel)
    with zipfile.ZipFile(built[package].wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    payload = metadata.get_payload(decode=True)
    assert isinstance(payload, bytes)
    assert payload.decode().strip() == (ROOT / package / "README.md").read_text().strip()
    assert metadata["Description-Content-Type"] == "text/markdown"


def test_the_index_refuses_what_a_clone_installs(tmp_path: Path) -> None:
    run(tool("uv"), "build", "--quiet", "--wheel", "--out-dir", tmp_path, ROOT)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata] = [archive.read(name) for name in names if name.endswith("/METADATA")]
    assert b"\nClassifier: Private :: Do Not Upload\n" in metadata
    packaged = {name for name in names if ".dist-info/" not in name}
    assert packaged == {
        f"{package}/{name}" for package in PACKAGES for name in known(package) - NOT_INSTALLED
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_works_without_the_other(
    alone: dict[str, Path], built: dict[str, Built], package: str
) -> None:
    python, version = alone[package] / "python", built[package].wheel.name.split("-")[1]
    [other] = set(PACKAGES) - {package}
    assert "ModuleNotFoundError" in run(python, "-c", f"import {other}", status=1)
    for command in ([alone[package] / package], [python, "-m", package]):
        assert run(*command, "--version").endswith(f"{package}, version {version}\n")
    assert not (alone[package] / other).exists()


def test_scriptschema_alone_does_what_people_meet_in_their_first_hour(
    alone: dict[str, Path], tmp_path: Path
) -> None:
    scriptschema = alone["scriptschema"] / "scriptschema"
    programs, text = tmp_path / "programs", tmp_path / "text"
    run(scriptschema, "generate", "--programs", "-n", 2, "-o", programs)
    assert "ModuleSet" in run(scriptschema, "show", programs / "0.pb")
    run(scriptschema, "convert", programs / "0.pb", "--to", "text", "-o", text)
    campaign, target = tmp_path / "campaign", f"command:{sys.executable} -c pass {{file}}"
    run(scriptschema, "fuzz", "--target", target, "-o", campaign, "--count", 5)
    run(scriptschema, "report", campaign, "-o", tmp_path / "report.html")
    assert "<svg" in (tmp_path / "report.html").read_text()


def test_scriptschema_alone_registers_its_strategies(alone: dict[str, Path]) -> None:
    python = alone["scriptschema"] / "python"
    code = "from scriptschema import strategies; print(strategies.module_sets().example())"
    assert run(python, "-W", "ignore", "-c", code).startswith("ModuleSet(")
    code = (
        "from hypothesis import strategies; from scriptschema.messages import Local\n"
        "print(strategies.from_type(Local).example())"
    )
    assert run(python, "-W", "ignore", "-c", code).startswith("Local(")


def test_orgrest_alone_answers_its_tour(alone: dict[str, Path]) -> None:
    assert " 0 failed" in run(alone["orgrest"] / "orgrest", "demo")


def test_orgrest_alone_does_what_people_meet_in_their_first_hour(
    alone: dict[str, Path], tmp_path: Path
) -> None:
    orgrest = alone["orgrest"] / "orgrest"
    (tmp_path / "api.yaml").write_text(DESCRIPTION)
    run(orgrest, "import", tmp_path / "api.yaml", "-o", tmp_path / "api.http")
    assert "GET" in (tmp_path / "api.http").read_text()
    (tmp_path / "schema.json").write_text('{"type": "array"}')
    (tmp_path / "a.http").write_text("GET http://127.0.0.1:1/\n?? body schema schema.json\n")
    run(orgrest, "test", tmp_path / "a.http", "--html", tmp_path / "r.html", status=1)
    assert "<html" in (tmp_path / "r.html").read_text()


def test_orgrest_alone_runs_scripts_and_matches_patterns(
    alone: dict[str, Path], tmp_path: Path
) -> None:
    document = tmp_path / "a.http"
    document.write_text("GET http://127.0.0.1:1/{{'a'.repeat(3)}}\n")
    assert "/aaa" in run(alone["orgrest"] / "orgrest", document, "--dry-run")
    code = "from orgrest.http.patterns import matches; print(matches('^a+$', 'aaa'))"
    assert run(alone["orgrest"] / "python", "-c", code) == "True\n"


def test_orgrest_alone_is_a_plugin_of_pytest(alone: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "a.http").write_text("### it\nGET http://127.0.0.1:1/\n?? status == 200\n")
    pytest_ = alone["orgrest"] / "pytest"
    output = run(pytest_, "-p", "no:cacheprovider", "--orgrest", tmp_path / "a.http", status=1)
    assert "1 failed" in output


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("minor", [11, 12, 13, 14])
def test_each_supported_python_runs_it_from_the_wheel(
    built: dict[str, Built], package: str, minor: int, tmp_path: Path
) -> None:
    python = f"python3.{minor}"
    # pyenv has a program for each version, of which those that are switched on run.
    if not shutil.which(python) or subprocess.run([python, "-c", ""], check=False).returncode:
        pytest.skip(f"{python} is not installed")
    words = ["demo"] if package == "orgrest" else ["generate", "--programs", "-n", "1"]
    more = [] if package == "orgrest" else ["-o", tmp_path / "programs"]
    source = "--python", python, "--from", built[package].wheel
    run(tool("uvx"), "--quiet", "--isolated", *source, package, *words, *more)


@pytest.mark.parametrize("package", PACKAGES)
def test_uv_installs_the_wheel_as_a_tool(
    built: dict[str, Built], package: str, tmp_path: Path
) -> None:
    folders = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    words = "tool", "install", "--quiet", "--python", sys.executable
    run(tool("uv"), *words, built[package].wheel, **folders)
    assert [path.name for path in (tmp_path / "bin").iterdir()] == [package]
    assert run(tmp_path / "bin" / package, "--version").split()[0] == f"{package},"


@pytest.mark.parametrize("package", PACKAGES)
def test_pipx_runs_and_installs_the_wheel(
    built: dict[str, Built], package: str, tmp_path: Path
) -> None:
    folders = {"PIPX_HOME": str(tmp_path / "home"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    wheel, python = built[package].wheel, ("--python", sys.executable)
    output = run(tool("pipx"), "run", *python, "--spec", wheel, package, "--version", **folders)
    assert output.split()[-1] in wheel.name
    run(tool("pipx"), "install", *python, wheel, **folders)
    assert [path.name for path in (tmp_path / "bin").iterdir()] == [package]
    assert run(tmp_path / "bin" / package, "--version").split()[0] == f"{package},"
