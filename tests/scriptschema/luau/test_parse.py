"""Luau sources become trees: each piece of syntax, reported losses, and error messages.

tree-sitter-luau, a grammar by other authors, is the reference for what it covers; the real Luau is
the reference in tests/luau/. Most tests look at the tree through `render`, which has its own tests.
"""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import pytest
import tree_sitter
import tree_sitter_luau
from hypothesis import example, given
from hypothesis import strategies as st

from scriptschema.base import walk
from scriptschema.luau.literals import number_expression, number_value, string_value
from scriptschema.luau.names import DEFAULT, NameReader, Names
from scriptschema.luau.operators import BINARY, UNARY
from scriptschema.luau.parse import Loss, ParseError, parse
from scriptschema.luau.render import render, render_module_set
from scriptschema.messages import (
    ENUMS,
    MESSAGES,
    Expr,
    ExprBinary,
    ExprCall,
    ExprConstantNumber,
    ExprConstantString,
    ExprFunction,
    ExprGroup,
    ExprTable,
    ExprUnary,
    Message,
    StatForIn,
    StatIf,
    StatLocal,
    StatRepeat,
    StatRequireIntoLocalHelper,
    StatReturn,
    StatWhile,
    TypeBoolean,
    TypeClass,
    TypeLiteral,
    TypePrimitive,
    TypeRef,
    TypeString,
)

EXAMPLES = Path(__file__).parents[3] / "examples" / "luau"
SOURCES = {path.stem: path.read_bytes() for path in sorted(EXAMPLES.glob("*.luau"))}


def again(source: str) -> str:
    """Return the source after a round trip through a tree, in one line."""
    result = parse(source)
    return " ".join(render(result.tree.program, names=result.names).split())


def losses(source: str) -> list[str]:
    return [str(loss) for loss in parse(source).losses]


def error_of(source: str | bytes) -> str:
    with pytest.raises(ParseError) as caught:
        parse(source)
    return str(caught.value)


def found(source: str, cls: type[Message]) -> list[Message]:
    """Return the messages of a class in the source's tree."""
    return [message for message, _ in walk(parse(source).tree) if type(message) is cls]


def value_of(expr: Expr) -> float:
    """Return the value of a numeric expression."""
    node = expr.alternative
    if isinstance(node, ExprConstantNumber):
        return float(node.val)
    assert isinstance(node, ExprBinary)
    left, right = value_of(node.left), value_of(node.right)
    match node.op:
        case ExprBinary.Op.Add:
            return left + right
        case ExprBinary.Op.Mul:
            return left * right
        case ExprBinary.Op.Pow:
            return left**right
        case ExprBinary.Op.Div:
            return left / right if right else float("inf")
    raise AssertionError(node.op)


# Syntax


@pytest.mark.parametrize(
    "source",
    [
        "f(1, nil, true, ...)",
        "local a, b = 1",
        "local x: number?, y: string | number = nil",
        "a, b.c, d[1] = 1, f()",
        "a += 1 b.c -= 2 d[1] *= 3 a /= 4 a %= 5 a ^= 6 a ..= 7",
        "if a then b() elseif c then d() else e() end",
        "if a then else if b then end end",
        "while a do break end",
        "repeat local a until a",
        "for i = 1, 2 do continue end",
        "for i = 1, 2, 3 do end",
        "for k, v in next, t do end",
        "function a.b.c:d(e, ...) end",
        "local function f() return f end",
        "do do end end",
        "return function() end, {1, a = 2, [3] = 4}",
        "a.b:c(1)(2)[3].d = 4",
        "x = if a then b elseif c then d else e",
        "x = `a{b}c{`d{e}`}`",
        'x = ("s"):rep(2)',
        "type A<T, U...> = {a: T, [string]: number}",
        "export type B = (A<number, T...> & {}) | \"s\" | true | nil",
        "local f: <T, U...>(T, () -> ()) -> (T, number)",
        "local f: typeof(x.y)",
        "function f<T, U...>(a: T, ...: number): (T, {T}) end",
    ],
)  # fmt: skip
def test_canonical_source_comes_back_as_it_was(source: str) -> None:
    assert again(source) == source
    assert losses(source) == []


def test_a_type_of_a_module_in_a_local_called_typeof_is_read() -> None:
    assert again("local typeof = {} type A = typeof.B") == "local typeof = {} type A = typeof.B"


@pytest.mark.parametrize(
    ("source", "canonical"),
    [
        ("f'x' f[[y]] f{z}", 'f("x") f("y") f({z})'),
        ("a = 1; b = 2;", "a = 1 b = 2"),
        ("t = {1; 2, a = 3,}", "t = {1, 2, a = 3}"),
        ("x = 0x1F + 0b11 + 1_0 + 1e2 + 3.", "x = 31 + 3 + 10 + 100 + 3"),
        ("local x: | A | (((B))) | nil", "local x: A | B | nil"),
        ("local x: & A & B", "local x: A & B"),
        ("local x: A<(T)?, (U) -> V>", "local x: A<T?, (U) -> V>"),
        ("local x: nil | number", "local x: nil | number"),
        ("local x: {[number]: string}", "local x: {string}"),
        ('local x: {x: number; ["y"]: string;}', "local x: {x: number, y: string}"),
        ("local x: (number) -> ((string))", "local x: (number) -> string"),
        ('x = `a{"b"}c{""}{1}`', "x = `abc{1}`"),
        ("x = ((a + b)) * (c) - (d * e)", "x = ((a + b)) * (c) - (d * e)"),
        ("x = -(1) - -(-2) - (-3)^2 - -3^2", "x = -(1) - -(-2) - (-3) ^ 2 - -3 ^ 2"),
    ],
)  # fmt: skip
def test_spelling_is_not_kept_and_not_listed(source: str, canonical: str) -> None:
    assert again(source) == canonical
    assert losses(source) == []


