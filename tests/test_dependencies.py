"""What is imported is declared, no more, and with a documented reason."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]

# The names under which packages are imported, where these differ.
MODULES = {
    "google-re2": "re2",
    "protobuf": "google",
    "pure-protobuf": "pure_protobuf",
    "pyspnego": "spnego",
    "python-dotenv": "dotenv",
    "pyyaml": "yaml",
    "python-jsonpath": "jsonpath",
}
# What others bring along as a part of their interface.
PARTS = {
    "jinja2": {"markupsafe"},
    "jsonschema": {"jsonschema_specifications", "referencing"},
    "pygls": {"lsprotocol"},
}
# What is used where it is there, and never required.
GUESTS = {"backports", "brotli", "certifi", "jq", "keyring", "pytest", "socks", "xdist"}
# What imports us (atheris), and what a file of its own asks for by name.
ELSEWHERE = {"atheris", "pluau"}


def name_of(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()


def brought_by(requirements: list[str]) -> set[str]:
    """The modules that requirements bring, those of the extras that they name among them."""
    found = set()
    for requirement in requirements:
        name = name_of(requirement)
        if name == PROJECT["name"]:
            for extra in re.split(r"[\[\],]", requirement)[1:-1]:
                found |= brought_by(EXTRAS[extra])
        else:
            found |= {MODULES.get(name, name)} | PARTS.get(name, set())
    return found


@cache
def imported_by(package: str) -> set[str]:
    """The modules of others that a package imports anywhere."""
    names: set[str] = set()
    for file in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names - set(sys.stdlib_module_names) - {"scriptschema", "orgrest"}


def documented() -> dict[str, tuple[str, str]]:
    """Each package's extra, and who needs it, as docs/dependencies.md has them."""
    text = (ROOT / "docs/dependencies.md").read_text()
    rows = re.findall(
        r"^\|(?: `([a-z]+)` \|)? (\S+) \| (both|scriptschema|orgrest) \| \S.* \|$",
        text,
        re.MULTILINE,
    )
    return {name: (extra, of) for extra, name, of in rows}


def test_all_that_is_imported_is_declared_and_the_other_way_round() -> None:
    declared = brought_by(PROJECT["dependencies"]).union(*map(brought_by, EXTRAS.values()))
    imported = imported_by("scriptschema") | imported_by("orgrest")
    assert imported - declared - GUESTS == set()
    assert declared - imported - set().union(*PARTS.values()) <= ELSEWHERE


def test_all_has_every_extra_but_those_for_engines() -> None:
    everything = brought_by(EXTRAS["all"])
    left = {extra for extra, brought in EXTRAS.items() if not brought_by(brought) <= everything}
    assert left <= {"atheris", "cluster", "luau"}


def test_the_documentation_says_what_every_dependency_is_for() -> None:
    declared = {name_of(one): "" for one in PROJECT["dependencies"]}
    for extra, requirements in EXTRAS.items():
        declared |= {name_of(one): extra for one in requirements}
    del declared[PROJECT["name"]]
    assert {name: extra for name, (extra, _) in documented().items()} == declared


@pytest.mark.parametrize(("name", "of"), [(name, of) for name, (_, of) in documented().items()])
def test_the_documentation_says_which_package_needs_it(name: str, of: str) -> None:
    if name in ELSEWHERE:
        return
    module = MODULES.get(name, name)
    users = [package for package in ("scriptschema", "orgrest") if module in imported_by(package)]
    assert users == (["scriptschema", "orgrest"] if of == "both" else [of])


def test_a_message_that_names_an_extra_names_one_that_exists() -> None:
    named = set()
    for package in ("scriptschema", "orgrest"):
        for file in (ROOT / package).rglob("*.py"):
            text = file.read_text()
            for extras in re.findall(r"'scriptschema\[([\w,]+)\]'", text):
                named |= set(extras.split(","))
            named |= set(re.findall(r'extras\.imported\(\s*"[\w.]+", "(\w+)"', text))
    assert {"scripts", "cluster"} <= named
    assert named
    assert named <= set(EXTRAS)


def test_ci_pins_a_release_that_is_allowed_of_all_that_it_installs() -> None:
    file = ROOT / ".ci" / "constraints.txt"
    if not file.exists():  # the sdist has no .ci
        return
    pinned: dict[str, list[str]] = {}
    for name, release in re.findall(r"^([\w.-]+)==([^\s;]+)", file.read_text(), re.MULTILINE):
        pinned.setdefault(name, []).append(release)
    listed = PROJECT["dependencies"], *EXTRAS.values(), *PYPROJECT["dependency-groups"].values()
    needed = [Requirement(one) for group in listed for one in group]
    loose = [
        str(one)
        for one in needed
        if one.name not in (PROJECT["name"], "atheris")  # see .ci/constraints
        and not any(map(one.specifier.contains, pinned.get(re.sub(r"[._]", "-", one.name), [])))
    ]
    assert not loose, "run .ci/constraints"
