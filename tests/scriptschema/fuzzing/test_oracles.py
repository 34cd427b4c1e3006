"""Oracles report bugs and nothing else, and one bug has one signature."""

import math
import re
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scriptschema.base import walk
from scriptschema.files import FileError
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.oracles import differential, normalisation, round_trip
from scriptschema.fuzzing.oracles.causes import Causes
from scriptschema.fuzzing.oracles.construct import (
    VARARGS,
    construct_of,
    contains,
    from_text,
    is_same_bug,
    operations_of,
    text_of,
)
from scriptschema.fuzzing.oracles.differential import (
    difference,
    is_repeated,
    short_names,
    ulps_apart,
)
from scriptschema.fuzzing.oracles.judging import Judge, JudgeError, exception_of, is_clear
from scriptschema.fuzzing.oracles.known import KnownBugs
from scriptschema.fuzzing.oracles.needed import needed_operations, needed_words
from scriptschema.fuzzing.oracles.severity import SEVERITIES, is_at_least, rank_of, severity_of
from scriptschema.fuzzing.oracles.verdict import Difference, Signature, Verdict
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.calibration import Normal
from scriptschema.fuzzing.targets.description import Description, TargetError
from scriptschema.fuzzing.targets.outcome import SILENT, Outcome, Run
from scriptschema.fuzzing.targets.reports import outcome_of
from scriptschema.generation.programs import program
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render_module_set
from scriptschema.messages import ExprFunction, ExprVarargs, ModuleSet
from scriptschema.versions import TODAY

ALL = ("broken", "hang", "memory", "difference", "round-trip", "types")


def runs(*outcomes: Outcome) -> list[Run]:
    return [Run(f"luau -O{number}", outcome) for number, outcome in enumerate(outcomes)]


def ok(output: str) -> Outcome:
    return Outcome("ok", output)


def judged(outcomes: Sequence[Outcome], source: str = "print(1)", **options: str) -> Verdict | None:
    judge = Judge(ALL, [0] * len(outcomes), **options)  # type: ignore[arg-type]
    with closing(judge):
        return judge.judge(Sources(None, source), runs(*outcomes))


def bug(*arguments: Any, **options: str) -> Verdict:
    """Return what `judged` returns, which must not be None."""
    verdict = judged(*arguments, **options)
    assert verdict is not None
    return verdict


# Differences


def differing(*arguments: Any, **options: Any) -> Verdict:
    """Return what `difference` returns, which must not be None."""
    verdict = difference(*arguments, **options)
    assert verdict is not None
    return verdict


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("table: 0x55d0a1", "table: 0x123"),
        ("-nan", "nan"),
        ("-nan(ind)", "nan"),
        ("a\r\n", "a\n"),
    ],
)
def test_what_is_left_out_makes_no_difference(left: str, right: str) -> None:
    assert difference(runs(ok(left), ok(right)), [0, 0]) is None


def test_positions_count_between_variants_and_not_between_targets() -> None:
    two = runs(Outcome("error", "", "a.luau:3: bad"), Outcome("error", "", '[string "x"]:4: bad'))
    assert difference(two, [0, 1], "positions") is None
    assert difference(two, [0, 0], "errors") is None
    verdict = differing(two, [0, 0], "positions")
    assert verdict.signature == Signature("position")
    assert is_clear(verdict.signature)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Outcome("error", "1\n", "a.luau:3: bad"), Outcome("error", "1\n", "a.luau:3: worse")),
        (ok("false\ta.luau:3: bad\t7\n"), ok("false\ta.luau:3: worse\t7\n")),
    ],
    ids=["uncaught", "printed"],
)
def test_messages_count_where_they_are_requested(left: Outcome, right: Outcome) -> None:
    assert difference(runs(left, right), [0, 0]) is None
    for compare in ("errors", "positions"):
        assert differing(runs(left, right), [0, 0], compare).signature == Signature("message")


def test_what_is_printed_beside_a_message_counts() -> None:
    two = runs(ok("false\ta.luau:3: bad\t7\n"), ok("false\ta.luau:3: bad\t8\n"))
    assert differing(two, [0, 0]).signature.kind == "difference"


@pytest.mark.parametrize(
    ("left", "right", "apart"),
    [
        ("0.1", "0.10000000000000002", 1),
        ("x 1e-320 2", "x 1e-320 2.0000000000000009", 2),
        ("-1", "-1.0000000000000002", 1),
        ("0", "-0", None),
        ("nan", "1", None),
        ("1e308", "inf", None),
        ("1", "2", None),
        ("a1", "a2", None),
        ("1 2", "1", None),
        ("-5e-324", "5e-324", 2),
    ],
)
def test_numbers_that_are_near_are_told_by_how_far(
    left: str, right: str, apart: int | None
) -> None:
    two = runs(ok(f"{left}\nsame\n"), ok(f"{right}\nsame\n"))
    verdict = differing(two, [0, 0])
    assert verdict.difference is not None
    assert verdict.difference.ulps == apart
    assert ("in the last place" in verdict.message) == (apart is not None)
    for ulps in (1, 2):
        allowed = apart is not None and apart <= ulps
        assert (difference(two, [0, 0], ulps=ulps) is None) == allowed


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 100))
def test_a_number_is_as_far_from_another_as_there_are_steps(value: float, steps: int) -> None:
    other = value
    for _ in range(steps):
        other = math.nextafter(other, math.inf)
    if math.isfinite(other) and value and other:
        assert ulps_apart(repr(value), repr(other)) == steps


def test_the_worst_comes_first() -> None:
    signatures = [
        *(Signature("sanitizer", "f"), Signature("memory", "-O2"), Signature("crash", "f")),
        *(Signature("seen once", "crash: f"), Signature("internal error"), Signature("own")),
        *(Signature("difference", "a / b"), Signature("assertion", "x"), Signature("hang", "-O1")),
        *(Signature("undefined behaviour", "a.c:3"), Signature("message"), Signature("position")),
    ]
    ranks = [rank_of(signature) for signature in signatures]
    assert ranks == sorted(ranks) == [0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 6, 7]
    assert is_at_least(signatures[0], "crash")
    assert is_at_least(signatures[3], "crash")
    assert not is_at_least(signatures[5], "crash")
    assert {severity_of(signature) for signature in signatures} == {*SEVERITIES}


@pytest.mark.parametrize(
    ("source", "is_feature"),
    [
        ("print(math.floor(x0 or 1))", False),
        ("x0 = 1 print(math.floor(x0 or 1))", True),
        ("print(math.floor(x0 or 1), v0 or 1)", False),
        ("local v0 print(math.floor(x0 or 1), v0 or 1)", True),
        ("print(math.floor(print or 1))", True),
    ],
)
def test_bugs_are_not_alike_because_both_hide_a_constant(source: str, is_feature: bool) -> None:
    tree = parse(source).tree
    assert ("ExprBinary.Op.Or" in construct_of(tree)) == is_feature
    assert "math.floor" in operations_of(tree)


