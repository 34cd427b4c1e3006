"""A rendered source has the meaning of its tree.

tests/luau/test_precedence_pairs.py tests pairs of operators.
"""

from __future__ import annotations

import pytest
import tree_sitter
import tree_sitter_luau
from hypothesis import given
from hypothesis import strategies as st

from scriptschema import strategies
from scriptschema.base import Message
from scriptschema.generation.trees import generate
from scriptschema.interop import from_text
from scriptschema.luau.names import DEFAULT, Names
from scriptschema.luau.parse import parse
from scriptschema.luau.quoting import quote, string_bytes
from scriptschema.luau.render import render, render_module_set
from scriptschema.luau.repair import repair
from scriptschema.messages import (
    MESSAGES,
    Expr,
    ExprConstantString,
    ExprGroup,
    ExprIfElse,
    ExprInterpString,
    ExprLocal,
    ExprUnary,
    Local,
    ModuleSet,
    Stat,
    StatBlock,
    StatIf,
    Type,
    TypePrimitive,
    TypeUnion,
)

SAME = """\
return -1, - -1, -x1 ^ -2, (-1) ^ 2, not not x1, -(-x1), - -x1, #-x1, 2 ^ 3 ^ 4, (2 ^ 3) ^ 4
return (x1 + x2) * x3, x1 + x2 * x3, x1 - (x2 - x3), (x1 < x2) == x3, (x1 .. x2) .. x3 .. x4
return 1 + if x1 then x2 else x3, (if x1 then x2 else x3) + 1, x1 + (if x1 then x2 else x3) + 1
return if x1 then x2 elseif x3 then x4 else x5, if x1 then x2 else if x3 then x4 else x5
return x1(x2)(x3):x4(x5).x6[x7], (x1)(), ("a"):upper(), {x1 = 2, [x3] = 4, 5}, #{}
return `a{x1}b{ {}}{ {} .. x1}{({})}{`c{x2}`}\\`\\{\\\\"`, ``, `{function() end}`
return function(v1: number, v2: any, ...: string): (any, nil) end, function<T1, T2...>(): T1 end
local v1: number | string | nil, v2: number?, v3: (number & string) | any, v4: (() -> any) | any
local v1: any | () -> any, v2: ((any) -> ())?, v3: any & (any?), v4: any | (any | any)
local v1: (any | (any) -> any) & any & any, v2: (any & () -> any) | any | any, v3: (() -> any) & any
local v1: {x1: any, [string]: number}, v2: {any}, v3: {{any}}, v4: {x1: any, [number]: any}
local v1: <T1, T2...>(T1) -> (T1, any), v2: typeof(x1 + 1), v3: "a\\"b", v4: true, v5: Part
export type T1<T2, T3...> = T4<T2, any, T3...> | T1<T3...>
local v1 type T1 = v1.T2
x1, x2.x3, x4[x5] = x6, x7
x1.x2 += 1; x1 ..= x2
for v1 = 1, 2, 3 do end
for v1, v2 in x1, x2 do end
while x1 do break end
repeat continue until x1
if x1 then x2() elseif x3 then x4() else x5() end
if x1 then else if x2 then end end
do do end return end
function x1.x2:x3(v1) return self end
local function v1(...) return ... end
local v1 = require("./module0")
"""


def unfolded(source: str) -> str:
    """Return the source with each statement on one line."""
    return " ".join(source.split())


