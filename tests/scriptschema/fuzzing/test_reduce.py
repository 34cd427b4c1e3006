"""Reduced programs are still interesting, valid, a fixed point, and the same with several jobs."""

import re
import threading
import time
import warnings
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scriptschema import Path, strategies, walk, wire
from scriptschema.fuzzing.editing import insert
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.passes import PHASES, replacing
from scriptschema.fuzzing.reduce import (
    RETEST,
    NotInterestingError,
    Reducer,
    UnreliableTestWarning,
    reduce,
)
from scriptschema.generation.trees import generate
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render, render_module_set
from scriptschema.luau.repair import check, repair
from scriptschema.messages import (
    Expr,
    ExprBinary,
    ExprConstantNumber,
    ExprConstantString,
    ExprFunction,
    ModuleSet,
    Stat,
    StatBlock,
    StatCall,
    StatForIn,
    StatReturn,
    StatWhile,
)


def has(*classes: type) -> Callable[[ModuleSet], bool]:
    """Return a predicate: whether messages of `classes` are nested in a tree, in this order."""

    def interesting(tree: ModuleSet) -> bool:
        index = Index(tree)
        for number in index.of(classes[-1]):
            wanted = [*classes[:-1]]
            above = index.parents[number]
            while wanted and above >= 0:
                if isinstance(index.nodes[above], wanted[-1]):
                    wanted.pop()
                above = index.parents[above]
            if not wanted:
                return True
        return False

    return interesting


CALL_IN_WHILE = has(ExprFunction, StatWhile, StatCall)


def subject(size: int, seed: int = 1) -> ModuleSet:
    """Return a program of about `size` nodes that contains a call in a while in a function."""
    tree = repair(generate(seed=seed, size=size))
    index = Index(tree)
    deepest = max(index.of(StatBlock), key=index.depth)
    call = parse("local f = function(a, b) if a then while b do print(a, 2) end end end").tree
    path = Path(index.path(deepest), "body", 0)
    tree = repair(insert(tree, path, call.program.body[0]))
    assert CALL_IN_WHILE(tree)
    return tree


CLASSES = [ExprBinary, StatCall, StatWhile, ExprFunction, StatReturn, ExprConstantString]


@settings(max_examples=50)
@given(strategies.programs(), st.sampled_from(CLASSES), st.sampled_from(CLASSES))
def test_what_is_left_is_interesting_valid_and_cannot_be_made_smaller(
    tree: ModuleSet, outer: type, inner: type
) -> None:
    interesting = has(outer, inner)
    before = wire.encode(tree)
    if not interesting(tree):
        with pytest.raises(NotInterestingError):
            reduce(tree, interesting)
        return
    reduced = reduce(tree, interesting)
    assert wire.encode(tree) == before
    assert interesting(reduced)
    assert check(reduced) == []
    assert len(Index(reduced)) <= 20
    size = len(Index(reduced)), len(render(reduced)), render(reduced)
    for phase in PHASES:
        for each in phase:
            for _, make in each(Index(reduced)):
                edited = repair(make())
                smaller = (len(Index(edited)), len(render(edited)), render(edited)) < size
                assert not (smaller and interesting(edited)), each.__name__
    assert reduce(reduced, interesting) == reduced


def test_a_call_in_a_while_in_a_function_is_found_in_few_tests() -> None:
    for tree in (subject(600, seed) for seed in range(3)):
        reducer = Reducer(tree, CALL_IN_WHILE)
        assert len(Index(reducer.run())) == 18
        assert reducer.tests <= 80


@pytest.mark.parametrize(
    ("use", "left"), [("print({})", "print(1 // 2)\n"), ("print({}.k)", "print((1 // 2).x0)\n")]
)
def test_a_variable_between_a_value_and_its_use_goes(use: str, left: str) -> None:
    tree = parse(f"local x = 1 // 2 if x then {use.format('x')} x = 2 end").tree
    variable = re.search(r"local (\w+)", render(tree))
    assert variable
    value = rf"(1 // 2|\(1 // 2\)|{variable[1]})"
    shows = re.compile(rf"\bprint\({value}{'[.]' if '.' in use else ''}")

    def interesting(tree: ModuleSet) -> bool:
        return bool(shows.search(render(tree))) and "1 // 2" in render(tree)

    assert render(reduce(tree, interesting)) == left


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("print(math.floor(-7 + (3 - 1 / 4) * 2), 5)", "floor(-1 / 2)"),
        ("print(math.floor(-7 + (3 - 1 / 4) * 2), 0.5)", "floor(-0.5)"),
    ],
)
def test_a_calculation_whose_fraction_is_what_matters_becomes_one(source: str, left: str) -> None:
    tree = parse(source, luau="today").tree

    def interesting(tree: ModuleSet) -> bool:
        found = re.search(r"floor\(([-+*/\d ().]+)\)", render(tree))
        try:
            value = eval(found[1]) if found else 0
        except (ZeroDivisionError, SyntaxError):  # where Luau has no number, or `- -1`
            return False
        return bool(value < 0 and value % 1)

    assert left in render(reduce(tree, interesting))


