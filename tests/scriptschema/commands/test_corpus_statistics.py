"""`corpus stats`, as a person or a script uses it, and the counting behind it."""

import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
import spec
from command import ok_here as ok
from command import on_a_terminal
from command import run_here as run
from hypothesis import given, settings

from scriptschema import files, strategies, wire
from scriptschema.base import Message, walk
from scriptschema.commands.corpus.report import plot
from scriptschema.fuzzing.corpora.statistics import CorpusStats, percentile
from scriptschema.generation.trees import generate
from scriptschema.messages import (
    Expr,
    ExprBinary,
    ExprConstantNil,
    ExprGroup,
    ModuleSet,
    Stat,
    StatBlock,
    StatReturn,
)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Twelve trees in all three formats."""
    folder = tmp_path / "corpus"
    for seed in range(12):
        form = files.FORMATS[seed % 2]
        [ending] = (e for e, f in files.ENDINGS.items() if f == form)
        files.write(folder / f"{seed}{ending}", files.serialize(generate(seed=seed), form))
    return folder


def counted(*trees: Message) -> CorpusStats:
    stats = CorpusStats()
    for tree in trees:
        stats.add(tree)
    return stats


def test_totals_and_percentiles_are_those_of_the_trees(corpus: Path) -> None:
    found = json.loads(ok("corpus", "stats", "--json", corpus))
    trees = [generate(seed=seed) for seed in range(12)]
    nodes = sorted(sum(1 for _ in walk(tree)) for tree in trees)
    depths = sorted(max(len(path) for _, path in walk(tree)) for tree in trees)
    sizes = sorted(len(wire.encode(tree)) for tree in trees)
    assert (found["trees"], found["nodes"], found["bytes"]) == (12, sum(nodes), sum(sizes))
    for name, values in (("nodes", nodes), ("depth", depths), ("bytes", sizes)):
        for percent, index in (("0", 0), ("10", 1), ("50", 5), ("90", 10), ("100", 11)):
            assert found["percentiles"][name][percent] == values[index]


def test_percentiles_are_by_nearest_rank() -> None:
    counts = Counter({1: 1, 5: 2, 9: 1})
    assert [percentile(counts, p) for p in (0, 25, 26, 75, 76, 100)] == [1, 1, 5, 5, 9, 9]
    with pytest.raises(ValueError, match="no trees"):
        percentile(Counter(), 50)


def by_protobuf(trees: list[Message]) -> Counter[str]:
    """Return the counts for the trees, computed by protobuf's own runtime."""
    counts: Counter[str] = Counter()
    for tree in trees:
        cls = spec.runtime_classes()[type(tree).__name__]
        stack = [cls.FromString(wire.encode(tree))]
        while stack:
            message = stack.pop()
            name = message.DESCRIPTOR.name
            counts[name] += 1
            for oneof in message.DESCRIPTOR.oneofs:
                counts[f"{name}.{message.WhichOneof(oneof.name) or 'unset'}"] += 1
            for field, value in message.ListFields():
                if field.enum_type:
                    value_name = field.enum_type.values_by_number[value].name
                    counts[f"{name}.{field.enum_type.name}.{value_name}"] += 1
                elif not field.containing_oneof and not field.is_required:
                    counts[f"{name}.{field.name}"] += 1
                if field.message_type:
                    stack.extend(value if field.is_repeated else [value])
    return counts


@settings(max_examples=30)
@given(tree=strategies.module_sets())
def test_counts_are_what_protobuf_finds(tree: ModuleSet) -> None:
    stats = counted(tree)
    ours = stats.messages + stats.alternatives + stats.fields + stats.values
    assert ours == by_protobuf([tree])


def test_counts_of_a_corpus_and_what_never_occurs_cover_the_schema() -> None:
    trees: list[Message] = [generate(seed=seed, size=100) for seed in range(5)]
    stats = counted(*trees)
    found = stats.as_json()
    known = by_protobuf(trees)
    kinds = ("messages", "alternatives", "fields", "values")
    for kind in kinds:
        for name, count in found[kind].items():
            assert known[name] == count
    names = {name for kind in kinds for name in found[kind]}
    assert {row.message for row in spec.ROWS} < names
    assert {f"{row.message}.{row.field}" for row in spec.ROWS if row.rule != "req"} < names
    assert {f"{enum}.{n}" for enum, values in spec.ENUMS.items() for n in values.split()} < names
    for kind in kinds:
        for name in found["never"][kind]:
            assert found[kind][name] == 0
        for name, count in found[kind].items():
            message = name.partition(".")[0]
            if count == 0 and not name.endswith(".unset"):
                assert name in found["never"][kind] or message in found["never"]["messages"]


