"""Names: maps the schema's indexes to identifiers, and back.

A tree holds int32 indexes instead of identifiers. A `Names` object holds a table for each kind of
index. Every index is reduced modulo the table's length. So every int32, even if negative, selects a
name, and random indexes spread over the whole table. `DEFAULT` has the names of Luau. Its local
names differ from its globals, so that no local shadows a global by accident.

Names that are newer than the schema have separate indexes, from `NEWER` on, which are the same for
globals, fields and primitive types. So all other indexes in existing trees keep their names.

The meaning of `Name.builtin` depends on its context. As a global it selects one of Luau's globals.
As a field of a library it selects a member of that library (`math.floor`, never `math.upper`). As
any other field or method it selects a member of any library or a metamethod. So a random index
refers to a name that exists.

`NameReader` maps identifiers to indexes, and adds the identifiers that a source defines.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import attrs

from scriptschema.base import Message
from scriptschema.luau.members import MEMBERS, NEWER_MEMBERS
from scriptschema.messages import ExprGlobal, ExprIndexName, ExprPrefix, Local, Name, Typename
from scriptschema.versions import Span, Version, has

_KEYWORDS: Final = (
    "and break do else elseif end false for function if in local nil not or repeat return then "
    "true until while"
)
KEYWORDS: Final = frozenset(_KEYWORDS.split())
"""Luau's reserved words, which cannot be names of variables, fields or types."""

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_AS_TYPE: Final = KEYWORDS | {"typeof"}

_TYPE_FUNCTIONS: Final = (
    "len unm add sub mul div idiv pow mod concat lt le eq keyof rawkeyof index rawget "
    "setmetatable getmetatable"
)
TYPE_FUNCTIONS: Final = tuple(_TYPE_FUNCTIONS.split())
"""The type functions that Luau defines: the names of Typename messages whose kind is Builtin."""

_LIBRARIES: Final = {library: names for library, names in MEMBERS.items() if library}
_METAMETHODS: Final = (
    "__add __call __concat __div __eq __idiv __index __iter __le __len __lt __metatable __mod "
    "__mode __mul __newindex __pow __sub __tostring __type __unm"
)

NEWER: Final = 0x4C756175
"""The first index of names that are newer than the schema. Older trees do not use these indexes."""

_DEPRECATED: Final = {"use": Span(Version(687)), "reason": Span(Version(687))}
"""The arguments of `@deprecated`, with the versions that have them."""

_NEWER: Final = tuple(dict.fromkeys((*_DEPRECATED, *(name for _, name in NEWER_MEMBERS))))
_NEWER_INDEX: Final = {name: NEWER + index for index, name in enumerate(_NEWER)}


@cache  # a campaign parses thousands of small sources for the same version
def _newer_names(luau: Version) -> Sequence[tuple[str | None, str]]:
    """Return (owner, name) for each name that `luau` has and the original schema lacks.

    The owner is a library, "" for a global, or None for an argument of `@deprecated`.
    """
    arguments = [(None, name) for name, span in _DEPRECATED.items() if luau in span]
    return [*(key for key, span in NEWER_MEMBERS.items() if luau in span), *arguments]


def look_up(table: Sequence[str], index: int) -> str:
    """Return the name that an index selects in a table of names."""
    newer = index - NEWER
    return _NEWER[newer] if 0 <= newer < len(_NEWER) else table[index % len(table)]


def _check_table(_: Names, attribute: attrs.Attribute[Any], table: Iterable[str]) -> None:
    if table is not attribute.default:  # the default is known to be valid
        _check(attribute.name, table, attribute.metadata["keywords"])


def _check(where: str, table: Iterable[str], keywords: frozenset[str]) -> None:
    seen = set()
    for text in table:
        problem = ""
        if not isinstance(text, str) or not _IDENTIFIER.fullmatch(text):
            problem = "is not an identifier"
        elif text in keywords:
            problem = "is a reserved word in Luau"
        elif text in seen:
            problem = "is listed twice"
        if problem:
            raise ValueError(f"names.{where}: {text!r} {problem}")
        seen.add(text)
    if not seen:
        raise ValueError(f"names.{where} must contain at least one name")


def _freeze(libraries: Mapping[str, Iterable[str]]) -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({owner: tuple(table) for owner, table in libraries.items()})