@pytest.mark.parametrize(
    ("source", "shows"),
    [("print(1 / 4)", r"1 / 4|0\.25"), ("print(65536 * 65536)", r"65536 \* 65536|4294967296")],
)
def test_a_reduced_tree_can_be_read_in_the_schema_of_the_tree(source: str, shows: str) -> None:
    tree = parse(source).tree
    reduced = reduce(tree, lambda each: re.search(shows, render(each)) is not None)
    assert wire.decode(ModuleSet, wire.encode(reduced)) == reduced


@pytest.mark.parametrize("jobs", [2, 5])
def test_many_jobs_give_the_same_tree_as_one(jobs: int) -> None:
    for tree in (subject(200, seed) for seed in range(3)):
        assert reduce(tree, CALL_IN_WHILE, jobs=jobs) == reduce(tree, CALL_IN_WHILE)


def test_jobs_test_at_the_same_time() -> None:
    tree = subject(200)
    together = threading.Barrier(2)
    met = False

    def interesting(candidate: ModuleSet) -> bool:
        nonlocal met
        try:
            together.wait(0.05)
            met = True
        except threading.BrokenBarrierError:
            together.reset()
        return CALL_IN_WHILE(candidate)

    assert reduce(tree, interesting, jobs=2) == reduce(tree, CALL_IN_WHILE)
    assert met


def test_no_source_is_tested_twice_but_to_see_whether_the_test_wavers() -> None:
    tree = subject(600)
    tested = []

    def interesting(candidate: ModuleSet) -> bool:
        tested.append(render(candidate))
        return CALL_IN_WHILE(candidate)

    reduce(tree, interesting)
    assert len(tested) - len(set(tested)) <= 4


def test_every_candidate_of_a_valid_tree_is_valid() -> None:
    tree = subject(300)

    def interesting(candidate: ModuleSet) -> bool:
        assert check(candidate) == []
        return CALL_IN_WHILE(candidate)

    reduce(tree, interesting)


def test_a_loop_over_nothing_which_luau_rejects_is_reduced_like_any_other() -> None:
    loop = Stat(for_in=StatForIn(body=StatBlock(body=[])))
    tree = ModuleSet(program=StatBlock(body=[loop, loop]))
    assert len(reduce(tree, lambda tree: bool(tree.program.body)).program.body) == 1


def test_a_tree_that_is_no_program_is_reduced_as_it_is() -> None:
    tree = generate(Stat, seed=3, size=300)
    assert check(tree)
    reduced = reduce(tree, lambda stat: len(Index(stat).of(ExprBinary)) >= 2)
    assert len(Index(reduced).of(ExprBinary)) == 2


@pytest.mark.parametrize(
    ("value", "holds", "left"),
    [
        (-70_123, lambda value: value < -70_000, -70_001),
        (123_456, lambda value: value > 1_000, 1_001),
        (-5, lambda value: value, 1),
        (-(2**31), lambda value: value < 0, -1),
        ("hello world, hello", lambda value: value.count("o") > 1, "oo"),
    ],
)
def test_numbers_and_strings_shrink_to_the_least(
    value: object, holds: Callable[[object], bool], left: object
) -> None:
    constant = (
        Expr(string=ExprConstantString(val=value))
        if isinstance(value, str)
        else Expr(number=ExprConstantNumber(val=value))
    )
    tree = ModuleSet(program=StatBlock(body=[Stat(return_=StatReturn(list=[constant]))]))

    def values(candidate: ModuleSet) -> list[object]:
        return [
            node.val
            for node, _ in walk(candidate)
            if isinstance(node, (ExprConstantNumber, ExprConstantString))
        ]

    reduced = reduce(
        tree, lambda candidate: any(holds(v) for v in values(candidate) if type(v) is type(value))
    )
    assert values(reduced) == [left]


def test_a_test_that_wavers_is_noticed_and_said() -> None:
    tree = subject(200)
    calls = 0

    def interesting(candidate: ModuleSet) -> bool:
        nonlocal calls
        calls += 1
        return CALL_IN_WHILE(candidate) and calls % 2 == 1

    with pytest.warns(UnreliableTestWarning, match="different results for the same tree"):
        reduce(tree, interesting)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reduce(tree, CALL_IN_WHILE)