@pytest.mark.parametrize(
    ("detail", "same"),
    [
        ("-O0 / -O1, -O2", True),
        ("-O0, -O1 / -O2", True),
        ("-O0, -O2 / -O1", True),
        ("-O1, -O2 / -O0", False),
        ("constants at run time", False),
    ],
)
def test_a_bug_is_not_lost_because_fewer_levels_show_it(detail: str, same: bool) -> None:
    signatures = Signature("difference", "-O0 / -O1, -O2", "pcall"), Signature("difference", detail)
    targets = dict.fromkeys(["-O0", "-O1", "-O2"], 0)
    assert signatures[0].agrees(signatures[1], targets) == same
    assert signatures[1].agrees(signatures[0], targets) == same
    assert not Signature("crash", "a / b").agrees(Signature("crash", "a / b, c"), {})


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("a -O1, a -O2, c / b -O1, b -O2", "a -O1, a -O2 / b -O1, b -O2, c", False),
        ("a -O1, a -O2, c / b -O1, b -O2", "a -O1, a -O2, b -O1, c / b -O2", True),
        ("a -O1 / a -O2, b -O1, b -O2, c", "a -O1, a -O2 / b -O1, b -O2, c", False),
        ("a -O1, b -O1, b -O2, c / a -O2", "a -O1, c / a -O2, b -O1, b -O2", False),
    ],
)
def test_a_bug_of_one_target_does_not_become_one_of_another(
    first: str, second: str, same: bool
) -> None:
    levels = ("-O1", "-O2")
    commands = (
        ("/bin/a {variant} {file}", levels),
        ("/bin/b {variant} {file}", levels),
        ("c", ("",)),
    )
    config = Config(targets=tuple(Description("command", *each) for each in commands))
    signatures = Signature("difference", first), Signature("difference", second)
    assert signatures[0].agrees(signatures[1], config.run_targets) == same
    assert signatures[1].agrees(signatures[0], config.run_targets) == same


def test_the_first_line_that_differs_is_reported() -> None:
    verdict = differing(runs(ok("a\nb\nc"), ok("a\nb\nc"), ok("a\nX\nc")), [0, 0, 0])
    assert verdict.signature == Signature("difference", "-O0, -O1 / -O2")
    found = verdict.difference
    assert found is not None
    assert (found.line, found.left, found.right) == (2, "b", "X")
    assert (found.left_target, found.right_target) == ("luau -O0", "luau -O2")


def test_an_output_that_ends_early_differs() -> None:
    verdict = differing(runs(ok("a\nb\n"), ok("a\n")), [0, 0])
    assert verdict.difference is not None
    assert verdict.difference.right is None


@pytest.mark.parametrize("ulps", [0, 2])
def test_an_output_without_its_last_line_feed_differs(ulps: int) -> None:
    for whole, cut in (("a\nb\n", "a\nb"), ("a\r\n", "a")):
        verdict = differing(runs(ok(whole), ok(cut)), [0, 0], ulps=ulps)
        assert verdict.difference is None
        assert "only one ends its output with a line feed" in verdict.message
    assert difference(runs(ok("a\r\n"), ok("a\n")), [0, 0], ulps=ulps) is None
    verdict = differing(runs(ok("\n"), ok("")), [0, 0], ulps=ulps)
    assert verdict.difference == Difference(1, "luau -O0", "luau -O1", "", None)


@pytest.mark.parametrize("character", ["\v", "\f", "\r", "\x1c", "\x85", "\u2028"])
@pytest.mark.parametrize("ulps", [0, 2])
def test_characters_that_do_not_end_lines_differ_from_line_feeds(character: str, ulps: int) -> None:
    one = f"a{character}b"
    verdict = differing(runs(ok(f"{one}\nc\n"), ok("a\nb\nc\n")), [0, 0], ulps=ulps)
    assert verdict.difference == Difference(1, "luau -O0", "luau -O1", one, "a")
    verdict = differing(runs(ok(f"{one}\nc\n"), ok(f"{one}\nd\n")), [0, 0], ulps=ulps)
    assert verdict.difference == Difference(2, "luau -O0", "luau -O1", "c", "d")


def test_how_runs_end_is_compared() -> None:
    verdict = differing(runs(ok("a"), Outcome("error", "a", "x:1: bad")), [0, 0])
    assert verdict.difference is None
    assert "one ends with ok, the other with error" in verdict.message


@pytest.mark.parametrize(
    "outcomes",
    [
        [ok("a")],
        [ok("a"), Outcome("hang")],
        [ok("stack overflow"), ok("")],
        [ok("false\terror in error handling"), ok("false\tno")],
        [ok("a"), Outcome("error", "", "a:1: stack overflow (200 C levels)")],
    ],
)
def test_what_cannot_be_compared_is_not(outcomes: list[Outcome]) -> None:
    assert difference(runs(*outcomes), [0] * len(outcomes)) is None


def test_a_difference_is_believed_only_if_one_side_repeats_what_is_compared() -> None:
    before = runs(ok("took 5"), Outcome("error", "1\n", "a:1: no"))
    varied = ok("took 6")
    cases = (
        (runs(ok("took 5"), Outcome("error", "1\n", "a:1: no")), ()),
        (runs(varied, Outcome("error", "1\n", "a:1: no")), ()),  # one side prints garbage
        (runs(ok("took 5"), ok("1\n")), ()),
        (runs(varied, ok("1\n")), ("difference", *MESSAGES)),
        (runs(varied, Outcome("error", "1\n", "a:1: yes")), MESSAGES),
        (runs(varied, Outcome("error", "1\n", "a:2: no")), ("position",)),
    )
    for again, varying in cases:
        for kind in ("difference", *MESSAGES, "hang"):
            assert is_repeated(kind, before, again) == (kind not in varying)
    numbers = runs(ok("0.1")), runs(ok("0.10000000000000002"))
    assert not is_repeated("difference", *numbers)
    assert is_repeated("difference", *numbers, ulps=2)


def test_one_run_of_several_that_should_be_the_same_is_no_side() -> None:
    before = runs(ok("took 5"), ok("took 5"), ok("took 8"))
    assert not is_repeated("difference", before, runs(ok("took 5"), ok("took 6"), ok("took 9")))


MESSAGES = ("message", "position")


# Ends that no program may have


