"""Finds out which operations of a reduced program its bug needs.

A reduced program also contains operations that its bug does not need: something must use a wrong
value, but almost any operation would do. Each operation is therefore replaced with a similar one.
If the program still shows the bug, the operation is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from typing import Any, Final, TypeAlias

from scriptschema import messages as m
from scriptschema.base import walk
from scriptschema.codec.copying import copy
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.oracles.construct import (
    ANY,
    VARARGS,
    WORD,
    alike,
    is_member,
    operations_of,
    operator_of,
    without_number,
)
from scriptschema.luau.library import SIGNATURES, Signature
from scriptschema.luau.names import DEFAULT, NameReader
from scriptschema.versions import TODAY

_TRIES: Final = 3
"""The maximum number of replacements to try for each operation."""

_OPERATORS: Final = (
    ("Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"),
    ("CompareLt", "CompareLe"),
)
"""Groups of operators that can replace each other."""

_KINDS: Final = {"range": "number", "integer": "number", "range64": "int64"}
"""The kinds of parameters that accept the same values as another kind."""

_OTHERS: Final = ("x", "y", "0")
"""Words that are put in place of the words of a source. A symbol or a keyword would often show
another bug."""

_READER: Final = NameReader(luau=TODAY)

_Change: TypeAlias = Callable[[Any], None]


def needed_operations(tree: m.ModuleSet, shows: Callable[[m.ModuleSet], bool]) -> frozenset[str]:
    """Return the operations that the bug of a reduced program needs (see `operations_of`).

    `...` counts as an operation (`VARARGS`). If the bug needs no operation, the result contains the
    program's operations, and replacements that show the bug, too, all marked with `ANY`. `shows`
    returns whether a program shows the bug.
    """
    used = operations_of(tree)
    needed, others = set(), set()
    for name in sorted(used):
        replacements = _members(tree, name) if is_member(name) else _operators(name)
        unused = ((other, change) for other, change in replacements if other not in used)
        for other, change in islice(unused, _TRIES):
            if shows(_changed(tree, change)):
                others.add(other)
                break
        else:
            needed.add(name)
    without = _without_varargs(tree)
    if without is not None and not shows(without):
        needed.add(VARARGS)
    return frozenset(needed) or frozenset(f"{ANY}{name}" for name in used | others)


def needed_words(text: str, shows: Callable[[str], bool]) -> frozenset[str]:
    """Return the words that the bug of a reduced source needs, which is not valid Luau.

    A word is not needed if another word in its place shows the bug, too. `shows` returns whether a
    source shows the bug.
    """

    def is_needed(word: str) -> bool:
        return not any(shows(_replaced(text, word, other)) for other in _OTHERS if other != word)

    words = dict.fromkeys(map(without_number, WORD.findall(text)))
    return frozenset(filter(is_needed, words))


def _replaced(text: str, word: str, other: str) -> str:
    return WORD.sub(
        lambda found: f" {other} " if without_number(found[0]) == word else found[0], text
    )


def _changed(tree: m.ModuleSet, change: _Change) -> m.ModuleSet:
    edited = copy(tree)
    for node, _ in walk(edited):
        change(node)
    return edited


def _operators(name: str) -> Iterator[tuple[str, _Change]]:
    """Yield similar operators, each with the change that puts it in place of `name`."""
    cls, _, used = name.rpartition(".")
    for group in _OPERATORS:
        for other in group if used in group else ():
            if other != used:
                yield f"{cls}.{other}", partial(_put_operator, name, other)


def _put_operator(old: str, new: str, node: Any) -> None:
    match node:
        case m.StatCompoundAssign() if alike(operator_of(node)) == old:
            node.floor = True if new == "FloorDiv" else None
            node.op = node.Op["Div" if node.floor else new]
        case m.ExprUnary() | m.ExprBinary() if alike(operator_of(node)) == old:
            node.op = node.Op[new]


def _members(tree: m.ModuleSet, name: str) -> Iterator[tuple[str, _Change]]:
    """Yield similar library members, each with the change that puts it in place of `name`.

    Several members may share `name` (see `construct.alike`). Each of them is replaced with one that
    has the same kinds of parameters.
    """
    members = sorted({_member_of(node) for node, _ in walk(tree)})
    similar = {member: _similar(member) for member in members if alike(member) == name}
    for row in zip(*similar.values(), strict=False):
        yield alike(str(row[0])), partial(_put_member, dict(zip(similar, row, strict=True)))


def _put_member(replacements: Mapping[str, Signature], node: Any) -> None:
    new = replacements.get(_member_of(node))
    if new is None:
        return
    match node:
        case m.ExprCall():  # a method
            node.func.alternative.index = _READER.field(new.name)
        case m.ExprIndexName():
            node.index = _READER.field(new.name, new.library)
        case _:
            node.name = _READER.global_(new.name)


def _member_of(node: Any) -> str:
    """Return the name of the library member or global that a node refers to, or ""."""
    if isinstance(node, m.ExprCall):
        method = node.func.index_name if node.self_ else None
        name = f"string.{DEFAULT.field(method.index)}" if method is not None else ""
        return name if name in _names() else ""
    return DEFAULT.member(node)


@cache
def _names() -> frozenset[str]:
    return frozenset(map(str, SIGNATURES))


@cache
def _similar(member: str) -> Sequence[Signature]:
    """Return the members of the same library with the same kinds of parameters.

    Those with the same results come first. Of members that are alike, only one is returned.
    """
    similar: dict[str, Signature] = {}
    for signature in SIGNATURES:
        if str(signature) == member:
            same = (other for other in SIGNATURES if _shape(other) == _shape(signature))
            for other in sorted(same, key=lambda each: each.results != signature.results):
                similar.setdefault(alike(str(other)), other)
    similar.pop(alike(member), None)
    return tuple(similar.values())


def _shape(signature: Signature) -> tuple[object, ...]:
    parameters = signature.parameters or ()
    kinds = [_KINDS.get(parameter.kind, parameter.kind) for parameter in parameters]
    return signature.library, signature.parameters is None, *kinds


def _without_varargs(tree: m.ModuleSet) -> m.ModuleSet | None:
    """Return the tree with a new last parameter in place of each `...`.

    Outside functions, `...` is replaced with a global. The result is None if there is no `...`, or
    if no name is left for the parameter.
    """
    edited = copy(tree)
    index = Index(edited)
    uses = index.of(m.ExprVarargs)
    free = index.unused_local()
    if not uses or free is None:
        return None
    functions = set()
    for number in uses:
        expr: Any = index.nodes[index.parents[number]]
        while number >= 0 and not isinstance(index.nodes[number], m.ExprFunction):
            number = index.parents[number]
        if number < 0:
            expr.global_ = m.ExprGlobal(name=m.Name(custom=_UNUSED))
        else:
            functions.add(number)
            expr.local = m.ExprLocal(var=m.Local(name=free))
    for number in functions:
        function: Any = index.nodes[number]
        if len(function.types) >= len(function.args):  # the type of `...` may follow
            function.types.insert(len(function.args), m.Type(primitive=m.TypePrimitive(kind=0)))
        function.args.append(m.Local(name=free))
    return edited


_UNUSED: Final = len(DEFAULT.customs) - 1
"""A name that reduced programs do not use."""
