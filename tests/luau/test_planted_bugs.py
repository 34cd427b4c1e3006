"""Planted bugs: a Luau that fails on given constructs, as a fuzzer would find it; each is reduced.

The real Luau compiles what is kept, so that nothing is kept that is no Luau.
"""

import re

import pytest
from real_luau import RealLuau

from scriptschema.fuzzing.editing import insert
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.reduce import Reducer
from scriptschema.generation.programs import program
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render_module_set
from scriptschema.luau.repair import check
from scriptschema.messages import ModuleSet, Stat

BUGS = {
    "a pcall in a loop": (
        r"(?s)for .* do\b.*pcall\(",
        "for i = 1, 3 do print(pcall(function() error(i) end)) end",
    ),
    "a repeat until": (
        r"(?s)repeat.*until",
        "local n = 0 repeat n += 1 if n > 2 then print(n) end until n > 3",
    ),
    "a function in a loop": (
        r"(?s)for .* do\b.*function",
        "local t = {} for i = 1, 3 do t[i] = function(a) return a + i end end print(#t)",
    ),
    "a vararg function": (
        r"function[^\n(]*\([^\n)]*\.\.\.\)",
        "local function f(a, ...) return select('#', ...) end print(f(1, 2))",
    ),
    "an interpolated string": (
        r"`[^`\n]*\{[^`\n]*`",
        'local n = 3 for i = 1, n do print(`{i} of {n}`, "x") end',
    ),
    "an if-else expression": (
        r"= if .* then .* else ",
        "local a = 1 local b = if a > 1 then a * 2 else a + 1 print(b)",
    ),
    "a compound assignment": (
        r"\w [-+*/]= ",
        "local a = {b = 2} for i = 1, 2 do a.b *= i + 1 end print(a.b)",
    ),
    "a power and a concatenation": (
        r"(?s)\^.*\.\. ",
        'local x = 2 print(x ^ 3) local s = "a" .. x print(s)',
    ),
    "a method call": (
        r"\w:\w+\(",
        'local s = "abc" if s then print(s:upper(), s:rep(2)) end',
    ),
    "a table with a named field": (
        r"\{[^}\n]*\w+ = ",
        "local t = {1, 2, size = #{3}} print(t.size, #t)",
    ),
}
"""Each bug as a pattern of the sources that Luau fails on, and a source that has it."""


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_reduced_to_a_few_messages(name: str, luau: RealLuau) -> None:
    pattern, source = BUGS[name]
    bug = re.compile(pattern)
    planted = Stat(block=parse(source).tree.program)

    def fails(tree: ModuleSet) -> bool:
        source = render_module_set(tree).program
        return bug.search(source) is not None and luau.compile(source) is None

    tree = insert(program(seed=len(name), size=200), "program.body[1]", planted)
    assert fails(tree)
    reducer = Reducer(tree, fails)
    reduced = reducer.run()
    assert fails(reduced)
    assert check(reduced) == []
    assert len(Index(reduced)) <= 20, render_module_set(reduced).program
