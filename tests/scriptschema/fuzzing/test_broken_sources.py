"""Campaigns try sources that are not Luau: a target must refuse them, and do nothing else."""

import sys
from pathlib import Path

import attrs
import pytest
from command import run_here

from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign import finds, statistics
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import Campaign
from scriptschema.fuzzing.campaign.programs import ProgramSource
from scriptschema.fuzzing.campaign.reduction import reduce_find, reduce_suspect, shortened
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.campaign.session import Session
from scriptschema.fuzzing.oracles.judging import Judge
from scriptschema.fuzzing.oracles.verdict import Signature
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.outcome import Outcome, Run
from scriptschema.luau.breaking import is_luau
from scriptschema.luau.parse import ParseError, parse

SERVICE = f"{sys.executable} {Path(__file__).with_name('gullible.py')}"
TARGET = Description("persistent", SERVICE, seconds=5)
CONFIG = Config(targets=(TARGET,), size=40, seed=2, broken=0.7)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, finds.Find]]:
    """Return the finds of a finished campaign."""
    folder = tmp_path_factory.mktemp("campaign") / "one"
    with Campaign(folder, CONFIG) as campaign:
        Session(campaign, jobs=1, programs=500, finishing=600).run()
    return [*finds.load_all(folder)]


def of(kind: str, found: list[tuple[Path, finds.Find]]) -> tuple[Path, finds.Find]:
    [one] = [each for each in found if each[1].signature.kind == kind]
    return one


@pytest.mark.slow
def test_what_a_broken_source_shows_is_found_and_reduced(
    finished: list[tuple[Path, finds.Find]],
) -> None:
    assert {find.signature.kind for _, find in finished} == {"assertion", "accepted"}
    for kind, text in (("assertion", "!"), ("accepted", "$")):
        folder, find = of(kind, finished)
        assert find.reduced is not None
        assert find.is_smallest
        assert finds.source_of(folder, finds.REDUCED) == text
        assert find.reduced.size == "1 word"
        with pytest.raises(ParseError):
            parse(finds.source_of(folder, finds.PROGRAM))


def test_such_a_find_is_reproduced_and_reported_like_any_other(
    finished: list[tuple[Path, finds.Find]],
) -> None:
    for folder, find in finished:
        for options in ((), ("--original",)):
            done = run_here("reproduce", "--trust", folder, *options)
            assert done.returncode == 0, done.stderr
            assert f"{find.signature}: reproduced" in done.stdout.decode()
        done = run_here("export", folder, "--to", "markdown")
        assert done.returncode == 0, done.stderr
        assert finds.source_of(folder, finds.REDUCED) in done.stdout.decode()


def test_it_can_be_reduced_again(finished: list[tuple[Path, finds.Find]]) -> None:
    folder, find = of("accepted", finished)
    runner = Runner(CONFIG)
    again = attrs.evolve(find, reduced=None)
    assert reduce_find(runner, again, folder) is not None
    runner.close()
    assert again.reduced is not None
    assert again.reduced.style == "$"


def test_each_bug_by_which_a_source_is_accepted_is_a_find(tmp_path: Path) -> None:
    more = attrs.evolve(TARGET, command=f"{SERVICE} more")
    config: Config | None = attrs.evolve(CONFIG, targets=(more,))
    for programs in (120, 40):  # and it stays so
        with Campaign(tmp_path / "one", config) as campaign:
            Session(campaign, jobs=1, programs=programs, finishing=600).run()
        found = [find.signature for _, find in finds.load_all(tmp_path / "one")]
        accepted = sorted(each.construct for each in found if each.kind == "accepted")
        assert accepted in (["#", "|"], ["#", "$", "|"])
        config = None


@pytest.mark.parametrize(
    ("source", "reduced"),
    [
        ("local v1 = f(1, $)\nprint(v1)", "$"),
        ("print(g(1, 2) $ (3))", "$"),
        ("print(1))\nprint(2)", ")"),
    ],
)
def test_reduction_does_not_turn_a_bug_of_invalid_sources_into_another(
    source: str, reduced: str
) -> None:
    config = attrs.evolve(CONFIG, targets=(attrs.evolve(TARGET, command=f"{SERVICE} unbalanced"),))
    runner = Runner(config)
    tree = parse("").tree
    verdict, runs = runner.verdict(tree, source)
    assert verdict is not None
    suspect = finds.Suspect(encoding.encode(tree), verdict, runs, {}, style=source)
    result = reduce_suspect(runner, suspect)
    runner.close()
    assert result is not None
    assert result.style == reduced
    assert result.construct == {reduced}
    assert result.is_smallest


