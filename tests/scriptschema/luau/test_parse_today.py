"""Today's Luau becomes a tree and the same tokens again, if a version is requested.

There is a source for each construct. The reference is the real Luau, in tests/luau/.
"""

from __future__ import annotations

import math

import pytest
from extended import extended_tree
from hypothesis import given
from hypothesis import strategies as st

from scriptschema import messages as m
from scriptschema import wire
from scriptschema.base import walk
from scriptschema.luau.lexer import tokenize
from scriptschema.luau.literals import integer_text, integer_value, number_text, number_value
from scriptschema.luau.parse import ParseError, parse
from scriptschema.luau.render import render
from scriptschema.luau.repair import check, repair

CANONICAL = [
    "x = 0.5 + 1e100 - 1e-7 * 2147483648 / 1e999",
    "x = -0.5 y = -2147483648 z = -(0.5) ^ 2",
    "x //= y t.x[1] //= 2",
    "x = y :: T z = (y :: T).z f(... :: any, g() :: any)",
    "x = -y :: T ^ 2 z = (x + y) :: T a = (y :: T) :: U b = (-1) :: T",
    "x = (y :: T) < z w = (a + y :: T) < z v = a + (y :: T) < z u = y :: T == z",
    "x = (-y :: T) < z w = (y :: T | U) < z v = (y :: () -> T) < z u = y :: {T} < z t = -y < z",
    "x = (y :: () -> ...T) < z w = y :: () -> (T, ...U) < z v = y :: () -> ...{T} < z",
    "x = (if a then b else c) :: T y = if a then b else c :: T",
    "x = `{ {} :: T}`",
    "for i: number = 1, 2 do end",
    "for k: string, v in next, t do end for k, v: {T} in t do end",
    "local a, b: T function f(a, b: T, ...: U) end",
    "function f<T...>(...: T...): T... end",
    "function f(): () end function g(): ...T end function h(): (T, ...U) end",
    "local f: (a: T, T, b: T, ...U) -> (V, ...W) local g: <T...>(T...) -> T...",
    "local g: () -> () -> ()",
    "local x: A<T, U..., (T, U), ...V, T> local y: A<> local z: A<(), (T, ...U)>",
    "local x: keyof<T> local y: A<(T), T, (T, ...U), (T)> local z: A<(T & U)?, () -> T, (T) -> T>",
    "type A<T = U, V... = ...W> = T type B<T, U..., V... = (T, U)> = T",
    "type C<T... = U...> = T type D<T... = ()> = T",
    'type A = {read x: T, write [T]: U, y: T, ["a b"]: V, ["end"]: W, read: T}',
    "type A = {[string]: T, x: U} type B = {read T}",
    "local x: m.T, y: m.T<U> local m = f() local z: m.T<U, ...V>",
    "x = f<<T>>(1) y = t:m<<T, U...>>() z = f<<>> w = f<<(T, U), ...V>>.x[1]",
    'x = f "s" y = t:f {} f<<T>> "x" t.x:y "z"',
    "const x: T = 1 const a, b = f() const function f() end",
    "const = const + 1 export = export class = open local class = 1 open(class) type = 1",
    "export local x = 1 export const y: T, z = f() export function f() end",
    'export local x = require("./module0") const y = require("./module0")',
    "@native function f() end @checked local function g() end @deprecated const function h() end",
    "@native export function f() end x = @native function() end",
    '@[native, deprecated {use = "f", reason = "r"}] @checked @[a] function t:f() end',
    '@[a("x"), b(), c(nil, 1, 0.5, true, {1, x = {}}), d "x"] @e function f() end',
    "x = 5i y = 9223372036854775807i z = 0xffffffffffffffffi w = -5i v = -5i ^ 2",
    "type function f(x: T): U return x end export type function g<T>(...) end",
    "class A end class B extends A end class C extends m.x end class D extends m[1] end",
    "open class A public x public y: T function f(self) end public function g(): U end end",
    "export class A end export open class B extends A end",
]


def again(source: str, luau: str = "today") -> str:
    """Return the source after a round trip through a tree and its bytes, in one line."""
    result = parse(source, luau=luau)
    data = wire.encode(result.tree, luau=luau)
    tree = wire.decode(m.ModuleSet, data, luau=luau)
    return " ".join(render(tree.program, names=result.names).split())


@pytest.mark.parametrize("source", CANONICAL)
def test_todays_luau_comes_back_as_it_was_and_nothing_is_lost(source: str) -> None:
    assert again(source) == source
    assert parse(source, luau="today").losses == ()


def test_the_sources_here_have_every_message_and_every_field_of_the_extensions() -> None:
    seen = set()
    for source in CANONICAL:
        for node, _ in walk(parse(source, luau="today").tree):
            names = node.ALL_FIELDS
            seen |= {
                f"{type(node).__name__}.{n}" for n in names if getattr(node, n) not in (None, [])
            }
    extensions = {
        f"{field.message}.{name}"
        for fields in m.schema("today").fields.values()
        for name, field in fields.items()
        if field.message not in m.MESSAGES or field not in m.SEED
    }
    assert extensions - seen == set()