@pytest.mark.parametrize(
    ("source", "groups"),
    [
        ("x = (a + b) * c", 0),
        ("x = a * (b + c)", 0),
        ("x = (a * b) + c", 1),
        ("x = ((a + b)) * c", 2),
        ("x = a - (b - c)", 0),
        ("x = (a - b) - c", 1),
        ("x = (a ^ b) ^ c", 0),
        ("x = a ^ (b ^ c)", 1),
        ("x = -(a ^ b)", 1),
        ("x = (-a) ^ b", 0),
        ("x = not (a == b)", 0),
        ("x = (not a) == b", 1),
        ("x = (-2) ^ 2", 0),
        ("x = (if a then b else c) + d", 0),
        ("x = a + (if b then c else d)", 1),
        ("x = (f())", 1),
        ("x = (a).b", 1),
        ("x = (a + b :: any) * c", 0),
        ("x = (a + b) :: any * c", 0),
    ],
)
def test_a_group_stays_only_where_the_structure_does_not_need_it(source: str, groups: int) -> None:
    assert len(found(source, ExprGroup)) == groups


def test_a_minus_belongs_to_the_constant_only_where_it_is_all_of_the_operand() -> None:
    def numbers(source: str) -> tuple[list[int], int]:
        constants = [m.val for m in found(source, ExprConstantNumber)]  # type: ignore[attr-defined]
        return constants, len(found(source, ExprUnary))

    assert numbers("x = -5") == ([-5], 0)
    assert numbers("x = - 5") == ([-5], 0)
    assert numbers("x = - -5") == ([-5], 1)
    assert numbers("x = -0") == ([0], 1)
    assert numbers("x = -(5)") == ([5], 1)
    assert numbers("x = -5 ^ 2") == ([5, 2], 1)
    assert numbers("x = 2 ^ -5") == ([2, -5], 0)
    assert numbers("x = a - 5") == ([5], 0)
    assert numbers("x = not -5") == ([-5], 1)
    assert numbers("x = -2147483648") == ([-2147483648], 0)
    assert numbers("x = -5 :: number") == ([-5], 0)


@pytest.mark.parametrize(
    ("source", "globals_"),
    [
        ("local a = a", ["a"]),
        ("local a = a a()", ["a"]),
        ("local function a() return a end", []),
        ("local a = function() return a end", ["a"]),
        ("do local a end a()", ["a"]),
        ("repeat local a until a", []),
        ("repeat local a until a a()", ["a"]),
        ("for a = a, a do a() end a()", ["a", "a", "a"]),
        ("for a, b in a, b do a() b() end", ["a", "b"]),
        ("if x then local a end a()", ["x", "a"]),
        ("local a if x then local a end a()", ["x"]),
        ("function t:m() return self end return self", ["t", "self"]),
        ("function t.m() return self end", ["t", "self"]),
        ("function f(a, ...) a() end a()", ["f", "a"]),
        ("local a, b = b, a", ["b", "a"]),
        ("local x = 1 x //= y", ["y"]),
    ],
)  # fmt: skip
def test_a_name_means_the_local_in_scope_there_or_else_the_global(
    source: str, globals_: list[str]
) -> None:
    result = parse(source)
    names = [
        result.names.global_(message.name)  # type: ignore[attr-defined]
        for message, _ in walk(result.tree)
        if type(message).__name__ == "ExprGlobal"
    ]
    assert names == globals_


@pytest.mark.parametrize(
    "source",
    [
        "type(x)",
        "type = 1",
        "type.x += 1",
        'type"x"',
        "local type, export, continue, const, read = 1",
        "continue = 1",
        "continue.x = 1",
        "continue()",
        "export = const",
        "const = 1",
        "const(1)",
        "t.type = t.continue",
        "t = {type = 1, export = 2, continue = 3, const = 4}",
        "goto = class",
        "type type = number",
        "export type export = number",
        "local x: {type: number, read: number, write: string}",
    ],
)
def test_words_that_are_keywords_only_here_and_there_stay_names(source: str) -> None:
    assert again(source).split()[0] == source.split()[0].replace('type"x"', 'type("x")')
    assert losses(source) == []


