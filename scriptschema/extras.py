"""Packages that an extra of this distribution brings: imported, or told how to install them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class MissingExtra(ImportError):  # noqa: N818  # says what is missing, as ImportError's heirs do
    """A package that an extra of this distribution brings is not installed."""


def imported(module: str, extra: str, what: str) -> Any:
    """Return a module that an extra brings; `what` needs it ("drawings need matplotlib").

    Raises MissingExtra, with the command that installs the extra.
    """
    try:
        return import_module(module)
    except ImportError as error:
        reason = f"{what}: install it with pip install 'scriptschema[{extra}]'"
        raise MissingExtra(reason) from error