def test_a_crash_is_known_by_its_stack_or_by_its_message() -> None:
    found = bug([ok(""), Outcome("crash", "", "SIGSEGV", -11, ("f", "g", "h", "i"))])
    assert found.signature == Signature("crash", "f < g < h")
    found = bug([Outcome("assertion", "", "lvm.c:31: index 31 < 'n'")])
    assert found.signature == Signature("assertion", "lvm.c: index N < '…'")


def test_an_assertion_of_a_macro_is_one_bug_wherever_the_macro_is_used() -> None:
    condition = (
        "!iscollectable(o1) || "
        "((ttype(o1) == (o1)->value.gc->gch.tt) && !isdead(L->global, (o1)->value.gc))"
    )
    messages = [f"{file}: {condition}" for file in ("ltablib.cpp:147", "lvmexecute.cpp:786")]
    found = [judged([Outcome("assertion", "", message)]) for message in messages]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].signature == found[1].signature


@pytest.mark.parametrize(
    ("message", "detail"),
    [
        ('IrLowering.cpp:342: !"Unsupported form"', 'IrLowering.cpp: !"Unsupported form"'),
        ('src/lvm.cpp:31: !"Unsupported form"', 'lvm.cpp: !"Unsupported form"'),
        ("a\\b\\lvm.c:9: n < 5 && 0x7f", "lvm.c: n < N && …"),
        ("a.c:1: n && \"much\" != 'v1'", "a.c: n && \"much\" != '…'"),
        ("thread is not protected", "thread is not protected"),
    ],
)
def test_assertions_are_distinguished_by_their_file_and_by_the_text_beside_a_condition(
    message: str, detail: str
) -> None:
    assert bug([Outcome("assertion", "", message)]).signature == Signature("assertion", detail)


def test_a_program_that_takes_long_where_it_ends_does_not_hang_elsewhere() -> None:
    hang = Outcome("hang", seconds=6)
    assert judged([Outcome("ok", seconds=2), hang]) is None
    assert bug([Outcome("ok", seconds=0.1), hang]).signature.kind == "hang"


def test_a_hang_is_found_however_slowly_the_target_starts() -> None:
    found = bug([Outcome("ok", seconds=2.1, starting=2), Outcome("hang", seconds=6)])
    assert found.signature.kind == "hang"


def test_a_hang_within_a_short_limit_is_found_on_a_busy_machine() -> None:
    """The start of a process takes longer than the fastest start."""
    hang = Outcome("hang", seconds=1.2)
    found = bug([Outcome("ok", seconds=0.6, starting=0.2), hang])
    assert found.signature == Signature("hang", "-O1")
    assert judged([Outcome("ok", seconds=0.9, starting=0.2), hang]) is None
    assert judged([Outcome("ok", seconds=0.6), hang]) is None  # the process had started before


def test_a_bug_of_or_is_not_the_same_as_each_bug_without_features() -> None:
    assert construct_of(parse("print(x0 or 1)").tree) == {"ExprBinary.Op.Or"}
    assert not construct_of(parse("print(1)").tree)


def test_a_hang_is_a_bug_unless_every_target_hangs() -> None:
    hang, memory = Outcome("hang"), Outcome("memory")
    for outcomes in ([ok(""), hang], [hang]):
        assert bug(outcomes).signature.kind == "hang"
    assert bug([hang, hang]).signature == Signature("hang", "-O0, -O1")
    assert Judge(ALL, [0, 1]).judge(Sources(None, ""), runs(hang, hang)) is None
    assert Judge(["memory"], [0, 0]).judge(Sources(None, ""), runs(hang, hang)) is None
    assert bug([hang, memory]).signature == bug([hang, hang]).signature
    assert judged([memory, memory]) is None
    assert Judge(["hang"], [0, 0]).judge(Sources(None, ""), runs(hang, memory)) is None
    assert bug([ok(""), memory]).signature == Signature("memory", "-O1")
    assert bug([ok(""), hang, memory]).signature == Signature("hang", "-O1, -O2")


def test_only_the_oracles_that_were_asked_for_judge() -> None:
    judge = Judge(("hang",), [0, 0])
    for outcomes in ([ok("a"), ok("b")], [Outcome("crash"), ok("")], [ok(""), Outcome("memory")]):
        assert judge.judge(Sources(None, ""), runs(*outcomes)) is None
    assert judge.judge_text(Sources(None, "print(")) is None


def test_bugs_that_only_an_exit_status_shows_are_told_apart() -> None:
    normal = Normal(statuses=frozenset([1]))
    three, four, said = (
        judged([outcome_of(status, "", errors, 0, normal=normal)]).signature
        for status, errors in ((3, ""), (4, ""), (4, "no register 7"))
    )
    assert three.detail == "status 3, which ordinary errors do not have: nothing on standard error"
    assert (three == four, is_clear(three)) == (False, False)  # a status may mean any bug
    assert said.detail == "status 4, which ordinary errors do not have: no register N"
    assert is_clear(said)


@pytest.mark.parametrize("detail", ["SIGSEGV", "SIGABRT: FATAL: bad token", ""])
def test_two_crashes_of_invalid_sources_without_a_trace_may_be_two_bugs(detail: str) -> None:
    invalid = f"{detail}, for an invalid source".lstrip(", ")
    assert not is_clear(Signature("crash", invalid))
    assert is_clear(Signature("crash", "lex < parse < main"))


def test_bugs_that_end_a_service_silently_are_told_apart() -> None:
    three, four, closed, said = (
        judged([Outcome("crash", "", f"the service {end}")]).signature
        for end in (
            f"ended with status 3: {SILENT}",
            f"ended with status 4: {SILENT}",
            f"closed its output: {SILENT}",
            "ended with status 4: no register 7",
        )
    )
    assert three.detail == "the service ended with status 3: nothing on standard error"
    assert three != four
    assert not any(map(is_clear, (three, four, closed)))
    assert said.detail == "the service ended with status 4: no register N"
    assert is_clear(said)


def test_clear_signatures_are_those_that_tell_bugs_apart() -> None:
    assert is_clear(Signature("crash", "f < g"))
    assert is_clear(Signature("assertion", "x"))
    assert not is_clear(Signature("crash", "SIGSEGV"))
    assert not is_clear(Signature("hang", "-O2"))
    assert not is_clear(Signature("difference", "-O0 / -O2"))


# Round trips


def test_what_is_printed_is_read_again() -> None:
    for seed in range(20):
        assert round_trip.own(render_module_set(program(seed=seed))) is None


def test_a_source_that_parse_refuses_or_changes_is_a_bug_of_ours() -> None:
    refused = round_trip.own(Sources(None, "print("))
    assert refused is not None
    assert refused.signature.detail.startswith("parse: ")
    changed = round_trip.own(Sources(None, "print( 1 )"))
    assert changed is not None
    assert changed.signature.detail == "parse: a different tree"
    assert (is_clear(refused.signature), is_clear(changed.signature)) == (True, False)


