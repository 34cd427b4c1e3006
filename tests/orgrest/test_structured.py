"""Untrusted JSON and YAML end in a value or an error, whatever they contain."""

from __future__ import annotations

import pytest

from orgrest import structured


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000, "- " * 100_000 + "x"],
)
@pytest.mark.parametrize("name", ["a.json", "a.har", "a.yaml"])
def test_100_000_levels_are_an_error_and_no_crash(text: str, name: str) -> None:
    with pytest.raises(structured.StructureError, match=r"nested|YAML"):
        structured.load(text, name)


def test_values_up_to_the_limit_are_read() -> None:
    text = "[" * (structured.DEEPEST - 1) + "]" * (structured.DEEPEST - 1)
    assert structured.load(text, "a.yaml") == structured.yaml_value(text, "a.yaml")
