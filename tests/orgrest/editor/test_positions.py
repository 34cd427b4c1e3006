"""`orgrest.editor.positions`: a client's positions and changes, in each encoding."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orgrest.editor.positions import Change, Encoding, Place, Text
from orgrest.files import line_end

ENCODINGS = st.sampled_from(["utf-8", "utf-16", "utf-32"])
TEXT = st.lists(
    st.sampled_from(["a", "\t", "é", "€", "😀", "\n", "\r\n", "\r", "\u2028", "\x0c", "\ud83d"]),
    max_size=30,
).map("".join)


def units(text: str, encoding: Encoding) -> int:
    """Return the length of a text in the client's units, counted by hand."""
    if encoding == "utf-32":
        return len(text)
    if encoding == "utf-16":
        return sum(2 if ord(c) > 0xFFFF else 1 for c in text)
    return sum(1 + (ord(c) > 0x7F) + (ord(c) > 0x7FF) + (ord(c) > 0xFFFF) for c in text)


def position(text: str, offset: int, encoding: Encoding) -> Place:
    """Return the client's position of an offset, found by splitting the text at line ends."""
    lines = re.split(r"\r\n|\n|\r", text[:offset])
    return Place(len(lines) - 1, units(lines[-1], encoding))


def whole(text: str) -> str:
    """Return a text without unpaired surrogates."""
    return text.replace("\ud83d", "\ufffd")


def inside_line_end(text: str, offset: int) -> bool:
    return text[offset - 1 : offset + 1] == "\r\n" if offset else False


@given(TEXT, ENCODINGS)
def test_a_place_leads_to_its_offset_and_back(raw: str, encoding: Encoding) -> None:
    text = Text(raw, encoding)
    assert text.raw == raw
    assert text.text == whole(raw).replace(line_end(raw), "\n")
    for offset in range(len(raw) + 1):
        if inside_line_end(raw, offset):
            continue
        place = position(raw, offset, encoding)
        found = text.offset(place)
        assert text.raw_offset(found) == offset
        assert text.from_raw(offset) == found
        assert text.place(found) == place
        assert text.text[:found].replace("\n", text.newline) == whole(raw[:offset])


@given(TEXT, TEXT, ENCODINGS, st.data())
def test_a_change_gives_the_text_that_the_client_has(
    raw: str, new: str, encoding: Encoding, data: st.DataObject
) -> None:
    at = [i for i in range(len(raw) + 1) if not inside_line_end(raw, i)]
    start, end = sorted(data.draw(st.tuples(st.sampled_from(at), st.sampled_from(at))))
    text, change = Text(raw, encoding).change(
        position(raw, start, encoding), position(raw, end, encoding), new
    )
    expected = raw[:start] + new + raw[end:]
    assert text.raw == expected
    assert text.lines == Text(expected, encoding).lines
    assert expected == raw[: change.start] + expected[change.start :]
    assert len(expected) == len(raw) + change.length - (change.end - change.start)
    kept = [offset for offset in range(len(raw)) if change.move(offset) is not None]
    assert len(kept) == len(raw) - (change.end - change.start) >= start + len(raw) - end
    assert [raw[offset] for offset in kept] == [expected[change.move(o) or 0] for o in kept]


@given(TEXT, TEXT)
def test_a_new_text_changes_only_what_differs(raw: str, new: str) -> None:
    text, change = Text(raw).replace(new)
    assert text.raw == new
    kept = [o for o in range(len(raw)) if change.move(o) is not None]
    assert [raw[o] for o in kept] == [new[change.move(o) or 0] for o in kept]
    if raw == new:
        assert len(kept) == len(raw)


@pytest.mark.parametrize(
    ("place", "offset"),
    [
        (Place(0, 99), 3),  # behind the end of its line
        (Place(9, 0), 6),  # below the last line
        (Place(0, 2), 1),  # inside a character
        (Place(-1, 5), 0),
        (Place(1, -1), 4),
    ],
)
def test_a_place_that_is_none_is_put_right(place: Place, offset: int) -> None:
    assert Text("a😀b\ncd", "utf-16").offset(place) == offset


def test_a_place_inside_a_character_of_utf_8_is_before_it() -> None:
    assert [Text("a€b", "utf-8").offset(Place(0, n)) for n in range(6)] == [0, 1, 1, 1, 2, 3]


def test_halves_of_a_character_become_one() -> None:
    text, _ = Text("x\ud83d", "utf-16").change(Place(0, 2), Place(0, 2), "\ude00y")
    assert text.raw == "x😀y"
    assert text.place(2) == Place(0, 3)


def test_a_range_the_wrong_way_round_is_turned() -> None:
    text, _ = Text("abcd").change(Place(0, 3), Place(0, 1), "x")
    assert text.raw == "axd"


def test_a_result_is_written_with_the_line_ends_of_its_document() -> None:
    assert Text("a\r\nb\r\n").with_line_ends("x\ny\n") == "x\r\ny\r\n"
    assert Text("a\r\nb\n").with_line_ends("x\ny\n") == "x\ny\n"


def test_lines_are_numbered_as_in_the_text_that_is_evaluated() -> None:
    text = Text("a\r\nb\rc\r\nd", "utf-16")
    assert text.text == "a\r\nb\rc\r\nd".replace(line_end("a\r\nb\rc\r\nd"), "\n")
    assert text.line_number(3) == 3


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("minimal", [False, True])
def test_a_line_moves_even_if_the_lines_above_it_begin_alike(line_end: str, minimal: bool) -> None:
    less = "#+a\n\n#+begin\n".replace("\n", line_end)
    more = "#+a\n\n#+RESULTS:\nx\n\n#+begin\n".replace("\n", line_end)
    rest = "RESULTS:\nx\n\n#+".replace("\n", line_end)
    here = Place(2, 2)
    for old, new, end, inserted in ((less, more, here, rest), (more, less, Place(5, 2), "")):
        text = Text(old)
        _, change = text.change(here, end, inserted) if minimal else text.replace(new)
        assert change.move(old.index("#+begin")) == new.index("#+begin")


def test_what_was_replaced_is_nowhere() -> None:
    assert Change(2, 5, 1).move(1) == 1
    assert Change(2, 5, 1).move(2) is None
    assert Change(2, 5, 1).move(5) == 3