def test_what_never_occurs_is_listed_once() -> None:
    nil = Expr(nil=ExprConstantNil())
    tree = ModuleSet(
        program=StatBlock(
            body=[
                Stat(return_=StatReturn(list=[nil])),
                Stat(
                    return_=StatReturn(
                        list=[
                            Expr(binary=ExprBinary(op=ExprBinary.Op.Pow, left=nil, right=nil)),
                            Expr(group=ExprGroup(expr=nil)),
                        ]
                    )
                ),
            ]
        )
    )
    never = counted(tree).never()
    assert "ExprUnary" in never["messages"]
    assert "Expr.unary" in never["alternatives"]
    assert "ExprBinary.Op.Add" in never["values"]
    assert "ExprBinary.Op.Pow" not in never["values"]
    # Parts of messages that do not occur are not listed beside these.
    assert not [name for name in never["values"] if name.startswith("ExprUnary")]
    assert never["fields"] == ["ModuleSet.module"]


def test_the_table_has_bars_and_the_list_of_what_never_occurs(corpus: Path) -> None:
    shown = ok("corpus", "stats", corpus).decode()
    assert shown.startswith("12 trees, ")
    stats = counted(*(generate(seed=seed) for seed in range(12)))
    lines = {tuple(line.split()[:2]): line for line in shown.splitlines()}
    for name in ("Expr", "StatBlock"):
        assert (name, f"{stats.messages[name]:,}") in lines
    line = lines["number", f"{stats.alternatives['Expr.number']:,}"]
    share = stats.alternatives["Expr.number"] / stats.messages["Expr"]
    assert f"{share:.1%}" in line
    assert line.count("█") == round(30 * share)
    assert "never occur (" in shown
    assert all(name in shown for name in stats.never()["alternatives"])


def test_a_corpus_with_everything_says_so() -> None:
    data = ok("generate", "-n", 200, "--size", 300)
    shown = ok("corpus", "stats", "-", "--delimited", stdin=data).decode()
    assert shown.endswith("Every part of the schema occurs.\n")


def test_streams_are_told_by_their_ending_or_the_option(tmp_path: Path) -> None:
    path = tmp_path / "trees.pbstream"
    ok("generate", "-n", 30, "--message", "Expr", "-o", path)
    found = ok("corpus", "stats", "--message", "Expr", "--json", path)
    assert json.loads(found)["trees"] == 30
    data = path.read_bytes()
    assert (
        ok("corpus", "stats", "--message", "Expr", "--json", "--delimited", "-", stdin=data)
        == found
    )
    assert ok("corpus", "stats", "--message", "Expr", "--json", tmp_path) == found
    texts = ok("generate", "-n", 30, "--message", "Expr", "--format", "text")
    options = ("--message", "Expr", "--json", "--delimited", "--from", "text")
    assert ok("corpus", "stats", *options, "-", stdin=texts) == found
    one = wire.encode(generate(seed=0))
    assert (
        json.loads(ok("corpus", "stats", "--json", "--from", "binary", "-", stdin=one))["trees"]
        == 1
    )


def test_a_corpus_without_trees_is_no_error(tmp_path: Path) -> None:
    assert ok("corpus", "stats", tmp_path) == b"0 trees, 0 nodes, 0 bytes\n"
    found = json.loads(ok("corpus", "stats", tmp_path, "--json"))
    assert (found["trees"], found["percentiles"]) == (0, {})
    assert ok("corpus", "stats", "--delimited", "-") == b"0 trees, 0 nodes, 0 bytes\n"


# Drawings


