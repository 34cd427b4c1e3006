"""Corpora: what they are read from, which trees are kept, and why."""

import os
from functools import reduce
from itertools import combinations
from operator import or_
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scriptschema import files, strategies, wire
from scriptschema.base import walk
from scriptschema.files import FileError, Input
from scriptschema.fuzzing.corpora import features, reading
from scriptschema.fuzzing.corpora.distill import cover
from scriptschema.fuzzing.corpora.folder import CorpusFolder, Journal
from scriptschema.fuzzing.corpora.reading import Found, Reader, corpus_files
from scriptschema.generation.trees import generate
from scriptschema.luau.parse import parse
from scriptschema.messages import ModuleSet

# Covers


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(1, 9)), max_size=8), st.integers(0, 255))
def test_a_cover_has_all_features_and_none_of_it_can_be_left_out(
    rows: list[tuple[int, int]], start: int
) -> None:
    masks, sizes = [mask for mask, _ in rows], [size for _, size in rows]
    taken = cover(masks, sizes, start)
    union = reduce(or_, masks, start)
    assert reduce(or_, (masks[i] for i in taken), start) == union
    for left_out in taken:
        assert reduce(or_, (masks[i] for i in taken if i != left_out), start) != union


@given(st.lists(st.integers(1, 31), min_size=1, max_size=6))
def test_a_cover_is_at_most_twice_as_large_as_the_smallest(masks: list[int]) -> None:
    union = reduce(or_, masks)
    smallest = next(
        n for n in range(1, 7) if any(reduce(or_, some) == union for some in combinations(masks, n))
    )
    assert len(cover(masks, [1] * len(masks))) <= 2 * smallest


def test_of_trees_that_add_as_much_the_smallest_is_taken() -> None:
    assert cover([0b11, 0b11, 0b1], [9, 3, 1]) == [1]
    assert cover([0b11, 0b110, 0b1], [9, 3, 1], 0b100) == [0]


def test_what_was_taken_first_is_dropped_when_the_others_have_all_of_it() -> None:
    # The large one adds most, then each of the others something, and together they have all.
    assert cover([0b0111100, 0b0001110, 0b1110000, 0b0000001 | 0b0001100], [9, 1, 1, 1]) == [
        1,
        2,
        3,
    ]


# Features and shapes


def scan_of(source: str) -> wire.Scan:
    return wire.scan(ModuleSet, wire.encode(parse(source).tree))


def names_of(source: str) -> set[str]:
    names = features.names()
    mask = features.features_of(scan_of(source))
    return {name for number, name in enumerate(names) if name and mask >> number & 1}


def test_globals_and_members_of_libraries_are_features_by_their_names() -> None:
    found = names_of("print(math.floor(2), string.upper('a'), os)")
    assert {"print", "math", "math.floor", "string", "string.upper", "os"} <= found
    assert "os.clock" not in found
    assert "math.upper" not in found


def test_fields_of_other_values_and_own_names_are_no_library_s() -> None:
    found = names_of("local math = {floor = 1} return math.floor, mine.floor, f().floor")
    assert not [name for name in found if name.startswith("math")]


def test_which_message_stands_in_which_field_is_a_feature() -> None:
    found = names_of("return 1 + a, not true")
    assert {"ExprBinary.left: ExprConstantNumber", "ExprBinary.right: ExprGlobal"} <= found
    assert {"ExprBinary.Op.Add", "ExprUnary.Op.Not", "StatReturn.list"} <= found
    assert "ExprBinary.right: ExprConstantNumber" not in found


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("local a = 1 return a", "local b = 2 return b", True),
        ("return 'x', true", "return 'a longer one', false", True),
        ("return f(x)", "return g(y)", True),
        ("return math.floor(1)", "return math.ceil(1)", False),
        ("return print", "return type", False),
        ("return a", "return print", False),
        ("return 1 + 2", "return 1 - 2", False),
        ("function a.f() end", "function a:f() end", False),
        ("do do end end", "do end do end", False),
    ],
)
def test_shapes_are_equal_up_to_names_and_constants(one: str, two: str, same: bool) -> None:
    assert (features.shape_of(scan_of(one)) == features.shape_of(scan_of(two))) == same


@settings(max_examples=50)
@given(strategies.module_sets())
def test_trees_of_one_shape_have_the_same_features(tree: ModuleSet) -> None:
    before = wire.scan(ModuleSet, wire.encode(tree))
    for message, _ in walk(tree):
        for name, field in message.FIELDS.items():
            if field.type is int and name != "builtin" and getattr(message, name) is not None:
                setattr(message, name, 7)
            elif field.name == "val":
                setattr(message, name, field.type())
    after = wire.scan(ModuleSet, wire.encode(tree))
    assert features.shape_of(after) == features.shape_of(before)
    assert features.features_of(after) == features.features_of(before)


# What is read


def read_all(path: Path, reader: Reader | None = None) -> tuple[dict[str, bytes], list[str]]:
    """Return the trees in a folder by file, and the errors."""
    trees: dict[str, bytes] = {}
    errors: list[FileError] = []
    for found in (reader or Reader()).read_all(corpus_files([path]), errors.append):
        assert found.scan == wire.scan(ModuleSet, found.data)
        trees[found.name.removeprefix(f"{path}/")] = found.data
    return trees, [str(error).removeprefix(f"{path}/") for error in errors]


TREE = generate(seed=3, size=20)
DATA = wire.encode(TREE)


