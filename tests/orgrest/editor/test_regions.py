"""`regions`: the regions with requests, and the mapping of their positions to the file."""

import re

from hypothesis import given
from hypothesis import strategies as st

from orgrest.editor.regions import region_at, regions

LINES = st.sampled_from(
    [
        "* Heading",
        "text",
        "",
        "#+begin_src restclient",
        "  #+BEGIN_SRC http :results value",
        "#+begin_src python",
        "#+begin_example",
        "#+begin_quote",
        "#+end_src",
        "  #+end_src",
        "#+end_example",
        "#+end_quote",
        "GET http://x/",
        "  A: b",
        ",* escaped",
        "\t,#+end_src",
        ":a = 1",
    ]
)
ORG = st.lists(LINES, max_size=25).map("\n".join)


@given(ORG)
def test_an_offset_goes_to_the_file_and_comes_back(text: str) -> None:
    for region in regions(text, "org"):
        for offset, character in enumerate(region.source.text):
            at = region.to_file(offset)
            if character not in " \t":  # blanks may stand for a part of a tab, or behind a comma
                assert text[at] == character
                assert region.from_file(at) == offset
            assert region.span.start <= at < region.span.end
            assert region.to_file(region.from_file(at)) == at


@given(ORG, st.integers(0, 400))
def test_the_region_at_a_place_is_the_one_that_reading_all_finds(text: str, at: int) -> None:
    offset = min(at, len(text))
    found = region_at(text, offset)
    around = [r for r in regions(text, "org") if r.span.start <= offset < r.span.end]
    if around:
        assert found is not None
        assert found.source.text == around[0].source.text
        assert found.source.places == around[0].source.places
        assert found.span == around[0].span
        assert found.to_file(0) == around[0].to_file(0)
    elif found is not None:  # a block that is being typed: nothing closes it
        assert not re.search(r"(?im)^[ \t]*#\+end_src", text[found.span.start : offset])


def test_a_block_that_is_being_typed_ends_before_the_next_heading() -> None:
    text = "#+begin_src rest\nGET http://x/\nAc\n* Next\ntext\n"
    region = region_at(text, text.index("Ac") + 2)
    assert region is not None
    assert region.source.text.rstrip("\n") == "GET http://x/\nAc"
    assert region_at(text, text.index("text")) is None


def test_a_request_file_is_one_region() -> None:
    text = "GET http://x/\r\nA: b\n"
    (region,) = regions(text, "http")
    assert region.to_file(5) == 5
    assert region.from_file(len(text)) == len(text)
    assert len(region.parse().requests) == 1
