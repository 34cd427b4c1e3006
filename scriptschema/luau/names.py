"""Names: the identifiers that the schema's indexes stand for, and the way back.

A tree holds no identifiers, only int32 indexes. A `Names` value holds a table for each kind of
index; an index is taken modulo the table's length, so that every int32, negative ones too, is a
name, and random indexes spread over the whole table. `DEFAULT` is made for Luau. Its local names
differ from its globals, so that no local hides one by accident.

What Luau has learnt since has indexes of its own, from `NEWER` on, which are the same for globals,
fields and primitive types: so all other indexes of all trees keep their names.

`Name.builtin` is looked up where it stands: as a global among the language's globals, as a field of
a library among that library's members (`math.floor`, never `math.upper`), and as any other field or
method among the members of all libraries and the metamethods. So a random index calls what exists.

`NameReader` goes from identifier to index, and adds the identifiers that a source brings along.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import attrs

from scriptschema.luau.members import MEMBERS, NEWER_MEMBERS
from scriptschema.messages import ExprPrefix, Name
from scriptschema.versions import Span, Version, has

_KEYWORDS: Final = (
    "and break do else elseif end false for function if in local nil not or repeat return then "
    "true until while"
)
KEYWORDS: Final = frozenset(_KEYWORDS.split())
"""Luau's reserved words: no variable, field or type can have such a name."""

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_AS_TYPE: Final = KEYWORDS | {"typeof"}

_TYPE_FUNCTIONS: Final = (
    "len unm add sub mul div idiv pow mod concat lt le eq keyof rawkeyof index rawget "
    "setmetatable getmetatable"
)
TYPE_FUNCTIONS: Final = tuple(_TYPE_FUNCTIONS.split())
"""The type functions that Luau defines: the names of a Typename whose kind is Builtin."""

_LIBRARIES: Final = {library: names for library, names in MEMBERS.items() if library}
_METAMETHODS: Final = (
    "__add __call __concat __div __eq __idiv __index __iter __le __len __lt __metatable __mod "
    "__mode __mul __newindex __pow __sub __tostring __type __unm"
)

NEWER: Final = 0x4C756175
"""The first index of what Luau has learnt since; no index that trees have had so far."""

_DEPRECATED: Final = {"use": Span(Version(687)), "reason": Span(Version(687))}
"""What `@deprecated` is told."""

_NEWER: Final = tuple(dict.fromkeys((*_DEPRECATED, *(name for _, name in NEWER_MEMBERS))))
_NEWER_INDEX: Final = {name: NEWER + index for index, name in enumerate(_NEWER)}


def look_up(table: Sequence[str], index: int) -> str:
    """Return the name that an index stands for in a table of names."""
    newer = index - NEWER
    return _NEWER[newer] if 0 <= newer < len(_NEWER) else table[index % len(table)]


def _identifier_problem(text: object, keywords: frozenset[str]) -> str | None:
    if not isinstance(text, str) or not _IDENTIFIER.fullmatch(text):
        return "is not an identifier"
    return "is a word that Luau reserves" if text in keywords else None


def _check_table(_: Names, attribute: attrs.Attribute[Any], table: Iterable[str]) -> None:
    if table is not attribute.default:  # what is known to be in order
        _check(attribute.name, table, attribute.metadata["keywords"])


