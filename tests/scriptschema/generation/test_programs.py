"""Programs that run: valid by construction for any choices, with the requested size and depth."""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter
from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import depth
from trees import size as size_of

from scriptschema import wire
from scriptschema.base import walk
from scriptschema.choices import BytesChoices, RandomChoices
from scriptschema.fuzzing.corpora.features import library_names
from scriptschema.generation.programs import (
    IDIOMS,
    LIBRARIES,
    Counts,
    Scope,
    expression,
    grammar_of,
    program,
    statements,
    templates,
)
from scriptschema.generation.programs.expressions import VARIABLES
from scriptschema.generation.programs.grammar import DECLARATIONS, idiom_of
from scriptschema.generation.programs.idioms import COMPILED, SPANS
from scriptschema.generation.weights import WeightsError
from scriptschema.luau.library import SIGNATURES
from scriptschema.luau.members import NEWER_MEMBERS
from scriptschema.luau.names import NameReader
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render, render_module_set
from scriptschema.luau.repair import check
from scriptschema.messages import (
    MESSAGES,
    ExprTable,
    Local,
    ModuleSet,
    Stat,
    StatBlock,
    StatLocal,
    StatRepeat,
    StatWhile,
)
from scriptschema.versions import Span, Version

OPTIONS = {
    "defaults": {},
    "all wrong": {"wrong": 1.0},
    "nothing wrong": {"wrong": 0.0},
    "no types": {"types": "none"},
    "sound types": {"types": "sound"},
    "not deterministic": {"deterministic": False},
    "swarm": {"swarm": True},
    "the schema's Luau": {"luau": "0.677"},
    "constants": {"luau": "0.711"},
    "today": {"luau": "today"},
    "today, sound types": {"luau": "today", "types": "sound"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_a_program_of_any_seed_is_valid_without_repair(name: str) -> None:
    for seed in range(150):
        tree = program(
            seed=seed, size=random.Random(seed).choice((1, 20, 200, 900)), **OPTIONS[name]
        )
        assert check(tree) == [], seed


@given(st.binary(max_size=400), st.integers(1, 1000), st.integers(1, 120))
def test_a_program_of_any_bytes_is_valid_without_repair(
    data: bytes, size: int, max_depth: int
) -> None:
    tree = program(choices=BytesChoices(data), size=size, max_depth=max_depth)
    assert check(tree) == []
    assert depth(tree) <= max_depth


@pytest.mark.parametrize("max_depth", [1, 5, 10, 15, 18, 20, 25, 30, 40, 60, 100])
def test_no_program_is_deeper_than_requested(max_depth: int) -> None:
    for seed in range(40):
        tree = program(seed=seed, size=600, max_depth=max_depth)
        assert depth(tree) <= max_depth
        assert check(tree) == []


@pytest.mark.parametrize("aim", [50, 200, 1000, 10_000])
def test_programs_have_the_size_asked_for_on_the_average(aim: int) -> None:
    count = max(5, 20_000 // aim)
    mean = sum(size_of(program(seed=seed, size=aim)) for seed in range(count)) / count
    assert 0.85 * aim <= mean <= 1.2 * aim


def test_no_choices_at_all_make_the_smallest_program() -> None:
    assert program(choices=BytesChoices(b"")) == ModuleSet(program=StatBlock())


def test_the_same_seed_makes_the_same_program() -> None:
    assert program(seed=5, size=500) == program(seed=5, size=500)
    assert program(seed=5, size=500) != program(seed=6, size=500)


@pytest.mark.parametrize("source", [RandomChoices(3), BytesChoices(bytes(range(256)))])
def test_an_expression_of_each_kind_fits_a_place_in_another_program(source: object) -> None:
    variables = [(3, "number"), (5, None), (9, "array")]
    for kind in (*VARIABLES, "any", "nil", "value", "scalar", "callable"):
        for size in (1, 5, 20, 60):
            made = expression(kind, Scope.of(variables), source, size=size)
            assert depth(made) <= 20
            names = [Local(name=name) for name, _ in variables]
            declared = Stat(local=StatLocal(vars=names))
            used = Stat(local=StatLocal(vars=[Local(name=1)], values=[made]))
            assert check(StatBlock(body=[declared, used])) == []


@pytest.mark.parametrize("loop", [False, True])
def test_statements_fit_a_place_in_another_program(loop: bool) -> None:
    found = set()
    for seed in range(400):
        scope = Scope.of([(3, "number"), (5, None), (9, "array")], loop=loop, vararg=False)
        made = statements(scope, RandomChoices(seed), max_depth=30)
        assert made
        assert all(depth(statement) <= 30 for statement in made)
        found |= {node.__class__.__name__ for statement in made for node, _ in walk(statement)}
    assert ("StatBreak" in found) == loop or loop is False


def test_options_that_make_no_sense_are_named_with_what_they_take() -> None:
    with pytest.raises(ValueError, match="size must be at least 1, found 0"):
        program(size=0)
    with pytest.raises(ValueError, match="max_depth cannot be 0"):
        program(max_depth=0)
    with pytest.raises(ValueError, match=r"`wrong` must be a number from 0 to 1, found 1\.5"):
        program(wrong=1.5)
    with pytest.raises(ValueError, match="types must be one of none, random, sound, found 'some'"):
        program(types="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="seed and choices"):
        program(seed=1, choices=RandomChoices(1))
    with pytest.raises(ValueError, match="unknown kind 'numbr'; did you mean 'number'"):
        expression("numbr", Scope(), RandomChoices(1))
    with pytest.raises(ValueError, match="max_depth must be at least"):
        statements(Scope(), RandomChoices(1), max_depth=3)


def test_unknown_names_in_weights_are_answered_with_the_nearest() -> None:
    with pytest.raises(WeightsError, match="idioms has no 'countr'; did you mean 'counter'"):
        program(weights={"idioms": {"countr": 1}})
    with pytest.raises(WeightsError, match="libraries has no 'strng'; did you mean 'string'"):
        program(weights={"libraries": {"strng": 1}})
    with pytest.raises(WeightsError, match="no table 'library'; available: idioms, libraries"):
        program(weights={"library": {}})
    with pytest.raises(WeightsError, match=r"idioms\.counter: a weight must be 0, or a number"):
        program(weights={"idioms": {"counter": -1}})
    with pytest.raises(WeightsError, match="libraries must be a table"):
        program(weights={"libraries": 3})  # type: ignore[dict-item]


def test_weights_turn_idioms_and_libraries_off() -> None:
    only = {"idioms": {name: float(name == "library") for name in IDIOMS}}
    libraries = {"libraries": {name: float(name == "bit32") for name in LIBRARIES}}
    tree = program(seed=1, weights={**only, **libraries}, types="none", wrong=0)
    assert {node.which for node, _ in walk(tree) if isinstance(node, Stat)} == {"call"}


def occurring(tree: ModuleSet) -> set[tuple[str, str]]:
    """Return the messages, alternatives, operators and flags in a program."""
    found = set()
    for node, _ in walk(tree):
        cls = type(node)
        found.add((cls.__name__, node.which or ""))
        found.add((cls.__name__, ""))
        for name, field in cls.FIELDS.items():
            if issubclass(field.type, (IntEnum, bool)):
                found.add((f"{cls.__name__}.{name}", str(getattr(node, name))))
    return found


def test_every_message_alternative_and_operator_is_in_one_of_a_hundred_programs() -> None:
    programs = 1000
    counts = Counter(item for seed in range(programs) for item in occurring(program(seed=seed)))
    wanted = {(name, "") for name in MESSAGES}
    for name, cls in MESSAGES.items():
        for field in cls.FIELDS.values():
            if field.oneof:
                wanted.add((name, field.name))
            elif issubclass(field.type, IntEnum):
                wanted |= {(f"{name}.{field.name}", str(value)) for value in field.type}
            elif field.type is bool:
                wanted |= {(f"{name}.{field.name}", str(value)) for value in (True, False)}
    assert {item for item in wanted if counts[item] < programs / 100} == set()


def test_a_program_of_a_hundred_thousand_nodes_is_valid_and_not_deep() -> None:
    tree = program(seed=2, size=100_000)
    assert check(tree) == []
    assert 85_000 <= size_of(tree) <= 120_000
    assert depth(tree) <= 100


# Computed once. Other digests mean that every seed gives other programs: note it in the changelog.
DIGESTS = {
    "default": "51ab5ad6cdf8e6ce",
    "no types": "6544a952b9d62a65",
    "sound": "4efa20a3baa38bc1",
    "swarm": "df70fd3d71606f0a",
    "large": "8da80827bc5d6bcf",
}


@pytest.mark.parametrize("name", DIGESTS)
def test_seeds_mean_the_same_on_every_machine_and_version(name: str) -> None:
    options: dict[str, Any] = {
        "default": {},
        "no types": {"types": "none", "wrong": 0},
        "sound": {"types": "sound", "wrong": 0.5, "deterministic": False},
        "swarm": {"swarm": True},
        "large": {"size": 3000},
    }[name]
    digest = hashlib.sha256()
    for seed in range(40):
        digest.update(wire.encode(program(seed=seed, **options)))
    assert digest.hexdigest()[:16] == DIGESTS[name]


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "globals"])
def test_a_library_that_is_left_out_is_not_used_anywhere(library: str) -> None:
    weights = {"libraries": {library: 0}}
    options: tuple[dict[str, Any], ...] = (
        {},
        {"types": "sound", "luau": "today"},
        {"runs": False, "wrong": 0.5},
        {"swarm": True, "counts": Counts()},
    )
    for seed in range(60):
        given = options[seed % len(options)]
        tree = program(seed=seed, size=300, weights=weights, **given)
        used = names_in(tree, given.get("luau"))
        assert {name for name in used if name.partition(".")[0] == library} == set()


def test_a_program_without_any_library_still_has_its_size() -> None:
    weights = {"libraries": dict.fromkeys(LIBRARIES, 0)}
    for seed in range(40):
        tree = program(seed=seed, size=200, weights=weights)
        assert not any("." in name for name in names_in(tree, None))
        assert size_of(tree) > 120


def test_without_the_idiom_that_requires_it_a_program_has_no_module() -> None:
    for seed in range(60):
        tree = program(seed=seed, weights={"idioms": {"require": 0}})
        assert tree.module is None
        assert not any(stat.which == "require_into_local" for stat in tree.program.body)


def names_in(tree: ModuleSet, luau: str | None) -> set[str]:
    return {*library_names(wire.scan(ModuleSet, wire.encode(tree, luau=luau), luau=luau))}


@pytest.mark.parametrize("luau", [None, "0.677", "0.687", "0.688", "0.701", "0.714", "today"])
def test_a_program_uses_members_of_its_version_and_of_no_newer_one(luau: str | None) -> None:
    found: set[str] = set()
    for seed in range(120):
        weights = {"idioms": {"library": 300.0}}
        found |= names_in(program(seed=seed, luau=luau, weights=weights), luau)
    version = Version.parse(luau or "0.677")
    spans = {str(signature): signature.span for signature in SIGNATURES if signature.span}
    spans["integer"] = Span(Version(715))
    newer = found & {*spans}
    assert {name for name in newer if version not in spans[name]} == set()
    assert len(newer) >= len([name for name, span in spans.items() if version in span]) // 4


def test_programs_of_today_use_what_the_seed_s_schema_lacks() -> None:
    weights = {"idioms": dict.fromkeys(SPANS, 60)}
    trees = [program(seed=seed, size=300, luau="today", weights=weights) for seed in range(150)]
    sources = [render(tree.program) for tree in trees]
    for pattern in (
        *(r"\bconst [xv]", r"\bconst function", r"@native\b", r"@\[.*native", r"\bexport local"),
        *(r"\bexport const", r"\bexport function", r"\b\d+i\b", r"\btype function", r"\bread "),
        *(
            r"\d\.\d",
            "//=",
            " :: ",
            "<<number>>",
            r'\bprint "',
            r"for v\d+: number",
            "integer[.]lt",
        ),
    ):
        assert any(re.search(pattern, source) for source in sources), pattern
    seeds = "".join(render(program(seed=seed).program) for seed in range(60))
    seeds = re.sub(r'"[^"\n]*"', "", seeds)  # formats such as "i4i" are not integers
    assert not re.search(r"\bconst\b|@native|\bexport local|\d+i\b|//=|<<| :: ", seeds)


def test_programs_use_what_their_modules_export_by_the_names_that_it_has() -> None:
    found = 0
    for seed in range(80):
        tree = program(seed=seed, luau="0.723")
        sources = render_module_set(tree)
        if sources.module is None or "export local" not in sources.module:
            continue
        found += 1
        for text in ("export function v0", "export local v1", "export const v2"):
            assert len(re.findall(rf"{text}\b", sources.module)) == 1
        assert {*re.findall(r'\["(v\d)"\]', sources.program)} >= {"v0", "v1", "v2"}
    assert found > 3
    older = (render_module_set(program(seed=seed, luau="0.722")) for seed in range(80))
    assert not any("export local" in (sources.module or "") for sources in older)


def test_a_loop_of_an_idiom_ends_whatever_its_block_continues() -> None:
    for name in IDIOMS.keys() - COMPILED:
        text = IDIOMS[name][1]
        since = SPANS[name].since if name in SPANS else None
        read = parse(text, names=NameReader(luau=since), luau=since)
        for node, _ in walk(read.tree):
            if not isinstance(node, (StatWhile, StatRepeat)):
                continue
            parts = [StatBlock(body=[stat]) for stat in node.body.body]
            texts = [render(part, names=read.names).strip() for part in parts]
            behind = texts[texts.index("BLOCK()") :] if "BLOCK()" in texts else []
            assert not any("= " in each for each in behind), name


NOT_RUN = {
    "endless loop": r"while true do",
    "dead code": r"if (false|nil|not true|1 > 2|not \"\") then|while (false|nil|true and false) do",
    "constant out of range": r"2147483647 \+ 1|2 \^ 53|2 \^ 31|2 \^ 1024",
    "builtin in a local": r"local v\d+(, v\d+)* = (math|bit32|string|table)\.\w+[,\n]",
    "wrong call": r"[^:]\bv\d+\(\)",
}


def test_programs_that_must_not_run_are_stranger_and_the_same_for_a_seed() -> None:
    def occurring(*, runs: bool) -> Counter[str]:
        found = Counter[str]()
        for seed in range(200):
            tree = program(seed=seed, size=200, runs=runs)
            assert check(tree) == []
            assert program(seed=seed, size=200, runs=runs) == tree
            source = render(tree.program)
            found.update(name for name, pattern in NOT_RUN.items() if re.search(pattern, source))
            for node, _ in walk(tree):
                if isinstance(node, ExprTable):
                    names = [item.alternative for item in node.items if item.which == "key_name"]
                    keys = [(name.which, name.alternative) for name in names]
                    found["duplicate key"] += len(keys) > len({*keys})
        return found

    strange, ordinary = occurring(runs=False), occurring(runs=True)
    assert {idiom.name for idiom in grammar_of(None).idioms}.isdisjoint(COMPILED)
    names = (*NOT_RUN, "duplicate key")
    assert all(strange[name] >= max(10, 2 * ordinary[name]) for name in names), strange


def test_the_idioms_of_a_version_use_nothing_newer() -> None:
    assert SPANS
    for name, (_, text) in IDIOMS.items():
        words = {*re.findall(r"(?<![\w.])([a-z]\w+)\.(\w+)", text)}
        spans = [NEWER_MEMBERS[word] for word in words if word in NEWER_MEMBERS]
        least = max((span.since for span in spans), default=None)
        assert least is None or SPANS[name].since >= least, name
        since = SPANS[name].since if name in SPANS else None
        assert parse(text, names=NameReader(luau=since), luau=since)


def test_a_version_that_is_not_known_is_refused_with_those_that_are() -> None:
    for luau in ("0.5", ""):  # an unset variable of the environment is an empty string
        with pytest.raises(ValueError, match=f"unknown version of Luau '{luau}': expected"):
            program(seed=1, luau=luau)


def test_a_kind_that_is_declared_by_an_idiom_of_its_name_is() -> None:
    for kind in DECLARATIONS:
        template = idiom_of(kind)
        assert template.declares == 1
        assert not template.needs


def test_a_hole_where_none_can_be_is_refused_instead_of_becoming_an_undefined_global() -> None:
    for text in ("print(NUMBR)", "if NUMBER then elseif ONE_OF then end"):
        with pytest.raises(ValueError, match="is not a hole here"):
            templates.statements(text)


def test_what_is_no_template_is_refused() -> None:
    with pytest.raises(ValueError, match="numbr is neither a kind nor a type"):
        templates.statements("local a: numbr = 1")
    with pytest.raises(ValueError, match="numbr is neither a kind nor a type"):
        templates.statements("local a: number | {value: numbr} = 1")
