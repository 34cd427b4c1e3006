"""CONTRIBUTING.md and the page about the architecture agree with the project's settings."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]


@pytest.mark.parametrize("package", ["scriptschema", "orgrest"])
def test_the_page_shows_the_layers_that_the_contracts_enforce(package: str) -> None:
    [contract] = [c for c in CONTRACTS if c.get("containers") == [package]]
    text = (ROOT / "docs/architecture.md").read_text()
    table = re.search(rf"^{package}:\n\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert table
    rows = [line.split("|") for line in table[1].splitlines()[2:]]
    shown = [re.findall(r"`(\w+)`", modules) for _, modules, *_ in rows]
    held = [re.findall(r"\w+", line) for line in contract["layers"]]
    assert shown == held
    assert contract["exhaustive"]


def test_what_contributing_says_to_touch_is_there() -> None:
    first, _, _ = (ROOT / "CONTRIBUTING.md").read_text().partition("\n## ")
    named = re.findall(r"`((?:scriptschema|orgrest|tests)/[^`]+)`", first)
    assert len(named) > 15
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("package", ["scriptschema", "orgrest"])
def test_the_classifiers_name_the_pythons_that_tox_tests(package: str) -> None:
    project = tomllib.loads((ROOT / package / "pyproject.toml").read_text())["project"]
    named = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    [tested] = re.findall(r"^\[testenv:py3\{([\d,]+)\}\]", (ROOT / "tox.ini").read_text(), re.M)
    assert named == [f"3.{minor}" for minor in tested.split(",")]
