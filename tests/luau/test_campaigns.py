"""Campaigns on the real Luau find the bugs that are planted in it.

`pytest --long` looks for all ten. `python -m benchmarks campaign` measures how long that takes.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner
from real_luau import FOLDER, what_is_missing

from scriptschema import wire
from scriptschema.commands.main import main
from scriptschema.fuzzing.campaign import finds, statistics
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.config import load as config_of
from scriptschema.fuzzing.campaign.folder import Campaign
from scriptschema.fuzzing.campaign.fuzzer import Fuzzer
from scriptschema.fuzzing.campaign.runner import _STOPPED, Runner, _counting
from scriptschema.fuzzing.campaign.session import Session
from scriptschema.fuzzing.oracles import differential
from scriptschema.fuzzing.oracles.verdict import Signature
from scriptschema.fuzzing.report.exporting import export
from scriptschema.fuzzing.restriction import Restriction
from scriptschema.fuzzing.targets.base import Sources, Target
from scriptschema.fuzzing.targets.description import Description, TargetError
from scriptschema.fuzzing.targets.opening import SERVICES, open_target, try_target, versions_of
from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.fuzzing.targets.probing import probe
from scriptschema.fuzzing.uncalled import body_of
from scriptschema.generation.programs import program
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render_module_set
from scriptschema.messages import ModuleSet
from scriptschema.versions import Version

WEB = Description("luau-web", folder=str(FOLDER))
PLUAU = Description("pluau")


@pytest.fixture(params=["luau-web", "pluau"], scope="module")
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    description = WEB if request.param == "luau-web" else PLUAU
    try:
        opened = open_target(description)
    except TargetError as error:
        pytest.skip(what_is_missing() or str(error))
    yield opened
    opened.close()


def run(target: Target, source: str, module: str | None = None) -> Outcome:
    """Return how a program ends, which must be the same at all levels."""
    target.submit(Sources(module, source), 20)
    found = target.collect()
    assert len(found) == 3
    assert len({each.kind for each in found}) == 1, found
    return found[0]


def test_programs_print_and_fail(target: Target) -> None:
    assert run(target, "print(1, 'a\\n\\200', nil)") == Outcome("ok", "1\ta\n\\xc8\tnil\n")
    failed = run(target, "print(1) error('no', 0)")
    assert (failed.kind, failed.output, failed.error) == ("error", "1\n", "no")
    assert run(target, "local = 1").kind == "rejected"
    assert (
        run(target, "local m = require('./module0') print(m.a)", "return {a = 3}").output == "3\n"
    )
    assert run(target, "require('./module0')").kind == "error"
    assert run(target, "print(string.rep('x', 5000000))").kind in ("flood", "error")
    assert "stack overflow" in run(target, "local function f() return 1 + f() end f()").error


def test_programs_have_globals_of_their_own(target: Target) -> None:
    text = "x = (x or 0) + 1 function f() return x end print(f())"
    assert [run(target, text).output for _ in range(2)] == ["1\n"] * 2


def test_programs_that_are_over_leave_no_memory_behind(target: Target) -> None:
    text = "local m = require('./module0') local t = table.create(9999, m) print(#t)"
    for _ in range(900):
        assert run(target, text, "return {function() return f end}").output == "9999\n"


@pytest.mark.parametrize("wrong", [0, 0.05])
def test_programs_do_the_same_again_and_without_mistakes_all_end(
    target: Target, wrong: float, long_mode: bool
) -> None:
    """They are run again in another order, so that no address is the same by chance."""
    batches = range(0, 10_000 if long_mode else 50, 50)
    lacking = Restriction(frozenset({"vector.lerp"}))  # by pluau
    for start in batches:
        trees = [program(seed=seed, wrong=wrong) for seed in range(start, start + 50)]
        trees = [tree for tree in trees if lacking.admits(tree)]
        sources = [render_module_set(tree) for tree in trees]
        once = [run_all(target, each) for each in sources]
        again = [run_all(target, each) for each in reversed(sources)]
        assert once == again[::-1], start
        if wrong == 0:
            assert {each.kind for found in once for each in found} == {"ok"}, start


def run_all(target: Target, sources: Sources) -> list[Outcome]:
    """Return how a program ends at each level."""
    target.submit(sources, 20)
    return target.collect()


def test_a_program_without_an_end_hangs_and_the_next_one_runs(target: Target) -> None:
    target.submit(Sources(None, "while true do end"), 0.3)
    assert {each.kind for each in target.collect()} == {"hang"}
    assert run(target, "print(2)").output == "2\n"


def test_an_endless_program_is_told_from_a_hang_by_counting_its_steps() -> None:
    try:
        runner = Runner(Config(targets=(attrs.evolve(PLUAU, variants=("-O1",), seconds=1),)))
    except TargetError as error:  # it says how to install pluau
        pytest.skip(str(error))
    for source, kind in (
        ("repeat until nil", "endless"),
        ("while true do pcall(error) end", "endless"),
        ("for _ in function() return 1 end do end", "endless"),
        ("for i = 1, 1e18 do for k in pairs({1}) do end end", "endless"),
        # No step: the library's own search takes practically forever.
        ('string.find(string.rep("a", 60), string.rep("a-", 60) .. "b")', "hang"),
    ):
        verdict, runs = runner.verdict(parse(source).tree)
        assert runs[0].outcome.kind == "hang", source
        assert (verdict.signature.kind if verdict else None) == kind, source
    for seed in range(40):
        counted = _counting(program(seed=seed))
        if counted is not None and "require" not in counted.program:
            [run] = runner.run(counted)
            assert _STOPPED not in run.outcome.output, seed
    runner.close()


def test_generated_programs_do_the_same_at_all_levels(target: Target) -> None:
    for seed in range(20):
        target.submit(render_module_set(program(seed=seed)), 20)
        first, *others = target.collect()
        assert first.kind in ("ok", "error")
        for other in others:
            assert (other.kind, other.output) == (first.kind, first.output)


def test_the_real_luau_works_and_tells_its_version() -> None:
    if what_is_missing():
        pytest.skip(str(what_is_missing()))
    assert len(try_target(WEB)) == 3
    assert versions_of([WEB])["luau-web"].count(".") == 2


def test_a_target_says_what_it_lacks(tmp_path: Path) -> None:
    if what_is_missing():
        pytest.skip(str(what_is_missing()))
    assert probe(WEB).missing == ()
    service = tmp_path / "old.mjs"
    service.write_text(
        f"import {{ start }} from '{SERVICES / 'luau_web.mjs'}'\n"
        "const transform = (source) => `local buffer, gcinfo = nil, nil ${source}`\n"
        "await start({url: import.meta.url, transform})\n"
    )
    old = Description("persistent", f"{shutil.which('node')} {service} {FOLDER}")
    found = probe(old)
    assert str(found).endswith(": lacks buffer, gcinfo")
    assert {"buffer", "buffer.create", "buffer.len"} <= {*found.missing}


def test_programs_use_what_all_targets_have(tmp_path: Path) -> None:
    """pluau 0.1.2 has no `vector.lerp`. Programs that use it would be reported as differences."""
    if what_is_missing():
        pytest.skip(str(what_is_missing()))
    folder = tmp_path / "campaign"
    config = Config(targets=(WEB, PLUAU), seed=3, oracles=("broken",), without=("string.rep",))
    with Campaign(folder, config) as campaign:
        session = Session(campaign, programs=900)
        session.run()
    kept = config_of(folder)
    lacking = {name for target in kept.probed for name in target.missing}
    assert kept.missing() == lacking | {"string.rep"}
    used = statistics.total(statistics.read(folder)).features
    assert not {*used} & kept.missing()
    assert used["string.format"]


def test_planted_bugs_are_found_and_reduced(tmp_path: Path, long_mode: bool) -> None:
    if what_is_missing():
        pytest.skip(str(what_is_missing()))
    node = shutil.which("node")
    names = "" if long_mode else " internal interpolation floordiv close"
    command = f"{node} {FOLDER / 'planted.mjs'} {FOLDER}{names}"
    target = Description("persistent", command, variants=("-O0", "-O2"), seconds=2)
    folder = tmp_path / "campaign"
    wanted = 10 if long_mode else 2
    with Campaign(folder, Config(targets=(target,), seed=1)) as campaign:
        seconds = 1200 if long_mode else 240
        session = Session(
            campaign,
            jobs=2,
            seconds=seconds,
            on_event=lambda event: stop_at(session, event, wanted),
        )
        with pytest.raises(_Enough):
            session.run()
    found = [find for _, find in finds.load_all(folder)]
    assert len({find.signature for find in found}) == len(found) >= wanted
    assert sum(is_small(find) for find in found) >= wanted


def test_a_regression_test_fails_where_the_bug_is_and_nowhere_else(tmp_path: Path) -> None:
    if what_is_missing():
        pytest.skip(str(what_is_missing()))
    command = f"{shutil.which('node')} {FOLDER / 'planted.mjs'} {FOLDER} floordiv"
    described = Description("persistent", command, variants=("-O0", "-O2"), seconds=20)
    caught = "print(pcall(function() return a.b.c end))"  # the message has its line
    tree = parse(f'local a = 7 print(a // 2, "\\200\\"", nil) {caught} error("on purpose")').tree
    runner = Runner(Config(targets=(described,)))
    verdict, runs = runner.verdict(tree)
    runner.close()
    assert verdict is not None
    find = finds.Find("one", verdict, finds.ShownProgram(9, runs))
    source = export([(finds.add(tmp_path, find, tree), find)], "luau").decode(
        "utf-8", "surrogateescape"
    )
    assert "attempt to index" in source
    planted = open_target(described)
    planted.submit(Sources(None, source), 20)
    right, wrong = planted.collect()
    planted.close()
    assert right == Outcome("ok")
    assert (wrong.kind, "wrong output: 3.5" in wrong.error) == ("error", True)
    free = open_target(WEB)
    assert run(free, source) == Outcome("ok")
    free.close()


def is_small(find: finds.Find) -> bool:
    """Return whether a find was reduced to at most 20 nodes, or 22 for `math.floor`.

    Constants are integers, so `print(math.floor(-1 / 2))` is the smallest program for that bug.
    """
    most = 22 if "math.floor" in find.signature.construct else 20
    return find.reduced is not None and find.reduced.nodes <= most


class _Enough(Exception):  # it ends a campaign, and is no error
    """Raised when enough finds are small. Bugs of Luau itself are also found, but may be larger."""


def stop_at(session: Session, event: dict[str, object], wanted: int) -> None:
    small = sum(is_small(find) for find in session.state.finds.by_name.values())
    if event["event"] != "end" and small >= wanted:
        raise _Enough


@pytest.mark.parametrize("described", [WEB, PLUAU], ids=["luau-web", "pluau"])
def test_programs_for_the_version_of_a_target_end_there(
    described: Description, long_mode: bool
) -> None:
    try:
        version = probe(described).luau
    except TargetError as error:
        pytest.skip(what_is_missing() or str(error))
    assert version is not None
    if described is PLUAU:
        assert version == Version(686)
    else:
        assert version >= Version(711)
    opened = open_target(described)
    made = [program(seed=seed, wrong=0, luau=version) for seed in range(2000 if long_mode else 60)]
    kinds = Counter(run(opened, *written(tree)).kind for tree in made)
    opened.close()
    assert set(kinds) == {"ok"}, kinds
    text = "".join(written(tree)[0] for tree in made)
    assert "@native" in text
    assert ("const v" in text) == (version >= Version(711))


def written(tree: ModuleSet) -> tuple[str, str | None]:
    found = render_module_set(tree)
    return found.program, found.module


def test_programs_that_are_only_compiled_end_at_once_whatever_is_in_them() -> None:
    if what_is_missing():
        pytest.skip(str(what_is_missing()))
    target = attrs.evolve(WEB, variants=("-O2",))
    fuzzer = Fuzzer(Config(targets=(target,), compiled=1.0), seed=1)
    batch = fuzzer.work(seconds=120, programs=150)
    fuzzer.close()
    assert batch.interval.compiled == {"ok": 150}
    assert not batch.suspects
    assert len(batch.kept) > 20
    running = open_target(target)
    kinds = Counter[str]()
    for data in batch.kept[-60:]:
        running.submit(render_module_set(body_of(wire.decode(ModuleSet, data))), 0.3)
        kinds[running.collect()[0].kind] += 1
    running.close()
    assert 0 < kinds["ok"] < 0.8 * kinds.total()


@pytest.mark.parametrize(
    "caught", ["pcall(down)", "coroutine.resume(coroutine.create(down))", "xpcall(down, type)"]
)
def test_how_deep_a_recursion_goes_until_it_overflows_is_no_difference(
    caught: str,
) -> None:
    source = (
        "local n = 0 local function call(f) return (f()) end "
        f"local function down() n += 1 return (call(down)) end {caught} print(n)"
    )
    missing = what_is_missing()
    if missing:
        pytest.skip(missing)
    runner = Runner(Config(targets=(WEB,)), full_limits=True)
    try:
        printed = {run.outcome.output for run in runner.run(Sources(None, source))}
        assert len(printed) == 2  # it is another depth where the function is inlined
        assert runner.verdict(parse(source).tree)[0] is None
    finally:
        runner.close()


@pytest.mark.usefixtures("luau")
@pytest.mark.parametrize(
    ("body", "name"), [("f()", "statements in functions"), ("pcall(f)", "statements in coroutines")]
)
def test_a_recursion_that_overflows_earlier_when_rewritten_is_no_difference(
    body: str, name: str
) -> None:
    tree = parse(f"local n = 0 local function f() n += 1 {body} end pcall(f) print(n)").tree
    config = Config(targets=(attrs.evolve(WEB, variants=("-O1",)),))
    runner = Runner(config, full_limits=True)
    try:
        verdict, runs = runner.verdict(tree, wanted=Signature(differential.KIND, name))
        assert verdict is None
        assert len({run.outcome.output for run in runs}) == 2
    finally:
        runner.close()


@pytest.mark.usefixtures("luau")
def test_a_new_campaign_reads_seeds_for_the_luau_of_its_targets(tmp_path: Path) -> None:
    (tmp_path / "seeds").mkdir()
    source = "local function f<T>(a: T) return a end\nprint(f<<number>>(1))\n"
    (tmp_path / "seeds" / "newer.luau").write_text(source)
    target = ["fuzz", "-t", f"luau-web:{FOLDER}", "-o", str(tmp_path / "campaign"), "-n", "1"]
    done = CliRunner().invoke(main, [*target, "--seeds", str(tmp_path / "seeds")])
    assert done.exit_code == 0, done.output
    assert "seeds: read 1 program\n" in done.output
    assert "only in part" not in done.output
