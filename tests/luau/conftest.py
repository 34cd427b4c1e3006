"""Provides the real Luau for the tests in this folder. They are skipped if it is not installed."""

from collections.abc import Iterator

import pytest
from real_luau import RealLuau, what_is_missing


@pytest.fixture(scope="session")
def luau() -> Iterator[RealLuau]:
    """The real Luau."""
    missing = what_is_missing()
    if missing:
        pytest.skip(missing)
    with RealLuau() as process:
        yield process