def test_types_are_distinguished_by_what_the_source_declares() -> None:
    source = "type T = number local a: T, b: number, c: Part, d: Other, e: Other<T>, f: never"
    assert len(found(source, TypeLiteral)) == 3
    assert len(found(source, TypePrimitive)) == 3
    assert len(found(source, TypeClass)) == 2
    assert len(found("function f<T>(x: T): T end local y: T", TypeLiteral)) == 2
    assert len(found("local a: <T>(T) -> T local b: T", TypeLiteral)) == 2
    assert len(found("type A<T> = T local b: T", TypeLiteral)) == 1
    assert len(found("local m = f() local x: m.T", TypeRef)) == 1
    assert len(found("local x: 'a' | true", TypeString)) == 1
    assert len(found("local x: 'a' | true", TypeBoolean)) == 1


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ('local m = require("./module0")', [0]),
        ("local m = require('./module12')", [12]),
        ('local m = require("./module-7")', [-7]),
        ('local m = require("./module07")', []),
        ('local m = require("./module99999999999")', []),
        ('local m = require("./module9999999999")', []),
        ('local m = require("./other")', []),
        ('local m: any = require("./module0")', []),
        ('local m, n = require("./module0")', []),
        ('local m = require("./module0"), 1', []),
        ('local m = require "./module0"', []),
        ('local m = require("./module0").x', []),
        ('local require local m = require("./module0")', []),
        ('m = require("./module0")', []),
    ],
)
def test_a_require_of_a_module_is_told_from_any_other_call(source: str, modules: list[int]) -> None:
    helpers = found(source, StatRequireIntoLocalHelper)
    assert [helper.modulenum for helper in helpers] == modules  # type: ignore[attr-defined]


def test_a_module_is_read_into_the_same_tree_with_the_same_names() -> None:
    program = 'local m = require("./module0") return m.value, other'
    result = parse(program, module="return {value = 1, other = 2}")
    sources = render_module_set(result.tree, names=result.names)
    assert sources.module == "return {value = 1, other = 2}\n"
    assert sources.program.split() == program.split()
    assert "value" in result.names.customs
    with pytest.raises(ParseError, match=r"^1:1: ") as caught:
        parse("return 1", module="x")
    assert caught.value.source == "module"
    assert [loss.source for loss in parse("--p", module="--m").losses] == ["module", "program"]


def test_the_examples_have_every_message_every_field_and_every_operator() -> None:
    """So tests with them cover the whole language."""
    seen = set()
    for name, source in SOURCES.items():
        module = SOURCES["module0"] if name == "program" else None
        for message, _ in walk(parse(source, module=module).tree):
            seen.add(type(message).__name__)
            for field in type(message).FIELDS.values():
                value = getattr(message, field.name)
                if value not in (None, []):
                    seen.add(f"{field.message}.{field.name}")
                if value is not None and field.type in ENUMS.values():
                    seen.add(f"{field.type_name}.{value.name}")
    wanted = set(MESSAGES)
    wanted |= {f"{name}.{field}" for name, cls in MESSAGES.items() for field in cls.FIELDS}
    wanted |= {f"{name}.{value.name}" for name, enum in ENUMS.items() for value in enum}
    assert wanted - seen == set()


# What the schema cannot say


