"""The oldest allowed release of each requirement is installed. Only `tox -e lowest` runs this."""

import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def required(package: str) -> set[str]:
    """Return the requirements of a package, including the extra `all`."""
    project = tomllib.loads((ROOT / package / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    [everything] = map(Requirement, extras["all"])
    return {*project["dependencies"], *(extra for e in everything.extras for extra in extras[e])}


@pytest.mark.parametrize("requirement", sorted(required("scriptschema") | required("orgrest")))
def test_the_oldest_release_that_is_allowed_is_tested(requirement: str) -> None:
    wanted = Requirement(requirement)
    [bound] = [one.version for one in wanted.specifier if one.operator == ">="]
    found = version(wanted.name)
    assert f"{found}.".startswith(f"{bound}."), f"raise the bound to {found}"
