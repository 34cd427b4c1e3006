"""Campaigns write programs in styles, and keep a style if a bug needs it."""

import json
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
from command import run_here

from scriptschema import wire
from scriptschema.fuzzing.campaign import finds, reduction, replay
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Suspect
from scriptschema.fuzzing.campaign.folder import Campaign
from scriptschema.fuzzing.campaign.programs import ProgramSource
from scriptschema.fuzzing.campaign.reduction import reduce_find, reduce_suspect
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.campaign.session import Session
from scriptschema.fuzzing.oracles import round_trip
from scriptschema.fuzzing.oracles.judging import Judge
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.outcome import Outcome, Run, visible
from scriptschema.fuzzing.targets.probing import SPELLINGS, Probed, probe
from scriptschema.generation.programs import program
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render_module_set
from scriptschema.messages import ModuleSet

SERVICE = f"{sys.executable} {Path(__file__).with_name('spelled.py')}"
TARGET = Description("persistent", SERVICE, variants=("-O0", "-O2"), seconds=5)
CONFIG = Config(targets=(TARGET,), size=60, seed=1, compiled=0.0)
OLD = attrs.evolve(TARGET, command=f"{SERVICE} old")


def of(text: str, found: list[tuple[Path, finds.Find]]) -> tuple[Path, finds.Find]:
    [one] = [each for each in found if text in str(each[1].signature)]
    return one


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, finds.Find]]:
    """Return the finds of a finished campaign."""
    folder = tmp_path_factory.mktemp("campaign") / "one"
    with Campaign(folder, CONFIG) as campaign:
        Session(campaign, jobs=1, programs=300, finishing=600).run()
    return [*finds.load_all(folder)]


def test_a_bug_that_needs_a_spelling_is_found_and_reduced(
    finished: list[tuple[Path, finds.Find]],
) -> None:
    folder, find = of("the number has no digits", finished)
    assert find.program.style is not None
    assert find.reduced is not None
    assert find.reduced.style is not None
    assert find.reduced.nodes <= 10
    for stem, style in ((finds.PROGRAM, find.program.style), (finds.REDUCED, find.reduced.style)):
        sources = render_module_set(finds.tree_of(folder, stem), style=style)
        assert finds.source_of(folder, stem) == sources.program
    reduced = finds.source_of(folder, finds.REDUCED)
    assert reduced.lower().count("0x") + reduced.lower().count("0b") == 1
    assert "--" not in reduced
    assert len(reduced) < 60


def test_it_is_reproduced_as_it_is_written(finished: list[tuple[Path, finds.Find]]) -> None:
    folder, find = of("the number has no digits", finished)
    for options, stem in (((), finds.REDUCED), (("--original",), finds.PROGRAM)):
        done = run_here("reproduce", "--trust", folder, *options)
        assert done.returncode == 0, done.stderr
        assert visible(finds.source_of(folder, stem)).strip() in done.stdout.decode()
    tree = finds.tree_of(folder, finds.REDUCED)
    assert replay.run(CONFIG, find, tree, None)[0] is None
    assert replay.run(CONFIG, find, tree, find.smallest.style)[0] is not None


def test_a_find_keeps_its_style_in_its_file(finished: list[tuple[Path, finds.Find]]) -> None:
    folder, find = of("the number has no digits", finished)
    data = json.loads((folder / finds.FILE).read_bytes())
    assert data["program"]["style"] == find.program.style
    del data["program"]["style"]  # as of an earlier version
    assert finds.Find.from_json(data).program.style is None


def test_a_bug_that_needs_no_style_is_written_plainly(
    finished: list[tuple[Path, finds.Find]],
) -> None:
    _, find = of("reg < N", finished)
    assert find.reduced is not None
    assert find.reduced.style is None
    tree = parse("repeat print('x') until 0x10").tree
    runner = Runner(CONFIG)
    verdict, runs = runner.verdict(tree)
    assert verdict is not None
    reduced = reduce_suspect(runner, Suspect(wire.encode(tree), verdict, runs, {}, style=5))
    runner.close()
    assert reduced is not None
    assert reduced.style is None


