"""The features that a campaign's programs must not use: excluded, or missing in a target."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from scriptschema.codec.scanning import parts
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.corpora.features import library_names
from scriptschema.fuzzing.targets.probing import SYNTAX, names
from scriptschema.generation.programs.grammar import LIBRARIES
from scriptschema.generation.programs.idioms import IDIOMS
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.repair import repair
from scriptschema.messages import ModuleSet, StatBlock, schema
from scriptschema.versions import Version

_WORD: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)?")


def missing_of(without: Iterable[str], only: Iterable[str]) -> frozenset[str]:
    """Return all excluded names: those in `without`, and all libraries not in a non-empty `only`.

    Raises ValueError for an unknown name.
    """
    known = [*names()]
    for name in (*without, *only):
        if name not in known or (name in {*only} and name not in DEFAULT.libraries):
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"there is no library or member {name!r}{hint}")
    left_out = {*without}
    if only:
        left_out |= {name for name in DEFAULT.libraries if name not in {*only}}
    return frozenset(
        name for name in known if name in left_out or name.partition(".")[0] in left_out
    )


class Restriction:
    """Restricts programs to the available features; falsy if all are available."""

    def __init__(self, missing: frozenset[str]) -> None:
        self.missing = missing

    def __bool__(self) -> bool:
        return bool(self.missing)

    def weights(self) -> Mapping[str, Mapping[str, float]]:
        """The weights for the program generator with which most programs need no change."""
        members = {name.partition(".")[0] for name in names()} - self.missing
        libraries = {name: 0.0 for name in LIBRARIES if name not in members and name != "globals"}
        idioms = {
            name: 0.0
            for name, (_, text) in IDIOMS.items()
            if not self.missing.isdisjoint(_words_of(text))
        }
        return {"libraries": libraries, "idioms": idioms}

    def admits(self, data: bytes, cls: type[ModuleSet | StatBlock] = ModuleSet) -> bool:
        """Return whether an encoded tree uses no missing feature."""
        scan = encoding.scan(cls, data)
        if not self.missing.isdisjoint(library_names(scan)):
            return False
        return self.missing.isdisjoint(SYNTAX) or self.missing.isdisjoint(
            word for number in {*scan.parts} for word in _syntax(scan.luau)[number]
        )

    def strip(self, tree: ModuleSet) -> ModuleSet:
        """Return the tree without the outermost statements that use missing features."""
        body = [
            stat
            for stat in tree.program.body
            if self.admits(encoding.encode(StatBlock(body=[stat])), StatBlock)
        ]
        return repair(ModuleSet(program=StatBlock(body=body)))


def _words_of(text: str) -> set[str]:
    words = {*_WORD.findall(text)}
    return words | {name for name, source in _SIGNS.items() if source in text}


_SIGNS: Final = {  # the text by which an idiom with this feature is recognised
    "ExprBinary.Op.FloorDiv": "//",
    "ExprInterpString": "`",
    "StatContinue": "continue",
    "StatTypeAlias": "type ",
    "ExprIfElse": "= if ",
}


@cache
def _syntax(luau: Version | None) -> list[frozenset[str]]:
    """Return, for each optional part of the syntax by number, the names that stand for it."""
    found = []
    for part in parts(schema(luau)):
        words = {*part.messages, *part.values}
        words |= {word.rpartition(".Op.")[0] for word in words}
        words |= {f"ExprBinary.Op.{word.rpartition('.Op.')[2]}" for word in words if ".Op." in word}
        found.append(frozenset(words & SYNTAX.keys()))
    return found
