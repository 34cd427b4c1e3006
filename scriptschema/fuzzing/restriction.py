"""Restricts programs to features that all targets of a campaign have."""

from __future__ import annotations

from functools import cache

from scriptschema.codec.scanning import Listing, parts
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.corpora.features import library_names
from scriptschema.fuzzing.targets.probing import ANNOTATIONS, SYNTAX
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render
from scriptschema.luau.repair import DEEPEST, repair
from scriptschema.messages import ModuleSet, StatBlock, schema
from scriptschema.versions import TODAY, Version


class Restriction:
    """Restricts programs to features that all targets have."""

    def __init__(self, missing: frozenset[str]) -> None:
        self.missing = missing

    def admits(self, tree: ModuleSet | StatBlock) -> bool:
        """Return whether a tree uses none of the missing features."""
        return not self.missing or not self._used(encoding.listed(tree))

    def used(self, data: bytes) -> frozenset[str]:
        """Return the missing features that an encoded tree uses."""
        return self._used(encoding.scan(ModuleSet, data, max_depth=DEEPEST))

    def _used(self, listing: Listing) -> frozenset[str]:
        used = self.missing.intersection(library_names(listing))
        if not self.missing.isdisjoint(SYNTAX):
            words = {word for number in {*listing.parts} for word in _syntax(listing.luau)[number]}
            used |= self.missing & words
        return used

    def without_annotations(self, tree: ModuleSet) -> ModuleSet:
        """Return a tree without type annotations if they are missing, otherwise the tree itself.

        A tree without annotations is repaired, and has no module.
        """
        if self.missing.isdisjoint(ANNOTATIONS):
            return tree
        valid = repair(ModuleSet(program=tree.program))
        return parse(render(valid.program, types=False), luau=TODAY).tree

    def strip(self, tree: ModuleSet) -> ModuleSet:
        """Return a repaired tree without the top-level statements that use missing features.

        If annotations are missing, only the annotations are removed from a statement. If the
        program requires a module, the module is removed as well.
        """
        body = [
            stat
            for stat in self.without_annotations(tree).program.body
            if self.admits(StatBlock(body=[stat]))
        ]
        return repair(ModuleSet(program=StatBlock(body=body)))


_OF_TYPES = {"TypePack", "TypeList", "TypeArguments", "ExprInstantiate"}
"""Messages that are part of an annotation even if it contains no `Type`, such as `(): ()`."""


@cache
def _syntax(luau: Version | None) -> list[frozenset[str]]:
    """Return the names in `SYNTAX` that each of the schema's `parts` uses."""
    table = []
    for part in parts(schema(luau)):
        words = {*part.messages, *part.values, part.feature or ""}
        if words & _OF_TYPES:
            words.add("Type")
        words |= {word.rpartition(".Op.")[0] for word in words}
        words |= {f"ExprBinary.Op.{word.rpartition('.Op.')[2]}" for word in words if ".Op." in word}
        table.append(frozenset(words & SYNTAX.keys()))
    return table