def test_an_unreliable_bug_is_reported_in_the_style_in_which_its_program_showed_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    verdict = Verdict(Signature("crash", "f < g"), "")
    shown = {(3, 7): 1, (1, None): 1}  # by number of statements and style: how often

    class Unreliable(Runner):
        def verdict(self, tree: ModuleSet, style: Any = None, **_: Any) -> Any:
            key = len(tree.program.body), style
            shown[key] = shown.get(key, 0) - 1
            return (verdict if shown[key] >= 0 else None), []

    def reduce_tree(test: Any, _: ModuleSet) -> tuple[ModuleSet, bool, int]:
        test.style = None  # because the bug does not need it
        return parse("f()").tree, False, 1

    monkeypatch.setattr(reduction, "_reduce_tree", reduce_tree)
    data = wire.encode(parse("f() f() f()").tree)
    runner = Unreliable(CONFIG)
    reduced = reduce_suspect(runner, Suspect(data, verdict, [], {}, (), 7))
    runner.close()
    assert reduced is not None
    assert (len(reduced.tree.program.body), reduced.style) == (1, None)


def test_a_directive_that_selects_a_level_makes_no_second_find_of_a_bug(tmp_path: Path) -> None:
    levels = attrs.evolve(
        TARGET, command=f"{SERVICE} levels", variants=("-O0", "-O2", "-O0 --codegen")
    )
    config = attrs.evolve(CONFIG, targets=(levels,))
    with Campaign(tmp_path / "one", config) as campaign:
        Session(campaign, jobs=1, programs=300, finishing=600).run()
    blamed = {find.signature.detail for _, find in finds.load_all(tmp_path / "one")}
    assert blamed == {"-O0, -O0 --codegen / -O2"}


def test_the_style_of_a_find_is_kept_when_it_is_reduced_again(
    finished: list[tuple[Path, finds.Find]],
) -> None:
    folder, find = of("the number has no digits", finished)
    find = attrs.evolve(find, reduced=None)
    runner = Runner(CONFIG)
    tree = reduce_find(runner, find, folder)
    assert tree is not None
    assert find.reduced is not None
    assert runner.verdict(tree, find.reduced.style)[0] is not None
    assert runner.verdict(tree)[0] is None
    runner.close()


def test_programs_are_those_of_a_campaign_without_styles() -> None:
    various, plain = ProgramSource(CONFIG, 3), ProgramSource(attrs.evolve(CONFIG, style="plain"), 3)
    styled = 0
    for _ in range(60):
        one, other = various.next(), plain.next()
        assert one is not None
        assert other is not None
        assert one.tree == other.tree
        assert one.plain() == other.sources == other.plain()
        styled += one.sources != one.plain()
        assert one.style is not None or one.sources is one.plain()
    assert 5 < styled < 30


def test_a_target_that_does_not_read_every_spelling_gets_plain_programs() -> None:
    assert probe(OLD).missing == (SPELLINGS,)
    assert SPELLINGS not in probe(TARGET).missing
    config = attrs.evolve(CONFIG, probed=(Probed("new"), Probed("old", missing=(SPELLINGS,))))
    assert not config.styles
    assert config.missing() == frozenset()
    source = ProgramSource(config, 3)
    for _ in range(40):
        made = source.next()
        assert made is not None
        assert made.style is None


def test_what_luau_does_not_determine_is_no_bug_however_it_is_written() -> None:
    tree = parse('setmetatable({}, {["__mode"] = "k"}) print(1)').tree
    judge = Judge(["difference"], [0, 0])
    runs = [Run(name, Outcome("ok", output=name)) for name in ("one", "two")]
    plain = render_module_set(tree)
    hidden = [
        sources
        for style in range(200)
        if "__mode" not in (sources := render_module_set(tree, style=style)).program
    ]
    assert hidden
    for sources in hidden:
        assert judge.judge(sources, runs, lambda: plain) is None


def test_the_round_trip_is_checked_in_styles() -> None:
    for seed in range(20):
        tree = program(seed=seed)
        plain, styled = render_module_set(tree), render_module_set(tree, style=seed)
        assert round_trip.own(styled, plain) is None
    other = render_module_set(program(seed=30))
    found = round_trip.own(styled, other)
    assert found is not None
    assert "a different tree" in str(found.signature)
