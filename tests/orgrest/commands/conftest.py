"""Runs commands in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orgrest.commands.main import main

if TYPE_CHECKING:
    from collections.abc import Callable


class Called:
    """The exit status and the output of a command."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err
        self.lines = out.splitlines()


@pytest.fixture
def orgrest(capsys: pytest.CaptureFixture[str]) -> Callable[..., Called]:
    def call(*arguments: str) -> Called:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        printed = capsys.readouterr()
        return Called(int(ended.value.code or 0), printed.out, printed.err)

    return call