@pytest.mark.parametrize(
    ("command", "detail"),
    [
        ("cat {file}", None),
        ("cat", None),
        ("sed s/1/2/", "printer: a different tree"),
        ("echo x y", "printer: not valid Luau"),  # whatever `parse` says about it
        ("false", None),
        ("sh -c 'kill -SEGV $$'", "printer: crash: "),
        (
            f"""{sys.executable} -c 'import sys; "print(1)" in sys.stdin.read() and {{}}[1]'""",
            "printer: internal error: KeyError",
        ),
        ("sleep 60", "printer: hang"),
    ],
)
def test_a_printer_has_to_print_the_program(command: str, detail: str | None) -> None:
    with closing(Judge(ALL, [0], printer=command, seconds=1.0)) as judge:
        found = judge.judge_text(Sources(None, "print(1)\n"))
    assert (found is None) == (detail is None)
    assert found is None or found.signature.detail.startswith(detail or "")
    # A message of the printer is that of one bug, and everything else may be of several.
    assert found is None or is_clear(found.signature) == ("KeyError" in found.signature.detail)


def test_a_printer_or_checker_that_never_works_is_reported_before_it_is_used() -> None:
    def try_commands(oracles: Collection[str] = ALL, **options: Any) -> None:
        with closing(Judge(oracles, [0], **options)) as judge:
            judge.try_commands()

    with pytest.raises(TargetError, match=r"the printer .* still running after 0.5 s\n\(it wrote"):
        try_commands(printer="sleep 60", seconds=0.5)
    with pytest.raises(TargetError, match=r"(?s)the checker .* ended with status 1\n\(it wrote"):
        try_commands(checker="grep -q nonstrict", printer="cat")
    try_commands(checker="grep -q ^--!strict {file}", printer="cat {file}")
    try_commands(["broken"], checker="false", printer="false")  # are not used


# Types, and functions of one's own


def test_a_type_error_of_a_program_that_the_checker_accepts_is_a_bug() -> None:
    failed = [Outcome("error", "", "x:1: attempt to call a nil value")]
    found = bug(failed, checker="grep -q strict")
    assert found.signature == Signature("types", "attempt to call a nil value")
    assert judged(failed, checker="false") is None
    for error in ("x:1: oh", "x:1: invalid argument #3 to 'find' (index out of range)"):
        assert judged([Outcome("error", "", error)], checker="true {file}") is None
    crashed = bug(failed, checker="sh -c 'kill -SEGV $$'")
    assert crashed.signature.detail.startswith("checker: crash: ")
    with pytest.raises(TargetError):
        judged(failed, checker="no-such-program")


@pytest.mark.parametrize("source", ["local v0: any = nil v0()", "local v0 = nil :: T v0()"])
def test_a_type_error_where_a_mutant_turned_checking_off_is_not_a_bug(source: str) -> None:
    failed = [Outcome("error", "", "x:1: attempt to call a nil value")]
    assert (
        judged(failed, source.replace("any", "nil").replace("::", ""), checker="true") is not None
    )
    assert judged(failed, source, checker="true") is None


def test_a_function_of_ones_own_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_to_judge.py").write_text(
        "def judge(source, runs):\n"
        "    if 'raise' in source: raise OSError('no')\n"
        "    if 'quote' in source: return source\n"
        "    if 'number' in source: return 42\n"
        "    is_slow = 'slow' in source or all(run.outcome.kind == 'hang' for run in runs)\n"
        "    return 'slow by 31' if is_slow else None\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    found = judged([ok("")], "slow()", function="mine_to_judge:judge")
    assert found == Verdict(Signature("own", "slow by N"), "slow by 31")
    assert judged([Outcome("hang")] * 2, function="mine_to_judge:judge") == found
    found = judged([ok("")], "quote\udcff", function="mine_to_judge:judge")
    assert found == Verdict(Signature("own", r"quote\udcff"), r"quote\udcff")
    assert judged([ok("")], function="mine_to_judge:judge") is None
    with pytest.raises(JudgeError, match=r"OSError: no \(.*mine_to_judge.py:2\)"):
        judged([ok("")], "raise()", function="mine_to_judge:judge")
    with pytest.raises(JudgeError, match="returned 42: it must return None, or a string"):
        judged([ok("")], "number", function="mine_to_judge:judge")
    for name in ("mine_to_judge", "mine_to_judge:no", "no_such_module:judge", "sys:path"):
        with pytest.raises(JudgeError):
            Judge(ALL, [0], function=name)


# Signatures


def test_messages_lose_what_differs_from_program_to_program() -> None:
    text = "\nsource:31: invalid argument #2 to 'rep' (1.5e3 at 0x55)\nstack"
    assert normalisation.message(text) == "invalid argument #N to '…' (N at …)"
    assert len(normalisation.message("x" * 5000)) == 201


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ("no /tmp/tmpab3_x/state", "no /tmp/tmpqq/state", "no …/state"),
        ("no TEMP/tmpab3_x", "no /tmp/tmpqq", "no …"),
        ("no TEMP/tmpab3_x.log: x", "no TEMP/tmpqq.log: x", "no …: x"),
        ("no /tmp/tmpab3_x/a/state.lock", "no /tmp/tmpqq/b/state.lock", "no state.lock"),
        ("job 3f2a91bc failed", "job 30029114 failed", "job N failed"),
        ("job-deadbeef1", "job-123456789", "jobN"),
        (
            "job 3f2a91bc-0e1d-4cb2-a1f0-00ffab12cd34 failed",
            "job 12345678-1234-4234-8234-123456789012 failed",
            "job N failed",
        ),
    ],
)
def test_a_random_word_in_a_message_does_not_make_another_bug(
    one: str, other: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp/mine")
    for text in (one, other):
        assert normalisation.message(text.replace("TEMP", "/tmp/mine")) == message


def test_what_varies_in_the_message_of_an_exception_does_not_make_another_member() -> None:
    def exception(error: str) -> str:
        signature = Signature("internal error", f"f < main: {error.partition(':')[0]}")
        return exception_of(Verdict(signature, f"x: internal error: {error}"))

    for one, other in (
        ("OSError: no file: '/tmp/tmpab3_x'", "OSError: no file: '/tmp/tmpqq'"),
        ("E: job 3f2a91bc", "E: job 30029114"),
        ("E: node 12 at 0x7f12", "E: node 3 at 0xff"),
    ):
        assert exception(one) == exception(other) != ""
    assert exception("KeyError: '+='") != exception("KeyError: '-='")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no opcode add32 or fade", "no opcode addN or fade"),
        ("no opcode decade or facade", "no opcode decade or facade"),
        ("/tmp/lvm.c:31: no block", "no block"),
        ("/tmp/build/lvm.c: no block", "lvm.c: no block"),
        ("type f64, not 1.5e300000 or -1e300000", "type fN, not N or N"),
    ],
)
def test_words_that_tell_bugs_apart_are_kept(text: str, message: str) -> None:
    assert normalisation.message(text) == message