@pytest.mark.parametrize(
    ("luau", "source", "place", "found"),
    [
        ("0.710", "f()\n const x = 1", "2:2", "`const`, which requires Luau 0.711"),
        ("0.710", "@native const function f() end", "1:9", "`const`, which requires Luau 0.711"),
        ("0.722", "export local x = 1", "1:1", "an exported value, which requires Luau 0.723"),
        ("0.722", "export function f() end", "1:1", "an exported value, which requires Luau 0.723"),
        ("0.714", "x = 5i", "1:5", "an integer, which requires Luau 0.715"),
        (
            "0.700",
            "x = f<<T>>()",
            "1:6",
            "type arguments of a generic function, which requires Luau 0.701",
        ),
        (
            "0.686",
            "@[a] function f() end",
            "1:2",
            "an attribute in brackets, which requires Luau 0.687",
        ),
        ("0.720", "class A end", "1:1", "a class, which requires Luau 0.721"),
        ("0.731", "class A extends B end", "1:9", "`extends`, which requires Luau 0.732"),
        ("0.733", "open class A end", "1:1", "an open class, which requires Luau 0.734"),
    ],
)
def test_what_is_newer_than_requested_is_refused_with_its_version(
    luau: str, source: str, place: str, found: str
) -> None:
    with pytest.raises(ParseError) as caught:
        parse(source, luau=luau)
    assert str(caught.value) == f"{place}: expected syntax of Luau {luau}, found {found}"
    since = str(caught.value).rpartition(" ")[2]
    assert parse(source, luau=since).losses == ()


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("x = 9223372036854775808i", "1:5: expected a 64-bit integer"),
        ("x = 0x10000000000000000i", "1:5: expected a 64-bit integer"),
        ("x = 1.5i", "1:5: expected a 64-bit integer"),
        ("@[a(-1)] function f() end", "1:5: expected a literal"),
        ("@[a(x)] function f() end", "1:5: expected a literal"),
        ("@[a(5i)] function f() end", "1:5: expected a literal"),
        ("@[a(`{x}`)] function f() end", "1:5: expected a literal"),
        ("@[a `x`] function f() end", "1:5: expected `]`"),
        ("x = 1ii_", "1:5: expected a 64-bit integer"),
        ("x = 1i_2", "1:5: expected a number"),
        ('@[a {["x"] = 1}] function f() end', "1:6: expected a literal"),
        ("export local function f() end", "1:14: expected the name of a variable"),
        ("class A x end", "1:9: expected `function`, `end`, or `public` before a property"),
        ("function f(...: ...T) end", "1:17: expected a type"),
        ("export x = 1", "1:8: expected"),
        ("type A<T... = (a: B)> = C", "1:15: expected a type pack without parameter names"),
        (
            "type A<T... = (B, a: B, ...B)> = C",
            "1:15: expected a type pack without parameter names",
        ),
        ("function f(): (T, U, ...V) | W end", "1:28: expected a statement"),
        ("type A = (T, ...U) | V", "1:20: expected `->`"),
        ("type A = <T...>(U) | V", "1:20: expected `->`"),
        ("function f(): () -> (T, U)? end", "1:27: expected a statement"),
        ("function f(): () -> ()? end", "1:23: expected a statement"),
        ("function f(): () -> (...T)? end", "1:27: expected a statement"),
        ("function f(): (a: T) -> (U...) | V end", "1:32: expected a statement"),
        ("local x: A<(T, U)?>", "1:18: expected `>`"),
        ("local x: A<(T, ...U)?>", "1:21: expected `>`"),
        ("t:f\n<<T>>()", "2:6: expected the arguments of a call on the same line"),
        ("t:f<<\nT>>()", "2:4: expected the arguments of a call on the same line"),
        ("t:f<<T>>--[[\n]]()", "2:3: expected the arguments of a call on the same line"),
        ("t.f<<T>>\n()", "2:1: expected the arguments of a call on the same line"),
        ("@native export local x = 1", "1:9: expected `function` after an attribute"),
    ],
)
def test_what_luau_refuses_of_its_new_syntax_is_refused(source: str, error: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(source, luau="today")
    assert str(caught.value).startswith(error)


@pytest.mark.parametrize(
    ("source", "same"),
    [
        ("function f(): (T, ...U) | V end", "function f(): (T | V, ...U) end"),
        ("function f(): (T, U...)? end", "function f(): (T?, U...) end"),
        ("type A = (B) -> (T | U, ...V) & W", "type A = (B) -> ((T | U) & W, ...V)"),
        ("local x: () -> () -> (T, U)?", "local x: (() -> () -> (T, U))?"),
        ("local x: () -> () -> ...T | U", "local x: () -> () -> ...T | U"),
        ("function f(): () -> () -> (T)? end", "function f(): () -> () -> T? end"),
        ("local x: A<() -> (T, U)?>", "local x: A<(() -> (T, U))?>"),
        ("local x: A<(T)?, (T) & U>", "local x: A<T?, T & U>"),
    ],
)
def test_a_type_after_a_list_of_results_is_read_as_luau_reads_it(source: str, same: str) -> None:
    assert again(source) == same


@pytest.mark.parametrize(
    ("source", "same"),
    [
        ("x = 1i_ y = 0xF_i__", "x = 1i y = 15i"),
        (r"@[a {x = `y\``}] function f() end", '@[a {x = "y`"}] function f() end'),
        ("@[a(`x`, ``)] function f() end", '@[a("x", "")] function f() end'),
    ],
)
def test_constants_are_read_however_luau_lets_them_be_written(source: str, same: str) -> None:
    assert again(source) == same


@pytest.mark.parametrize("source", ["t.f\n<<\nT>>()", "t:f\n<<T>>\n{}", "t\n:\nf<<T>>()"])
def test_a_call_with_types_may_be_on_several_lines_where_luau_accepts_it(source: str) -> None:
    assert parse(source, luau="today").losses == ()


@pytest.mark.parametrize("source", ["x = 5i", "export local x = 1", "class A end"])
def test_without_a_version_what_the_seed_cannot_take_is_refused_as_ever(source: str) -> None:
    with pytest.raises(ParseError):
        parse(source)


@given(st.floats(allow_nan=False))
def test_a_number_is_written_so_that_it_is_read_as_the_same_double(value: float) -> None:
    text = number_text(value)
    assert number_value(text.removeprefix("-")) == abs(value)
    assert text.startswith("-") == (math.copysign(1, value) < 0)
    assert len(text) <= len(repr(value)) or math.isinf(value)


CONSTANTS = st.one_of(
    st.builds(
        lambda value: m.Expr(number=m.ExprConstantNumber(val=value)),
        st.integers(-(2**31), 2**31 - 1),
    ),
    st.builds(
        lambda value: m.Expr(number=m.ExprConstantNumber(val=0, double=value)),
        st.floats(allow_nan=False),
    ),
    st.builds(
        lambda value: m.Expr(integer=m.ExprConstantInteger(val=value)),
        st.integers(-(2**63), 2**63 - 1),
    ),
)


@given(CONSTANTS)
def test_a_minus_before_any_constant_reads_back_as_the_repaired_tree(constant: m.Expr) -> None:
    minus = m.Expr(unary=m.ExprUnary(op=m.ExprUnary.Op.Minus, expr=constant))
    tree = m.ModuleSet(program=m.StatBlock(body=[m.Stat(return_=m.StatReturn(list=[minus]))]))
    repaired = repair(tree)
    [statement] = parse(render(repaired.program), luau="today").tree.program.body
    [statement_of_repaired] = repaired.program.body
    assert statement.return_ is not None
    assert statement_of_repaired.return_ is not None
    [[read], [written]] = statement.return_.list, statement_of_repaired.return_.list
    assert read.which == written.which


@given(st.integers(-(2**63), 2**63 - 1))
def test_an_integer_is_written_as_one_constant_that_is_read_as_it(value: int) -> None:
    assert integer_value(integer_text(value)) == value
    tree = parse(f"return {integer_text(value)}", luau="today").tree.program
    assert tree.body[0].return_ is not None
    assert tree.body[0].return_.list == [m.Expr(integer=m.ExprConstantInteger(val=value))]


@pytest.mark.parametrize(
    ("source", "without_types"),
    [
        ("x = y :: T + 1", "x = y + 1"),
        ("x = (a + b) :: T * 2", "x = (a + b) * 2"),
        ("x = f() :: T y = ... :: T", "x = (f()) y = (...)"),
        ("x = f<<T>>(1) y = t:m<<T>>()", "x = f(1) y = t:m()"),
        ("type function f() end export local x: T = 1", "export local x = 1"),
        ("for i: T = 1, 2 do end for k: T in t do end", "for i = 1, 2 do end for k in t do end"),
        ("function f<T...>(...: T...): () end", "function f(...) end"),
        ("class A public x: T end", "class A public x end"),
    ],
)
def test_types_can_be_left_out_of_todays_luau(source: str, without_types: str) -> None:
    result = parse(source, luau="today")
    text = render(result.tree.program, names=result.names, types=False)
    assert " ".join(text.split()) == without_types


def test_what_is_not_set_is_marked_where_it_stands() -> None:
    pack = m.TypePack()
    omitted = m.Type(omitted=m.TypeOmitted())
    function = m.TypeFunction(argtail=pack, rets=[omitted])
    assert render(function) == "( --[[unset]]) ->  --[[unset]]"
    assert render(m.ExprConstantNumber(val=0, double=math.nan)) == "(0 / 0)"


def tokens(source: str) -> list[str]:
    return tokenize(source).texts


@given(st.integers(0, 2**32), st.sampled_from(["0.677", "0.711", "today"]))
def test_a_valid_tree_of_a_version_is_printed_so_that_it_is_read_again(
    seed: int, luau: str
) -> None:
    tree = repair(extended_tree(m.schema(luau), m.StatBlock, seed, 9), luau=luau)
    assert check(tree, luau=luau) == []
    source = render(tree)
    result = parse(source, luau=luau)
    assert result.losses == ()
    assert tokens(render(result.tree.program, names=result.names)) == tokens(source)