def test_what_the_test_raises_comes_out_and_the_best_so_far_is_there() -> None:
    tree = subject(600)
    calls = 0

    def interesting(candidate: ModuleSet) -> bool:
        nonlocal calls
        calls += 1
        if calls == 15:
            raise KeyboardInterrupt
        return CALL_IN_WHILE(candidate)

    reducer = Reducer(tree, interesting)
    with pytest.raises(KeyboardInterrupt):
        reducer.run()
    assert reducer.size < 300
    assert CALL_IN_WHILE(reducer.best)


def test_jobs_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="jobs must be at least 1, found 0"):
        reduce(StatBlock(), bool, jobs=0)


@pytest.mark.parametrize("jobs", [1, 3])
def test_no_more_tests_run_at_once_than_there_are_jobs(jobs: int) -> None:
    running = most = tests = 0
    lock = threading.Lock()

    def interesting(tree: ModuleSet) -> bool:
        nonlocal running, most, tests
        with lock:
            running += 1
            tests += 1
            most = max(most, running)
        time.sleep(0.001)
        with lock:
            running -= 1
        return len(Index(tree).of(StatWhile)) >= 3 and len(Index(tree).of(StatCall)) >= 3

    seeds = (generate(seed=seed, size=2000) for seed in range(100))
    tree = next(tree for tree in map(repair, seeds) if interesting(tree))
    reduce(tree, interesting, jobs=jobs)
    assert tests > RETEST  # the best tree was tested again meanwhile
    assert most <= jobs


def test_a_value_is_printed_where_it_is_made() -> None:
    source = "x0 = 0 x0 += 1 // 2 for i = 1, 2 do x0 += i end print(x0)"

    def shows(tree: ModuleSet) -> bool:
        text = render_module_set(tree).program
        return re.search(r"print\(.*//|= .* // (?s:.*)print\(", text) is not None

    reduced = reduce(parse(source).tree, shows)
    assert render_module_set(reduced).program == "print(0 // 0)\n"


def test_one_of_several_local_variables_is_put_in_place_of_its_uses() -> None:
    def shows(tree: ModuleSet) -> bool:
        text = render_module_set(tree).program
        return re.search(r"print\(.* // |(?s:2.*)print\(", text) is not None and "2" in text

    reduced = reduce(parse("local a, b, c = 1, 2, 3 print(a // b)").tree, shows)
    assert "local" not in render_module_set(reduced).program


def test_what_the_seed_s_schema_lacks_goes_where_it_does_not_matter() -> None:
    function = "@native const function f<T>(a: T) const b = (a :: any) return b end"
    tree = parse(f"{function} print(f<<number>>(1.5))", luau="today").tree
    reduced = reduce(tree, lambda each: "print" in render(each.program))
    left = render(reduced.program)
    assert not re.search("@native|const|::|<<|[.]5", left), left
    wanted = reduce(tree, lambda each: "@native" in render(each.program))
    assert " ".join(render(wanted.program).split()).startswith("@native ")


@pytest.mark.parametrize(
    ("source", "smaller"),
    [
        ("for v1, v2 in {buffer.create(0)} do print(v2) end", "local v2, v1 = buffer.create(0)"),
        ("for v0 = 3, 4 do print(v0) end", "local v0 = 3\nprint(v0)"),
        ("coroutine.resume(coroutine.create(function(v0) print(v0) end), 3)", "print(3)"),
        ("print((function() return 0 end)())", "print(#{})"),
        ("pcall(function() f() end)", "(function()"),
        (
            "print((function(v0, v1) v0 = 2 return v1 end)(3, 4))",
            "local v0, v1 = 3, 4\nv0 = 2\nlocal v2 = v1\nprint(v2)",
        ),
        ("pcall(function(...) print(function(...) f(...) end, ...) end, 7)", "print(function(...)"),
        (
            "pcall(function(...) print(function(...) g(...) end, ...) end, 7)",
            "x1 = 7\nprint(function(...)\n  x0(...)\nend, x1)",
        ),
    ],
)
def test_loops_and_calls_around_a_bug_are_removed(source: str, smaller: str) -> None:
    index = Index(parse(source).tree)
    edits = [edit for phase in PHASES for each in phase for edit in each(index)]
    sources = [render(repair(make()).program) for _, make in edits]
    assert any(each.startswith(smaller) for each in sources)


@pytest.mark.parametrize(
    ("sources", "left"),
    [
        (
            (
                "while a do continue end",
                "for i = 1, 2 do continue end",
                "for k in t do continue end",
            ),
            "while nil do continue end",
        ),
        (("type T = Vector3", "type T = {a: number}", "type T = any"), "type T0 = {}"),
        (("a += '\\1'", "local b = '\\1'"), 'local v0 = "\\x01"'),
    ],
)
def test_a_bug_is_shown_by_one_program_whatever_it_was_found_in(
    sources: tuple[str, ...], left: str
) -> None:
    for source in sources:
        reduced = reduce(
            parse(source).tree,
            lambda tree: bool(re.search(r"continue|type |\\", render_module_set(tree).program)),
        )
        assert " ".join(render_module_set(reduced).program.split()) == left