@pytest.mark.parametrize(
    ("source", "program", "listed"),
    [
        ("--!strict\n--[[x\n]] f()-- y", "f()", [
            "1:1: directive: dropped",
            "2:1: comment: dropped",
            "3:7: comment: dropped",
        ]),
        ("#!/bin/luau\nf()", "f()", ["1:1: comment: dropped"]),
        ("-- a carriage return ends it\rf()", "f()", ["1:1: comment: dropped"]),
        ("x = 0.5", "x = 1 / 2", ["1:5: number 0.5: `1 / 2`, which has the same value"]),
        ("x = -0.5", "x = -(1 / 2)", ["1:6: number 0.5: `1 / 2`, which has the same value"]),
        ("x = 2147483648", "x = 2 ^ 31", [
            "1:5: number 2147483648: `2 ^ 31`, which has the same value",
        ]),
        ("x = 1e999", "x = 1 / 0", ["1:5: number 1e999: `1 / 0`, which has the same value"]),
        ("x //= y", "x = x // y", ["1:3: `//=`: `x = x // y`"]),
        ("x.y //= z", "x.y = x.y // z", ["1:5: `//=`: `x = x // y`"]),
        ("x[1] //= z", "x[1] = x[1] // z", ["1:6: `//=`: `x = x // y`"]),
        ("x.y.z //= f()", "do local object = x.y object.z = object.z // f() end", [
            "1:7: `//=`: `x = x // y` with `x` held in local variables",
        ]),
        ("(f()).y //= z", "do local object = (f()) object.y = object.y // z end", [
            "1:9: `//=`: `x = x // y` with `x` held in local variables",
        ]),
        (
            "local object object[key()] //= key_",
            "local object do local key__ = key() object[key__] = object[key__] // key_ end",
            ["1:28: `//=`: `x = x // y` with `x` held in local variables"],
        ),
        (  # `f` may assign to `t`, which Luau reads first
            "t[f()] //= 3",
            "do local object = t local key = f() object[key] = object[key] // 3 end",
            ["1:8: `//=`: `x = x // y` with `x` held in local variables"],
        ),
        (
            "local t function g() t[f()] //= 3 end",
            (
                "local t function g() do local object = t local key = f() "
                "object[key] = object[key] // 3 end end"
            ),
            ["1:29: `//=`: `x = x // y` with `x` held in local variables"],
        ),
        (
            "local t function g(t) t[f()] //= 3 t.a //= 3 end",
            "local t function g(t) do local key = f() t[key] = t[key] // 3 end t.a = t.a // 3 end",
            [
                "1:30: `//=`: `x = x // y` with `x` held in local variables",
                "1:40: `//=`: `x = x // y`",
            ],
        ),
        ("x = f() :: any", "x = (f())", ["1:9: cast: dropped"]),
        ("x = {... :: any, a :: any}", "x = {(...), a}", [
            "1:10: cast: dropped",
            "1:20: cast: dropped",
        ]),
        ("const x: T = 1", "local x: T = 1", ["1:1: `const`: `local`"]),
        ("const function f() end", "local function f() end", ["1:1: `const`: `local`"]),
        ("@native function f() end", "function f() end", ["1:1: attribute: dropped"]),
        ('@[native, deprecated {use = "x"}]\nlocal function f() end', "local function f() end", [
            "1:1: attribute: dropped",
        ]),
        ("@native const function f() end", "local function f() end", [
            "1:1: attribute: dropped",
            "1:9: `const`: `local`",
        ]),
        ("x = @a @b function() end", "x = function() end", [
            "1:5: attribute: dropped",
            "1:8: attribute: dropped",
        ]),
        ("export type function f(x) return x end g()", "g()", ["1:8: type function: dropped"]),
        ("for i: number = 1, 2 do end", "for i = 1, 2 do end", [
            "1:5: type of a loop's variable: dropped",
        ]),
        ("local a, b: T", "local a: any, b: T", [
            "1:7: name without a type before one with a type: the type is `any`",
        ]),
        ("function f(a, ...: T) end", "function f(a: any, ...: T) end", [
            "1:12: name without a type before one with a type: the type is `any`",
        ]),
        ("function f(...: T...) end", "function f(...) end", [
            "1:12: generic pack as the type of `...`: dropped",
        ]),
        ("function f(): () end", "function f() end", ["1:13: return type `()`: dropped"]),
        ("function f(): T... end", "function f() end", [
            "1:15: generic pack as a return type: dropped",
        ]),
        ("local f: (a: T, ...U) -> (V, ...W)", "local f: (T) -> V", [
            "1:11: name of a parameter in a type: dropped",
            "1:17: variadic type: dropped",
            "1:30: variadic type: dropped",
        ]),
        ("local f: (T...) -> ...V", "local f: () -> ()", [
            "1:11: generic pack in a list of types: dropped",
            "1:20: variadic type: dropped",
        ]),
        ("local f: A<(T, U), ...V>", "local f: A<T, U>", [
            "1:12: types in parentheses: listed without the parentheses",
            "1:20: variadic type: dropped",
        ]),
        ("local f: A<(T), T, (T)?>", "local f: A<T, T, T?>", [
            "1:12: types in parentheses: listed without the parentheses",
        ]),
        ("type A<T = U, V... = (T, U)> = T", "type A<T, V...> = T", [
            "1:8: default of a generic type: dropped",
            "1:15: default of a generic type: dropped",
        ]),
        ("type A<T... = ...U> = B", "type A<T...> = B", [
            "1:8: default of a generic type: dropped",
            "1:15: variadic type: dropped",
        ]),
        ('type A = {read x: T, write [T]: U, ["a b"]: V, ["end"]: W}', "type A = {x: T, [T]: U}", [
            "1:11: `read`: dropped: the property can be read and written",
            "1:22: `write`: dropped: the property can be read and written",
            "1:36: property 'a b', which is not a name: dropped",
            "1:48: property 'end', which is not a name: dropped",
        ]),
        ("type typeof<typeof...> = T", "type typeof_<typeof_...> = T", [
            "1:6: type named `typeof`: it is named `typeof_`",
            "1:13: type named `typeof`: it is named `typeof_`",
        ]),
        ("local m: typeof(1) local x: m.typeof", "local m: typeof(1) local x: m.typeof_", [
            "1:31: type named `typeof`: it is named `typeof_`",
        ]),
        ("local x: m.T, y: m.T<U>", "local x: any, y: any", [
            "1:10: type of `m`, which is not a local: the type is `any`",
            "1:18: type of `m`, which is not a local: the type is `any`",
            "1:21: type arguments of a module's type: dropped",
        ]),
        ("local x = f<<T>>(1) y = t:m<<T, U...>>()", "local x = f(1) y = t:m()", [
            "1:12: type arguments of a generic function: dropped",
            "1:28: type arguments of a generic function: dropped",
        ]),
    ],
)  # fmt: skip
def test_what_the_schema_cannot_say_is_listed_with_its_place_and_its_replacement(
    source: str, program: str, listed: list[str]
) -> None:
    assert again(source) == program
    assert losses(source) == listed


def test_losses_come_in_the_order_of_the_source() -> None:
    places = [(loss.line, loss.column) for loss in parse(SOURCES["types"]).losses]
    assert len(places) > 30
    assert places == sorted(places)
    assert isinstance(parse("--x").losses[0], Loss)


