"""The tree generator: sizes, depth, variety, weights, and seeds that mean the same everywhere."""

import hashlib
import random
import statistics
from collections import Counter
from pathlib import Path as FilePath

import pytest
import spec
from fresh import printed_by
from hypothesis import given
from hypothesis import strategies as st
from trees import depth
from trees import size as size_of

from scriptschema import Message, messages, walk, wire
from scriptschema.base import INT32_MAX, INT32_MIN
from scriptschema.choices import BytesChoices, RandomChoices
from scriptschema.generation.grammar import grammar_of
from scriptschema.generation.trees import generate
from scriptschema.generation.weights import WEIGHTS, WeightsError
from scriptschema.luau.repair import check, repair
from scriptschema.messages import (
    ENUMS,
    MESSAGES,
    Expr,
    ExprIfElse,
    ModuleSet,
    Stat,
    StatBlock,
    StatFor,
    Type,
    schema,
)

ALL = list(MESSAGES.values())


@pytest.mark.parametrize("cls", [ModuleSet, Expr, Stat, StatBlock, Type])
@pytest.mark.parametrize("size", [1, 2, 5, 20, 100, 1000, 10_000])
def test_the_median_size_is_within_a_factor_of_two(cls: type[Message], size: int) -> None:
    rounds = 5 if size > 1000 else 41
    median = statistics.median(size_of(generate(cls, seed=s, size=size)) for s in range(rounds))
    assert size / 2 <= median <= 2 * size


def test_a_tree_of_a_hundred_thousand_nodes_keeps_to_size_and_depth() -> None:
    tree = generate(seed=3, size=100_000)
    assert 50_000 <= size_of(tree) <= 200_000
    assert depth(tree) <= 100


@pytest.mark.parametrize("max_depth", [1, 2, 3, 5, 10, 30])
def test_no_tree_is_deeper_than_requested(max_depth: int) -> None:
    for seed in range(30):
        assert depth(generate(seed=seed, size=500, max_depth=max_depth)) <= max_depth


def test_the_default_depth_is_one_that_protobufs_runtimes_read() -> None:
    expr = spec.runtime_classes()["Expr"]
    weights = {"Expr": dict.fromkeys(WEIGHTS["Expr"], 0) | {"group": 1, "nil": 1}}
    deepest = 0
    for seed in range(20):
        tree = generate(Expr, seed=seed, size=5000, weights=weights)
        deepest = max(deepest, depth(tree))
        expr.FromString(wire.encode(tree))
    assert 90 <= deepest <= 100


def test_everything_in_the_schema_occurs_in_a_thousand_trees() -> None:
    fields: Counter[str] = Counter()
    values: set[object] = set()
    lengths: dict[str, set[int]] = {}
    absent: set[str] = set()
    strings: set[str] = set()
    integers: set[int] = set()
    for seed in range(1000):
        for node, _ in walk(generate(seed=seed, size=200)):
            for name, field in node.FIELDS.items():
                value = getattr(node, name)
                label = f"{field.message}.{field.schema_name}"
                if field.rule == "repeated":
                    lengths.setdefault(label, set()).add(min(len(value), 2))
                    fields[label] += bool(value)
                elif value is None:
                    absent.add(label)
                else:
                    fields[label] += 1
                    if type(value) is str:
                        strings.add(value)
                    elif type(value) is int:
                        integers.add(value)
                    elif not field.is_message:
                        values.add(value)
    rows = {f"{row.message}.{row.field}": row.rule for row in spec.ROWS}
    assert len(rows) == 158
    assert [label for label in rows if fields[label] < 5] == []
    assert {True, False} <= values
    assert [m for enum in ENUMS.values() for m in enum if m not in values] == []
    assert {label for label, seen in lengths.items() if seen != {0, 1, 2}} == set()
    assert {label for label, rule in rows.items() if rule == "opt"} <= absent
    assert {INT32_MIN, INT32_MAX, -1, 0, 1, 127, 128, 255, 256} <= integers
    assert "" in strings
    assert any(len(s) > 200 for s in strings)
    assert any(not s.isascii() for s in strings)
    assert any("\0" in s for s in strings)
    assert any("\udc80" <= c <= "\udcff" for s in strings for c in s)


def test_trees_look_like_programs_and_not_like_one_deep_spine() -> None:
    trees = [generate(seed=seed, size=200) for seed in range(100)]
    assert statistics.median(map(depth, trees)) < 30
    statements = [
        len(node.body)
        for tree in trees
        for node, path in walk(tree)
        if isinstance(node, StatBlock) and len(path) == 1
    ]
    assert statistics.median(statements) >= 4


@given(st.sampled_from(ALL), st.integers(0, 2**64), st.integers(1, 60), st.booleans())
def test_every_tree_is_valid_and_comes_back_from_its_bytes(
    cls: type[Message], seed: int, size: int, swarm: bool
) -> None:
    tree = generate(cls, seed=seed, size=size, swarm=swarm)
    data = wire.encode(tree)
    assert wire.decode(cls, data, unknown="error") == tree
    assert spec.runtime_classes()[cls.__name__].FromString(data).IsInitialized()
    for node, _ in walk(tree):
        arguments = {
            name: getattr(node, name)
            for name, field in node.FIELDS.items()
            if not field.oneof or node.which == name
        }
        assert type(node)(**arguments) == node