def test_the_same_corpus_is_the_same_drawing(corpus: Path, tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        ok("corpus", "stats", corpus, "--plot", tmp_path / name)
    drawing = (tmp_path / "a.svg").read_bytes()
    assert b"<svg" in drawing
    assert b"</svg>" in drawing
    assert drawing == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize("sizes", [[], [2], [1, 500, 20_000]])
def test_any_corpus_can_be_drawn(sizes: list[int]) -> None:
    root = ElementTree.fromstring(plot(counted(*(generate(seed=1, size=size) for size in sizes))))
    width, height = (float(root.get(name, "")) for name in ("width", "height"))
    for each in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert 0 <= float(each.get("x", "")) <= width
        assert 0 < float(each.get("height", "")) <= height
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert ("corpus: no trees" in texts) == (not sizes)
    assert any(f"{len(sizes)} tree" in (text or "") for text in texts)


@pytest.mark.parametrize("name", ["a.png", "a.pdf", "a"])
def test_another_ending_of_a_drawing_is_wrong_use(corpus: Path, name: str) -> None:
    done = run("corpus", "stats", corpus, "--plot", name)
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"{name}: charts are SVG files, so the name must end in .svg".encode() in done.stderr


def test_a_drawing_that_cannot_be_written_is_reported(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run("corpus", "stats", corpus, "--plot", tmp_path / "file" / "a.svg")
    assert done.returncode == 1
    assert done.stderr.decode().startswith(f"scriptschema: {tmp_path}/file")
    assert done.stderr.count(b"\n") == 1
    assert done.stdout.startswith(b"12 trees")


# Broken input


def test_what_cannot_be_read_is_reported_and_the_rest_is_counted(corpus: Path) -> None:
    (corpus / "broken.pb").write_bytes(b"\x12\x05ab")
    (corpus / "broken.textproto").write_text("program {\n  body {")
    (corpus / "readme.md").write_text("hello")
    done = run("corpus", "stats", corpus, "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["trees"] == 12
    errors = done.stderr.decode().splitlines()
    assert [line.partition(": ")[2].partition(":")[0] for line in errors] == [
        f"{corpus}/{name}" for name in ("broken.pb", "broken.textproto", "readme.md")
    ]


def test_a_stream_s_broken_tree_is_reported_with_its_place_and_the_others_are_counted() -> None:
    good = files.delimited(wire.encode(generate(seed=1)))
    data = good + files.delimited(b"\x12\x05ab") + good
    done = run("corpus", "stats", "--delimited", "-", "--json", stdin=data)
    assert done.returncode == 1
    assert json.loads(done.stdout)["trees"] == 2
    place = len(good) + 1
    assert done.stderr.decode().startswith(
        f"scriptschema: standard input: tree at byte {place}: byte 1"
    )


@pytest.mark.parametrize(
    ("end", "error"),
    [
        (b"\x80", "byte 3: the length prefix of a tree is truncated"),
        (b"\xff" * 9 + b"\x01", "byte 3: invalid tree length"),
        (b"\x05abc", "byte 4: a tree of 5 bytes is truncated (2 bytes are missing)"),
        (
            b"\xff\xff\xff\xff\x7f" + b"a" * 9,
            "byte 8: a tree of 34359738367 bytes is truncated (34359738358 bytes are missing)",
        ),
    ],
)
def test_a_stream_that_is_cut_off_is_reported(end: bytes, error: str) -> None:
    done = run("corpus", "stats", "--delimited", "-", "--json", stdin=b"\x02\x12\x00" + end)
    assert done.returncode == 1
    assert json.loads(done.stdout)["trees"] == 1
    assert done.stderr.decode() == f"scriptschema: standard input: {error}\n"


def test_unknown_fields_are_an_error_unless_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.pb"
    path.write_bytes(wire.encode(generate(seed=1)) + b"\x98\x06\x01")
    done = run("corpus", "stats", path)
    assert done.returncode == 1
    assert b"unknown field 99" in done.stderr
    assert ok("corpus", "stats", path, "--drop-unknown").startswith(b"1 tree, ")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    for name in ("a.pb", "a.pbstream"):
        done = run("corpus", "stats", tmp_path / name)
        assert done.returncode == 2
        assert (
            done.stderr.decode() == f"scriptschema: {tmp_path / name}: No such file or directory\n"
        )


def test_a_terminal_sees_progress_and_colours(tmp_path: Path) -> None:
    ok("generate", "-n", 200, "-o", tmp_path)
    status, shown = on_a_terminal("corpus", "stats", tmp_path, stream="stderr")
    assert status == 0
    assert b"reading" in shown
    status, shown = on_a_terminal("corpus", "stats", tmp_path, stream="stdout")
    assert status == 0
    assert b"\x1b[" in shown
    assert "█".encode() in shown
