"""Versions of Luau."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scriptschema.versions import SEED, TODAY, Span, Version

KNOWN = st.integers(SEED.number, TODAY.number).map(Version)


@given(KNOWN)
def test_a_version_is_read_as_it_is_printed(version: Version) -> None:
    assert Version.parse(str(version)) == Version.parse(version) == version


def test_today_is_the_newest_that_is_known() -> None:
    assert Version.parse("today") == TODAY == Version(735)
    assert SEED == Version(677) < Version(711) < TODAY


@pytest.mark.parametrize(
    "text",
    [
        "",
        "711",
        "0.71",
        "0.676",
        "0.736",
        "0.0711",
        "v0.711",
        "Today",
        "0.711\n",
        "0.\u0667\u0661\u0661",
    ],
)
def test_what_is_no_known_version_is_refused_with_those_that_are(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected 0\.677 to 0\.735, or 'today' \(0\.735\)"):
        Version.parse(text)


@given(KNOWN, KNOWN, KNOWN)
def test_something_exists_from_its_version_until_another(
    since: Version, until: Version, version: Version
) -> None:
    assert (version in Span(since)) == (since <= version)
    assert (version in Span(since, until)) == (since <= version < until)
    assert version in Span()