def test_the_simplest_choices_give_the_simplest_tree() -> None:
    for cls in ALL:
        simplest = generate(cls, choices=BytesChoices(b""))
        assert size_of(simplest) == grammar_of(None).costs[cls]
        assert all(
            getattr(node, name) in (0, False, "", None, []) or field.is_message
            for node, _ in walk(simplest)
            for name, field in node.FIELDS.items()
        )


def test_any_bytes_give_a_tree(long_mode: bool) -> None:
    source = random.Random(7)
    for turn in range(100_000 if long_mode else 5_000):
        data = source.randbytes(source.choice([0, 1, 2, 5, 20, 100]))
        cls = ALL[turn % len(ALL)]
        tree = generate(cls, choices=BytesChoices(data), size=30)
        assert wire.decode(cls, wire.encode(tree)) == tree


def test_more_bytes_give_larger_trees_and_a_byte_more_a_small_change() -> None:
    source = random.Random(1)
    sizes = {
        length: statistics.mean(
            size_of(generate(choices=BytesChoices(source.randbytes(length)))) for _ in range(200)
        )
        for length in (2, 20, 200)
    }
    assert sizes[2] < sizes[20] < sizes[200]


def test_a_seed_means_the_same_tree_in_every_process_and_always() -> None:
    digest = hashlib.sha256()
    for seed in range(50):
        digest.update(wire.encode(generate(seed=seed)))
        digest.update(wire.encode(generate(seed=seed, swarm=True, size=50)))
    assert digest.hexdigest() == PINNED
    script = (
        "import hashlib; from scriptschema import wire\n"
        "from scriptschema.generation.trees import generate\n"
        "print(hashlib.sha256(b''.join(wire.encode(generate(seed=s)) for s in range(9)))"
        ".hexdigest())"
    )
    outputs = {printed_by(script, PYTHONHASHSEED=seed) for seed in ("0", "1", "random")}
    assert len(outputs) == 1


PINNED = "c7806f4b970b36c10921404f7eb8dbd2b48d2b35aaa1f22f8724f6e277095efa"


def test_a_random_object_can_be_the_source() -> None:
    assert generate(choices=RandomChoices(random.Random(5))) == generate(seed=5)


def test_without_a_seed_every_tree_is_another() -> None:
    assert generate() != generate()
    with pytest.raises(ValueError, match="seed and choices cannot be combined"):
        generate(seed=1, choices=BytesChoices(b""))


def test_weights_change_what_occurs() -> None:
    weights = {"Expr": {"binary": 1000}, "Stat": {"while": 0, "repeat": 0}}
    plain = Counter(type(node).__name__ for node, _ in walk(generate(seed=1, size=5000)))
    weighted = Counter(
        type(node).__name__ for node, _ in walk(generate(seed=1, size=5000, weights=weights))
    )
    assert weighted["ExprBinary"] > 2 * plain["ExprBinary"]
    assert plain["StatWhile"] + plain["StatRepeat"] > 0
    assert weighted["StatWhile"] + weighted["StatRepeat"] == 0


def test_weights_can_leave_oneofs_unset() -> None:
    tree = generate(seed=1, size=500, weights={"Expr": {"unset": 50}})
    assert any(isinstance(node, Expr) and node.which is None for node, _ in walk(tree))


def test_weights_come_from_a_toml_file_too(tmp_path: FilePath) -> None:
    path = tmp_path / "weights.toml"
    path.write_text("[Stat]\nwhile = 0\n'if' = 2.5\n")
    expected = generate(seed=4, weights={"Stat": {"while": 0, "if": 2.5}})
    assert generate(seed=4, weights=path) == generate(seed=4, weights=str(path)) == expected


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (
            {"Exp": {}},
            (
                "Exp has no alternatives to weight; "
                "messages with alternatives: Expr, ExprPrefix, LValue"
            ),
        ),
        ({"ExprCall": {"func": 1}}, "ExprCall has no alternatives to weight"),
        ({"idioms": {"counter": 9}}, "weights for idioms only apply to programs that run"),
        ({"Expr": {"nul": 1}}, "unknown alternative 'nul' of Expr; available: group, nil, bool"),
        ({"Stat": {"while_": 1}}, "unknown alternative 'while_' of Stat"),
        (
            {"Expr": {"nil": -1}},
            "Expr.nil: a weight must be 0, or a number from 1e-9 to 1e9, found -1",
        ),
        (
            {"Expr": {"nil": "x"}},
            "Expr.nil: a weight must be 0, or a number from 1e-9 to 1e9, found 'x'",
        ),
        (
            {"Expr": {"nil": float("inf")}},
            "Expr.nil: a weight must be 0, or a number from 1e-9 to 1e9, found inf",
        ),
        ({"Expr": [1]}, "Expr must be a table of alternatives and weights"),
        ({"Expr": {"nil": 10**5000}}, "Expr.nil: a weight must be 0, or a number from 1e-9 to 1e9"),
        (
            {"Expr": {"nil": 1e308}},
            "Expr.nil: a weight must be 0, or a number from 1e-9 to 1e9, found 1e+308",
        ),
        (
            {"Expr": {"nil": 5e-324}},
            "Expr.nil: a weight must be 0, or a number from 1e-9 to 1e9, found 5e-324",
        ),
        (
            {"Expr": {"nil": [1]}},
            "Expr.nil: a weight must be 0, or a number from 1e-9 to 1e9, found [1]",
        ),
        (
            {"Expr": {"nil": float("nan")}},
            "Expr.nil: a weight must be 0, or a number from 1e-9 to 1e9, found nan",
        ),
        (
            {"Expr": dict.fromkeys(WEIGHTS["Expr"], 0) | {"group": 1}},
            "these weights make every Expr infinite",
        ),
        ({"Name": {"builtin": 0, "custom": 0}}, "these weights make every Name infinite"),
    ],
)
def test_weights_that_cannot_be_are_refused(weights: dict, text: str) -> None:
    with pytest.raises(WeightsError) as caught:
        generate(seed=1, weights=weights)
    assert str(caught.value).startswith(text)