def _table(names: str, *, keywords: frozenset[str] = KEYWORDS) -> Any:
    return attrs.field(
        default=tuple(names.split()),
        converter=tuple,
        validator=_check_table,
        metadata={"keywords": keywords},
    )


@attrs.frozen(kw_only=True)
class Names:
    """The tables that map each index of a tree to its name.

    `locals`, `types`, `customs`, `primitives` and `classes` are the tables for Local, Typename,
    `Name.custom`, TypePrimitive and TypeClass. `globals`, `libraries` (by the library's name) and
    `metamethods` are the tables for `Name.builtin`.

    Raises ValueError if a table is empty, or holds a duplicate name or a name that Luau would not
    accept.
    """

    locals: tuple[str, ...] = _table(" ".join(f"v{number}" for number in range(64)) + " self")
    types: tuple[str, ...] = _table(
        " ".join(f"T{number}" for number in range(32)), keywords=_NOT_AS_TYPE
    )
    customs: tuple[str, ...] = _table(" ".join(f"x{number}" for number in range(64)))
    primitives: tuple[str, ...] = _table(
        "any boolean buffer nil number string thread vector", keywords=_NOT_AS_TYPE - {"nil"}
    )
    classes: tuple[str, ...] = _table("Vector3 Instance Part", keywords=_NOT_AS_TYPE)
    globals: tuple[str, ...] = _table(" ".join([*MEMBERS[""], *_LIBRARIES]))
    libraries: Mapping[str, tuple[str, ...]] = attrs.field(
        default=MappingProxyType(_LIBRARIES),
        converter=_freeze,
        hash=False,
    )
    metamethods: tuple[str, ...] = _table(_METAMETHODS)
    members: tuple[str, ...] = attrs.field(init=False, repr=False, eq=False)
    """The possible names of a field, each once: the members of all libraries, then the
    metamethods."""

    @libraries.validator
    def _check_libraries(self, _: object, libraries: Mapping[str, tuple[str, ...]]) -> None:
        for owner, table in libraries.items():
            if table is not _LIBRARIES.get(owner):
                _check(f"libraries.{owner}", table, KEYWORDS)

    @members.default
    def _all_members(self) -> tuple[str, ...]:
        tables = (*self.libraries.values(), self.metamethods)
        return tuple(dict.fromkeys(name for table in tables for name in table))

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any]) -> Names:
        """Return a `Names` with these tables. Any table that is missing gets Luau's names.

        Raises ValueError if `tables` is not a valid mapping of tables.
        """
        if not isinstance(tables, Mapping):
            raise ValueError(
                f"names must be a mapping from table names to tables, found {type(tables).__name__}"
            )
        table_names = [field.name for field in attrs.fields(cls) if field.init]
        for name, table in tables.items():
            if name not in table_names:
                raise ValueError(
                    f"unknown table of names {name!r}; available: {', '.join(table_names)}"
                )
            expected = Mapping if name == "libraries" else list
            inner = table.values() if isinstance(table, Mapping) else ()
            if not isinstance(table, expected) or not all(isinstance(item, list) for item in inner):
                raise ValueError(
                    f"names.{name} must be a "
                    + ("table of lists of names" if name == "libraries" else "list of names")
                )
        return cls(**tables)

    @classmethod
    def load(cls, path: Path) -> Names:
        """Return the tables in a TOML file, or in a JSON file if its suffix is `.json`.

        Raises ValueError for an invalid file. The message includes the file's name.
        """
        try:
            data = path.read_bytes().decode()
            return cls.from_dict(
                json.loads(data) if path.suffix == ".json" else tomllib.loads(data)
            )
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return the tables as a dict that `from_dict` accepts and JSON can represent."""
        names = [field.name for field in attrs.fields(Names) if field.init]
        tables: dict[str, Any] = {name: list(getattr(self, name)) for name in names}
        tables["libraries"] = {owner: list(table) for owner, table in self.libraries.items()}
        return tables

    def local(self, index: int) -> str:
        """Return the name of the Local with this index."""
        return self.locals[index % len(self.locals)]

    def type(self, index: int) -> str:
        """Return the name of the Typename with this index."""
        return self.types[index % len(self.types)]

    def primitive(self, kind: int) -> str:
        """Return the name of the TypePrimitive with this kind."""
        return look_up(self.primitives, kind)

    def class_(self, kind: int) -> str:
        """Return the name of the TypeClass with this kind."""
        return self.classes[kind % len(self.classes)]

    def global_(self, name: Name) -> str:
        """Return the identifier for a Name that is used as a global.

        An unset Name is treated as the first custom name.
        """
        return self._name(name, self.globals)

    def owner(self, prefix: ExprPrefix) -> str | None:
        """Return the name of the global that `prefix` refers to, or None if it is not a global."""
        return self.global_(prefix.alternative.name) if prefix.which == "global_" else None

    def field(self, name: Name, owner: str | None = None) -> str:
        """Return the identifier for a Name that is used as a key, a field or a method.

        `owner` is the name of the global that has the field, if any.
        """
        return self._name(name, self.libraries.get(owner or "", self.members))

    def member(self, node: Any) -> str:
        """Return the name of a global or a library member, such as `print` or `math.floor`.

        The result is empty if `node` is neither an ExprGlobal nor an ExprIndexName of a global.
        """
        if isinstance(node, ExprGlobal):
            return self.global_(node.name)
        owner = self.owner(node.expr) if isinstance(node, ExprIndexName) else None
        return f"{owner}.{self.field(node.index, owner)}" if owner else ""

    def _name(self, name: Name, builtins: tuple[str, ...]) -> str:
        if name.which == "builtin":
            return look_up(builtins, name.alternative)
        return self.customs[(name.alternative or 0) % len(self.customs)]


DEFAULT: Final = Names()
"""The tables of Luau's names."""

