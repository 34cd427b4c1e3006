"""A style changes only how a program is written. tests/luau tests this with the real Luau."""

from __future__ import annotations

import re
from typing import Any

import pytest
from extended import extended_tree
from hypothesis import find, given, settings
from hypothesis import strategies as st

from scriptschema import strategies
from scriptschema.base import Message, walk
from scriptschema.choices import BytesChoices, RandomChoices
from scriptschema.generation.programs import program
from scriptschema.generation.trees import generate
from scriptschema.luau.lexer import tokenize
from scriptschema.luau.parse import parse
from scriptschema.luau.quoting import string_bytes
from scriptschema.luau.render import Style, render, render_module_set
from scriptschema.luau.repair import repair
from scriptschema.messages import (
    MESSAGES,
    Expr,
    ExprCall,
    ExprConstantNumber,
    ExprConstantString,
    ExprInterpString,
    ExprUnary,
    ModuleSet,
    Stat,
    StatBlock,
    StatReturn,
    TypeTableItem,
    schema,
)

styles = st.integers(0) | st.binary(max_size=400)


def assert_means_the_same(tree: ModuleSet, style: Style) -> None:
    plain, styled = render_module_set(tree), render_module_set(tree, style=style)
    read = parse(styled.program, module=styled.module)
    assert read.tree == parse(plain.program, module=plain.module).tree
    assert {loss.what for loss in read.losses} <= {"comment", "directive"}


@given(strategies.programs(size=60), styles)
def test_a_program_in_any_style_is_the_same_tree(tree: ModuleSet, style: Style) -> None:
    assert_means_the_same(tree, style)


@given(strategies.module_sets(size=60).map(repair), styles)
def test_a_repaired_tree_in_any_style_is_the_same_tree(tree: ModuleSet, style: Style) -> None:
    assert_means_the_same(tree, style)