@pytest.mark.parametrize("line", SAME.splitlines())
def test_a_line_in_canonical_form_comes_back_as_it_was(line: str) -> None:
    assert unfolded(render(parse(line).tree.program)) == line.replace("; ", " ")


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("binary { op: Mul left { binary { op: Add left { %s } right { %s } } } right { %s } }",
         "(x1 + x1) * x1"),
        (("binary { op: Mul left { group { expr { binary { op: Add left { %s } right { %s } } } } }"
         " right { %s } }"), "(x1 + x1) * x1"),
        ("unary { op: Minus expr { number { val: 5 } } }", "-5"),
        ("unary { op: Minus expr { number { val: -5 } } }", "- -5"),
        ("unary { op: Minus expr { unary { op: Minus expr { %s } } } }", "- -x1"),
        ("unary { op: Minus expr { binary { op: Pow left { number { val: -5 } } right { %s } } } }",
         "-(-5) ^ x1"),
        ("unary { op: Minus expr { } }", "- --[[unset]]"),
        ("interpstring { parts { string { val: 'a' } } parts { string { val: 'b' } } }", "`ab`"),
        ("call { func { local { var { name: 1 } } } self: true }", "v1()"),
        ("ifelse { cond { %s } then { %s } }", "if x1 then x1"),
    ],
)  # fmt: skip
def test_trees_that_are_not_canonical_print_what_they_mean(text: str, source: str) -> None:
    x1 = "global { name { custom: 1 } }"
    assert render(from_text(Expr, text.replace("%s", x1))) == source


STATEMENT = "call { expr { func { %s } self: false } }"
IN_GROUP = STATEMENT % "group { expr { local { var { name: 1 } } } }"


@pytest.mark.parametrize(
    ("before", "semicolon"),
    [
        (STATEMENT % "local { var { name: 2 } }", True),
        ("local { vars { name: 2 } values { nil { } } }", True),
        ("local { vars { name: 2 } }", False),
        ("repeat { body { } cond { nil { } } }", True),
        ("assign { vars { local { var { name: 2 } } } values { nil { } } }", True),
        ("require_into_local { var { name: 2 } modulenum: 0 }", True),
        ("continue { }", True),
        ("break { }", False),
        ("block { }", False),
    ],
)
def test_a_statement_that_begins_with_a_parenthesis_is_no_call_of_the_one_before(
    before: str, semicolon: bool
) -> None:
    for after in (
        IN_GROUP,
        (
            "compound_assign { op: Add value { nil { } } var { index_name { index { custom: 1 } "
            "expr { group { expr { nil { } } } } } } }"
        ),
        "assign { vars { index_expr { index { nil { } } expr { group { expr { nil { } } } } } } }",
    ):
        block = from_text(StatBlock, f"body {{ {before} }} body {{ {after} }}")
        assert ("\n;(" in render(block)) == semicolon
        assert ";" not in render(StatBlock(body=[block.body[1]]))


@pytest.mark.parametrize(
    ("key", "source"),
    [
        ('"a"', '{[("a")]: T}'),
        ('"a" & thread', '{[("a" & thread)]: T}'),
        ('"a" | "b" | "c"', '{[("a" | "b" | "c")]: T}'),
        ('"a"?', '{[("a"?)]: T}'),
        ('("a" & "b") | "c"', '{[("a" & "b") | "c"]: T}'),
        ('thread | "a"', '{[thread | "a"]: T}'),
        ('() -> "a"', '{[() -> "a"]: T}'),
    ],
)
def test_an_indexer_whose_key_begins_with_a_string_is_no_property(key: str, source: str) -> None:
    """Luau 0.677 reads `["` as the start of a property's name, whatever follows the string."""
    text = f"type T = {{[({key})]: T}}\n"
    tree = parse(text)
    assert tree.losses == ()
    printed = render(tree.tree, names=tree.names)
    assert printed == f"type T = {source}\n"
    assert parse(printed).tree == parse(text).tree


def test_what_can_never_run_is_printed_where_it_stands() -> None:
    block = from_text(StatBlock, "body { return { } } body { break { } } body { }")
    assert render(block) == "return\nbreak\n --[[unset]]\n"


@given(st.binary())
def test_every_byte_of_a_string_is_in_the_source(data: bytes) -> None:
    value = data.decode("utf-8", "surrogateescape")
    assert string_bytes(value) == data
    text = quote(value)
    assert "\n" not in text
    assert text.isprintable()
    [constant] = parse(f"return {text}").tree.program.body[0].return_.list
    assert constant == Expr(string=ExprConstantString(val=value))


def test_characters_are_readable_where_they_can_be() -> None:
    assert quote('ä"\\\n\r\t\0\x7f\u2028\udcff😀') == (r'"ä\"\\\n\r\t\x00\x7f\u{2028}\xff😀"')
    assert quote("\ud800\udc80") == r'"\xed\xa0\x80\x80"'  # the first one stands for no byte