SELF: Final = DEFAULT.locals.index("self")
"""The index of `self` in the table of local variables."""

OWN_NAMES: Final[Mapping[tuple[type[Message], str], str]] = MappingProxyType(
    {(Local, "name"): "locals", (Name, "custom"): "customs", (Typename, "index"): "types"}
)
"""The fields whose indexes select a name that a program chooses freely, with their tables."""


class _Reader:
    """Maps names to indexes, in `newer` or in one table, to which it adds unknown names."""

    def __init__(
        self, table: Iterable[str], newer: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        self.index = {text: index for index, text in enumerate(table)}
        self.newer = newer

    def __contains__(self, text: str) -> bool:
        return text in self.index or text in self.newer

    def __call__(self, text: str) -> int:
        newer = self.newer.get(text)
        return self.index.setdefault(text, len(self.index)) if newer is None else newer


class NameReader:
    """Maps identifiers to indexes, for one source or for several that share their tables.

    `local`, `type`, `primitive` and `class_` take an identifier and return its index. `names`
    returns the tables with all added names. `luau` is a version, or None for the original schema. A
    builtin name that this version lacks becomes one of the program's own names.
    """

    def __init__(self, names: Names = DEFAULT, luau: Version | None = None) -> None:
        self._base = names
        self.local = _Reader(names.locals)
        self.type = _Reader(names.types)
        has_integer = has(luau, NEWER_MEMBERS["", "integer"])
        newer = {"integer": _NEWER_INDEX["integer"]} if has_integer else {}
        self.primitive = _Reader(names.primitives, newer)
        self.class_ = _Reader(names.classes)
        self._custom = _Reader(names.customs)
        self._globals = _Reader(names.globals).index
        self._members = _Reader(names.members).index
        self._libraries = {owner: _Reader(table).index for owner, table in names.libraries.items()}
        if luau is None:
            return  # the original schema: there may be a reader for each of many small sources
        for owner, name in _newer_names(luau):
            if owner is not None:
                table = self._libraries.setdefault(owner, {}) if owner else self._globals
                table.setdefault(name, _NEWER_INDEX[name])
            self._members.setdefault(name, _NEWER_INDEX[name])

    def global_(self, text: str) -> Name:
        """Return the Name for the identifier `text` as a global."""
        return self._name(text, self._globals)

    def field(self, text: str, owner: str | None = None) -> Name:
        """Return the Name for the identifier `text` as a key, a field or a method of `owner`.

        `owner` is as in `Names.field`.
        """
        return self._name(text, self._libraries.get(owner or "", self._members))

    def _name(self, text: str, builtins: Mapping[str, int]) -> Name:
        index = builtins.get(text)
        return Name(custom=self._custom(text)) if index is None else Name(builtin=index)

    @property
    def names(self) -> Names:
        """Return the tables in their current state."""
        return attrs.evolve(
            self._base,
            locals=tuple(self.local.index),
            types=tuple(self.type.index),
            customs=tuple(self._custom.index),
            primitives=tuple(self.primitive.index),
            classes=tuple(self.class_.index),
        )
