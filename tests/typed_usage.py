"""How a typed caller uses the packages. mypy --strict reads this file, and nothing runs it."""

from typing import Literal, assert_type

from hypothesis import given
from hypothesis.strategies import SearchStrategy

from scriptschema import Message, Path, interop, messages, strategies, walk, wire
from scriptschema.generation.trees import generate
from scriptschema.luau.repair import repair
from scriptschema.messages import Expr, ExprBinary, ExprConstantNumber, ModuleSet, Name, StatBlock

one = Expr(number=ExprConstantNumber(val=1))
total = ExprBinary(op=ExprBinary.Op.Add, left=one, right=one)
assert_type(total.left, Expr)
assert_type(total.op, ExprBinary.Op)
assert_type(one.number, ExprConstantNumber | None)
assert_type(Name(custom=1).which, Literal["builtin", "custom"] | None)
assert_type(total.which, str | None)
assert_type(StatBlock().body, list[messages.Stat])

data = wire.encode(total)
assert_type(data, bytes)
assert_type(bytes(total), bytes)
assert_type(wire.decode(ExprBinary, data), ExprBinary)
assert_type(ExprBinary.loads(data), ExprBinary)
assert_type(interop.from_text(Expr, "nil {}"), Expr)
assert_type(generate(seed=1), ModuleSet)
assert_type(generate(Expr, seed=1, size=10), Expr)
assert_type(strategies.messages(Expr), SearchStrategy[Expr])
assert_type(strategies.sources(types="sound", size=50, names=None), SearchStrategy[str])
assert_type(repair(ModuleSet(program=StatBlock())), ModuleSet)

for node, path in walk(total):
    assert_type(node, Message)
    assert_type(path, Path)

classes: list[type[Message]] = list(messages.MESSAGES.values())


@given(strategies.exprs(size=20))
def test_with_a_typed_argument(expr: Expr) -> None:
    assert wire.decode(Expr, wire.encode(expr)) == expr


try:
    ExprBinary(op=ExprBinary.Op.Add, left=one)  # type: ignore[call-arg]  # right is required
    ExprBinary(op=3, left=one, right=one)  # type: ignore[arg-type]  # no member of the enum
    Expr(one)  # type: ignore[call-arg, arg-type]  # keywords only
    strategies.module_sets(sise=3)  # type: ignore[call-arg]  # no such option
    strategies.damaged(Expr, size="3")  # type: ignore[arg-type]
    strategies.sources(types="sond")  # type: ignore[arg-type]  # no such annotations
    strategies.exprs(wrong=0.5)  # type: ignore[call-arg]  # an option of programs
    if one.which == "numbr":  # type: ignore[comparison-overlap]  # no alternative
        pass
except ValueError:
    pass