def test_a_weights_file_that_is_invalid_is_refused(tmp_path: FilePath) -> None:
    path = tmp_path / "weights.toml"
    for content, text in (("[Expr", "weights.toml: "), ("Expr = 5", "Expr must be a table")):
        path.write_text(content)
        with pytest.raises(WeightsError, match=text):
            generate(seed=1, weights=path)
    path.write_bytes(b"\xff")
    with pytest.raises(WeightsError, match=r"weights.toml: .*utf-8"):
        generate(seed=1, weights=path)


@pytest.mark.parametrize(("cls", "max_depth"), [(ExprIfElse, 2), (StatFor, 2), (Expr, 1)])
def test_swarm_allows_each_depth_that_the_smallest_tree_has(
    cls: type[Message], max_depth: int
) -> None:
    for seed in range(1000):
        generate(cls, seed=seed, size=30, max_depth=max_depth, swarm=True)


def test_swarm_leaves_features_out_per_tree_and_all_occur_over_many() -> None:
    seen: Counter[str] = Counter()
    per_tree = []
    for seed in range(150):
        kinds = {
            node.which
            for node, _ in walk(generate(seed=seed, size=300, swarm=True))
            if isinstance(node, Stat)
        }
        per_tree.append(len(kinds))
        seen.update(filter(None, kinds))
    assert set(seen) == {f.name for f in Stat.FIELDS.values()}
    assert statistics.median(per_tree) < 12
    plain = [
        len({n.which for n, _ in walk(generate(seed=s, size=300)) if isinstance(n, Stat)})
        for s in range(50)
    ]
    assert statistics.median(per_tree) < statistics.median(plain)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"size": 0}, "size must be at least 1, found 0"),
        ({"max_depth": 0}, "a ModuleSet has a depth of at least 1, so max_depth cannot be 0"),
    ],
)
def test_sizes_and_depths_without_a_tree_are_refused(options: dict, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        generate(seed=1, **options)


def test_a_spine_ends_where_the_stack_would() -> None:
    weights = {"Expr": dict.fromkeys(WEIGHTS["Expr"], 0) | {"group": 1000, "nil": 1}}
    tree = generate(Expr, seed=1, size=100_000, max_depth=100_000, weights=weights)
    assert 100 < depth(tree) <= 200


@pytest.mark.parametrize("cls", ["Expr", Message, int])
def test_what_is_no_message_class_is_refused(cls: object) -> None:
    with pytest.raises(TypeError, match=r"not a message class: (Expr|Message|int)"):
        generate(cls, seed=1)


def test_a_leaf_has_its_own_least_depth() -> None:
    assert generate(messages.Local, seed=1, max_depth=0) is not None


@pytest.mark.parametrize("luau", ["0.677", "0.711", "today"])
def test_trees_of_a_version_hold_what_it_has_and_nothing_newer(luau: str) -> None:
    known = schema(luau)
    found: set[str] = set()
    for seed in range(150):
        for size, choices in ((300, None), (100, BytesChoices(random.Random(seed).randbytes(900)))):
            tree = generate(
                ModuleSet,
                seed=seed if choices is None else None,
                choices=choices,
                size=size,
                luau=luau,
            )
            assert wire.decode(ModuleSet, wire.encode(tree, luau=luau), luau=luau) == tree
            found |= {
                f"{node.__class__.__name__}.{name}"
                for node, _ in walk(tree)
                for name, field in node.ALL_FIELDS.items()
                if getattr(node, name) not in (None, [])
            }
            if choices is None and seed < 40:
                assert check(repair(tree, luau=luau), luau=luau) == []
    fields = {
        f"{cls.__name__}.{name}"
        for cls, inner in known.fields.items()
        for name, field in inner.items()
        if field.since or cls.__name__ not in MESSAGES
    }
    assert len(fields - found) <= len(fields) // 8, fields - found
    assert not {name for name in found if name.split(".")[0] not in known.messages}