@given(st.floats(min_value=0, exclude_min=True, allow_nan=False))
@example(5e-324)
@example(1.7976931348623157e308)
@example(float("inf"))
@example(0.1)
@example(4294967295.0)
@example(2.0**53)
@example(1e22)
def test_a_number_that_the_schema_lacks_becomes_an_expression_of_exactly_its_value(
    value: float,
) -> None:
    assert value_of(number_expression(value)) == value


@given(st.binary(min_size=8, max_size=8))
def test_a_number_is_read_as_the_nearest_double(data: bytes) -> None:
    [value] = struct.unpack("<d", data)
    value = abs(value)
    if value < float("inf"):
        assert number_value(repr(value)) == value
        assert number_value(f"{value:.17e}") == value
    whole = int.from_bytes(data)
    assert number_value(hex(whole)) == number_value(bin(whole)) == float(whole)


# Constants


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ('"a"', b"a"),
        ("'\"'", b'"'),
        (r'"\a\b\f\n\r\t\v\\\"\'"', b"\a\b\f\n\r\t\v\\\"'"),
        (r'"\0\65\0651\255"', b"\0AA1\xff"),
        (r'"\x41\xfF"', b"A\xff"),
        (r'"\u{41}\u{20AC}\u{10FFFF}\u{0000041}"', "A€\U0010ffffA".encode()),
        (r'"\u{D800}"', b"\xed\xa0\x80"),
        (r'"\q\/\é\`\{"', "q/é`{".encode()),
        ('"\\z \n\t x"', b"x"),
        ('"a\\\nb\\\r\nc"', b"a\nb\nc"),
        ("[[a]b]]", b"a]b"),
        ("[==[a]]b]=]]==]", b"a]]b]=]"),
        ("[[\na\r\nb\n]]", b"a\nb\n"),
        ("[[\r\n\na]]", b"\na"),
        (r"[[\n]]", rb"\n"),
        ('"€"', "€".encode()),
    ],
)
def test_every_way_to_write_a_string_gives_its_bytes(literal: str, value: bytes) -> None:
    [constant] = found(f"x = {literal}", ExprConstantString)
    assert isinstance(constant, ExprConstantString)
    assert constant.val.encode("utf-8", "surrogateescape") == value


@given(st.binary(max_size=40), st.data())
def test_no_byte_of_a_string_is_lost_however_it_is_written(
    value: bytes, data: st.DataObject
) -> None:
    ways = ["\\x{:02x}", "\\{:03d}", "\\u{{{:x}}}", "\\u{{0{:X}}}"]
    text = ""
    for byte in value:
        way = data.draw(st.sampled_from(ways if byte < 128 else ways[:2]))
        text += way.format(byte)
    assert string_value(f'"{text}"').encode("utf-8", "surrogateescape") == value


def test_bytes_that_are_not_utf8_are_kept() -> None:
    result = parse(b"x = '\xff\xc3' y = `\xfe{1}`")
    strings = [m.val for m, _ in walk(result.tree) if isinstance(m, ExprConstantString)]
    assert strings == ["\udcff\udcc3", "\udcfe"]


def test_pieces_of_an_interpolated_string_that_are_a_character_only_together_become_it() -> None:
    [constant] = found(r'x = `\xC3{"\xA9"}`', ExprConstantString)
    assert isinstance(constant, ExprConstantString)
    assert constant.val == "é"


# Names


def test_known_names_keep_their_index_and_new_ones_follow_after_them() -> None:
    names = Names(locals=("a", "b"), customs=("x",), types=("T",))
    result = parse("local b, new = x, math.floor, y.floor type U = T", names=names)
    assert result.names.locals == ("a", "b", "new")
    assert result.names.customs == ("x", "y")
    assert result.names.types == ("T", "U")
    assert result.names.globals == names.globals
    assert names.locals == ("a", "b")


def test_a_folder_of_sources_can_share_its_names() -> None:
    reader = NameReader()
    first = parse("local mine = 1 other()", names=reader)
    second = parse("local mine = 2 other()", names=reader)
    assert first.tree.program.body[1] == second.tree.program.body[1]
    assert second.names.customs[-1] == "other"
    assert len(second.names.locals) == len(DEFAULT.locals) + 1


def test_the_same_identifier_is_the_same_index_as_far_as_one_table_reaches() -> None:
    result = parse("local x local x x = x")
    assert {m.name for m, _ in walk(result.tree) if type(m).__name__ == "Local"} == {  # type: ignore[attr-defined]
        result.names.locals.index("x")
    }


# Errors