@given(st.text('a`{}\\"\n\0é', max_size=8), st.text('a`{}\\"\n\0é', max_size=8))
def test_text_around_values_of_an_interpolated_string_stays_text(one: str, two: str) -> None:
    texts = [Expr(string=ExprConstantString(val=text)) for text in (one, two) if text]
    value = Expr(local=ExprLocal(var=Local(name=1)))
    parts = [*texts[:1], value, *texts[1:]]
    tree = Expr(interpstring=ExprInterpString(parts=parts))
    source = f"local v1 return {render(tree)}"
    assert parse(source).tree.program.body[1].return_.list == [tree]


@given(st.sampled_from(list(MESSAGES.values())).flatmap(strategies.messages), st.booleans())
def test_every_tree_of_every_message_renders(tree: Message, types: bool) -> None:
    assert isinstance(render(tree, types=types), str)


LANGUAGE = tree_sitter.Language(tree_sitter_luau.language())


def test_repaired_programs_are_luau_to_another_grammar_too() -> None:
    """Except for statements that begin with the global `type`, and types, where it has bugs."""
    names = Names(globals=tuple(name for name in DEFAULT.globals if name != "type"))
    parser = tree_sitter.Parser(LANGUAGE)
    for seed in range(150):
        tree = repair(generate(ModuleSet, seed=seed), names=names)
        source = render(tree.program, names=names, types=False)
        root = parser.parse(source.encode()).root_node
        assert not root.has_error, source


def test_without_types_nothing_of_them_is_left() -> None:
    source = """\
type T1 = number
local v1: number = 1
local v2 = function<T2, T3...>(v3: any, ...: any): any return v3 end
export type T4 = typeof(v2)
"""
    assert (
        render(parse(source).tree.program, types=False)
        == """\
local v1 = 1
local v2 = function(v3, ...)
  return v3
end
"""
    )


def test_blocks_are_indented_as_asked() -> None:
    source = "while x1 do\n\tif x2 then\n\t\tx3()\n\telse\n\t\tx4()\n\tend\nend\n"
    assert render(parse(source).tree.program, indent="\t") == source


def test_names_are_those_that_were_given() -> None:
    names = Names(locals=("alice", "bob"))
    assert render(from_text(Expr, "local { var { name: -1 } }"), names=names) == "bob"


def test_a_module_set_has_two_sources() -> None:
    tree = parse('local v1 = require("./module0")', module="return {}").tree
    sources = render_module_set(tree)
    assert (sources.module, sources.program) == ("return {}\n", 'local v1 = require("./module0")\n')
    assert render(tree) == '-- module0\nreturn {}\n-- program\nlocal v1 = require("./module0")\n'
    tree.module = None
    assert render_module_set(tree).module is None
    assert render(tree) == sources.program
    assert render(StatBlock()) == ""


DEPTH = 20_000


def test_trees_deeper_than_the_stack_render() -> None:
    expr = Expr(local=ExprLocal(var=Local(name=0)))
    kind = Type(primitive=TypePrimitive(kind=0))
    block = StatBlock()
    choice = ExprIfElse(cond=expr, then=expr, else_=expr)
    for _ in range(DEPTH):
        choice = ExprIfElse(cond=expr, then=expr, elseif=choice)
    assert render(choice) == "if v0 then v0 " + "elseif v0 then v0 " * DEPTH + "else v0"
    for _ in range(DEPTH):
        expr = Expr(unary=ExprUnary(op=ExprUnary.Op.Not, expr=Expr(group=ExprGroup(expr=expr))))
        kind = Type(union=TypeUnion(left=kind, right=Type(primitive=TypePrimitive(kind=3))))
        cond = Expr(local=ExprLocal(var=Local(name=0)))
        block = StatBlock(body=[Stat(if_=StatIf(cond=cond, then=block))])
    assert render(expr) == "not (" * DEPTH + "v0" + ")" * DEPTH
    assert render(kind) == "any?" + " | nil" * (DEPTH - 1)
    assert len(render(block)) < 200 * DEPTH  # the indentation does not grow for ever
