"""`repair` fixes exactly the problems that `check` reports. tests/luau tests it with the real Luau.

Trees are written in the text format, because Luau cannot express their problems.
"""

from __future__ import annotations

import pickle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scriptschema import strategies
from scriptschema.base import Message, walk
from scriptschema.choices import RandomChoices
from scriptschema.fuzzing.mutate import mutate
from scriptschema.generation.trees import generate
from scriptschema.interop import from_text
from scriptschema.luau.names import DEFAULT, Names
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render
from scriptschema.luau.repair import (
    DEEPEST,
    MAX_DEPTH,
    RULES,
    Problem,
    check,
    is_valid,
    repair,
    repair_in_place,
)
from scriptschema.messages import (
    MESSAGES,
    Expr,
    ExprConstantNil,
    ExprFunction,
    ExprGroup,
    ExprTable,
    ExprUnary,
    ModuleSet,
    Stat,
    StatBlock,
    StatIf,
    StatReturn,
    TableItem,
)

NIL = "nil { }"
V1 = "local { var { name: 1 } }"
X1 = "global { name { custom: 1 } }"
LOCAL_V1 = "body { local { vars { name: 1 } } }"
BREAK_IF = "body { if { cond { nil { } } then { body { %s { } } } } }"
FUNCTION = "function { vararg: false %s body { %s } }"


@pytest.mark.parametrize("tree", ["local x = = 1", None, ModuleSet], ids=str)
def test_what_is_no_tree_is_never_valid(tree: object) -> None:
    functions = (is_valid, check, repair, repair_in_place, render)
    for function in (*functions, lambda each: mutate(each, RandomChoices(1))):
        with pytest.raises(TypeError, match="not a message: "):
            function(tree)


def test_what_to_pass_instead_of_a_source_or_the_result_of_a_parser_is_said() -> None:
    for function in (repair, render, walk, lambda each: mutate(each, RandomChoices(1))):
        with pytest.raises(TypeError, match=r"^not a message: ParseResult: pass its \.tree$"):
            function(parse("x = 1"))
        with pytest.raises(TypeError, match=r"^not a message: str: .*parse\(source\)\.tree$"):
            function("x = 1")


def unfolded(tree: Message, **options: object) -> str:
    return " ".join(render(tree, **options).split())


def fill(text: str, *parts: str) -> str:
    """Replace each `%s` in a text with the next of `parts`.

    The texts contain braces, which `str.format` would interpret.
    """
    for part in parts:
        text = text.replace("%s", part, 1)
    return text


def returns(expr: str) -> str:
    return fill("body { return { list { %s } } }", expr)


def alias(kind: str, more: str = "") -> str:
    return fill(
        "body { type_alias { export: false name { index: 0 } type { %s } %s } }", kind, more
    )


