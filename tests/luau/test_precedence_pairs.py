"""For every pair of operators, `render` prints the parentheses that the tree needs, and no others.

The reference is the real Luau: for each tree, it evaluates the printed text and the same tree with
every operand in parentheses (from a printer in this test), with the same values.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from limits import a_local, binary
from real_luau import RealLuau

from scriptschema.luau.operators import BINARY, UNARY
from scriptschema.luau.parse import ParseError, parse
from scriptschema.luau.render import render
from scriptschema.messages import (
    Expr,
    ExprBinary,
    ExprConstantNumber,
    ExprIfElse,
    ExprLocal,
    ExprUnary,
)

VALUES = "{2, -3, '12', false}"


def unary(op: ExprUnary.Op, expr: Expr) -> Expr:
    return Expr(unary=ExprUnary(op=op, expr=expr))


def pairs() -> Iterator[tuple[Expr, Expr]]:
    """Yield both ways to nest each pair of binary operators."""
    x, y, z = map(a_local, range(3))
    for one in ExprBinary.Op:
        for two in ExprBinary.Op:
            yield binary(two, binary(one, x, y), z), binary(one, x, binary(two, y, z))


def trees() -> Iterator[Expr]:
    x, y, z = map(a_local, range(3))
    minus_two = Expr(number=ExprConstantNumber(val=-2))
    choice = Expr(ifelse=ExprIfElse(cond=x, then=y, else_=z))
    for left, right in pairs():
        yield from (left, right)
    for u in ExprUnary.Op:
        yield from (unary(u, minus_two), unary(u, choice))
        yield from (unary(u, unary(other, x)) for other in ExprUnary.Op)
        yield from (unary(u, unary(other, minus_two)) for other in ExprUnary.Op)
    for op in ExprBinary.Op:
        yield from (binary(op, minus_two, x), binary(op, x, minus_two))
        yield from (binary(op, choice, x), binary(op, x, choice))
        for u in ExprUnary.Op:
            yield unary(u, binary(op, x, y))
            yield unary(u, binary(op, minus_two, y))
            yield binary(op, unary(u, x), y)
            yield binary(op, x, unary(u, y))
            yield binary(op, x, unary(u, minus_two))
            yield binary(op, unary(u, choice), z)


def larger_trees() -> Iterator[Expr]:
    """Yield trees with two binary operators and at least one operand that is not a variable."""
    x, y, z = map(a_local, range(3))
    minus_two = Expr(number=ExprConstantNumber(val=-2))
    choice = Expr(ifelse=ExprIfElse(cond=x, then=y, else_=z))
    for op in ExprBinary.Op:
        for other in ExprBinary.Op:
            yield binary(op, binary(other, x, choice), z)
            yield binary(op, x, binary(other, choice, z))
            yield binary(op, binary(other, x, minus_two), z)
            for u in ExprUnary.Op:
                yield binary(op, x, unary(u, binary(other, y, z)))
                yield binary(op, unary(u, binary(other, x, y)), z)
                yield binary(op, binary(other, x, unary(u, y)), z)
                yield binary(op, binary(other, x, unary(u, choice)), z)


TREES = list(trees())
LARGER = list(larger_trees())
SOME_LARGER = random.Random(4).sample(LARGER, 600)


def plain(expr: Expr) -> str:
    """Return the text of a tree with everything in parentheses."""
    node = expr.alternative
    match node:
        case ExprLocal():
            return f"v{node.var.name}"
        case ExprConstantNumber():
            return f"({node.val})"
        case ExprUnary():
            return f"({UNARY[node.op]}({plain(node.expr)}))"
        case ExprBinary():
            return f"(({plain(node.left)}) {BINARY[node.op][0]} ({plain(node.right)}))"
        case ExprIfElse():
            assert node.else_ is not None
            parts = plain(node.cond), plain(node.then), plain(node.else_)
            return "(if {} then {} else {})".format(*parts)
    raise AssertionError(node)


def comparison(one: str, two: str, number: int) -> str:
    """Return Luau code that prints the number if two expressions differ for some values."""
    return (
        f"if differ(function(v0, v1, v2) return {one} end, "
        f"function(v0, v1, v2) return {two} end) then print({number}) end\n"
    )


PRELUDE = f"""
local values = {VALUES}
local function outcome(f, a, b, c)
  local ok, value = pcall(f, a, b, c)
  return if ok then type(value) .. tostring(value) else "error"
end
function differ(f, g)
  for i = 1, #values do
    for j = 1, #values do
      for k = 1, #values do
        local a, b, c = values[i], values[j], values[k]
        if outcome(f, a, b, c) ~= outcome(g, a, b, c) then return true end
      end
    end
  end
  return false
end
"""


def differing(luau: RealLuau, texts: list[tuple[str, str]]) -> list[int]:
    """Return the positions of the pairs of expressions whose values differ in the real Luau."""
    found: list[int] = []
    for start in range(0, len(texts), 100):
        chunk = texts[start : start + 100]
        program = PRELUDE + "".join(
            comparison(one, two, start + number) for number, (one, two) in enumerate(chunk)
        )
        answer = luau.run(program, milliseconds=60_000)
        assert answer.error is None, answer.error
        found += map(int, answer.output.split())
    return found


def test_precedence_of_what_is_printed_is_that_of_the_tree(luau: RealLuau) -> None:
    texts = [(render(tree), plain(tree)) for tree in TREES + SOME_LARGER]
    wrong = differing(luau, texts)
    assert [texts[number] for number in wrong] == []


def test_precedence_test_can_tell_trees_apart(luau: RealLuau) -> None:
    """The values show for most pairs of operators which of the two is evaluated first."""
    texts = [(plain(left), plain(right)) for left, right in pairs()]
    assert len(differing(luau, texts)) > 0.8 * len(texts)


def test_precedence_is_read_as_it_is_printed() -> None:
    for tree in TREES + LARGER:
        assert read(render(tree)) == tree


def read(text: str) -> Expr | None:
    try:
        [stat] = parse(f"local v0, v1, v2; return {text}").tree.program.body[1:]
    except ParseError:
        return None
    assert stat.return_ is not None
    values = stat.return_.list
    return values[0] if len(values) == 1 else None  # none after `--`, which begins a comment


def test_precedence_needs_every_parenthesis_that_is_printed() -> None:
    count = 0
    for tree in TREES + LARGER:
        text = render(tree)
        for opening in re.finditer(r"\(", text):
            depth = 0
            for closing in range(opening.start(), len(text)):
                depth += {"(": 1, ")": -1}.get(text[closing], 0)
                if depth == 0:
                    break
            without = text[: opening.start()] + text[opening.end() : closing] + text[closing + 1 :]
            assert read(without) != tree, text
            count += 1
    assert count > 1000