def test_files_without_an_ending_are_reported_by_what_they_hold(tmp_path: Path) -> None:
    source = b"local x = 1\nreturn x"
    for name, data in (
        ("da39a3ee", DATA),
        ("5e6b4b0d", files.serialize(TREE, "text")),
        ("id:000001,src:000000", source),
    ):
        (tmp_path / name).write_bytes(data)
    trees, errors = read_all(tmp_path)
    assert trees == {
        "da39a3ee": DATA,
        "5e6b4b0d": DATA,
        "id:000001,src:000000": wire.encode(parse(source).tree),
    }
    assert errors == []


def test_what_is_nothing_known_is_reported_with_all_reasons(tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(b"\xff\x00(")
    _, [error] = read_all(tmp_path)
    assert error.startswith("noise: unknown format: not binary format (byte ")
    assert "not text format (" in error
    assert "not Luau source (1:1: " in error


def test_links_pipes_and_hidden_files_do_no_harm(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.pb").write_bytes(DATA)
    (folder / "link.pb").symlink_to("a.pb")
    (folder / "round").symlink_to(folder)
    (folder / "lost.pb").symlink_to("nowhere")
    (folder / "self.pb").symlink_to("self.pb")
    (folder / ".half.pb").write_bytes(b"\x12")
    os.mkfifo(folder / "pipe.pb")
    (folder / "zero.pb").symlink_to("/dev/zero")
    trees, errors = read_all(folder)
    assert trees == {"a.pb": DATA, "link.pb": DATA}
    assert errors == [
        "lost.pb: No such file or directory",
        "pipe.pb: not a regular file",
        "round: a link to a folder, which is not followed",
        "self.pb: Too many levels of symbolic links",
        "zero.pb: not a regular file",
    ]


def test_huge_files_are_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LIMIT", 1 << 20)
    with (tmp_path / "huge.pb").open("wb") as file:
        file.truncate(1 << 40)
    with (tmp_path / "huge.pbstream").open("wb") as file:
        file.write(b"\xff\xff\xff\xff\x0f")
        file.truncate(1 << 40)
    (tmp_path / "small.pb").write_bytes(DATA)
    trees, errors = read_all(tmp_path)
    assert list(trees) == ["small.pb"]
    assert errors == [
        "huge.pb: larger than 1 MiB, the maximum for a tree",
        "huge.pbstream: byte 5: a tree of 4294967295 bytes is larger than the maximum of 1048576",
    ]


def test_of_afl_s_folders_the_inputs_are_read(tmp_path: Path) -> None:
    for name in (
        "main/queue/id:000000,orig:a",
        "main/queue/.state/auto_extras/x",
        "main/crashes/id:000000,sig:06",
        "main/crashes/README.txt",
        "main/hangs/id:000000",
        "main/fuzzer_stats",
        "main/plot_data",
        "main/other/id:000007",
        "second/queue/id_000000",
        "second/fuzzer_stats",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(DATA)
    trees, errors = read_all(tmp_path)
    assert sorted(trees) == [
        "main/crashes/id:000000,sig:06",
        "main/hangs/id:000000",
        "main/queue/id:000000,orig:a",
        "second/queue/id_000000",
    ]
    assert errors == []
    trees, _ = read_all(tmp_path / "main" / "crashes")
    assert list(trees) == ["id:000000,sig:06"]


def test_a_program_is_read_with_its_module_and_that_only_once(tmp_path: Path) -> None:
    (tmp_path / "program.luau").write_text('local m = require("./module0")\nreturn m')
    (tmp_path / "module0.luau").write_text("return 1")
    trees, errors = read_all(tmp_path)
    assert errors == []
    assert wire.decode(ModuleSet, trees["program.luau"]).module is not None


def test_a_folder_that_cannot_be_read_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.pb").write_bytes(DATA)
    name = "d" * 250
    above = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):  # deeper than a path may be long
        os.mkdir(name, dir_fd=above)
        below = os.open(name, os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)
    trees, errors = read_all(tmp_path)
    assert list(trees) == ["a.pb"]
    [error] = errors
    assert error.endswith(": File name too long")


def test_trees_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "a.pbstream"
    path.write_bytes(files.delimited(DATA) + b"\x05abc")
    found = Reader().read(Input(path, Path("a.pbstream")))
    assert isinstance(next(found), Found)
    assert "is truncated" in str(next(found))


# Output


def test_a_corpus_holds_no_tree_twice_and_keeps_what_is_there(tmp_path: Path) -> None:
    folder = CorpusFolder(tmp_path / "corpus")
    assert (folder.add(DATA), folder.add(DATA)) == (True, False)
    again = CorpusFolder(tmp_path / "corpus")
    assert again.add(DATA) is False
    [path] = (tmp_path / "corpus").iterdir()
    assert path.read_bytes() == DATA


def test_a_corpus_that_cannot_be_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileError, match="file: File exists"):
        CorpusFolder(tmp_path / "file")
    with pytest.raises(FileError, match="Is a directory"), Journal(tmp_path):
        pass


def test_a_journal_that_was_cut_off_loses_no_later_line(tmp_path: Path) -> None:
    path = tmp_path / ".journal"
    with Journal(path) as journal:
        for number in range(500):
            journal.add(b"%d" % number)
    with path.open("ab") as file:
        file.write(b"5")
    with Journal(path) as journal:
        journal.add(b"501")
    with Journal(path) as journal:
        assert list(journal.lines()) == [*(b"%d" % n for n in range(500)), b"5", b"501"]