def test_what_reduced_programs_use_tells_bugs_apart() -> None:
    floor = construct_of(parse("local a = 1 print(math.floor(a / 2))").tree)
    caught = construct_of(parse("pcall(math.floor)").tree)
    power = construct_of(parse("local a = (2 ^ 3) * -1").tree)
    assert text_of(floor) == "math.floor, ExprBinary.Op.Div"
    assert text_of(power) == "ExprBinary.Op.Mul, ExprBinary.Op.Pow"
    assert is_same_bug(floor, floor | {"pcall"})
    assert not is_same_bug(floor, caught)
    assert not is_same_bug(floor, power)
    assert not is_same_bug(frozenset(), floor)
    assert is_same_bug(frozenset(), frozenset())
    assert not contains(floor, frozenset())
    assert contains(frozenset(), frozenset())


@pytest.mark.parametrize(
    ("source", "construct"),
    [
        ("a //= 2", "StatCompoundAssign.Op.FloorDiv"),
        ("a /= 2 a += {}", "ExprTable, StatCompoundAssign.Op.Add, StatCompoundAssign.Op.Div"),
        ("const a = 7", "Const"),
        ("const function f() end", "Const, StatLocalFunction"),
        ("export local a = 7", "Export"),
        ("export function f() end", "Export, StatLocalFunction"),
        ("a:f()", "ExprCall.self"),
        ("function a:f() end", "StatFunction, StatFunction.self"),
        ("local function f(...) end", "ExprFunction.vararg, StatLocalFunction"),
        ("f 'x'", ""),  # only another way to write `f('x')`
    ],
)
def test_a_bug_of_newer_syntax_is_not_taken_for_one_of_older_syntax(
    source: str, construct: str
) -> None:
    assert text_of(construct_of(parse(source, luau=TODAY).tree)) == construct


def test_a_bug_of_an_exported_name_is_one_find_whatever_is_exported() -> None:
    local, function, alias = (
        construct_of(parse(f"export {what}", luau=TODAY).tree)
        for what in ("local a = 7", "function f() end", "type T = {}")
    )
    assert is_same_bug(local, function)
    assert is_same_bug(local, alias)
    constant = construct_of(parse("const a = 7", luau=TODAY).tree)
    assert not is_same_bug(local, constant)


def test_words_of_a_source_that_is_not_luau_tell_its_bugs_apart() -> None:
    tree = parse("").tree
    assert construct_of(tree, "x= 12\n1e (") == {"x", "=", "0", "0e", "("}
    for text in ("x, (, ,, -", "(, ,", ",", ",, a"):
        words = construct_of(tree, text)
        assert from_text(text_of(words)) == words
    signature = Signature("accepted", "luau", text_of(construct_of(tree, "$ do")))
    assert not is_clear(signature)


@pytest.mark.parametrize(
    ("text", "shows", "needed"),
    [
        ("repeat", lambda text: "repeat" in text, {"repeat"}),
        ("v7 = $", lambda text: "=" in text and "$" in text, {"=", "$"}),
        ("a = 1e", lambda text: re.search(r"=\s+\d+e", text), {"=", "0e"}),
        ("then", lambda _: True, set()),  # any other source shows the bug, too
    ],
)
def test_a_bug_of_a_source_is_blamed_on_the_words_that_it_needs(
    text: str, shows: Callable[[str], Any], needed: set[str]
) -> None:
    assert needed_words(text, shows) == needed


def test_a_method_of_a_string_is_the_function_that_it_calls() -> None:
    called, function, other = (
        construct_of(parse(f"print({call})").tree)
        for call in ('("a"):rep(2)', 'string.rep("a", 2)', '("a"):byte(1)')
    )
    assert called == function == {"string.rep"}
    assert not is_same_bug(called, other)


def test_known_bugs_are_patterns_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    path.write_text("# of last week\n\ncrash: lua_concat < *\ndifference: -O0 / -O2 (math.floor)\n")
    known = KnownBugs(str(path))
    assert known.match(Signature("crash", "lua_concat < f")) == "crash: lua_concat < *"
    assert known.match(Signature("difference", "-O0 / -O2", "math.floor")) is not None
    assert known.match(Signature("crash", "f")) is None
    path.write_text("accepted: luau (#)\naccepted: luau ($)\n")
    assert KnownBugs(str(path)).match(Signature("accepted", "luau", "$, do")) is not None
    assert KnownBugs(str(path)).match(Signature("accepted", "luau", "do")) is None
    for listed, used in ("(", "(, ("), (")", "), do"), ("(, )", "do, (, )"):
        path.write_text(f"accepted: luau ({listed})\n")
        assert KnownBugs(str(path)).match(Signature("accepted", "luau", used)) is not None
        assert KnownBugs(str(path)).match(Signature("accepted", "luau", "do")) is None
    seen = Signature("seen once", "crash: lua_concat < f")
    assert known.match(seen) == "crash: lua_concat < *"
    assert known.match(Signature("seen once", "crash: f")) is None
    assert KnownBugs("").match(Signature("crash")) is None
    with pytest.raises(FileError, match=r"none\.txt"):
        KnownBugs(str(tmp_path / "none.txt"))
    path.write_text("seen once: *\n")
    assert KnownBugs(str(path)).match(seen) == "seen once: *"


def test_bugs_that_are_known_by_names_with_folders_stay_known(tmp_path: Path) -> None:
    """Earlier versions wrote these names into signatures, from which users copied them."""
    path = tmp_path / "known.txt"
    signature = Signature("difference", "-O0 / -O1", "math.floor, pcall")
    targets = ["/a/luau -O0 {file}", "/a/luau -O1 {file}"]
    for line in ("-O0 {file} / -O1 {file} (math.floor)", "-O0 / -O1 (math.floor)", "-O0 * (pcall)"):
        path.write_text(f"difference: {line}\n")
        assert KnownBugs(str(path), targets).match(signature) is not None
    hang = Signature("hang", "python mini.py")
    for line in ("hang: /usr/bin/python /a/mini.py {file}", "hang: */mini.py {file}"):
        path.write_text(f"{line}\n")
        assert KnownBugs(str(path), ["/usr/bin/python /a/mini.py {file}", "b"]).match(hang) == line


