"""Documents and responses designed to hang orgrest or fill memory soon end in a result or error."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from evaluated import Evaluated

from orgrest.http.values import Inputs
from orgrest.org.argument_syntax import parse, value
from orgrest.org.arguments import of_block
from orgrest.org.blocks import ArgumentError
from orgrest.org.document import OrgDocument
from orgrest.org.placing import closes, place
from orgrest.rendering import layout

if TYPE_CHECKING:
    from pathlib import Path

N = 100_000


def outcomes(text: str, folder: Path) -> list[str]:
    """Return the errors of a dry run."""
    return Evaluated(text, Inputs(directory=folder), file="x.org", dry_run=True).reasons


@pytest.mark.parametrize(
    "text",
    [
        "#+begin_example\n" * N,
        ":d:\n" * N,
        "#+begin: d\n" * N,
        "\\begin{a}\n" * N,
        "#+NAME: n\n" * N,
        "- i\n" * N,
        "  " * N + "- i\n",
        "src_a{" * N,
        "call_a(" * N,
        "=a" * N + " src_a{b}",
        "{{{results(" * N + " src_a{b}",
        " " * N + "{{{x src_a{b}",
        "#+CALL: " + "(" * N,
        "#+CALL: a[" * N,
        "#+begin_src http " + '-l "a ' * N + "\n#+end_src\n",
        ":PROPERTIES:\n:a: " + " " * N + "b\n:END:\n",
        "* " * N,
        "".join("*" * level + " H\n" for level in range(1, 500)),
    ],
    ids=lambda text: repr(text[:24]),
)
def test_a_long_document_is_read_at_once(text: str) -> None:
    document = OrgDocument(text)
    assert "\n".join(document.lines) == text
    for block in document.blocks[:3]:
        of_block(document, block)


@pytest.mark.parametrize(
    "text",
    [":a " + "(" * N, ":a " + "[(" * N, ':a "' + '\\"' * N, ":a " * N, ":var " + "a=1 " * 10_000],
    ids=lambda text: repr(text[:12]),
)
def test_long_header_arguments_are_read_at_once(text: str) -> None:
    with contextlib.suppress(ArgumentError):
        assert parse(text)


def test_lisp_lists_nested_endlessly_are_an_error() -> None:
    with pytest.raises(ArgumentError, match="nested more than 50 levels deep"):
        value("a='" + "(" * N)


def test_many_unclosed_openings_do_not_slow_results_down() -> None:
    block = "#+begin_src http\nGET x\n#+end_src\n\n"
    document = OrgDocument(":d:\n" * N + "* H\n" + block * 1000)
    for block in document.blocks:
        assert closes(document, place(document, block, ":results:\n:end:\n"), block) is None


def test_noweb_cannot_grow_endlessly(tmp_path: Path) -> None:
    text = "#+NAME: n0\n#+begin_src sh\nlaughs and laughs\n#+end_src\n"
    for level in range(1, 12):
        inner = f"<<n{level - 1}>>" * 10
        text += f"#+NAME: n{level}\n#+begin_src sh :noweb yes\n{inner}\n#+end_src\n"
    text += "#+begin_src http :noweb yes\nGET http://x/\n\n<<n11>>\n#+end_src\n"
    (reason,) = outcomes(text, tmp_path)
    assert "the block is longer than 4194304 characters after its <<...>>" in reason


def test_noweb_cannot_be_nested_endlessly(tmp_path: Path) -> None:
    text = "".join(
        f"#+NAME: n{level}\n#+begin_src sh\n<<n{level + 1}>>\n#+end_src\n" for level in range(999)
    )
    text += "#+begin_src http :noweb yes\nGET http://x/\n\n<<n0>>\n#+end_src\n"
    (reason,) = outcomes(text, tmp_path)
    assert "<<n50>> is nested too deeply" in reason


def test_references_cannot_be_chained_endlessly(tmp_path: Path) -> None:
    text = "".join(
        f"#+NAME: n{level}\n#+begin_src http :var a=n{level + 1}\nGET http://x/:a\n#+end_src\n"
        for level in range(200)
    )
    assert "references are nested more than 50 levels deep" in outcomes(text, tmp_path)[0]


class TestTables:
    def test_a_cell_of_a_million_digits_is_aligned(self) -> None:
        assert len(layout.table("1" * 1_000_000 + "!\n")) == 1_000_006

    def test_a_giant_cell_does_not_pad_all_rows(self) -> None:
        assert len(layout.table("x" * N + "\n" + "y\n" * N)) < 10 * N

    def test_objects_without_common_keys_are_no_giant_table(self) -> None:
        text = "[" + ",".join(f'{{"k{number}": 1}}' for number in range(5000)) + "]\n"
        assert len(layout.table(text)) < 10 * len(text)