CASES = {
    # rule, place, tree, what it becomes
    "a statement": ("unset", "body[0]", "body { }", "do end"),
    "an expression": ("unset", "body[0].return_.list[0]", returns(""), "return 0"),
    "a name": (
        "unset",
        "body[0].return_.list[0].global_.name",
        returns("global { name { } }"),
        "return x0",
    ),
    "a callee": (
        "unset",
        "body[0].call.expr.func",
        "body { call { expr { func { } self: false } } }",
        "print()",
    ),
    "a callee where there are locals": (
        "unset",
        "body[1].call.expr.func",
        LOCAL_V1 + "body { call { expr { func { } self: false } } }",
        "local v1 v1()",
    ),
    "a type": ("unset", "body[0].type_alias.type", alias(""), "type T0 = any"),
    "variables": (
        "empty",
        "body[0].local",
        "body { local { values { nil { } } } }",
        "local v0 = nil",
    ),
    "loop variables": (
        "empty",
        "body[0].for_in",
        "body { for_in { values { nil { } } body { } } }",
        "for v0 in nil do end",
    ),
    "loop values": (
        "empty",
        "body[0].for_in",
        "body { for_in { vars { name: 1 } body { } } }",
        "for v1 in {} do end",
    ),
    "assigned values": (
        "empty",
        "body[0].assign",
        fill("body { assign { vars { %s } } }", X1),
        "x1 = 0",
    ),
    "a return in the middle": (
        "last",
        "body[0]",
        "body { return { } } body { block { } }",
        "do return end do end",
    ),
    "a break in the middle": (
        "last",
        "body[0].while_.body.body[0]",
        "body { while { cond { nil { } } body { body { break { } } body { block { } } } } }",
        "while nil do do break end do end end",
    ),
    "a break outside": ("loop", "body[0]", "body { break { } }", "do end"),
    "a continue in a function in a loop": (
        "loop",
        "body[0].while_.body.body[0].local_function.func.body.body[0]",
        (
            "body { while { cond { nil { } } body { body { local_function { var { name: 1 } func "
            "{ vararg: false body { body { continue { } } } } } } } } }"
        ),
        "while nil do local function v1() do end end end",
    ),
    "varargs in a function without": (
        "vararg",
        "body[0].return_.list[0].function.body.body[0].return_.list[0].varargs",
        returns(FUNCTION % ("", returns("varargs { }"))),
        "return function() return 0 end",
    ),
    "a local that is not there, where another is": (
        "local",
        "body[1].return_.list[0].local",
        LOCAL_V1 + returns("local { var { name: 7 } }"),
        "local v1 return v1",
    ),
    "a local where none is": (
        "local",
        "body[0].return_.list[0].local",
        returns("local { var { name: 1 } }"),
        "return type",
    ),
    "a local that is assigned where none is": (
        "local",
        "body[0].assign.vars[0].local",
        "body { assign { vars { local { var { name: 1 } } } values { nil { } } } }",
        "x1 = nil",
    ),
    "a local before its declaration": (
        "local",
        "body[0].local.values[0].local",
        "body { local { vars { name: 1 } values { local { var { name: 1 } } } } }",
        "local v1 = type",
    ),
    "a local after its block": (
        "local",
        "body[1].return_.list[0].local",
        fill("body { block { %s } }", LOCAL_V1) + returns(V1),
        "do local v1 end return type",
    ),
    "a type of a local that is not there": (
        "local",
        "body[0].type_alias.type.ref",
        alias("ref { prefix { name: 1 } index { index: 1 } }"),
        "type T0 = any",
    ),
    "a type of another local": (
        "local",
        "body[1].type_alias.type.ref",
        LOCAL_V1 + alias("ref { prefix { name: 9 } index { index: 1 } }"),
        "local v1 type T0 = v1.T1",
    ),
    "an until that uses what continue jumps over": (
        "until",
        "body[0].repeat.cond.local",
        fill("body { repeat { body { %s %s } cond { %s } } }", BREAK_IF % "continue", LOCAL_V1, V1),
        "repeat if nil then continue end local v1 until type",
    ),
    "an if-expression without else": (
        "else",
        "body[0].return_.list[0].ifelse",
        returns("ifelse { cond { nil { } } then { nil { } } }"),
        "return if nil then nil else 0",
    ),
    "self without a name": (
        "self",
        "body[0].call.expr",
        fill("body { call { expr { func { %s } self: true } } }", X1),
        "x1()",
    ),
    "a method without a name": (
        "self",
        "body[0].function",
        fill("body { function { var { %s } self: true func { vararg: false body { } } } }", X1),
        "function x1() end",
    ),
    "a function named by an index": (
        "function-name",
        "body[0].function.var",
        fill(
            "body { function { var { index_expr { expr { %s } index { nil { } } } "
            "} self: false func "
            "{ vararg: false body { } } } }",
            X1,
        ),
        "function x1.x0() end",
    ),
    "a function named by a call": (
        "function-name",
        "body[0].function.var.index_name.expr",
        fill(
            "body { function { var { index_name { index { custom: 2 } expr { call "
            "{ self: false func "
            "{ %s } } } } } self: false func { vararg: false body { } } } }",
            X1,
        ),
        "function x1.x2() end",
    ),
    "a function named by a group": (
        "function-name",
        "body[0].function.var.index_name.expr",
        fill(
            "body { function { var { index_name { index { custom: 2 } expr { group "
            "{ expr { %s } } } } "
            "} self: true func { vararg: false body { } } } }",
            X1,
        ),
        "function x1:x2() end",
    ),
    "a type that is not there": (
        "type",
        "body[0].return_.list[0].function.rettypes[0].literal",
        returns(FUNCTION % ("rettypes { literal { name { index: 3 } } }", "")),
        "return function(): any end",
    ),
    "a type that is not there, where another is": (
        "type",
        "body[0].type_alias.type.literal",
        alias("literal { name { index: 3 } }"),
        "type T0 = T0",
    ),
    "more types than variables": (
        "types",
        "body[0].local",
        (
            "body { local { vars { name: 1 } types { boolean { val: true } } types "
            "{ boolean { val: "
            "false } } } }"
        ),
        "local v1: true",
    ),
    "a module that is not there": (
        "require",
        "body[0].require_into_local",
        "body { require_into_local { var { name: 1 } modulenum: -3 } }",
        'local v1 = require("./module0")',
    ),
    "parentheses that are there anyway": (
        "group",
        "body[0].return_.list[0].unary.expr.group",
        returns(
            fill(
                "unary { op: Not expr { group { expr { binary { op: And left { %s } "
                "right { %s } } } } "
                "} }",
                X1,
                X1,
            )
        ),
        "return not (x1 and x1)",
    ),
    "a minus before a number": (
        "minus",
        "body[0].return_.list[0]",
        returns("unary { op: Minus expr { number { val: 5 } } }"),
        "return -5",
    ),
    "a hole after a minus": (
        "unset",
        "body[0].return_.list[0].unary.expr",
        returns("unary { op: Minus expr { } }"),
        "return -0",
    ),
    "empty text": (
        "interpolation",
        "body[0].return_.list[0].interpstring.parts[0]",
        returns("interpstring { parts { string { val: '' } } }"),
        "return ``",
    ),
    "text after text": (
        "interpolation",
        "body[0].return_.list[0].interpstring.parts[1]",
        returns(
            "interpstring { parts { string { val: 'a' } } parts { string { val: 'b' } } "
            "parts { nil { } } }"
        ),
        "return `ab{nil}`",
    ),
    "a zero byte in a type": (
        "string",
        "body[0].type_alias.type.string",
        alias(r"string { val: 'a\0b' }"),
        'type T0 = "ab"',
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_broken_rule_is_reported_and_only_that_is_repaired(case: str) -> None:
    rule, path, text, source = CASES[case]
    tree = from_text(StatBlock, text)
    assert not is_valid(tree)
    [problem] = check(tree)  # the tree is as before
    assert (problem.rule, str(problem.path)) == (rule, path)
    assert str(problem) == f"{path}: {problem.message} [{rule}]"
    repaired = repair(tree)
    assert unfolded(repaired) == source
    assert check(repaired) == []
    assert parse(source).tree.program == repaired or rule in ("type", "local", "require")


SETS = {
    "a program that requires what is not there": (
        "require", "program.body[0].require_into_local",
        "program { body { require_into_local { var { name: 1 } modulenum: 0 } } }",
        "local v1 = {}",
    ),
    "a module that requires itself": (
        "require", "module.body[0].require_into_local",
        fill(
            "module { body { require_into_local { var { name: 1 } modulenum: 0 } } %s } "
            "program { }",
            returns(NIL),
        ),
        "-- module0 local v1 = {} return nil -- program",
    ),
    "a module that returns nothing": (
        "module", "module", "module { } program { }", "-- module0 return {} -- program",
    ),
    "a module that returns an empty list": (
        "module", "module", "module { body { return { } } } program { }",
        "-- module0 return {} -- program",
    ),
    "a module that returns two values": (
        "module", "module",
        "module { body { return { list { nil { } } list { nil { } } } } } program { }",
        "-- module0 return nil -- program",
    ),
    "a module that returns nothing on the way": (
        "module", "module.body[0].block.body[0].return_",
        ("module { body { block { body { return { } } } } body { return { list { nil { } } } } } "
         "program { body { block { body { return { } } } } }"),
        "-- module0 do return {} end return nil -- program do return end",
    ),
    "a module that returns two values on the way": (
        "module", "module.body[0].block.body[0].return_",
        ("module { body { block { body { return { list { nil { } } list { nil { } } } } } } "
         "body { return { list { nil { } } } } } program { }"),
        "-- module0 do return nil end return nil -- program",
    ),
    "a module that returns its arguments, which are none": (
        "module", "module",
        "module { body { return { list { varargs { } } list { nil { } } } } } program { }",
        "-- module0 return {} -- program",
    ),
    "a module that returns its first argument, which is nil": (
        "module", "module.body[0].block.body[0].return_",
        ("module { body { block { body { return { list { varargs { } } } } } } "
         "body { return { list { group { expr { varargs { } } } } } } } program { }"),
        "-- module0 do return {} end return (...) -- program",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SETS)
def test_a_module_and_its_program_fit_together(case: str) -> None:
    rule, path, text, source = SETS[case]
    tree = from_text(ModuleSet, text)
    assert not is_valid(tree)
    assert [(problem.rule, str(problem.path)) for problem in check(tree)] == [(rule, path)]
    assert unfolded(repair(tree)) == source


def test_functions_of_the_module_return_what_they_like() -> None:
    text = "module { %s } program { }"
    tree = from_text(ModuleSet, fill(text, returns(FUNCTION % ("", "body { return { } }"))))
    assert check(tree) == []


def test_a_return_of_the_module_without_room_for_a_value_gives_way() -> None:
    def module(block: StatBlock) -> ModuleSet:
        ends = Stat(return_=StatReturn(list=[Expr(nil=ExprConstantNil())]))
        return ModuleSet(module=StatBlock(body=[Stat(block=block), ends]), program=StatBlock())

    for room, rule in enumerate(("depth", "depth", "module", "module")):
        block = StatBlock(body=[Stat(return_=StatReturn())])
        if room % 2:
            cond = Expr(nil=ExprConstantNil())
            block = StatBlock(body=[Stat(if_=StatIf(cond=cond, then=block))])
        while deepest(module(block)) + 2 <= MAX_DEPTH - room:
            block = StatBlock(body=[Stat(block=block)])
        tree = module(block)
        assert deepest(tree) == MAX_DEPTH - room
        assert [problem.rule for problem in check(tree)] == [rule]
        repaired = repair(tree)
        assert check(repaired) == []
        assert deepest(repaired) <= MAX_DEPTH


def test_locals_of_the_module_are_not_seen_by_the_program() -> None:
    tree = from_text(
        ModuleSet, fill("module { %s %s } program { %s }", LOCAL_V1, returns(NIL), returns(V1))
    )
    assert unfolded(repair(tree).program) == "return type"


def test_bytes_that_are_utf_8_are_decoded() -> None:
    tree = Expr(string=MESSAGES["ExprConstantString"](val="\udcc3\udca9\udcff"))
    assert [problem.rule for problem in check(tree)] == ["string"]
    assert repair(tree).string.val == "é\udcff"


def test_a_global_that_a_local_hides_becomes_the_local() -> None:
    names = Names(locals=("a", "b"), customs=("a", "c"))
    block = from_text(
        StatBlock, "body { local { vars { name: 0 } } }" + returns("global { name { custom: 0 } }")
    )
    assert [problem.rule for problem in check(block, names=names)] == ["hidden"]
    assert repair(block, names=names).body[1].return_.list[0].local.var.name == 0
    assert check(block) == []


def test_a_global_that_no_local_may_stand_for_becomes_another() -> None:
    names = Names(locals=("a",), customs=("a", "c"))
    text = "body { repeat { body { %s body { local { vars { name: 0 } } } } cond { %s } } }"
    cond = "global { name { custom: 0 } }"
    block = from_text(StatBlock, text % (BREAK_IF % "continue", cond))
    assert unfolded(repair(block, names=names), names=names).endswith("until c")


def test_indexes_that_are_one_name_are_one_variable() -> None:
    count = len(DEFAULT.locals)
    block = from_text(
        StatBlock, LOCAL_V1 + returns(fill("local { var { name: %s } }", str(1 - 3 * count)))
    )
    assert check(block) == []


SCOPES = """\
local v1 = 1
local function v2() return v2, v1 end
for v3 = v1, v1 do local v4 = v3 end
for v5, v6 in v1 do v5 = v6 end
repeat local v7 = 1 if v7 then break end until v7
repeat local v8 = 1 if v8 then continue end until v8
repeat local v9 while v9 do continue end local v10 until v10
repeat if v1 then continue end local v16 until (function(v17: typeof(v16)) return v17 end)()
while v1 do local v11 = function(v12, ...) return v12, ... end continue end
function x1.x2:x3(v13) return self, v13 end
type T1<T2, T3...> = (T2, T4) -> T1<T2, T3...>
local v14: T1<number> = ...
type T4 = typeof(v14) | keyof<T1<T4>>
local v15: v14.T5
do return (v1) end
"""


def test_a_program_that_uses_every_scope_rightly_is_left_alone() -> None:
    result = parse(SCOPES)
    assert check(result.tree, names=result.names) == []
    assert repair(result.tree, names=result.names) == result.tree


small_trees = st.sampled_from(list(MESSAGES.values())).flatmap(
    lambda cls: strategies.messages(cls, size=60)
)


@given(small_trees)
def test_repair_makes_a_valid_tree_once_for_all_and_leaves_its_argument(tree: Message) -> None:
    before = pickle.dumps(tree)
    repaired = repair(tree)
    assert is_valid(tree) == (check(tree) == [])
    assert pickle.dumps(tree) == before
    assert check(repaired) == []
    assert repair(repaired) == repaired
    assert (repaired == tree) == (check(tree) == [])
    shared = {id(message) for message, _ in walk(tree)} & {id(m) for m, _ in walk(repaired)}
    assert not shared


@given(strategies.module_sets())
def test_what_is_repaired_reads_back_as_it_is(tree: ModuleSet) -> None:
    repaired = repair(tree)
    source = render(repaired.program)
    result = parse(source)
    assert render(result.tree.program, names=result.names) == source


@given(small_trees)
def test_every_problem_has_a_rule_and_a_place(tree: Message) -> None:
    for problem in check(tree):
        assert problem.rule in RULES
        assert problem.message


NEWER = ("version", "class", "type-function", "parentheses", "number", "default", "indexer", "pack")


def test_every_rule_is_broken_by_a_test_or_needs_a_tree_too_large() -> None:
    tested = {case[0] for case in (*CASES.values(), *SETS.values())}
    limits = {"depth", "locals", "registers", "upvalues", "closures", "size"}
    newer = {"attribute", "argument", "const", "export", *NEWER}  # which test_newer_rules.py breaks
    assert set(RULES) == tested | limits | {"hidden"} | newer


def test_no_tree_gets_deeper_than_protobuf_reads() -> None:
    for seed in range(20):
        tree = generate(ModuleSet, seed=seed, size=3000, max_depth=MAX_DEPTH - 1)
        deepest(tree)
        assert deepest(repair(tree)) <= MAX_DEPTH


def deepest(tree: Message) -> int:
    return 1 + max(len(path) for _, path in walk(tree))


@pytest.mark.parametrize("room", range(8))
def test_what_has_no_room_gives_way_to_what_has(room: int) -> None:
    ends = [
        "body { return { list { } } } body { block { } }",
        "body { break { } } body { }",
        "body { local { } }",
        "body { for_in { body { } } }",
        "body { assign { } }",
        "body { require_into_local { var { name: 0 } modulenum: 1 } }",
        "body { type_alias { export: true name { index: 0 } type { } } }",
        "body { call { expr { func { } self: false args { } } } }",
        "body { if { cond { } then { } elseif { cond { } then { } } } }",
        "body { local { vars { name: 1 } types { } values { } } }",
        returns("ifelse { cond { } then { } elseif { cond { } then { } } }"),
        returns("table { items { value { } key_expr { } } }"),
        returns("interpstring { parts { } }"),
        returns("index_name { expr { } index { } }"),
        returns("function { vararg: true body { } types { } rettypes { } }"),
    ]
    for end in ends:
        tree = from_text(StatBlock, end)
        for _ in range((MAX_DEPTH - room - deepest(tree)) // 2):
            tree = StatBlock(body=[Stat(block=tree)])
        assert MAX_DEPTH - room - 1 <= deepest(tree) <= MAX_DEPTH
        repaired = repair(tree)
        assert deepest(repaired) <= MAX_DEPTH
        assert check(repaired) == []
        parse(render(repaired))


def test_a_tree_that_is_deeper_anyway_may_stay_so() -> None:
    expr = Expr(nil=ExprConstantNil())
    for _ in range(70):
        expr = Expr(unary=ExprUnary(op=ExprUnary.Op.Not, expr=expr))
    assert repair(expr) == expr
    for _ in range(20_000):
        expr = Expr(group=ExprGroup(expr=expr))
    assert {problem.rule for problem in check(expr)} == {"depth"}
    assert deepest(repair(expr)) <= DEEPEST


def test_a_long_if_expression_is_only_reported_as_too_deep() -> None:
    result = parse("return if x then y" + " elseif x then y" * 450 + " else z")
    assert {problem.rule for problem in check(result.tree)} == {"depth"}
    repaired = repair(result.tree)
    assert check(repaired) == []
    assert unfolded(repaired).endswith(" else 0")


LOCALS = " ".join(f"local a{number} = x" for number in range(200))
INNER = " ".join(f"x(a{number})" for number in range(120))
B_LOCALS = LOCALS.replace("local a", "local b")
INNER_B = INNER.replace("(a", "(b")
LONG_LIST = ", ".join(["x"] * 300)


@pytest.mark.parametrize(
    ("rule", "source", "end"),
    [
        ("locals", f"{LOCALS} local b, c = x, y", "a199 = x x1, x2 = x, y"),
        ("locals", f"{LOCALS} local b", "do end"),
        ("locals", f"{LOCALS} local function b() return b end", "function x5() return a"),
        ("locals", f"{LOCALS} for b = 1, 2 do x() end", "do x() end"),
        ("locals", f"{LOCALS} for b in x do x() end", "do x() end"),
        ("locals", f'{LOCALS} local b = require("./module0")', "do end"),
        ("locals", LOCALS.removesuffix("local a199 = x") + "local b, c", "local b"),
        (
            "upvalues",
            f"{LOCALS} function f() {B_LOCALS} return function() {INNER} {INNER_B} end end",
            "x(b78) x(b79) x(a0)",
        ),
        ("registers", f"x({LONG_LIST})", "x, x)"),
        ("registers", f"return {LONG_LIST}", "x, x"),
        ("registers", f"local a = {LONG_LIST}", "x, x"),
        ("registers", f"{LONG_LIST} = x", "x = x"),
        ("registers", f"return `{'{x}' * 300}`", "{x}{x}`"),
        ("registers", f"{LOCALS} return {' .. '.join(['x'] * 99)}", "x .. x .. 0"),
        ("registers", "return " + "x(y, " * 90 + "z" + ")" * 90, "x(y, x())"),
        ("registers", "return " + "x[" * 150 + "x" + "]" * 150, "x[0]"),
        ("registers", LOCALS + " x" + "()" * 65 + "[x[y]].z = 1", " = 1"),
    ],
)
def test_programs_are_cut_where_the_compiler_has_a_limit(rule: str, source: str, end: str) -> None:
    result = parse(source)
    assert not is_valid(result.tree, names=result.names)
    problems = check(result.tree, names=result.names)
    assert rule in {problem.rule for problem in problems}
    assert {problem.rule for problem in problems} <= {rule, "local"}
    repaired = repair(result.tree, names=result.names)
    assert check(repaired, names=result.names) == []
    assert end in unfolded(repaired, names=result.names)


def test_two_hundred_locals_and_no_more_are_left_alone() -> None:
    for source in (LOCALS, f"function f({LOCALS.replace(' = x local', ',')[6:-4]}) end"):
        result = parse(source)
        assert check(result.tree, names=result.names) == []


def test_only_functions_that_luau_has_no_room_for_are_reported() -> None:
    item = TableItem(value=Expr(function=ExprFunction(vararg=False, body=StatBlock())))
    assert len(check(Expr(table=ExprTable(items=[item] * 32769)))) == 1


def test_functions_that_are_too_many_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scriptschema.luau.validation.traversal.MAX_CLOSURES", 2)
    function = ExprFunction(vararg=False, body=StatBlock())
    tree = StatBlock(body=[Stat(return_=StatReturn(list=[Expr(function=function)] * 4))])
    assert [problem.rule for problem in check(tree)] == ["closures"] * 2
    assert unfolded(repair(tree)) == "return function() end, function() end, 0, 0"
    tree = from_text(
        StatBlock,
        "body { local_function { var { name: 1 } func { vararg: false body { } } } }" * 4,
    )
    assert unfolded(repair(tree)) == "local function v1() end local function v1() end do end do end"


def test_functions_that_are_too_long_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scriptschema.luau.validation.statements.MAX_SIZE", 20)
    tree = from_text(StatBlock, "body { while { cond { nil { } } body { } } }" * 9)
    assert {problem.rule for problem in check(tree)} == {"size"}
    assert render(repair(tree)).count("while") < 9


@pytest.mark.parametrize(
    "source",
    [
        "return function(v0, v0) return v0 end",
        "function x1:x2(self) end",
        "type T0<T3, T3, T3...> = T3",
        "local function v0<T0, T0>() end",
    ],
)
def test_several_parameters_with_one_name_are_valid_as_in_luau(source: str) -> None:
    assert check(parse(source).tree) == []


def test_tables_without_self_or_any_do() -> None:
    names = Names(locals=("a",), primitives=("number",), customs=("x", "y"))
    tree = from_text(
        StatBlock,
        fill(
            "body { function { self: true var { index_name { index { custom: 0 } expr { } } } func "
            "{ vararg: false args { name: 0 } rettypes { } body { %s } } } }",
            returns(V1),
        ),
    )
    source = unfolded(repair(tree, names=names), names=names)
    assert source == "function print:x(a): number return a end"


@settings(max_examples=30)
@example(seed=0)
@given(st.integers(0, 10_000))
def test_the_same_tree_is_repaired_alike(seed: int) -> None:
    assert repair(generate(seed=seed)) == repair(generate(seed=seed))


def test_problem_says_where_even_at_the_root() -> None:
    [problem] = check(Expr())
    assert str(problem) == "tree: missing expression [unset]"
    assert isinstance(problem, Problem)