NAMES = {
    ("/a/luau -O0 {file}", "/a/luau -O2 {file}"): ["-O0", "-O2"],
    ("/a/b/python /a/mini.py -O0 {file}", "luau-web -O0"): ["python mini.py -O0", "luau-web -O0"],
    ("/a/luau {file}", "/b/luau {file}"): ["/a/luau", "/b/luau"],
    ("luau {file}", "luau {file}, in loops"): ["luau", "luau, in loops"],
    ("luau {file}", "luau"): ["luau {file}", "luau"],
    ("/a/luau  {file}",): ["luau"],
}


@pytest.mark.parametrize(("targets", "names"), NAMES.items())
def test_names_of_runs_are_as_short_as_they_can_be_told_apart(
    targets: tuple[str, ...], names: list[str]
) -> None:
    assert short_names([Run(target, Outcome("ok")) for target in targets]) == names


def test_a_known_bug_is_recognised_in_programs_that_use_more_than_it_needs(tmp_path: Path) -> None:
    path = tmp_path / "known.txt"
    path.write_text(
        "crash: SIGSEGV (string.rep)\n"
        "difference: -O0 / -O2* (math.floor, StatWhile)\n"
        "assertion: f (int)\n"
        "hang: -O2 (math.*)\n"
    )
    known = KnownBugs(str(path))
    rep = Signature("crash", "SIGSEGV", "string.rep, StatLocalFunction")
    assert known.match(rep) == "crash: SIGSEGV (string.rep)"
    for variants in ("-O0 / -O2*", "-O0 / -O2, -O2 --codegen"):
        both = Signature("difference", variants, "math.floor, pcall, StatWhile")
        assert known.match(both) == "difference: -O0 / -O2* (math.floor, StatWhile)"
        assert known.match(attrs.evolve(both, construct="math.floor, pcall")) is None
    assert known.match(Signature("crash", "SIGSEGV", "string.reps")) is None
    assert known.match(Signature("crash", "SIGSEGV")) is None
    assert known.match(Signature("crash", "SIGABRT", "string.rep")) is None
    assert known.match(Signature("assertion", "f (int)")) is not None
    assert known.match(Signature("assertion", "f")) is None
    assert known.match(Signature("hang", "-O2", "math.floor, pcall")) is not None


@pytest.mark.parametrize(
    ("source", "compared"),
    [
        ("print(unpack({[1] = nil, [2] = 0}))", False),
        ("print(#{1, nil, 3})", False),
        ("local t = {nil, 2} table.insert(t, 1) print(t[1])", False),
        ("print(({nil, 2})[2])", True),
        ("for i, v in ipairs({1, nil, 3}) do print(i, v) end", True),  # it ends at the nil
        ("print(#{1, 2, nil}, #{x = nil, 1})", True),  # no other border
        ("local t = {nil, 2} print(table.find(t, 2))", True),
        ("print(rawlen({1, nil, 3}))", False),
        ("local t = {[f()] = nil, 2} print(table.concat(t))", False),
        ("print(setmetatable({{}}, {__mode = 'v'})[1])", False),
        ("print(unpack({1, 2}), nil)", True),
        ("local function select2() return {nil} end print(math.abs(-1))", True),
        ("local t = {a = 1} for k in next, t do t[0] = 0 print(k) end", False),
        ("local t = {a = 1} for k in pairs(t) do t.b = 0 print(k) end", False),
        ("t = {a = 1} for k in t do if k then t[k .. 1] = 0 end print(k) end", False),
        ("local t, u = {a = 1}, {} for k in t do t[k], u[1] = 0, 1 print(k) end", True),
    ],
)
def test_what_luau_leaves_open_is_no_difference(source: str, compared: bool) -> None:
    runs = [Outcome("ok", "nil\t0\n"), Outcome("ok", "\n")]
    assert (judged(runs, source) is not None) == compared


@pytest.mark.parametrize(
    ("source", "compared"),
    [
        ("print(os.clock())", False),
        ("local clock = os.clock print(clock())", False),
        ("print(type(os.clock()), f())", True),
        ("print(typeof((pcall(os.clock))), f())", True),
        ("print(pcall(os.clock))", False),
        ("print((pcall(os.clock)))", False),
        ("print(coroutine.wrap(os.clock)())", False),
        ("print(xpcall(math.random, print))", False),
        ("table.foreach({1}, os.date)", False),
        ("local o = os print(o.clock())", False),
        ("print((os).clock())", False),
        ("print(os['clock']())", False),
        ("for _, member in math do print(pcall(member)) end", False),
        ("local s = string print(s.rep('a', 2), math.max(1, 2))", True),
        ("math.random(1, 2) print(f())", True),
        ("print(type(f(os.clock())))", False),
        ("print(os.time({year = 2026, month = 1, day = 1}), os.date('!%Y', 0))", True),
        ("print(pcall(os.date, '!%Y', 0))", True),
        ("print(os.time(), os.date('!%Y'))", False),
        ("print(os.time(nil))", False),
        ("print(os.date('!%Y', f()))", False),
        ("print(os.date('!%Y', 6 * 86400))", True),
        ("local function g() debug.info(2, 'q') end g()", False),  # an error, if there is a level 2
        ("pcall(debug.info, 2, 'q') print(f())", False),
        ("type = tostring print(type(os.clock()))", False),
        ("print(type(debug.info(2, 's')))", False),  # nil if the caller was inlined
        ("print(_VERSION, coroutine.isyieldable())", True),
        ("type(pcall(setfenv, 2, {}))", False),  # `type` is looked up before or after that
        ("local function g() setfenv(2, {}) end g()", False),
        ("local function g() setfenv(1, {}) end g()", True),
        ("setfenv(print, {})", True),
    ],
)
def test_a_function_that_varies_hides_no_bug_unless_its_result_is_used(
    source: str, compared: bool
) -> None:
    runs = [Outcome("ok", "1"), Outcome("ok", "2")]
    assert (judged(runs, source) is not None) == compared


def test_what_differs_between_two_engines_is_no_difference() -> None:
    two = runs(Outcome("ok", "1"), Outcome("ok", "2"))
    for text in ("print(vector.magnitude(v))", "local v = vector print(v.magnitude(v.one))"):
        source = Sources(None, text)
        assert Judge(ALL, [0, 0]).judge(source, two) is not None
        assert Judge(ALL, [0, 1]).judge(source, two) is None


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["a", "a-", "1", "1.", '[string "', " ", "\n", "thread 'a' "])
def test_a_megabyte_of_output_does_not_stop_a_campaign(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))  # where a pattern takes quadratic time: for hours
    for positions, messages in ((False, False), (True, False), (False, True)):
        assert normalisation.output(text, positions=positions, messages=messages)
    ulps_apart(f"{text}x", f"{text}y")
    assert outcome_of(1, "", text, 0).kind == "error"


