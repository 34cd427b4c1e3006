"""The reference itself: the process reports Luau's results, and survives whatever programs do."""

from __future__ import annotations

from real_luau import Answer, RealLuau

from scriptschema.luau.parse import parse
from scriptschema.luau.render import render


def test_syntax_errors_are_reported_with_their_line(luau: RealLuau) -> None:
    assert "source:2: Expected identifier" in str(luau.compile("local x = 1\nx = = 2"))


def test_limits_of_the_compiler_are_reported_and_the_next_source_compiles(luau: RealLuau) -> None:
    too_many = "\n".join(f"local x{number} = y" for number in range(201))
    assert luau.compile(too_many) is not None
    assert luau.compile("local x = 1") is None
    assert luau.compile("") is None


def test_answers_come_in_the_order_of_the_sources(luau: RealLuau) -> None:
    assert [error is None for error in luau.compile_all(["x = 1", "x =", "x = 2"])] == [
        True,
        False,
        True,
    ]


def test_output_is_reported_byte_by_byte_and_errors_with_what_came_before(luau: RealLuau) -> None:
    assert luau.run('print("\\xff", 1.5, nil)\nprint(2)') == Answer(None, "\\xff\t1.5\tnil\n2")
    answer = luau.run("print(1) local x = nil\nx.y = 1")
    assert answer.output == "1"
    assert answer.error == "source:2: attempt to index nil with 'y'"


def test_a_comment_ends_at_a_carriage_return(luau: RealLuau) -> None:
    source = "print(1) -- a comment\rprint(2)\n--[=\rprint(3)"
    assert luau.run(source).output == "1\n2\n3"
    assert luau.run(render(parse(source).tree.program)).output == "1\n2\n3"


def test_programs_require_their_module_and_no_other(luau: RealLuau) -> None:
    program = 'print(require("./module0").x + require("./module0").x)'
    assert luau.run(program, "return {x = 4}").output == "8"
    assert luau.run(program).error == "source:1: no module ./module0"


def test_programs_do_not_see_each_other(luau: RealLuau) -> None:
    assert luau.run("x = 1 print = nil").error is None
    assert luau.run("print(x)").output == "nil"


def test_endless_programs_are_ended(luau: RealLuau) -> None:
    answer = luau.run("while true do end", milliseconds=50)
    assert answer.timeout
    assert luau.run("print(1)").output == "1"


def test_a_program_that_takes_all_memory_ends_itself_only(luau: RealLuau) -> None:
    answer = luau.run("local t = {} while true do t[#t + 1] = {t} end", milliseconds=20_000)
    assert answer.error is not None
    assert luau.run("print(1)").output == "1"