MARKED = "found U+FEFF, a byte order mark, which Luau rejects: save the source without it"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("x =", "1:4: expected an expression, found END"),
        ("x = }", "1:5: expected an expression, found `}`"),
        ("x", "1:1: expected a call or an assignment, found `x`"),
        ("x\n\nlocal y", "1:1: expected a call or an assignment, found `x`"),
        (
            'print "abc',
            '1:7: expected a call or an assignment, found `"` (unterminated string)',
        ),
        ("3zi = 1", "1:1: expected a statement, found `3zi`"),
        ("x = 3zi", "1:5: expected a number, found `3zi`"),
        ("f() = 1", "1:5: expected a statement, found `=`"),
        ("(x) = 1", "1:1: expected an assignment target (a variable or a field), found `(`"),
        ("a, f() = 1", "1:4: expected an assignment target (a variable or a field), found `f`"),
        ("a, b += 1", "1:6: expected `=` and the values to assign, found `+=`"),
        ("if x then", "1:10: expected `end` to close the `if` at 1:1, found END"),
        ("if x do", "1:6: expected `then` after the condition, found `do`"),
        (
            "if x then\nelse\nelse end",
            "3:1: expected `end` to close the `else` at 2:1, found `else`",
        ),
        ("while x end", "1:9: expected `do` after the condition, found `end`"),
        ("repeat", "1:7: expected `until` to close the `repeat` at 1:1, found END"),
        ("for 1", "1:5: expected a name of the loop's variable, found `1`"),
        ("for x do", "1:7: expected `in` or `=`, found `do`"),
        ("for x, y = 1", "1:10: expected `in` or another name, found `=`"),
        ("for x = 1 do", "1:11: expected `,` and the loop's last value, found `do`"),
        ("for x = 1, 2 end", "1:14: expected `do` after the loop's range, found `end`"),
        ("for x in y end", "1:12: expected `do` after the values to iterate over, found `end`"),
        ("local 1", "1:7: expected a name of a variable, found `1`"),
        ("local x <const> = 1", "1:9: expected a statement, found `<`"),
        ("const x", "1:8: expected `=` and the values of the constants, found END"),
        ("function () end", "1:10: expected a name for the function, found `(`"),
        ("function f[1]() end", "1:11: expected `(` and the function's parameters, found `[`"),
        ("function f(a,) end", "1:14: expected a parameter after `,`, found `)`"),
        ("function f(a b) end", "1:14: expected `)` to close the `(` at 1:11, found `b`"),
        ("function f(1) end", "1:12: expected a name of a parameter or `...`, found `1`"),
        ("function f() -> T end", "1:14: expected `:` before the return type, found `->`"),
        ("return 1 f()", "1:10: expected a statement or END, found `f`"),
        ("f() end", "1:5: expected a statement or END, found `end`"),
        (
            "f\n(1)",
            (
                "2:1: expected the arguments of a call on the same line as the called function, or "
                "`;` if a new statement begins here, found `(`"
            ),
        ),
        (
            "a:b\n(1)",
            (
                "2:1: expected the arguments of a call on the same line as the called function, or"
                " `;` if a new statement begins here, found `(`"
            ),
        ),
        ("a:b.c()", "1:4: expected the arguments of the method call, found `.`"),
        ("a.1", "1:2: expected a call or an assignment, found `.1`"),
        ("a.end = 1", "1:3: expected a name of a field, found `end`"),
        ("a:1()", "1:3: expected a name of a method, found `1`"),
        ("t = {1 2}", "1:8: expected `}` to close the `{` at 1:5, found `2`"),
        ("t = {[1] 2}", "1:10: expected `=` and the value after a key in brackets, found `2`"),
        ("t[1 = 2", "1:5: expected `]` to close the `[` at 1:2, found `=`"),
        ("x = (1", "1:7: expected `)` to close the `(` at 1:5, found END"),
        (
            "x = if a then b",
            ("1:16: expected `else` and a value, which an if-expression needs, found END"),
        ),
        (
            "x = if a then b if",
            "1:17: expected `else` and a value, which an if-expression needs, found `if`",
        ),
        ("x = function f() end", "1:14: expected `(` and the function's parameters, found `f`"),
        ("x = @a 1", "1:8: expected `function` after an attribute, found `1`"),
        ("@a x()", "1:4: expected `function` after an attribute, found `x`"),
        ("@a do", "1:4: expected `function` after an attribute, found `do`"),
        ("@[1]", "1:3: expected a name of an attribute, found `1`"),
        *(
            (
                source,
                (
                    f"1:{column}: expected syntax of the original schema, found {what}, "
                    "which requires a Luau version, such as today"
                ),
            )
            for source, column, what in [
                ("export local x = 1", 1, "an exported value"),
                ("class A end", 1, "a class"),
                ("print(5i)", 7, "an integer"),
            ]
        ),
        (
            "@ a",
            (
                "1:1: expected a statement, found `@` "
                "(the name of an attribute must directly follow the `@`)"
            ),
        ),
        ("x = `a{}`", "1:8: expected an expression, found `}``"),
        (
            "x = `a{1",
            ("1:9: expected `}` after an expression in an interpolated string, found END"),
        ),
        (
            "x = `a{b`c`",
            ("1:9: expected `}` after an expression in an interpolated string, found ``c``"),
        ),
        (
            "x = `a{{1}}`",
            (
                "1:7: expected an expression, found `{{` (`{{` is not allowed in an"
                " interpolated string: write `\\{` or insert a space)"
            ),
        ),
        (
            "x = `a",
            "1:5: expected an expression, found ``` (unterminated string)",
        ),
        (
            "x = 'a\n'",
            ("1:5: expected an expression, found `'` (unterminated string)"),
        ),
        ("x = [[a", "1:5: expected an expression, found `[[` (unclosed long bracket)"),
        ("--[[a", "1:1: expected a statement, found `--[[` (unclosed long bracket)"),
        (
            "x = [[a\0b]]",
            ("1:5: expected an expression, found `[[` (a long bracket cannot contain a zero byte)"),
        ),
        (
            "--[=[a\0]=]",
            (
                "1:1: expected a statement, found `--[=[` (a long bracket cannot contain a zero"
                " byte)"
            ),
        ),
        ("x = [[]] y = 'a\0'", "1:14: expected an expression, found `'` (unterminated string)"),
        (r"x = '\400'", r"1:5: expected a valid escape sequence instead of `\400`, found `'\400'`"),
        (r"x = '\xg'", r"1:5: expected a valid escape sequence instead of `\x`, found `'\xg'`"),
        (
            r"x = `\u{110000}`",
            (
                r"1:5: expected a valid escape sequence instead of `\u{110000}`, found"
                r" ``\u{110000}``"
            ),
        ),
        ("x = 1..2", "1:5: expected a number, found `1..2`"),
        ("x = 3in", "1:5: expected a number, found `3in`"),
        ("x = a != b", "1:7: expected a statement, found `!=` (Luau uses `~=`)"),
        ("x = a && b", "1:7: expected a statement, found `&&` (Luau uses `and`)"),
        ("x = !a", "1:5: expected an expression, found `!` (Luau uses `not`)"),
        ("x = é", "1:5: expected an expression, found `é`"),
        ("x = '" + "a" * 50 + "' 'b'", "1:58: expected a statement, found `'b'`"),
        ("x = 1 '" + "a" * 50 + "'", "1:7: expected a statement, found `'" + "a" * 36 + "...`"),
        ("x = 1 [[a\nb]]", "1:7: expected a statement, found `[[a`"),
        ("x = \0", "1:5: expected an expression, found U+0000"),
        (b"x = 1 '\xe5'", r"1:7: expected a statement, found `'\xe5'`"),
        (b"x = \xe5", "1:5: expected an expression, found the byte 0xe5, which is not UTF-8"),
        (
            "x = 1".encode("utf-16"),
            "1:1: expected a statement, found the byte 0xff, which is not UTF-8",
        ),
        ("x = \xa0 1", "1:5: expected an expression, found U+00A0"),
        ("\ufeffx = 1", f"1:1: expected a statement, {MARKED}"),
        ("local x: ", "1:10: expected a type, found END"),
        (
            "local x: A | B & C",
            (
                "1:16: expected parentheses, because a type cannot mix `&` with `|` or `?`,"
                " found `&`"
            ),
        ),
        (
            "local x: (A, B)",
            ("1:16: expected `->` and the result of a function type, found END"),
        ),
        ("local x: (A,)", "1:13: expected a type after `,`, found `)`"),
        (
            "local x: () -> (a: A)",
            ("1:22: expected `->` and the result of a function type, found END"),
        ),
        ("local x: A<B,>", "1:14: expected a type, found `>`"),
        ("local x: {A, B}", "1:12: expected `}` to close the `{` at 1:10, found `,`"),
        (
            "local x: {[A]: B, [C]: D}",
            "1:19: expected at most one indexer in a table type, found `[`",
        ),
        ("local x: {a: A, end: B}", "1:17: expected a name of a property, found `end`"),
        ("local x: typeof", "1:16: expected `(` after `typeof`, found END"),
        (
            "type A<T..., U> = T",
            (
                "1:15: expected `...` after the name, because only packs can follow a"
                " generic pack, found `>`"
            ),
        ),
        (
            "type A<T = B, U> = T",
            (
                "1:16: expected `=` and a default, because the generic type before this"
                " one has a default, found `>`"
            ),
        ),
        ("type A<T... = B> = T", "1:15: expected `(` or `...` of a type pack, found `B`"),
        (
            "type A",
            ("1:7: expected `=` and the type that the name stands for, found END"),
        ),
        ("export x", "1:8: expected a call or an assignment, found `x`"),
        ("x = f<<A>", "1:10: expected `>` to close the list of types, found END"),
        ("x = '\ud800'", "1:6: expected a character that UTF-8 can encode, found '\\ud800'"),
    ],
)
def test_an_error_says_where_it_is_and_what_was_expected_there(
    source: str | bytes, error: str
) -> None:
    assert error_of(source).replace("the end of the source", "END") == error


