"""Whether `tox -e lowest`, which alone runs this, has the oldest releases that are allowed."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
[ALL] = EXTRAS["all"]
TESTED = [*PROJECT["dependencies"]]
TESTED += [one for extra in re.split(r"[\[\],]", ALL)[1:-1] for one in EXTRAS[extra]]


@pytest.mark.parametrize("requirement", [one for one in TESTED if ">=" in one])
def test_the_oldest_release_that_is_allowed_is_tested(requirement: str) -> None:
    name, bound = re.findall(r"^([\w.-]+)>=([\d.]+)", requirement)[0]
    assert f"{version(name)}.".startswith(f"{bound}."), f"raise the bound to {version(name)}"
