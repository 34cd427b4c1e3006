"""Sources for a target can be parsed to the tree that they were printed from."""

import sys
from pathlib import Path
from typing import Any

import pytest
from combined import Pair, pairs_in, possible_pairs

from scriptschema import walk, wire
from scriptschema.base import Message
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.fuzzer import Fuzzer
from scriptschema.fuzzing.campaign.programs import ProgramSource
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.description import Description, from_word
from scriptschema.generation.programs import Counts
from scriptschema.interop import from_text
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render
from scriptschema.messages import ModuleSet

SERVICE = f"{sys.executable} {Path(__file__).with_name('service.py')}"


def shape(tree: Message) -> list[tuple[str, str, str | None]]:
    """Return a tree's messages with their fields and alternatives, without values or names."""
    return [
        (type(node).__name__, str(path).rpartition(".")[2], node.which if node.ONEOF else None)
        for node, path in walk(tree)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("source", ["program", "repaired"])
@pytest.mark.parametrize("luau", ["", "0.735"])
def test_a_mutant_reads_back_as_its_tree(source: str, luau: str) -> None:
    config = Config(
        targets=(from_word("command:true {file}"),), seed=6, size=60, luau=luau, source=source
    )
    programs = ProgramSource(config, 1)
    for number in range(600):
        made = programs.next()
        assert made is not None
        text = render(made.tree.program)
        assert "--[[unset]]" not in text
        read = parse(text, luau=config.version)
        assert render(read.tree.program, names=read.names) == text
        assert shape(read.tree) == shape(made.tree), text
        if number % 3 == 0:
            programs.adopt(str(number), made.tree, ended=True)


@pytest.mark.slow
def test_a_campaign_makes_what_it_made_least(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*, counts: bool) -> int:
        config = Config(targets=(from_word("command:true {file}"),), seed=6, mutants=0, compiled=0)
        programs = ProgramSource(config, 1)
        found: set[Pair] = set()
        for _ in range(1500):
            if not counts:
                monkeypatch.setattr(programs._running, "_counts", Counts())
            made = programs.next()
            assert made is not None
            found.update(pairs_in(made.tree))
        return len(possible_pairs() - found)

    assert missing(counts=True) < 0.7 * missing(counts=False)


GAPS = {
    "union": "type { union { left { } right { primitive { kind: 0 } } } }",
    "result": "type { function { rets { } } }",
    "pack": "type { literal { name { index: 1 } generics { } } }",
    "alias": "type { }",
}


@pytest.mark.parametrize("added", [False, True])
@pytest.mark.parametrize("gap", GAPS)
def test_a_gap_in_a_corpus_tree_does_not_reach_a_target(
    gap: str, added: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    alias = f"type_alias {{ export: false name {{ index: 1 }} {GAPS[gap]} }}"
    tree = from_text(ModuleSet, f"program {{ body {{ {alias} }} }}")
    assert "--[[unset]]" in render(tree.program)
    target = Description("persistent", f"{SERVICE} cover", variants=("-O0",), seconds=5)
    corpus = [wire.encode(tree)]
    config = Config(targets=(target,), mutants=0.9)
    fuzzer = Fuzzer(config, seed=1, corpus=() if added else corpus)
    for data in corpus if added else ():  # as on a cluster
        fuzzer.add(data)
    seen: list[str] = []
    submit = fuzzer.runner.submit

    def watched(sources: Sources, **options: Any) -> None:
        seen.append(sources.program)
        submit(sources, **options)

    monkeypatch.setattr(fuzzer.runner, "submit", watched)
    fuzzer.work(seconds=600, programs=40)
    fuzzer.close()
    assert any("type T1" in each for each in seen)
    assert not any("--[[unset]]" in each for each in seen)