def test_an_error_can_be_taken_apart() -> None:
    with pytest.raises(ParseError) as caught:
        parse("f()\n\tlocal = 1")
    error = caught.value
    assert (error.source, error.line, error.column) == ("program", 2, 8)
    assert (error.expected, error.found) == ("a name of a variable", "`=`")


def test_columns_count_characters_not_bytes() -> None:
    assert error_of("x = 'é€' }".encode()).startswith("1:10: ")


WORDS = (
    "and break do else elseif end false for function if in local nil not or repeat return then "
    "true until while type export continue const typeof read @ @[ :: -> ... .. ..= += //= // == ~= "
    "<= >= < > = + - * / % ^ # ( ) { } [ ] ; : , . | & ? a b 1 0.5 0x 'c' \\ \" [[d]] ` {{ --[[ -- "
    "\n"
)


def problem_of(source: str | bytes) -> ParseError | None:
    """Return the error that parsing raises. Any other error fails the test."""
    try:
        result = parse(source)
    except ParseError as error:
        return error
    render(result.tree, names=result.names)
    return None


@given(st.lists(st.sampled_from(WORDS.split(" ")), max_size=30).map(" ".join))
@example("x = `{")
@example("@[a(")
@example("type A<T...=(")
def test_words_in_any_order_are_read_or_refused_with_a_place(source: str) -> None:
    error = problem_of(source)
    if error is not None:
        lines = source.split("\n")
        assert 1 <= error.line <= len(lines)
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1


