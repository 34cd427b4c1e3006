"""Planted bugs: a Luau that fails on certain constructs. Fuzzing finds each bug and reduces it.

The real Luau compiles each reduced program, so that a reduction cannot end in an invalid program.
"""

import re
import shutil

import pytest
from real_luau import FOLDER, RealLuau, what_is_missing

from scriptschema import wire
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Suspect
from scriptschema.fuzzing.campaign.reduction import reduce_suspect
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.editing import insert
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.reduce import Reducer
from scriptschema.fuzzing.targets.description import Description
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
"""For each bug, a pattern of the sources on which Luau fails, and a source that matches it."""


SHOWN_LATER = {
    "by pcall": 'print(pcall(function(a, b) return string.sub("abc", a, b) end, 4, 2 + 1 / 2))',
    "in a function": (
        "local function f(a, b) local c = a + b return bit32.rrotate(c, b) end "
        "local t = {f(7, -31), 2} print(1, t[1], #t)"
    ),
    "in a coroutine": (
        "local n = 0 local f = coroutine.wrap(function(a) n += a coroutine.yield(n) "
        'local s = string.format("%8.3f", n) print(#s, s) end) f(1) f()'
    ),
    "in an object": (
        "local t = {v = -2147483648, f = function(self, x) self.v = bit32.bor(self.v, x) "
        "return self.v end} local u = setmetatable(t, {__index = t}) print(u:f(7)) print(u.v)"
    ),
    "counted": (
        'print(pcall(function(a, b, c) local n, s = 0, "" for i = 3, -4, -3 do n += 1 '
        's = s .. i .. " " end return n, s end, 1, 2, 3))'
    ),
    "in a closure": (
        'local r = {} for i = 1, 3 do local a = string.sub("ab", i + 1) '
        "r[i] = function() return a .. i end end for k, f in ipairs(r) do print(k, f()) end"
    ),
    "in a branch of a loop": (
        "local function g(x) if x > 3 then return bit32.rrotate(x, -31) else return 0 end end "
        "local s = 0 for i = 1, 5 do s += g(i) end print(s)"
    ),
}
"""Programs in which a bug in planted.mjs leads to a wrong result that is printed elsewhere."""


@pytest.mark.parametrize("name", SHOWN_LATER)
def test_a_wrong_result_is_shown_where_it_is_made(name: str) -> None:
    if what_is_missing():
        pytest.skip(str(what_is_missing()))
    command = f"{shutil.which('node')} {FOLDER / 'planted.mjs'} {FOLDER}"
    bugs = "rotate sub precision smallest step"
    target = Description("persistent", f"{command} {bugs}", variants=("-O0", "-O2"), seconds=5)
    runner = Runner(Config(targets=(target,)))
    tree = parse(SHOWN_LATER[name]).tree
    verdict, runs = runner.verdict(tree)
    assert verdict is not None
    reduced = reduce_suspect(runner, Suspect(wire.encode(tree), verdict, runs, {}))
    runner.close()
    assert reduced is not None
    shown = render_module_set(wire.decode(ModuleSet, reduced.data)).program
    assert reduced.is_smallest
    assert reduced.nodes <= 20, shown


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
