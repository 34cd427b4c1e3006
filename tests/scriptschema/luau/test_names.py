"""Every index is a name, and every name is read back as its index."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scriptschema.luau.members import NEWER_MEMBERS
from scriptschema.luau.names import DEFAULT, KEYWORDS, NEWER, NameReader, Names, look_up
from scriptschema.messages import ExprGlobal, ExprLocal, ExprPrefix, Local, Name
from scriptschema.versions import TODAY, Version

int32 = st.integers(-(2**31), 2**31 - 1)
owners = st.sampled_from([None, "print", *DEFAULT.libraries])


def names_of(index: int, owner: str | None = None) -> list[str]:
    return [
        DEFAULT.local(index),
        DEFAULT.type(index),
        DEFAULT.class_(index),
        DEFAULT.global_(Name(builtin=index)),
        DEFAULT.global_(Name(custom=index)),
        DEFAULT.field(Name(builtin=index), owner),
        DEFAULT.field(Name(custom=index), owner),
    ]


@given(int32, owners)
def test_every_index_is_an_identifier_and_no_keyword(index: int, owner: str | None) -> None:
    for name in names_of(index, owner):
        assert re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name)
        assert name not in KEYWORDS
    assert DEFAULT.primitive(index) in DEFAULT.primitives


@given(int32, owners)
def test_every_name_is_read_back_as_an_index_of_the_same_name(
    index: int, owner: str | None
) -> None:
    reader = NameReader()
    local, kind, class_, *names = names_of(index, owner)
    assert DEFAULT.local(reader.local(local)) == local
    assert DEFAULT.type(reader.type(kind)) == kind
    assert DEFAULT.class_(reader.class_(class_)) == class_
    assert DEFAULT.primitive(reader.primitive(DEFAULT.primitive(index))) == DEFAULT.primitive(index)
    assert [DEFAULT.global_(reader.global_(name)) for name in names[:2]] == names[:2]
    assert [DEFAULT.field(reader.field(name, owner), owner) for name in names[2:]] == names[2:]
    assert reader.names == DEFAULT  # nothing had to be added


def test_no_local_hides_a_global_by_accident() -> None:
    assert not set(DEFAULT.locals) & {*DEFAULT.globals, *DEFAULT.customs, "require"}


def test_a_library_is_asked_only_for_its_members() -> None:
    math = ExprPrefix(global_=ExprGlobal(name=NameReader().global_("math")))
    assert DEFAULT.owner(math) == "math"
    assert DEFAULT.owner(ExprPrefix(local=ExprLocal(var=Local(name=0)))) is None
    assert DEFAULT.owner(ExprPrefix()) is None
    fields = {DEFAULT.field(Name(builtin=index), "math") for index in range(1000)}
    assert fields == set(DEFAULT.libraries["math"])
    assert "upper" in {DEFAULT.field(Name(builtin=index)) for index in range(1000)}


def test_random_indexes_use_every_name_about_as_often() -> None:
    choose = random.Random(4)
    indexes = [choose.randrange(-(2**31), 2**31) for _ in range(65_000)]
    for name_of in (
        DEFAULT.local,
        lambda index: DEFAULT.global_(Name(builtin=index)),
        lambda index: DEFAULT.field(Name(builtin=index)),
    ):
        counts = Counter(map(name_of, indexes))
        mean = len(indexes) / len(counts)
        assert min(counts.values()) > mean / 2
        assert max(counts.values()) < mean * 2
    assert len(counts) == len(DEFAULT.members)


def test_a_name_that_is_not_set_is_the_first_custom_one() -> None:
    assert DEFAULT.global_(Name()) == DEFAULT.field(Name()) == DEFAULT.customs[0]


def test_what_came_after_the_seed_has_names_of_its_own_and_shifts_no_other_index() -> None:
    today, seed, older = NameReader(luau=TODAY), NameReader(), NameReader(luau=Version(711))
    for (owner, text), span in NEWER_MEMBERS.items():
        name = today.field(text, owner) if owner else today.global_(text)
        assert name.which == "builtin"
        assert name.alternative >= NEWER
        assert (DEFAULT.field(name, owner) if owner else DEFAULT.global_(name)) == text
        assert (older.field(text, owner) == name) == (Version(711) in span) or not owner
    assert seed.field("isnan", "math") == Name(custom=64)
    assert seed.field("lerp", "vector") == today.field("lerp", "vector") == Name(builtin=8)
    assert DEFAULT.primitive(today.primitive("integer")) == "integer"
    assert today.names == DEFAULT
    assert older.primitive("integer") == len(DEFAULT.primitives)


def test_names_that_a_source_brings_along_are_added_once() -> None:
    reader = NameReader()
    assert [reader.local("mine"), reader.local("v1"), reader.local("mine")] == [65, 1, 65]
    assert reader.global_("workspace") == reader.field("workspace") == Name(custom=64)
    assert reader.field("floor", "math").which == "builtin"
    assert reader.field("floor", "string") == Name(custom=65)
    names = reader.names
    assert names.local(65) == "mine"
    assert names.field(Name(custom=65), "string") == "floor"
    assert (names.types, names.primitives, names.classes) == (
        DEFAULT.types,
        DEFAULT.primitives,
        DEFAULT.classes,
    )


@pytest.mark.parametrize(
    ("tables", "complaint"),
    [
        ({"locals": []}, "names.locals must contain at least one name"),
        ({"locals": ["a", "b", "a"]}, "names.locals: 'a' is listed twice"),
        ({"customs": ["end"]}, "names.customs: 'end' is a reserved word in Luau"),
        ({"types": ["typeof"]}, "names.types: 'typeof' is a reserved word in Luau"),
        ({"globals": ["a b"]}, "names.globals: 'a b' is not an identifier"),
        ({"globals": [1]}, "names.globals: 1 is not an identifier"),
        ({"locals": ["é"]}, "names.locals: 'é' is not an identifier"),
        ({"libraries": {"m": []}}, "names.libraries.m must contain at least one name"),
        ({"locals": "abc"}, "names.locals must be a list of names"),
        ({"libraries": ["m"]}, "names.libraries must be a table of lists of names"),
        ({"libraries": {"m": "abc"}}, "names.libraries must be a table of lists of names"),
        ({"local": ["a"]}, "unknown table of names 'local'; available: locals, types, customs"),
        ({"members": ["a"]}, "unknown table of names 'members'"),
    ],
)
def test_tables_that_would_break_programs_are_refused(
    tables: dict[str, object], complaint: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        Names.from_dict(tables)


def test_nil_is_a_primitive_type() -> None:
    assert Names(primitives=("nil",)).primitive(7) == "nil"


def test_tables_come_from_toml_and_json_and_go_there(tmp_path: Path) -> None:
    toml = tmp_path / "names.toml"
    toml.write_text('locals = ["a", "b"]\n[libraries]\nmath = ["pi"]\n')
    names = Names.load(toml)
    assert names.locals == ("a", "b")
    assert names.libraries == {"math": ("pi",)}
    assert names.customs == DEFAULT.customs
    saved = tmp_path / "names.json"
    saved.write_text(json.dumps(names.to_dict()))
    assert Names.load(saved) == names
    assert Names.from_dict(DEFAULT.to_dict()) == DEFAULT
    assert hash(names) != hash(DEFAULT)


NEWER_NAMES = """
use reason isnan isinf isfinite nan e phi sqrt2 tau readinteger writeinteger integer create
fromstring tonumber neg bnot bswap countlz countrz add sub mul div idiv mod rem udiv urem lt le gt
ge ult ule ugt uge min max band bor bxor btest lshift rshift arshift lrotate rrotate extract replace
clamp maxsigned minsigned
"""


def test_names_in_old_trees_stay_when_the_library_grows() -> None:
    # What is new goes to the end of `members._NEWER`, and to the end here: an index is a place.
    for place, name in enumerate(NEWER_NAMES.split()):
        assert look_up(("",), NEWER + place) == name
    assert look_up(("",), NEWER + len(NEWER_NAMES.split())) == ""


@pytest.mark.parametrize(
    ("file", "data"),
    [
        ("names.toml", b"locals = "),
        ("names.json", b"{"),
        ("names.json", b"[1]"),
        ("names.json", b'{"locals": []}'),
        ("names.toml", b"\xff"),
    ],
)
def test_a_file_that_holds_no_tables_is_named_in_the_error(
    tmp_path: Path, file: str, data: bytes
) -> None:
    path = tmp_path / file
    path.write_bytes(data)
    with pytest.raises(ValueError, match=re.escape(str(path))):
        Names.load(path)
