"""Extensions of the original schema, compared with the real Luau if its version has them.

`pytest --long` tries 2,000 trees.
"""

from __future__ import annotations

import pytest
from extended import extended_tree
from newer_cases import CASES, FINE
from real_luau import RealLuau
from test_which_luau import ROWS

from scriptschema import messages as m
from scriptschema.generation.trees import generate
from scriptschema.luau.names import NameReader
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render_module_set
from scriptschema.luau.repair import check, repair
from scriptschema.versions import Version


def test_what_check_refuses_luau_refuses_and_what_repair_makes_it_compiles(
    luau: RealLuau,
) -> None:
    judged = 0
    for source, (_, repaired, since) in CASES.items():
        if Version.parse(since) <= luau.version:
            assert luau.compile(source) is not None, source
            assert luau.compile(repaired) is None, repaired
            judged += 1
    assert judged > 15


def test_what_check_accepts_luau_compiles(luau: RealLuau) -> None:
    sources = [source for source, since in FINE.items() if Version.parse(since) <= luau.version]
    assert len(sources) >= 8
    assert [source for source in sources if luau.compile(source) is not None] == []


@pytest.mark.parametrize("kind", ["generated", "any"])
@pytest.mark.parametrize("version", ["0.677", "its own"])
def test_any_tree_of_a_version_compiles_after_repair(
    luau: RealLuau, long_mode: bool, kind: str, version: str
) -> None:
    wanted = Version.parse(version) if version != "its own" else luau.version
    for seed in range(2000 if long_mode else 80):
        if kind == "generated":
            tree = generate(m.ModuleSet, seed=seed, size=300, luau=wanted)
        else:
            tree = extended_tree(m.schema(wanted), m.ModuleSet, seed, depth=14)
        repaired = repair(tree, luau=wanted)
        sources = render_module_set(repaired)
        for source in filter(None, (sources.module, sources.program)):
            error = luau.compile(source)
            assert error is None, (seed, error)
        reader = NameReader(luau=wanted)
        read = parse(sources.program, module=sources.module, names=reader, luau=wanted)
        assert check(read.tree, names=read.names, luau=wanted) == [], seed
        assert render_module_set(read.tree, names=read.names) == sources, seed


def test_what_the_page_on_versions_says_of_a_version_is_so(luau: RealLuau) -> None:
    needs_flag = ("@unknown", "a(1", "class ")
    for since, _, example, _ in ROWS:
        source = example.strip("`").replace("\\|", "|")
        if any(word in source for word in needs_flag):
            continue
        taken = luau.compile(source) is None
        assert taken == (Version.parse(since) <= luau.version), (since, source)