@pytest.mark.parametrize("size", [30, 200, 1500])
def test_trees_of_all_sizes_are_the_same_in_many_styles(size: int) -> None:
    for seed in range(12_000 // size):
        tree = repair(generate(ModuleSet, seed=seed, size=size)) if seed % 2 else program(seed=seed)
        assert_means_the_same(tree, seed)


@given(strategies.programs(size=40))
def test_the_simplest_style_is_none(tree: ModuleSet) -> None:
    assert render_module_set(tree, style=b"") == render_module_set(tree)


@given(strategies.sources(size=60, style="random"))
def test_sources_of_a_strategy_can_be_in_any_style(source: str) -> None:
    read = parse(source)
    assert parse(render(read.tree.program, names=read.names), names=read.names).tree == read.tree


def shrunk(word: str) -> str:
    return find(
        strategies.sources(style="random"),
        lambda source: word in source,
        settings=settings(max_examples=3000, database=None, derandomize=True),
    )


def test_a_source_shrinks_to_the_plain_spelling() -> None:
    source = shrunk("while")
    assert source == render(parse(source).tree.program)


def test_what_needs_a_style_shrinks_to_that_alone() -> None:
    source = shrunk("--")
    assert parse(source).tree.program.body == []
    assert len(parse(source).losses) == 1
    assert shrunk("--!").split() == ["--!native"]


def test_a_style_of_a_strategy_can_be_a_fixed_one() -> None:
    source = find(strategies.sources(style=3), lambda source: len(source) > 50)
    assert source == render(parse(source).tree.program, style=3)


def test_a_seed_and_bytes_are_the_choices_that_they_stand_for() -> None:
    tree = program(seed=1)
    data = bytes(range(256)) * 3
    assert render(tree, style=7) == render(tree, style=RandomChoices(7)) != render(tree)
    assert render(tree, style=data) == render(tree, style=BytesChoices(data)) != render(tree)
    assert render(tree, style=7) != render(tree, style=8)


@pytest.mark.parametrize("style", range(30))
def test_what_is_left_of_a_program_stays_as_it_was_written(style: int) -> None:
    whole = parse("local a = 16 print('b\\n', a) f('b\\n', 16) print{x = 255} print('c')").tree
    text = render(whole.program, style=style)
    for statement in whole.program.body[1:]:
        part = render(StatBlock(body=[statement]), style=style).strip().rstrip(";")
        literals = {t for t in tokenize(part).texts if t[:1] in "'\"[0123456789." and len(t) > 1}
        assert literals <= {*tokenize(text).texts}


@pytest.mark.parametrize("style", ["random", bytearray(b"x"), 1.5])
def test_what_is_no_style_is_reported(style: Any) -> None:
    with pytest.raises(TypeError, match="expected a seed, bytes or a source of choices, found"):
        render(program(seed=1), style=style)


@given(st.text(st.characters(codec=None), max_size=12) | st.sampled_from(["]]", "]=]]", "]"]))
def test_every_string_comes_back_in_every_spelling(value: str) -> None:
    returned = [
        Expr(string=ExprConstantString(val=value)),
        Expr(
            interpstring=ExprInterpString(
                parts=[
                    Expr(string=ExprConstantString(val=value + "x")),
                    Expr(number=ExprConstantNumber(val=1)),
                ]
            )
        ),
    ]
    tree = StatBlock(body=[Stat(return_=StatReturn(list=returned))])
    for seed in range(12):
        [stat] = parse(render(tree, style=seed)).tree.program.body
        plain, interpolated = stat.alternative.list
        assert string_bytes(plain.string.val) == string_bytes(value)
        assert string_bytes(interpolated.interpstring.parts[0].string.val) == string_bytes(
            value + "x"
        )


@given(st.integers(-(2**31), 2**31 - 1) | st.sampled_from([0, 10, 100, -1000, 2**31 - 1]))
def test_every_number_comes_back_in_every_spelling(value: int) -> None:
    number = Expr(number=ExprConstantNumber(val=value))
    negated = Expr(unary=ExprUnary(op=ExprUnary.Op.Minus, expr=number))
    tree = StatBlock(body=[Stat(return_=StatReturn(list=[number, number, negated]))])
    plain = parse(render(tree)).tree.program
    for seed in range(12):
        assert parse(render(tree, style=seed)).tree.program == plain


@given(
    st.sampled_from(list(MESSAGES.values())).flatmap(lambda cls: strategies.messages(cls, size=40)),
    styles,
)
def test_every_tree_of_every_message_renders_in_every_style(tree: Message, style: Style) -> None:
    text = render(tree, style=style)
    assert text.encode("utf-8", "surrogateescape")
    assert render(tree, style=style) == text


def test_deep_trees_render_in_a_style() -> None:
    expr = Expr(number=ExprConstantNumber(val=1))
    for _ in range(5000):
        expr = Expr(unary=ExprUnary(op=ExprUnary.Op.Not, expr=expr))
    tree = StatBlock(body=[Stat(return_=StatReturn(list=[expr]))])
    assert parse(render(tree, style=3)).tree == parse(render(tree)).tree


@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_of_a_tree_for_a_version_a_style_changes_only_the_two_fields_that_the_docs_name(
    seed: int, style: int
) -> None:
    tree = repair(extended_tree(schema("today"), StatBlock, seed, 9), luau="today")
    plain = parse(f'type A = {{x: B}} f("a");{render(tree)}', luau="today")
    text = render(plain.tree.program, names=plain.names, style=style)
    styled = parse(text, luau="today", names=plain.names)
    for (before, _), (after, _) in zip(walk(plain.tree), walk(styled.tree), strict=True):
        if isinstance(after, ExprCall) and isinstance(before, ExprCall):
            assert after.parenless or not before.parenless
            after.parenless = before.parenless
        elif (
            isinstance(after, TypeTableItem)
            and isinstance(before, TypeTableItem)
            and before.key_string is None
            and after.key_string is not None
        ):
            assert after.key_string == plain.names.field(before.key)
            after.key, after.key_string = before.key, None
    assert styled.tree == plain.tree


METHOD_WITH_TYPES = r"""
local a: A<<T>(T) -> ()> = t:f<<number, ...C>>(1)
t:f<<A<B<"a\nb">>, {[string]: D}>>():g<<<T>(T) -> ()>>()
t:f<<typeof(function(a, b) local x = a < b; (f)() return `{a}\n` end)>>()
"""


@pytest.mark.parametrize("style", [None, *range(200)])
def test_types_given_to_a_method_stay_on_the_line_of_its_call_or_luau_refuses_it(
    style: int | None,
) -> None:
    read = parse(METHOD_WITH_TYPES, luau="today")
    text = render(read.tree.program, names=read.names, style=style)
    assert parse(text, luau="today", names=read.names).tree == read.tree


def test_types_of_a_type_may_be_on_several_lines_in_a_style() -> None:
    read = parse("local a: A<<T>(T) -> ()>")
    texts = [render(read.tree.program, names=read.names, style=style) for style in range(200)]
    assert any("\n" in text.strip() for text in texts)


SPELLINGS: dict[str, str] = {
    "single quotes": r"(?<!\w)'\w+'",
    "long brackets": r"\[\[",
    "long brackets of the third level": r"\[===\[",
    "line breaks in long brackets": r"(?<!-)\[=*\[[^\]]*\n",
    "hexadecimal escapes": r"\\x[0-9a-f]{2}",
    "decimal escapes": r"\\[0-9]{1,2}(?![0-9])",
    "decimal escapes of three digits": r"\\0[0-9]{2}",
    "code points": r"\\u\{0*[0-9a-f]+\}",
    "white space that is skipped": r"\\z\s",
    "line breaks after a backslash": r"\\\n",
    "carriage returns after a backslash": r"\\\r\n",
    "carriage returns in long brackets": r"(?<!-)\[=*\[[^\]]*\r\n",
    "carriage returns after a comment": r"-- a comment\r\n",
    "named escapes": r"\\n",
    "hexadecimal numbers": r"\b0x[0-9a-f]",
    "hexadecimal numbers in capitals": r"\b0X[0-9A-F]*[A-F]",
    "binary numbers": r"\b0[bB][01]",
    "underscores in numbers": r"\b[0-9]+_[0-9]",
    "an underscore after the prefix": r"\b0[xb]_",
    "exponents": r"\b[0-9]+e[0-9]",
    "negative exponents": r"\b[0-9]+[eE]-[0-9]",
    "fractions": r"\b[0-9]+\.0",
    "a point at the end": r"\b[0-9]\.(?=[,;)\s])",
    "a point at the start": r"(?<![.\w])\.[0-9]+e",
    "calls with a string": r"[a-z]\"",
    "calls with a table": r"[a-z]\{",
    "calls with long brackets": r"[a-z] ?\[=*\[",
    "semicolons between statements": r"\);\n",
    "semicolons in tables": r"\{[^{}\n]*; ",
    "a separator at a table's end": r"[,;] *\}",
    "properties as strings": r"\{\[[\"'][^\"'\]]*[\"']\]: ",
    "indexers of arrays": r"\{\[number\]: ",
    "unions with nil": r"\| nil",
    "unions after a sign": r": \| string",
    "intersections after a sign": r"= & \{",
    "types in parentheses": r"c: \(string",
    "items in parentheses": r"y: \(number\)",
    "results in parentheses": r"-> \(number\)",
    "operands in parentheses": r"& \(",
    "comments to the end of the line": r"-- a comment\n",
    "long comments": r"--\[\[[^\n\]]*\]\]",
    "comments of several lines": r"--\[=*\[[^\]]*\n[^\]]*\]=*\]",
    "near misses of long comments": r"--\[=?\n",
    "a comment before the first token": r"\A\s*--",
    "a comment before the end": r"--[^\n]*\Z",
    "no line break at the end": r"[^\n]\Z",
    "tabs": r"\t",
    "other white space": r"\v",
    "carriage returns": r"\r\n",
    "lines far apart": r"\n{300}",
    "two statements on one line": r"\)[ \t\v\f]*local ",
    "no space around operators": r"\w=\w",
    "spaces before a dot": r"\w\s+\.[a-z]",
}


MATERIAL = r"""
local a: {number}, b: {x: string, y: number}, c: string? = {255, 16, 1000}, nil, "hello"
print(a, 7 + 48879, "one\ntwo", `text\n{a}`)
type Both = {x: number} & ((number) -> number)
local d = {x = 1, [2] = "é", "three"}
type(d.x)
print("four")
print({5, 6})
require("five\nsix")
print(d.x)
"""


@pytest.fixture(scope="module")
def sources() -> list[str]:
    read = parse(MATERIAL)
    return [render(read.tree.program, names=read.names, style=style) for style in range(2000)]


@pytest.mark.parametrize("name", SPELLINGS)
def test_styles_have_every_spelling(name: str, sources: list[str]) -> None:
    assert sum(bool(re.search(SPELLINGS[name], source)) for source in sources) >= 3


def test_no_comment_of_a_style_is_a_directive_but_the_first_ones(sources: list[str]) -> None:
    for source in sources:
        text = re.sub(r"^(?:--!.*\n)*", "", source)
        assert not any(each.startswith("--!") for _, each in tokenize(text).comments)


@pytest.mark.parametrize("options", [{"types": False}, {"indent": "\t"}, {"indent": ""}])
def test_styles_go_with_the_other_options(options: Any) -> None:
    for seed in range(40):
        tree = repair(generate(ModuleSet, seed=seed, size=100))
        tree.module = None
        plain = parse(render(tree.program, **options)).tree
        assert parse(render(tree.program, style=seed, **options)).tree == plain


def test_some_sources_begin_with_directives_and_those_are_luau_s() -> None:
    tree = program(seed=1, size=60)
    heads = [re.match(r"(?:--!(.*)\n)*", render(tree.program, style=seed)) for seed in range(400)]
    found = {head[1] for head in heads if head and head[1]}
    assert found >= {"native", "optimize 0", "optimize 2", "strict", "nocheck", "nolint"}
    assert 200 < sum(head is not None and not head[0] for head in heads) < 350
    for seed in range(100):
        styled = render_module_set(tree, style=seed)
        for text in filter(None, (styled.module, styled.program)):
            assert "--!" not in re.sub(r"^(?:--!.*\n)*", "", text)
