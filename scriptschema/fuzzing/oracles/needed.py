"""Finds out which operations of a reduced program its bug needs.

A reduced program also contains operations that its bug does not need: something must use a wrong
value, but almost any operation would do. Each operation is therefore replaced with a similar one.
If the program still shows the bug, the operation is not needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from typing import Any, Final, TypeAlias

from scriptschema import messages as m
from scriptschema.base import walk
from scriptschema.fuzzing.editing import copy
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.oracles.construct import VARARGS, alike, is_member, operations_of
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

_READER: Final = NameReader(luau=TODAY)

_Change: TypeAlias = Callable[[Any], None]


def needed_operations(tree: m.ModuleSet, shows: Callable[[m.ModuleSet], bool]) -> frozenset[str]:
    """Return the operations that the bug of a reduced program needs (see `operations_of`).

    `...` counts as an operation (`VARARGS`). If the bug needs no operation, the result is all
    operations of the program, and those replacements that show the bug, too. `shows` returns
    whether a program shows the bug.
    """
    used = operations_of(tree)
    needed, others = set(), set()
    for name in sorted(used):
        replacements = _members(name) if is_member(name) else _operators(name)
        for other, change in islice(replacements, _TRIES):
            if other not in used and shows(_changed(tree, change)):
                others.add(other)
                break
        else:
            needed.add(name)
    without = _without_varargs(tree)
    if without is not None and not shows(without):
        needed.add(VARARGS)
    return frozenset(needed or used | others)


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
    op = getattr(node, "op", None)
    if op is not None and alike(f"{node.__class__.__name__}.Op.{op.name}") == old:
        node.op = op.__class__[new]


def _members(name: str) -> Iterator[tuple[str, _Change]]:
    """Yield similar library members, each with the change that puts it in place of `name`.

    Such a member has the same kinds of parameters. Members with the same results come first.
    """
    by_shape = _by_shape()
    for signature in SIGNATURES:
        if alike(str(signature)) != name or signature.parameters is None:
            continue
        same = by_shape[_shape(signature)]
        for other in sorted(same, key=lambda each: each.results != signature.results):
            if alike(str(other)) != name:
                yield alike(str(other)), partial(_put_member, name, other)


def _put_member(old: str, new: Signature, node: Any) -> None:
    if alike(DEFAULT.member(node)) != old:
        return
    if isinstance(node, m.ExprIndexName):
        node.index = _READER.field(new.name, new.library)
    else:
        node.name = _READER.global_(new.name)


@cache
def _by_shape() -> dict[tuple[object, ...], list[Signature]]:
    signatures: dict[tuple[object, ...], list[Signature]] = defaultdict(list)
    for signature in SIGNATURES:
        signatures[_shape(signature)].append(signature)
    return signatures


def _shape(signature: Signature) -> tuple[object, ...]:
    parameters = signature.parameters or ()
    kinds = [_KINDS.get(parameter.kind, parameter.kind) for parameter in parameters]
    return signature.library, signature.parameters is None, *kinds


def _without_varargs(tree: m.ModuleSet) -> m.ModuleSet | None:
    """Return the tree with a new parameter in place of each `...`, or None if there is no `...`.

    Outside functions, `...` is replaced with a global.
    """
    edited = copy(tree)
    index = Index(edited)
    uses = index.of(m.ExprVarargs)
    locals_: list[Any] = [index.nodes[number] for number in index.of(m.Local)]
    new = 1 + max((local.name for local in locals_), default=0)
    functions = set()
    for number in uses:
        expr: Any = index.nodes[index.parents[number]]
        while number >= 0 and not isinstance(index.nodes[number], m.ExprFunction):
            number = index.parents[number]
        if number < 0:
            expr.global_ = m.ExprGlobal(name=m.Name(custom=_UNUSED))
        else:
            functions.add(number)
            expr.local = m.ExprLocal(var=m.Local(name=new))
    for number in functions:
        function: Any = index.nodes[number]
        function.args.insert(0, m.Local(name=new))
        if function.types:
            function.types.insert(0, m.Type(primitive=m.TypePrimitive(kind=0)))
    return edited if uses else None


_UNUSED: Final = len(DEFAULT.customs) - 1
"""A name that reduced programs do not use."""
