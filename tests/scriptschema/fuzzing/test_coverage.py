"""Targets that report coverage: programs that reach something new are kept, and nothing twice."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scriptschema.fuzzing.campaign import statistics
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import CORPUS, Campaign
from scriptschema.fuzzing.campaign.fuzzer import Fuzzer
from scriptschema.fuzzing.campaign.session import Session
from scriptschema.fuzzing.report.charts import over_time
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.opening import open_target
from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.fuzzing.targets.persistent import PersistentTarget

SERVICE = f"{sys.executable} {Path(__file__).with_name('service.py')} cover"
# One of the variants answers with lists, the other with bitmaps.
TARGET = Description("persistent", SERVICE, variants=("-O0", "-O1"), seconds=5)
CONFIG = Config(targets=(TARGET,), size=40, seed=3, oracles=("broken",))


def covered_by(trees: list[bytes]) -> set[tuple[int, int]]:
    """Return what the trees cover, according to a fuzzer that runs nothing else."""
    fuzzer = Fuzzer(CONFIG, seed=9, corpus=trees)
    try:
        return fuzzer.work(seconds=600, programs=len(trees)).covered
    finally:
        fuzzer.close()


def test_each_counter_that_a_program_reached_is_reached_by_the_corpus() -> None:
    fuzzer = Fuzzer(CONFIG, seed=1)
    batch = fuzzer.work(seconds=600, programs=150)
    fuzzer.close()
    assert batch.interval.outcomes.keys() <= {"ok", "error"}  # others are not kept
    assert len(batch.covered) > 200
    assert batch.covered <= covered_by(batch.kept)


def test_more_is_kept_than_without_counters() -> None:
    kept = []
    for command in (SERVICE, SERVICE.removesuffix(" cover")):
        target = attrs.evolve(TARGET, command=command)
        fuzzer = Fuzzer(attrs.evolve(CONFIG, targets=(target,), mutants=0.0), seed=1)
        batch = fuzzer.work(seconds=600, programs=150)
        kept.append(batch.kept)
        fuzzer.close()
    assert len(kept[1]) < len(kept[0])


def test_a_campaign_that_continues_runs_its_corpus_first_and_keeps_nothing_of_it_twice(
    tmp_path: Path,
) -> None:
    events: list[dict[str, Any]] = []
    for _ in range(2):
        with Campaign(tmp_path / "campaign", CONFIG) as campaign:
            Session(campaign, programs=60, on_event=events.append).run()
    ends = [event for event in events if event["event"] == "end"]
    assert 200 < ends[0]["covered"] <= ends[1]["covered"]
    total = statistics.total(statistics.read(tmp_path / "campaign"))
    assert total.covered == ends[1]["covered"]
    corpus = [path.read_bytes() for path in (tmp_path / "campaign" / CORPUS).rglob("*.pb")]
    assert len(corpus) == total.corpus

    fuzzer = Fuzzer(CONFIG, seed=5, corpus=corpus)
    batch = fuzzer.work(seconds=600, programs=len(corpus))
    fuzzer.close()
    assert batch.kept == []


@given(counters=st.frozensets(st.integers(0, 40_000), max_size=50), bitmap=st.booleans())
def test_a_list_and_a_bitmap_say_the_same(counters: frozenset[int], bitmap: bool) -> None:
    coverage: object = [*counters]
    if bitmap:
        bits = sum(1 << number for number in counters)
        coverage = base64.b64encode(bits.to_bytes(5001, "little")).decode()
    assert outcome_with(coverage).coverage == counters


@pytest.mark.parametrize("coverage", [[-1], [True], [1 << 40], ["1"], [0.5], {}, 7, "%%", "abc"])
def test_a_coverage_that_means_nothing_is_reported_and_not_believed(coverage: object) -> None:
    found = outcome_with(coverage)
    assert found.kind == "internal error"
    assert "invalid coverage" in found.error


def outcome_with(coverage: object) -> Outcome:
    target = open_target(TARGET)
    assert isinstance(target, PersistentTarget)
    answer = {"kind": "ok", "output": "", "error": "", "coverage": coverage}
    return target._outcome_of(json.loads(json.dumps(answer)), 0.0)


def test_a_target_that_does_not_count_covers_nothing_known() -> None:
    target = open_target(attrs.evolve(TARGET, command=SERVICE.removesuffix(" cover")))
    target.submit(Sources(None, "print(1)"), 5)
    assert [each.coverage for each in target.collect()] == [None, None]
    target.close()


def test_the_report_draws_what_was_covered_where_there_is_something_to_draw() -> None:
    points = [statistics.Interval(seconds=n, runs=n, covered=7 * n) for n in range(3)]
    assert ">covered<" in over_time(points)
    assert ">covered<" not in over_time([attrs.evolve(each, covered=0) for each in points])
