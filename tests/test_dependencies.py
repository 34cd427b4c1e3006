"""Declared and imported packages are the same, and each has a stated reason."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from packaging.requirements import Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[1]
PACKAGES = "scriptschema", "orgrest"


def read(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text())


PROJECTS = {package: read(f"{package}/pyproject.toml")["project"] for package in PACKAGES}
EXTRAS: dict[str, dict[str, list[str]]] = {
    package: project["optional-dependencies"] for package, project in PROJECTS.items()
}

# The names under which packages are imported, where these differ.
MODULES = {
    "google-re2": "re2",
    "protobuf": "google",
    "pure-protobuf": "pure_protobuf",
    "pyspnego": "spnego",
    "quickjs-ng": "quickjs",
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


def modules_of(requirements: Iterable[str]) -> set[str]:
    """Return the modules that requirements provide."""
    found = set()
    for requirement in requirements:
        name = Requirement(requirement).name
        found |= {MODULES.get(name, name)} | PARTS.get(name, set())
    return found


def extra_requirements(package: str) -> dict[str, list[str]]:
    """Return the requirements of each extra of a package, except `all`, which lists the others."""
    return {extra: brought for extra, brought in EXTRAS[package].items() if extra != "all"}


@cache
def imported_by(package: str) -> set[str]:
    """Return the external modules that a package imports anywhere."""
    names: set[str] = set()
    for file in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return names - set(sys.stdlib_module_names) - {"scriptschema", "orgrest"}


def documented() -> dict[tuple[str, str], str]:
    """Return the extra ("" for none) of each package and requirement in docs/dependencies.md."""
    text = (ROOT / "docs/dependencies.md").read_text()
    rows = re.findall(
        r"^\|(?: `([a-z]+)` \|)? (\S+) \| (both|scriptschema|orgrest) \| \S.* \|$",
        text,
        re.MULTILINE,
    )
    return {
        (package, name): extra
        for extra, name, of in rows
        for package in (PACKAGES if of == "both" else [of])
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_all_that_is_imported_is_declared_and_the_other_way_round(package: str) -> None:
    extras = extra_requirements(package)
    declared = modules_of(PROJECTS[package]["dependencies"]).union(
        *(modules_of(brought) for brought in extras.values())
    )
    imported = imported_by(package)
    assert imported - declared - GUESTS == set()
    assert declared - imported - set().union(*PARTS.values()) <= ELSEWHERE


@pytest.mark.parametrize("package", PACKAGES)
def test_all_has_every_extra_but_those_for_engines(package: str) -> None:
    [everything] = map(Requirement, EXTRAS[package]["all"])
    assert everything.name == package
    assert set(extra_requirements(package)) - everything.extras <= {"atheris", "luau"}


def test_the_documentation_says_what_every_dependency_is_for_and_who_needs_it() -> None:
    declared: dict[tuple[str, str], str] = {}
    for package, project in PROJECTS.items():
        extras = {"": project["dependencies"], **extra_requirements(package)}
        for extra, requirements in extras.items():
            for requirement in requirements:
                declared.setdefault((package, Requirement(requirement).name), extra)
    assert documented() == declared


def test_a_clone_installs_what_both_packages_declare() -> None:
    installed = distribution("scriptschema-and-orgrest").metadata
    declared = {
        dependency for project in PROJECTS.values() for dependency in project["dependencies"]
    }
    required = map(Requirement, installed.get_all("Requires-Dist") or ())
    assert {str(one) for one in required if "extra ==" not in str(one.marker)} == {
        str(Requirement(one)) for one in declared
    }
    assert set(installed.get_all("Provides-Extra") or ()) == set().union(*EXTRAS.values())


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_has_the_licence_of_the_project(package: str) -> None:
    assert (ROOT / package / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_ci_pins_a_release_that_is_allowed_of_all_that_it_installs() -> None:
    file = ROOT / ".ci" / "constraints.txt"
    pinned: dict[str, list[str]] = {}
    for name, release in re.findall(r"^([\w.-]+)==([^\s;]+)", file.read_text(), re.MULTILINE):
        pinned.setdefault(name, []).append(release)
    groups: dict[str, list[str]] = read("pyproject.toml")["dependency-groups"]
    listed = [*groups.values()]
    for package, project in PROJECTS.items():
        listed += [project["dependencies"], *extra_requirements(package).values()]
    needed = [Requirement(one) for group in listed for one in group]
    loose = [
        str(one)
        for one in needed
        if one.name != "atheris"  # see .ci/constraints
        and not any(map(one.specifier.contains, pinned.get(re.sub(r"[._]", "-", one.name), [])))
    ]
    assert not loose, "run .ci/constraints"
