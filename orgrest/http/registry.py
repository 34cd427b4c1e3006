"""HTTP registries: methods, header fields, status codes, media types and common values.

The data is in `registry.json`, and is loaded on first use. Methods (without the reserved `*`),
status codes and permanent fields are those in IANA's registries as of June 2026. The other fields,
the media types and the values are a selection. If more text must follow a value, the value's name
includes the delimiter: `max-age=`, or `Bearer ` with its space.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from orgrest import classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@classes.frozen
class Entry:
    """A name, its description, and the RFC or specification that defines the name.

    `common` names are frequently used. `obsolete` names should no longer be used.
    """

    name: str
    description: str
    source: str = ""
    common: bool = classes.field(default=False, kw_only=True)
    obsolete: bool = classes.field(default=False, kw_only=True)


_E = TypeVar("_E", bound=Entry)


@classes.frozen
class Method(Entry):
    """A request method. `safe` and `idempotent` have the meanings of RFC 9110, section 9.2."""

    safe: bool = classes.field(default=False, kw_only=True)
    idempotent: bool = classes.field(default=False, kw_only=True)


@classes.frozen
class Header(Entry):
    """A header field. If `single` is set, it must not be repeated (RFC 9110, section 5.3)."""

    used: Literal["request", "response", "both"] = classes.field(kw_only=True)
    single: bool = classes.field(default=False, kw_only=True)
    _values: str = classes.field(default="", kw_only=True)
    _parameters: tuple[str, ...] = classes.field(default=(), converter=tuple, kw_only=True)

    @property
    def values(self) -> tuple[Entry, ...]:
        """The common values of the field, or common members if it is a list."""
        return self._entries(self._values)

    @property
    def parameters(self) -> tuple[Entry, ...]:
        """The parameters that may follow a value after a semicolon."""
        return tuple(entry for name in self._parameters for entry in self._entries(name))

    def _entries(self, name: str) -> tuple[Entry, ...]:
        return tuple(
            entry if entry.source else classes.evolve(entry, source=self.source)
            for entry in _table(name)
        )


@classes.frozen
class Status(Entry):
    """A status code, whose name is the reason phrase."""

    code: int = classes.field(kw_only=True)


@cache
def _data() -> Any:
    return json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


@cache
def methods() -> Mapping[str, Method]:
    """Return all methods by name."""
    return _by_name(Method(**entry) for entry in _data()["methods"])


@cache
def headers() -> Mapping[str, Header]:
    """Return all header fields by canonical name."""
    return _by_name(Header(**entry) for entry in _data()["headers"])


@cache
def statuses() -> Mapping[int, Status]:
    """Return all status codes by number."""
    return MappingProxyType({entry["code"]: Status(**entry) for entry in _data()["statuses"]})


@cache
def media_types() -> Mapping[str, Entry]:
    """Return the common media types by name."""
    return _by_name(_table("media_types"))


def method(name: str) -> Method | None:
    """Return the method with this case-sensitive name (RFC 9110, section 9.1), or None."""
    return methods().get(name)


def header(name: str) -> Header | None:
    """Return the header field with this name, ignoring case, or None."""
    return _folded_headers().get(name.lower())


def status(code: int) -> Status | None:
    """Return the status with this code, or None."""
    return statuses().get(code)


def media_type(name: str) -> Entry | None:
    """Return the media type with this name, ignoring case, or None.

    `name` must not include parameters.
    """
    return media_types().get(name.lower())


def values(name: str) -> tuple[Entry, ...]:
    """Return the common values of the header field with this name, ignoring case."""
    field = header(name)
    return field.values if field else ()


@cache
def _folded_headers() -> Mapping[str, Header]:
    return {name.lower(): entry for name, entry in headers().items()}


@cache
def _table(name: str) -> tuple[Entry, ...]:
    if name == "methods":
        return tuple(methods().values())
    if name == "headers":
        return tuple(headers().values())
    return tuple(Entry(**entry) for entry in _data()["values"][name]) if name else ()


def _by_name(entries: Iterable[_E]) -> Mapping[str, _E]:
    return MappingProxyType({entry.name: entry for entry in entries})
