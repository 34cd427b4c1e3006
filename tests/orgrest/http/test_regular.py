"""Patterns that are compiled on first use."""

from __future__ import annotations

from orgrest.regular import compiled


def test_patterns_find_what_those_of_re_find() -> None:
    pattern = compiled(r"(?P<name>a+)b", 0)
    assert pattern.pattern == r"(?P<name>a+)b"
    assert pattern.sub("-", "xaab") == "x-"
    assert pattern.groupindex == {"name": 1}
    assert [match["name"] for match in pattern.finditer("ab aab")] == ["a", "aa"]