def _check(where: str, table: Iterable[str], keywords: frozenset[str]) -> None:
    seen = set()
    for text in table:
        problem = _identifier_problem(text, keywords)
        if problem is None and text in seen:
            problem = "stands there twice"
        if problem is not None:
            raise ValueError(f"names.{where}: {text!r} {problem}")
        seen.add(text)
    if not seen:
        raise ValueError(f"names.{where} must hold at least one name")


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
    """The tables: what each index of a tree is called.

    `locals`, `types`, `customs`, `primitives` and `classes` are the tables of Local, Typename,
    `Name.custom`, TypePrimitive and TypeClass. `globals`, `libraries` (by the library's name) and
    `metamethods` are those of `Name.builtin`; see the module's docstring.

    Raises ValueError where a table is empty, holds a name twice, or a name that Luau would not
    take.
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
    """Every library's members, then the metamethods, each once: what a field may be called."""

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
        """Make a `Names` of tables by name; a table that is missing is Luau's.

        Raises ValueError for what is not such a table.
        """
        if not isinstance(tables, Mapping):
            raise ValueError(f"names must be tables by name, not {type(tables).__name__}")
        known = [field.name for field in attrs.fields(cls) if field.init]
        for name, table in tables.items():
            if name not in known:
                raise ValueError(f"names has no table {name!r}; it has {', '.join(known)}")
            wanted = Mapping if name == "libraries" else list
            inner = table.values() if isinstance(table, Mapping) else ()
            if not isinstance(table, wanted) or not all(isinstance(item, list) for item in inner):
                raise ValueError(
                    f"names.{name} must be a "
                    + ("table of lists of names" if name == "libraries" else "list of names")
                )
        return cls(**tables)

    @classmethod
    def load(cls, path: Path) -> Names:
        """Read the tables from a TOML file, or from a JSON file if its name ends in `.json`.

        Raises ValueError, which names the file, for what is not such a file.
        """
        try:
            data = path.read_bytes().decode()
            return cls.from_dict(
                json.loads(data) if path.suffix == ".json" else tomllib.loads(data)
            )
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def to_dict(self) -> dict[str, Any]:
        """Return the tables as `from_dict` takes them; JSON can hold the result."""
        tables = {field.name: getattr(self, field.name) for field in attrs.fields(Names)}
        del tables["members"]
        tables["libraries"] = {owner: list(table) for owner, table in self.libraries.items()}
        return {
            name: table if isinstance(table, dict) else list(table)
            for name, table in tables.items()
        }

    def local(self, index: int) -> str:
        """Return the name of a Local."""
        return self.locals[index % len(self.locals)]

    def type(self, index: int) -> str:
        """Return the name of a Typename."""
        return self.types[index % len(self.types)]

    def primitive(self, kind: int) -> str:
        """Return the name of a TypePrimitive."""
        return look_up(self.primitives, kind)

    def class_(self, kind: int) -> str:
        """Return the name of a TypeClass."""
        return self.classes[kind % len(self.classes)]

    def global_(self, name: Name) -> str:
        """Return what a Name is called as a global. One that is not set is the first custom one."""
        return self._name(name, self.globals)

    def owner(self, prefix: ExprPrefix) -> str | None:
        """Return the name of the global that `prefix` is, None if it is something else."""
        return self.global_(prefix.alternative.name) if prefix.which == "global_" else None

    def field(self, name: Name, owner: str | None = None) -> str:
        """Return what a Name is called as a key, a field or a method.

        `owner` is the name of the global that the field is looked up in; None: of something else.
        """
        return self._name(name, self.libraries.get(owner or "", self.members))

    def _name(self, name: Name, builtins: tuple[str, ...]) -> str:
        if name.which == "builtin":
            return look_up(builtins, name.alternative)
        return self.customs[(name.alternative or 0) % len(self.customs)]


DEFAULT: Final = Names()
"""The tables made for Luau."""


class _Reader:
    """One table read backwards; what is neither in it nor `newer` is added at its end."""

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
    """Identifiers to indexes, for one source or for many that shall share their tables.

    `local`, `type`, `primitive` and `class_` take an identifier and return its index. `names` has
    the tables with all that was added. What the version `luau` does not have, or None, the seed, is
    one of the program's own names.
    """

    def __init__(self, names: Names = DEFAULT, luau: Version | None = None) -> None:
        self._base = names
        self.local = _Reader(names.locals)
        self.type = _Reader(names.types)
        newer = {
            name: _NEWER_INDEX[name] for name in ("integer",) if has(luau, NEWER_MEMBERS["", name])
        }
        self.primitive = _Reader(names.primitives, newer)
        self.class_ = _Reader(names.classes)
        self._custom = _Reader(names.customs)
        self._globals = _Reader(names.globals).index
        self._members = _Reader(names.members).index
        self._libraries = {owner: _Reader(table).index for owner, table in names.libraries.items()}
        if luau is None:
            return  # the seed, for which each of many small sources has a reader
        for (owner, name), span in NEWER_MEMBERS.items():
            if luau in span:
                table = self._libraries.setdefault(owner, {}) if owner else self._globals
                table.setdefault(name, _NEWER_INDEX[name])
                self._members.setdefault(name, _NEWER_INDEX[name])
        for name, span in _DEPRECATED.items():
            if luau in span:
                self._members.setdefault(name, _NEWER_INDEX[name])

    def global_(self, text: str) -> Name:
        """Return the Name that is called `text` as a global."""
        return self._name(text, self._globals)

    def field(self, text: str, owner: str | None = None) -> Name:
        """Return the Name that is called `text` as a key, a field or a method of `owner`.

        `owner` is as in `Names.field`.
        """
        return self._name(text, self._libraries.get(owner or "", self._members))

    def _name(self, text: str, builtins: Mapping[str, int]) -> Name:
        index = builtins.get(text)
        return Name(custom=self._custom(text)) if index is None else Name(builtin=index)

    @property
    def names(self) -> Names:
        """The tables as they are now."""
        return attrs.evolve(
            self._base,
            locals=tuple(self.local.index),
            types=tuple(self.type.index),
            customs=tuple(self._custom.index),
            primitives=tuple(self.primitive.index),
            classes=tuple(self.class_.index),
        )
