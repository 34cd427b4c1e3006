"""Seeds: files in a folder enter the corpus and are run first, and unusable ones are reported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from command import run, run_here

from scriptschema import wire
from scriptschema.files import FileError
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import CORPUS, Campaign
from scriptschema.fuzzing.campaign.fuzzer import Batch, Fuzzer
from scriptschema.fuzzing.campaign.seeds import Seeds
from scriptschema.fuzzing.campaign.session import Session, State
from scriptschema.fuzzing.campaign.workers import Worker
from scriptschema.fuzzing.corpora.folder import CorpusFolder, name_of
from scriptschema.fuzzing.corpora.reading import read_seeds
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.probing import Probed
from scriptschema.generation.programs import program
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render
from scriptschema.luau.repair import check
from scriptschema.messages import ModuleSet
from scriptschema.versions import TODAY, Version

SERVICE = f"{sys.executable} {Path(__file__).with_name('service.py')}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "suite"
    (found / "inner").mkdir(parents=True)
    (found / "one.luau").write_text('local a = 7.5 // 2 print("segfault", a)\n')
    (found / "inner" / "two.lua").write_text("print(112233)\n")
    (found / "inner" / "tree.pb").write_bytes(wire.encode(program(seed=4, size=300)))
    (found / "text.json").write_text("{}")
    (found / "broken.luau").write_text("local = 1")
    (found / "deep.luau").write_text(f"print({'(' * 300}1{')' * 300})\n")
    (found / "again.luau").write_text("print(112233)\n")
    return found


def test_sources_and_trees_are_taken_and_what_cannot_be_is_reported(folder: Path) -> None:
    problems: list[FileError] = []
    found = read_seeds(folder, problems.append)
    trees = [wire.decode(ModuleSet, data) for data in found.programs]
    assert not any(check(tree) for tree in trees)
    assert {render(tree.program) for tree in trees} >= {"print(112233)\n"}
    assert len(found.programs) == 3
    assert found.incomplete == 1  # 7.5 has a fraction
    assert read_seeds(folder, lambda _: None, TODAY).incomplete == 0
    told = "\n".join(map(str, problems))
    for name in ("text.json", "broken.luau:1:7", "deep.luau"):
        assert name in told
    assert len(problems) == 3


def test_what_the_targets_luau_has_beyond_the_schema_is_taken_whole(tmp_path: Path) -> None:
    source = "const v0 = 7.5 // 2\nprint(v0 :: number)\n"
    (tmp_path / "today.luau").write_text(source)
    problems: list[FileError] = []
    [data] = read_seeds(tmp_path, problems.append, TODAY).programs
    tree = wire.decode(ModuleSet, data, luau=TODAY)
    assert render(tree.program) == source
    with pytest.raises(FileError, match="contains no programs that can be used"):
        read_seeds(tmp_path, problems.append, Version(700))
    assert "`const`, which requires Luau 0.711" in str(problems[-1])


def test_a_seed_that_does_not_run_as_it_was_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "suite" / "both").mkdir(parents=True)
    suite = {
        "valid.luau": "print(1)\n",
        "long.luau": f"print({', '.join(['x'] * 250)})\n",
        "both/program.luau": 'local m = require("./module0")\nprint(m.x + 1234)\n',
        "both/module0.luau": "return {x = 4321}\n",
    }
    for name, source in suite.items():
        (tmp_path / "suite" / name).write_text(source)
    found = read_seeds(tmp_path / "suite", pytest.fail)
    assert len(found.programs) == 3
    names = [[Path(name).name for name in each] for each in (found.without, found.repaired)]
    assert names == [["program.luau"], ["long.luau"]]
    target = f"persistent:{SERVICE}"
    done = run_here(
        *("fuzz", "-t", target, "-o", tmp_path / "campaign", "-n", 1, "--seed", 1, "--json"),
        *("--seeds", tmp_path / "suite"),
    )
    assert done.returncode == 0, done.stderr
    told = done.stderr.decode()
    assert "seeds: left out the modules of 1 program, for example " in told
    assert f"seeds: changed 1 program, for example {tmp_path}/suite/long.luau, because " in told


def test_a_folder_without_a_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.luau").write_text("local = 1")
    problems: list[FileError] = []
    with pytest.raises(FileError, match="contains no programs that can be used"):
        read_seeds(tmp_path, problems.append)
    assert len(problems) == 1


def test_seeds_are_run_first_and_only_once() -> None:
    fuzzer = Fuzzer(Config(targets=(Description("persistent", SERVICE),)), seed=1)
    trees = [wire.encode(parse(f"print({number})").tree) for number in range(7, 10)]
    fuzzer.run_first(trees)
    first = [fuzzer._make() for _ in range(5)]
    fuzzer.close()
    assert {each.sources.program for each in first[:3]} == {f"print({n})\n" for n in range(7, 10)}
    assert ["corpus" in each.origin for each in first] == [True, True, True, False, False]


def test_seeds_that_a_run_did_not_reach_are_run_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    class Recording(State):
        def take(self, batch: Batch) -> list[bytes]:
            ran.extend(batch.corpus)
            return super().take(batch)

    monkeypatch.setattr("scriptschema.fuzzing.campaign.session.State", Recording)
    trees = [wire.encode(parse(f"print({number})").tree) for number in range(30)]
    trees.append(wire.encode(parse("print('abort')").tree))  # ends its `Order` early
    config = Config(targets=(Description("persistent", SERVICE),), size=10)
    counts = []
    for programs, seeds in ((4, trees), (3, trees), (40, [])):
        with Campaign(tmp_path / "campaign", config) as campaign:
            session = Session(campaign, programs=programs)
            session.state.seeds.add(seeds)
            session.run()
            counts.append((len(ran), len(session.state.seeds)))
            assert session.progress()["seeds_left"] == len(session.state.seeds)
    assert counts == [(4, 27), (7, 24), (31, 0)]
    assert {*ran} == {*map(name_of, trees)}
    assert [find.signature.kind for _, find in finds.load_all(campaign.path)] == ["assertion"]


def test_seeds_of_a_worker_that_dies_are_run_by_another(tmp_path: Path) -> None:
    config = Config(targets=(Description("persistent", SERVICE),), size=10)
    trees = [wire.encode(parse(f"print({number})").tree) for number in range(3)]
    with Campaign(tmp_path / "campaign", config) as campaign:
        session = Session(campaign, programs=10)
        session.state.seeds.add(trees)
        session._start_worker()
        [worker] = session._workers.values()
        session._fuzz(worker)
        assert session.state.seeds.take() == []
        assert isinstance(worker, Worker)
        worker.process.kill()
        session._take(worker)
        seeds = session.state.seeds
        assert [seeds.take() for _ in trees] == [[tree] for tree in trees]
        session._stop_workers()


def test_a_seed_that_kills_its_workers_is_dropped_and_the_others_are_run(tmp_path: Path) -> None:
    config = Config(targets=(Description("persistent", SERVICE),))
    trees = [wire.encode(parse(f"print({number})").tree) for number in range(3)]
    first, *others = map(name_of, trees)
    with Campaign(tmp_path / "campaign", config) as campaign:
        seeds = State(campaign, lambda _: None).seeds
        seeds.add(trees)
        seeds.lost(seeds.take())
        [poison] = seeds.take()
        seeds.lost([poison])
        assert seeds.dropped == [first]
        seeds.ran(others)
        assert (len(seeds), seeds.take()) == (0, [])


def test_seeds_that_use_what_is_excluded_are_named(folder: Path, tmp_path: Path) -> None:
    (folder / "three.luau").write_text("print(utf8.char(65), math.floor(1.5))\n")
    target = ("-t", f"persistent:{SERVICE}", "--without", "utf8")
    path = tmp_path / "campaign"
    done = run_here("fuzz", *target, "-o", path, "-n", 10, "--seed", 1, "--seeds", folder)
    assert done.returncode == 0, done.stderr
    told = done.stderr.decode()
    assert "seeds: will mutate but not run 1 program with features that" in told
    assert "or the campaign excludes: utf8, utf8.char\n" in told
    assert "not run yet" not in told


@pytest.mark.parametrize("options", [{"types": "none"}, {"without": ("utf8",)}, {}])
def test_annotated_seeds_are_run_without_annotations_if_the_campaign_has_none(
    options: dict[str, Any], tmp_path: Path
) -> None:
    target = Description("persistent", SERVICE)
    lacks = () if options else ("Type", "Typename")
    config = Config(targets=(target,), probed=(Probed(target.name, missing=lacks),), **options)
    source = "local v0: number = 1\nprint((v0 :: any))\nprint(2)\n"
    with Campaign(tmp_path / "campaign", config) as campaign:
        corpus = CorpusFolder(campaign.path / CORPUS)
        seeds = Seeds(campaign, corpus)
        seeds.add([encoding.encode(parse(source, luau=TODAY).tree)] * 2)
        assert not seeds.unsupported
        [data] = seeds.take()
        assert corpus.names == {name_of(data)}
    ran = render(encoding.decode(ModuleSet, data).program)
    plain = "local v0 = 1\nprint((v0))\nprint(2)\n"
    assert ran == (source if "without" in options else plain)


def test_a_run_that_ends_early_says_how_many_seeds_are_left(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "campaign"
    done = run_here("fuzz", "-t", f"persistent:{SERVICE}", "-o", path, "-n", 1, "--seeds", folder)
    assert done.returncode == 0, done.stderr
    told = "2 seed programs not run yet: to continue, run `scriptschema fuzz -o"
    assert told in done.stderr.decode()


@pytest.mark.slow
def test_a_bug_in_a_seed_is_found_and_the_campaign_continues_with_its_corpus(
    folder: Path, tmp_path: Path
) -> None:
    target = f"persistent:{SERVICE}"
    command = [
        "fuzz",
        "-j",
        "1",
        "-t",
        target,
        "-o",
        tmp_path / "campaign",
        "-n",
        "12",
        "--seeds",
        folder,
    ]
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert b"seeds: read 3 programs, skipped 3 files" in done.stderr
    assert b"seeds: read 1 program only in part, because of syntax that the schema " in done.stderr
    assert b"to list this syntax, run `scriptschema parse " in done.stderr
    assert b"broken.luau:1:7" in done.stderr
    assert b"crash" in done.stdout
    names = {path.name for path in (tmp_path / "campaign" / "corpus").iterdir() if path.is_file()}
    assert {Path(name).suffix for name in names} == {".pb"}
    again = run("fuzz", "-j", 1, "-o", tmp_path / "campaign", "-n", "3", "--seeds", folder)
    assert again.returncode == 0, again.stderr
    assert names <= {path.name for path in (tmp_path / "campaign" / "corpus").iterdir()}
