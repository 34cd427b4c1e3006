"""The mutation operators that change the value of one field, or a type annotation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scriptschema import messages as m
from scriptschema.base import INT32_MAX, INT32_MIN
from scriptschema.choices import INTEGERS
from scriptschema.fuzzing.context import NUMBERS, kind_of
from scriptschema.fuzzing.operators.mutation import Mutation
from scriptschema.fuzzing.operators.parts import replace
from scriptschema.fuzzing.operators.running import FAMILIES, is_delicate, is_operand
from scriptschema.generation.programs import nodes
from scriptschema.luau.operators import BINARY


def change_operator(mut: Mutation, number: int) -> bool:
    """Replace an operator with another that takes the same kinds of operands."""
    node: Any = mut.index.nodes[number]
    members = [op for op in type(node.op) if op != node.op]
    blind = mut.blind()
    if not blind:
        context = mut.context(number)
        operands = [node.left, node.right] if isinstance(node, m.ExprBinary) else []
        known = operands and all(kind_of(o, context.variables) in NUMBERS for o in operands)
        if context.condition or context.repeats or not known:
            return False
        members = [op for f in FAMILIES if node.op in f for op in f if op != node.op]
    if not members:
        return False
    op = members[mut.below(len(members))]
    safe = not blind and BINARY[op][1:] == BINARY[node.op][1:]  # needs the same parentheses
    return mut.change(number, _setting("op", op), safe=safe)


def change_number(mut: Mutation, number: int) -> bool:
    """Change a number to a nearby number or to a boundary value such as 2^31 - 1."""
    node: Any = mut.index.nodes[number]
    old = node.val
    if mut.programs:
        if is_delicate(mut, number):
            return False
        new = old + 1 + mut.below(3) if mut.below(2) else max(old - 1 - mut.below(3), 0)
        if abs(old) > 100 or (is_operand(mut, number) and mut.below(4) == 0):
            new = mut.choices.int32()
    else:
        new = (old + 1, old - 1, -old, INTEGERS[mut.below(len(INTEGERS))])[mut.below(4)]
    new = min(max(new, INT32_MIN), INT32_MAX)
    safe = mut.is_free(mut.index.parents[number])
    return new != old and mut.change(number, _setting("val", new), safe=safe)


def change_string(mut: Mutation, number: int) -> bool:
    """Replace a string with another, or insert or delete a part of it."""
    node: Any = mut.index.nodes[number]
    if mut.programs and is_delicate(mut, number):
        return False
    old = node.val
    new = mut.choices.string()
    cut = mut.below(len(old) + 1)
    new = (new, old[:cut] + new + old[cut:], old[:cut], old[cut:] + old[:cut])[mut.below(4)]
    safe = new.isascii() and mut.is_free(mut.index.parents[number])
    return new != old and mut.change(number, _setting("val", new[:4000]), safe=safe)


def change_flag(mut: Mutation, number: int) -> bool:
    """Change `true` to `false`, or `false` to `true`."""
    node: Any = mut.index.nodes[number]
    if mut.programs and mut.context(number).condition:
        return False
    return mut.change(number, _setting("val", not node.val), safe=True)


def change_name(mut: Mutation, number: int) -> bool:
    """Replace a variable with another one in scope that has the same kind."""
    node: Any = mut.index.nodes[number]
    if isinstance(node, m.ExprLocal):
        context = mut.context(number)
        old = node.var.name
        kind = context.variables.get(old)
        names = [n for n, k in context.variables.items() if n != old and (k == kind or mut.blind())]
        if not names or (mut.programs and (kind is None or context.condition or context.repeats)):
            return False
        new = names[mut.below(len(names))]
        return mut.change(number + 1, _setting("name", new), safe=True)  # its Local
    if mut.programs and not mut.blind():
        return False
    field = node.which if isinstance(node, m.Name) else next(iter(node.FIELDS))
    index = mut.choices.int32()
    if field is None or getattr(node, field) == index:
        return False
    return mut.change(number, _setting(field, index))


def change_optional(mut: Mutation, number: int) -> bool:
    """Set or clear an optional field or a oneof alternative, such as an `else` branch."""
    node: Any = mut.index.nodes[number]
    fields = [f for f in node.FIELDS.values() if f.rule == "optional"]
    field = fields[mut.below(len(fields))]
    name = field.name
    is_set = getattr(node, name) is not None
    new: Any = None
    blind = mut.blind()
    if not blind:
        if not is_set and name == "else_":
            new = mut.statement(mut.context(number), 10, mut.levels(number) - 3)
            new = new and m.StatBlock(body=[new])
        elif not is_set and name == "step":
            new = nodes.number(1 + mut.below(3))
        elif name not in ("else_", "elseif"):
            return False
    elif not is_set:
        new = mut.generated(field.type, number) if field.is_message else mut.choices.int32()
    if not is_set and new is None:
        return False
    return mut.change(number, _setting(name, new), safe=not blind)


def change_type(mut: Mutation, number: int) -> bool:
    """Add, remove or replace a type annotation."""
    node: Any = mut.index.nodes[number]
    if isinstance(node, m.Type):
        return replace(mut, number)
    if isinstance(node, m.ExprFunction):
        most = len(node.args) + (node.vararg and node.vararg_pack is None)
    else:
        most = len(node.vars)
    room = most - len(node.types)
    if node.types and (room <= 0 or mut.below(2)):
        is_next_written = len(node.types) == 1 or node.types[-2].which != "omitted"
        return mut.change(number, lambda node: node.types.pop(), safe=is_next_written)
    new = mut.type(number) if room > 0 else None
    if new is None:
        return False
    return mut.change(number, lambda node: node.types.append(new), safe=True)


def _setting(name: str, value: Any) -> Callable[[Any], None]:
    return lambda node: setattr(node, name, value)
