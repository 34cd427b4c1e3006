"""`orgrest format`: files keep their line endings and encoding, and `--check` writes nothing."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

UGLY = b"\xef\xbb\xbfget   http://x/\r\nA:\xc3\xa9  \r\n\r\n{ }  \r\n"
PRETTY = b"\xef\xbb\xbfGET http://x/\r\nA: \xc3\xa9\r\n\r\n{ }  \r\n"


def test_a_file_is_formatted_in_place_with_its_line_ends(
    orgrest: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "a.http"
    file.write_bytes(UGLY)
    done = orgrest("format", str(file))
    assert (done.status, done.out, done.err) == (0, "", f"orgrest: {file}: formatted\n")
    assert file.read_bytes() == PRETTY
    again = orgrest("format", str(file))
    assert (again.status, again.out, again.err) == (0, "", "")


def test_a_check_in_ci_names_what_would_change_and_writes_nothing(
    orgrest: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "a.http"
    file.write_bytes(UGLY)
    notes = tmp_path / "notes.org"
    notes.write_bytes(b"text  \n#+begin_src restclient\nGET http://x/\n#+end_src\n")
    found = orgrest("format", "--check", str(tmp_path))
    assert (found.status, found.out) == (1, "")
    assert found.err == f"orgrest: would reformat {file}\n"
    shown = orgrest("format", "--diff", str(tmp_path))
    assert shown.status == 0
    assert shown.out.endswith(
        "-\ufeffget   http://x/\r\n-A:é  \r\n+\ufeffGET http://x/\r\n+A: é\r\n \r\n { }  \r\n"
    )
    assert orgrest("format", "--check", "--diff", str(tmp_path)).status == 1
    assert orgrest("format", "--check", str(notes)).status == 0
    assert file.read_bytes() == UGLY


def test_an_editor_formats_through_standard_input(
    orgrest: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def given(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    given(UGLY)
    assert orgrest("format", "-").out.encode() == PRETTY
    given(UGLY)
    assert orgrest("format", "--check", "-").status == 1
    given(b"#+begin_src restclient\nGET   http://x/\n#+end_src\n")
    found = orgrest("format", "-", "--stdin-name", "a.org")
    assert found.out == "#+begin_src restclient\nGET http://x/\n#+end_src\n"


@pytest.mark.parametrize("command", [("format",), ("export", "--to", "curl"), ()])
def test_a_name_for_standard_input_is_not_ignored_where_a_file_is_read(
    orgrest: Callable[..., Any], tmp_path: Path, command: tuple[str, ...]
) -> None:
    file = tmp_path / "a.http"
    file.write_bytes(UGLY)
    found = orgrest(*command, str(file), "--stdin-name", "b.org")
    assert found.status == 2
    assert "--stdin-name is for standard input" in found.err
    assert file.read_bytes() == UGLY


def test_a_file_that_is_not_there_is_reported(orgrest: Callable[..., Any], tmp_path: Path) -> None:
    found = orgrest("format", str(tmp_path / "none.http"))
    assert found.status == 2
    assert "none.http: no such file" in found.err