DIFFERENCE = Signature(differential.KIND, "-O0 / -O2")


def add(causes: Causes, name: str, source: str, signature: Signature = DIFFERENCE) -> None:
    causes.add(name, signature, operations_of(parse(source).tree))


def find_of(causes: Causes, source: str, signature: Signature = DIFFERENCE) -> str | None:
    return causes.find_of(signature, operations_of(parse(source).tree), is_smallest=True)


@pytest.mark.parametrize(
    ("source", "variants", "is_smallest", "same"),
    [
        ("print(math.clamp(1, 2, 3))", "-O2", False, True),
        ("print(math.clamp(1, 2, 3), utf8.len(''), #{})", "-O2", False, True),
        ("print(math.clamp(1, 2, 3), #{})", "-O2", False, False),
        ("print(math.clamp(1, 2, 3), #{})", "-O2", True, True),
        ("print(math.clamp(1, 2, 3))", "-O0", True, False),
        ("print(#{})", "-O2", True, False),
    ],
)
def test_one_wrong_operation_is_one_find_whatever_else_its_program_contains(
    source: str, variants: str, is_smallest: bool, same: bool
) -> None:
    causes = Causes()
    signature = Signature(differential.KIND, "output / -O2")
    operations = operations_of(parse("print(math.clamp(1, 2, 3), utf8.len(''))").tree)
    causes.add("clamp", signature, operations)
    other = Signature(differential.KIND, f"output / {variants}")
    name = causes.find_of(other, operations_of(parse(source).tree), is_smallest=is_smallest)
    assert name == ("clamp" if same else None)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("-O0, -O1, -O2 / -O1 -n", "-O0, -O1, -O2 / -O2 -n", True),
        ("-O0, -O1 / -O0 -n, -O1 -n", "-O0, -O1 / -O1 -n", True),
        ("-O0, -O0 -n / -O1, -O1 -n", "-O0, -O1 / -O0 -n", False),
        ("-O0 x, -O1 x / -O2 x", "-O0 x, -O2 x / -O1 x", False),
        ("a / b -O1", "a / b -O2", True),
    ],
)
def test_one_wrong_operation_of_native_code_is_one_find_at_all_levels(
    first: str, second: str, same: bool
) -> None:
    causes, operations = Causes(), operations_of(parse("print(math.clamp(1, 2, 3))").tree)
    causes.add("clamp", Signature(differential.KIND, first), operations)
    name = causes.find_of(Signature(differential.KIND, second), operations, is_smallest=True)
    assert name == ("clamp" if same else None)


@pytest.mark.parametrize(
    ("message", "same"),
    [
        ("no register, stopping / exiting", True),
        ("bad opcode, stopping / exiting", False),
        ("bad opcode, N", False),
    ],
)
def test_two_messages_before_an_abort_are_two_finds_even_if_both_bugs_need_one_operation(
    message: str, same: bool
) -> None:
    causes, first = Causes(), "SIGABRT: no register, stopping / exiting"
    add(causes, "abs", "print(math.abs(1))", Signature("crash", first))
    source = "while true do math.abs(1) end"
    name = find_of(causes, source, Signature("crash", f"SIGABRT: {message}"))
    assert name == ("abs" if same else None)


def test_a_bug_is_not_hidden_by_another_that_also_needs_a_negative_zero_or_a_constant() -> None:
    causes = Causes()
    add(causes, "dot", "print(vector.dot(-vector.zero, vector.zero))")
    for source in ("for i = -0, 0 do print(i) end", "print(-vector.zero // 1)"):
        assert find_of(causes, source) is None


def test_a_wrong_function_is_one_find_whatever_its_arguments_are_computed_from() -> None:
    causes = Causes()
    for source in ("local v = 0 / 0 print(math.min(v, 0))", "print(math.max(0 / 0, 0 * -1))"):
        add(causes, "min", source)
    for source, name in (("pcall(math.clamp, -0, 0)", "min"), ("print(1 / 0)", None)):
        assert find_of(causes, source) == name


@pytest.mark.parametrize(
    "source",
    ["print(-({}))", "print(pcall(error, {}))"],
)
def test_wrong_folding_of_different_operators_is_not_one_find(source: str) -> None:
    causes = Causes()
    add(causes, "modulo", source.format("5 % 3"))
    assert find_of(causes, source.format("5 // 3")) is None


def test_crashes_in_one_function_are_one_find_without_stack_frames() -> None:
    causes, signature = Causes(), Signature("crash", "SIGSEGV")
    first = "pcall(function(...) x(table.unpack(..., 5, 5)) end, {0})"
    add(causes, "unpack", first, signature)
    for source, same in (
        ("x(unpack({0}, 2 ^ 31, 0 / 0))", True),
        ("x(table.unpack({math.min(1, 2)}, 1))", False),
        ("pcall(utf8.len, 0 / 0)", False),
    ):
        assert find_of(causes, source, signature) == ("unpack" if same else None)


def test_a_wrong_function_does_not_explain_another_one_of_its_library() -> None:
    causes = Causes()
    divided, shifted = (
        operations_of(parse(f"print(integer.{call})", luau=TODAY).tree)
        for call in ("idiv(1i, 2i)", "lshift(1i, 2i)")
    )
    causes.add("idiv", DIFFERENCE, divided)
    assert causes.find_of(DIFFERENCE, shifted, is_smallest=True) is None


@pytest.mark.parametrize("known", ["print((-5) % 3)", "local a = 1 a %= 2 print(a)"])
def test_a_wrong_operator_is_one_find_with_constants_variables_and_in_assignments(
    known: str,
) -> None:
    causes = Causes()
    add(causes, "modulo", known)
    for source, name in (("print(a % 2)", "modulo"), ("print(a // 2)", None)):
        assert find_of(causes, source) == name


@pytest.mark.parametrize(
    ("first", "second"), [("a < b", "b > a"), ("a <= b", "a >= b"), ("a and b", "a or b")]
)
def test_operators_that_are_compiled_alike_are_one_find(first: str, second: str) -> None:
    causes = Causes()
    add(causes, "first", f"print({first})")
    assert find_of(causes, f"print({second})") == "first"