def test_a_target_that_refuses_what_is_not_luau_has_no_bug(tmp_path: Path) -> None:
    strict = attrs.evolve(TARGET, command=f"{SERVICE} strict")
    with Campaign(tmp_path / "one", attrs.evolve(CONFIG, targets=(strict,))) as campaign:
        Session(campaign, jobs=1, programs=60, finishing=60).run()
    refused = statistics.total(statistics.read(tmp_path / "one")).outcomes[outcome.REJECTED]
    assert not [*finds.load_all(tmp_path / "one")]
    assert 25 <= refused <= 58


def test_the_share_is_kept_and_none_is_the_default() -> None:
    for share, low, high in ((0.0, 0, 0), (0.25, 30, 70), (1.0, 200, 200)):
        source = ProgramSource(attrs.evolve(CONFIG, broken=share), 1)
        made = [source.next() for _ in range(200)]
        assert low <= sum(each is not None and each.is_broken for each in made) <= high
    assert Config(targets=(TARGET,)).broken == 0
    with pytest.raises(ValueError, match="broken must be a number from 0 to 1, found 2"):
        attrs.evolve(CONFIG, broken=2)


def test_the_rest_of_the_programs_is_the_same_with_broken_sources_between() -> None:
    plain = ProgramSource(attrs.evolve(CONFIG, broken=0.0, style="plain"), 1)
    mixed = ProgramSource(attrs.evolve(CONFIG, style="plain"), 1)
    for _ in range(60):
        one, other = plain.next(), mixed.next()
        assert one is not None
        assert other is not None
        assert other.is_broken or one.tree == other.tree


def test_a_hang_of_a_broken_source_is_not_taken_for_a_program_s() -> None:
    judge = Judge(("broken", "hang", "accepted"), (0,))
    hang = judge.judge_refusal("!", [Run("luau", Outcome(outcome.HANG))])
    crash = judge.judge_refusal("!", [Run("luau", Outcome(outcome.CRASH, error="SIGSEGV"))])
    assert hang is not None
    assert crash is not None
    assert hang.signature == Signature(outcome.HANG, "luau, for an invalid source")
    assert crash.signature.detail.endswith("for an invalid source")
    assert judge.judge_refusal("!", [Run("luau", Outcome(outcome.ERROR, error="x"))]) is None
    ran = [Run("luau", Outcome(outcome.OK))]
    assert judge.judge_refusal("!", ran) is not None
    assert judge.judge_refusal("print(1)", ran) is None
    assert Judge((), (0,)).judge_refusal("!", [Run("luau", Outcome(outcome.OK))]) is None


def test_a_text_is_shortened_until_nothing_can_be_left_out() -> None:
    asked = []

    def shows(text: str) -> bool:
        asked.append(text)
        return "b" in text and "e!" in text

    assert sorted(shortened("a b c\nd e! f\n" * 50, shows)) == ["!", "b", "e"]
    assert len(asked) < 200


def test_brackets_that_a_bug_does_not_need_are_left_out_with_what_is_in_them() -> None:
    def shows(text: str) -> bool:
        try:
            parse(text)
        except ParseError:
            return is_luau(f"{text})")
        return False

    for text in ("t(((((e))))", 't(o[""], v', "t({x = function(...) end}"):
        assert shortened(text, shows) == "t("


def test_a_long_source_that_a_bug_needs_is_not_tried_over_and_over() -> None:
    asked = []

    def shows(part: str) -> bool:
        asked.append(part)
        return part == text

    for text, most in ("if a then " * 5, 200), ("(" * 1000, 2000):
        asked.clear()
        assert shortened(text, shows) == text
        assert len(asked) < most


def test_a_word_that_a_bug_does_not_need_is_not_left_joined_to_one_that_it_needs() -> None:
    for text in ("print(buffer.create(1))", "a.buffer.b = 1", "buffercreate", "buffer\n.create"):
        assert shortened(text, lambda part: "buffer" in part) == "buffer"


def test_afl_makes_such_sources_itself(tmp_path: Path) -> None:
    done = run_here("fuzz", "--engine", "afl", "--broken", 0.5, "-t", "x", "-o", tmp_path / "one")
    assert done.returncode == 2
    assert b"--broken requires --engine own:" in done.stderr