@given(st.binary())
@example(b"\xff")
@example(b"x = '\\\xff'")
def test_bytes_of_any_kind_are_read_or_refused(source: bytes) -> None:
    assert str(problem_of(source))


# Size

DEEP = 5_000


@pytest.mark.parametrize(
    ("before", "middle", "after"),
    [
        ("x = " + "(" * DEEP, "1", ")" * DEEP),
        ("x = " + "{" * DEEP, "", "}" * DEEP),
        ("x = " + "not " * DEEP, "a", ""),
        ("x = " + "a .. " * DEEP, "a", ""),
        ("x = a", " - a" * DEEP, ""),
        ("x = " + "`{" * DEEP, "1", "}`" * DEEP),
        ("x = " + "if a then b else " * DEEP, "c", ""),
        ("x = " + "function() return " * DEEP, "1", " end" * DEEP),
        ("f", "(f" * DEEP + "()" + ")" * DEEP, ""),
        ("f", "()" * DEEP, ""),
        ("a", ".b" * DEEP, " = 1"),
        ("do " * DEEP, "", " end" * DEEP),
        ("if a then " + "elseif a then " * DEEP, "", "end"),
        ("local x: " + "{" * DEEP, "any", "}" * DEEP),
        ("local x: " + "(" * DEEP, "any", ")" * DEEP),
        ("local x: " + "() -> " * DEEP, "any", ""),
        ("local x: " + "typeof(f(a :: " * DEEP, "any", "))" * DEEP),
    ],
)
def test_depth_costs_no_recursion(before: str, middle: str, after: str) -> None:
    source = before + middle + after
    tree = parse(source).tree
    assert parse(source).tree == tree
    with pytest.raises(ParseError):
        parse(before + middle + after[:-3] + " end end")


def test_nesting_without_end_is_an_error_before_memory_is_gone() -> None:
    assert "expected less deeply nested source, found `{`" in error_of("x = " + "{" * 300_000)


# A second judge


LANGUAGE = tree_sitter.Language(tree_sitter_luau.language())


def kinds(source: str) -> Counter[str]:
    """Count the nodes that tree-sitter finds in a valid source, by kind and operator."""
    tree = tree_sitter.Parser(LANGUAGE).parse(source.encode())
    assert not tree.root_node.has_error, source
    count: Counter[str] = Counter()
    stack = [tree.root_node]
    while stack:
        node = stack.pop()
        operator = ""
        if node.type in ("binary_expression", "unary_expression"):
            operator = next(child.type for child in node.children if not child.is_named)
        count[f"{node.type} {operator}".strip()] += 1
        stack += node.children
    return count


# It takes no statement that begins with `type` or `continue` as a name.
@pytest.mark.parametrize("name", [name for name in SOURCES if name != "names"])
def test_tree_sitter_finds_the_same_structure_in_what_was_read(name: str) -> None:
    read = parse(SOURCES[name])
    text = render(read.tree.program, names=read.names, types=False)
    result = parse(text)
    ours: Counter[type] = Counter(type(message) for message, _ in walk(result.tree))
    theirs = kinds(text)
    for op, (sign, _, _) in BINARY.items():
        count = sum(isinstance(m, ExprBinary) and m.op == op for m, _ in walk(result.tree))
        assert theirs[f"binary_expression {sign}"] == count, sign
    for unary, sign in UNARY.items():
        count = sum(isinstance(m, ExprUnary) and m.op == unary for m, _ in walk(result.tree))
        if unary is ExprUnary.Op.Minus:
            count += sum(
                isinstance(m, ExprConstantNumber) and m.val < 0 for m, _ in walk(result.tree)
            )
        assert theirs[f"unary_expression {sign.strip()}"] == count, sign
    modules = ours[StatRequireIntoLocalHelper]
    assert theirs["function_call"] == ours[ExprCall] + modules
    assert theirs["table_constructor"] == ours[ExprTable]
    assert theirs["parenthesized_expression"] >= ours[ExprGroup]
    assert theirs["while_statement"] == ours[StatWhile]
    assert theirs["repeat_statement"] == ours[StatRepeat]
    assert theirs["return_statement"] == ours[StatReturn]
    assert theirs["for_generic_clause"] == ours[StatForIn]
    assert theirs["if_statement"] + theirs["elseif_statement"] == ours[StatIf]
    assert theirs["function_definition"] + theirs["function_declaration"] == ours[ExprFunction]
    assert theirs["variable_declaration"] >= ours[StatLocal] + modules
