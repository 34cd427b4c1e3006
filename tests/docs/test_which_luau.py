"""The page on versions: the example in each row is valid in that version, and in none before it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scriptschema import messages as m
from scriptschema.base import walk
from scriptschema.luau.parse import ParseError, parse
from scriptschema.versions import SEED, Version

PAGE = Path(__file__).parents[2] / "docs/scriptschema/explanation/which-luau.md"
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in PAGE.read_text().splitlines()
    if re.match(r"\| 0\.", line)
]


def used(source: str, luau: str) -> set[str]:
    """Return the extension fields that the source needs."""
    return {
        f"{field.message}.{field.schema_name}"
        for node, _ in walk(parse(source, luau=luau).tree)
        for name, field in node.ALL_FIELDS.items()
        if field.since is not None and getattr(node, name) not in (None, [])
    }


@pytest.mark.parametrize(("since", "what", "example", "fields"), ROWS, ids=lambda text: text[:30])
def test_a_row_names_the_fields_of_its_example_and_the_version_that_has_them(
    since: str, what: str, example: str, fields: str
) -> None:
    source = example.strip("`").replace("\\|", "|")
    assert used(source, since) == set(re.findall(r"`([^`]+)`", fields)), what
    assert parse(source, luau=since).losses == ()
    if Version.parse(since) > SEED:
        with pytest.raises(ParseError, match=f"which requires Luau {since}"):
            parse(source, luau=Version(Version.parse(since).number - 1))


def test_no_extension_field_is_missing_on_the_page() -> None:
    told = {name for *_, fields in ROWS for name in re.findall(r"`([^`]+)`", fields)}
    assert told == {
        f"{field.message}.{field.schema_name}"
        for fields in m.schema("today").fields.values()
        for field in fields.values()
        if field.since is not None
    }