def test_an_endless_recursion_is_one_bug_wherever_the_stack_ends() -> None:
    recursion = ("Luau::getType", "Luau::getUnion") * 120
    details = set()
    for top in (
        (),
        ("strcmp", "Luau::AstName::operator==", "Luau::getPrimitive"),
        ("Luau::clear",),
    ):
        crash = Outcome("crash", "", "stack-overflow", frames=(*top, *recursion[len(top) :]))
        verdict = Judge(("broken",), [0]).judge(Sources(None, ""), [Run("x", crash)])
        assert verdict is not None
        details.add(verdict.signature.detail)
    assert details == {"Luau::getType < Luau::getUnion"}
    null = Outcome("crash", "", "SIGSEGV", frames=("Luau::read", *recursion))
    verdict = Judge(("broken",), [0]).judge(Sources(None, ""), [Run("x", null)])
    assert verdict is not None
    assert verdict.signature.detail == "Luau::read < Luau::getType < Luau::getUnion"


def test_finds_of_different_functions_are_not_one_because_of_an_operator() -> None:
    causes = Causes()
    read = "local v = buffer.create(8) for i = 0, 6 do print(buffer.readi16(v, i * 19)) end"
    add(causes, "read", read)
    for source, name in (
        ("print(vector.dot(a * 2, a))", None),
        ("print(buffer.readf32(buffer.create(8), 0))", None),
        ("print(buffer.readi16(buffer.fromstring('abc'), 0))", "read"),
        ("buffer.writeu16(buffer.create(8), 7, 0)", "read"),
        ("print(a * 2)", "read"),
    ):
        assert find_of(causes, source) == name


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        ("print(integer.ge(..., a), integer.ugt(..., a))", {VARARGS}),
        ("pcall(function(...) b %= ... end, 1)", {VARARGS}),
        ("print(... * 2, string.rep(..., 3))", {VARARGS, "string.rep"}),  # nothing like `rep`
    ],
)
def test_a_bug_of_varargs_is_one_find_whatever_uses_the_wrong_value(
    source: str, needed: set[str]
) -> None:
    def shows(tree: ModuleSet) -> bool:
        return any(isinstance(node, ExprVarargs) for node, _ in walk(tree))

    assert needed_operations(parse(source, luau=TODAY).tree, shows) == needed


@pytest.mark.parametrize(
    ("source", "wrong", "needed"),
    [
        ("print(math.sqrt(math.abs(a)) + 1)", "math.sqrt", {"math.sqrt"}),
        ("print(math.sqrt(a) + 1)", " + ", {"ExprBinary.Op.Add"}),
        ("a += math.clamp(1, 2, 3)", "+=", {"ExprBinary.Op.Add"}),
        ("print(a <= b, #a)", "<=", {"ExprBinary.Op.CompareLe", "ExprUnary.Op.Len"}),
        ("print((a):find('') + 0)", ":find", {"string.find"}),
        ("print(string.find(a, '') + 0)", ".find", {"string.find"}),
        ("buffer.writeu8(a, 0, 1) print(buffer.readu8(a, 0))", "writeu8", {"buffer.readi8"}),
        # nothing is needed: any operation shows the bug
        ("print(a // b)", "", {"any ExprBinary.Op.FloorDiv", "any ExprBinary.Op.Add"}),
        ("print((a):len())", "", {"any string.len", "any string.lower"}),
    ],
)
def test_a_find_is_not_blamed_on_operations_that_can_be_replaced(
    source: str, wrong: str, needed: set[str]
) -> None:
    tree = parse(source, luau=TODAY).tree
    found = needed_operations(tree, lambda each: wrong in render_module_set(each).program)
    assert found == needed
    assert render_module_set(tree).program == render_module_set(parse(source).tree).program


def test_a_bug_of_a_floor_division_is_not_blamed_on_an_addition() -> None:
    for source in ("x0 //= 2", "print(x0 // 2)"):
        tree = parse(source, luau=TODAY).tree
        found = needed_operations(tree, lambda each: "//" in render_module_set(each).program)
        assert found == {"ExprBinary.Op.FloorDiv"}
        found = needed_operations(tree, lambda each: "//" not in render_module_set(each).program)
        assert found == {"any ExprBinary.Op.FloorDiv", "any ExprBinary.Op.Add"}
    quotient = parse("x0 /= 2 x1 += 1 x2 -= 1 x3 *= 1", luau=TODAY).tree
    found = needed_operations(quotient, lambda each: "//=" in render_module_set(each).program)
    assert found == {
        f"any ExprBinary.Op.{name}" for name in ("Add", "Sub", "Mul", "Div", "FloorDiv")
    }


def test_the_arguments_of_a_function_stay_the_same_without_its_varargs() -> None:
    source = "local function f(t, ...) print(math.floor(t.x), ...) end f({x = 1.5}, 2)"

    def shows(tree: ModuleSet) -> bool:
        (call,) = (node for node, _ in walk(tree) if isinstance(node, ExprFunction))
        (argument,) = re.findall(r"math\.\w+\((\w+)\.", render_module_set(tree).program)
        return bool(DEFAULT.local(call.args[0].name) == argument)

    assert needed_operations(parse(source).tree, shows) == {"any math.floor", "any math.abs"}


def test_a_bug_that_needs_no_operation_is_not_the_bug_of_an_operation() -> None:
    causes = Causes()
    tree = parse("for i = 1, 2 do print(i + 1) end").tree
    operations = needed_operations(tree, lambda _: True)
    assert operations == {"any ExprBinary.Op.Add", "any ExprBinary.Op.Sub"}
    causes.add("addition", DIFFERENCE, frozenset({"ExprBinary.Op.Add"}))
    assert causes.find_of(DIFFERENCE, operations, is_smallest=True) is None
    causes.add("loop", DIFFERENCE, operations)
    other = needed_operations(parse("for i = 1, 2 do print(i - 1) end").tree, lambda _: True)
    assert causes.find_of(DIFFERENCE, other, is_smallest=True) == "loop"


def test_a_missing_check_of_buffer_accesses_is_one_find_if_there_are_no_stack_frames() -> None:
    causes = Causes()
    for kind, same in (("crash", True), (differential.KIND, False)):
        signature = Signature(kind, "SIGSEGV")
        causes.add(kind, signature, frozenset({"buffer.readf32"}))
        other = frozenset({"any buffer.readi8"})
        assert (causes.find_of(signature, other, is_smallest=True) == kind) is same


def test_finds_that_need_varargs_are_one_but_not_with_a_find_that_needs_a_function() -> None:
    causes = Causes()
    causes.add("varargs", DIFFERENCE, frozenset({VARARGS, "tonumber"}))
    for operations, same in (
        ({VARARGS}, True),
        ({VARARGS, "math.sqrt"}, True),
        ({"math.sqrt"}, False),
        ({"ExprBinary.Op.Add"}, False),
    ):
        found = causes.find_of(DIFFERENCE, frozenset(operations), is_smallest=True)
        assert (found == "varargs") is same