@pytest.mark.parametrize(
    ("source", "smaller"),
    [
        ("print(7 - (function() return 2 end)())", "print(7 - (x0 or 2))"),
        ("print(7 - ({a = 2}).a)", "print(7 - (x1 or 2))"),
        ("print(7 - (function() return 2 end)())", "print(7 - tonumber(2))"),
        ("local v0: any = 2 print(7 - v0)", "print(7 - (x0 or 2))"),
        ("x0, x1 = 1, 2 print(7 - x1)", "x0 = 1\nprint(7 - 2)"),
        ("x0, x1 = 1, 2 print(7 - x1)", "x1 = 2\nprint(7 - x1)"),
        ("print(({a = 2i}).a)", "print(2i)"),
    ],
)
def test_a_constant_is_hidden_from_the_compiler_by_little_code(source: str, smaller: str) -> None:
    index = Index(parse(source, luau="today").tree)
    edits = [edit for phase in PHASES for each in phase for edit in each(index)]
    assert f"{smaller}\n" in [render(repair(make()).program) for _, make in edits]


@pytest.mark.parametrize(
    ("calculation", "result"),
    [("3 * 87", "261"), ("1 / 4", "0.25"), ("0.5 - 3", "-2.5"), ("65536 * 65536", "4294967296")],
)
def test_a_calculation_becomes_its_result(calculation: str, result: str) -> None:
    def shows(tree: ModuleSet) -> bool:
        return re.search(rf"= ({re.escape(calculation)}|{result})\nx0", render(tree)) is not None

    reduced = reduce(parse(f"local v0 = {calculation} f(1e100)", luau="today").tree, shows)
    assert render(reduced) == f"local v0 = {result}\nx0()\n"


@pytest.mark.parametrize("calculation", ["0 * -1", "1 / 0", "0 / 0"])
def test_a_calculation_whose_result_is_no_constant_stays(calculation: str) -> None:
    [(_, make)] = replacing.calculate(Index(parse(f"print({calculation})").tree))
    assert "-0.5" in render(make())


def test_calculations_that_belong_together_go_together() -> None:
    def shows(tree: ModuleSet) -> bool:
        text = render(tree)
        return "print" in text and len({*re.findall(r"x\d( \* 4)?", text)}) == 1

    reduced = reduce(parse("print(x0 * 4, x1 * 4)").tree, shows)
    assert "*" not in render(reduced)


def test_a_loop_that_ends_does_not_become_one_that_does_not() -> None:
    def hangs(tree: ModuleSet) -> bool:  # as every endless loop does
        return bool(re.search(r"for |while true|while 0", render_module_set(tree).program))

    reduced = reduce(parse("for i = 1, 2 do f() end").tree, hangs)
    assert "while" not in render_module_set(reduced).program


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("pcall(function(v0) print(7 - v0) end, 2)", "x0 = 2 print(7 - x0)"),
        ("(function(...) print(7 - ...) end)(2)", "x0 = 2 print(7 - x0)"),
        ("print(7 - (function() return #{2} end)())", "x0 = 2 print(7 - x0)"),
    ],
)
def test_a_value_that_the_compiler_must_not_know_needs_no_function(source: str, left: str) -> None:
    def shows(tree: ModuleSet) -> bool:
        text = render_module_set(tree).program
        is_unknown = re.search(r"print\(7 - (?:[xv]\d|\.\.\.|\(function)", text) is not None
        return is_unknown and "2" in text and "local" not in text

    reduced = reduce(parse(source).tree, shows)
    assert " ".join(render_module_set(reduced).program.split()) == left


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("pcall(F, 1, 2, 3)", "pcall(function(v0) print(v0, v0) end, 2)"),
        ("(F)(1, 2, 3)", "(function(v0) print(v0, v0) end)(2)"),
    ],
)
def test_arguments_that_a_bug_does_not_need_go_with_their_parameters(
    source: str, left: str
) -> None:
    tree = parse(source.replace("F", "function(a, b, ...) print(b, b) end")).tree
    called = re.compile(r"function\((?:v\d, )*(v\d)(?:, v\d|, \.\.\.)*\)\s+print\(\1, \1\)")

    def shows(tree: ModuleSet) -> bool:
        text = render_module_set(tree).program
        return text.startswith(left[:4]) and called.search(text) is not None and "2" in text

    reduced = reduce(tree, shows)
    assert " ".join(render_module_set(reduced).program.split()) == left
