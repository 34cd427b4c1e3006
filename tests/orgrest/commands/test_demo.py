"""The demo works without any setup: `orgrest.commands.demo`."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

from orgrest.commands import demo, demo_server
from orgrest.commands.main import main
from orgrest.files import FileError
from orgrest.org.document import OrgDocument

if TYPE_CHECKING:
    from pathlib import Path


def test_the_tour_is_evaluated_and_its_first_request_printed(tmp_path: Path, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demo", str(tmp_path / "tour.org")])
    out = capsys.readouterr().out
    assert ended.value.code == 0
    text = (tmp_path / "tour.org").read_text()
    shown, _, end = out.partition("8 requests answered, 0 failed. ")
    assert shown.strip() in text
    assert shown.count("#+begin_src") == shown.count("#+RESULTS") == 1
    assert len(shown.splitlines()) < 40
    assert end.startswith(f"The whole tour is in {tmp_path / 'tour.org'}\n")
    assert "docs/orgrest/tutorial.md" in end
    assert text.count("#+RESULTS") == 8
    assert '"name": "you"' in text
    assert "HTTP/1.1 404 Not Found" in text
    assert re.search(r"^\| id \| title +\| done +\|$", text, re.MULTILINE)


def test_nothing_but_results_differs_from_the_tour(tmp_path: Path) -> None:
    demo.run(tmp_path / "tour.org", lambda _: None)
    text = (tmp_path / "tour.org").read_text()
    port = int(re.findall(r"127\.0\.0\.1:([0-9]+)", text)[0])
    kept = [line for line in demo.tour(port).splitlines() if line]
    lines = iter(text.splitlines())
    assert all(any(line == found for found in lines) for line in kept)
    assert len(OrgDocument(text).blocks) >= 9


def test_without_a_path_it_is_a_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    messages: list[str] = []
    assert demo.run(None, messages.append)
    (path,) = tmp_path.iterdir()
    assert messages[-2].endswith(f"The whole tour is in {path}")


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path, capsys) -> None:
    path = tmp_path / "mine.org"
    path.write_text("mine\n")
    with pytest.raises(FileError):
        demo.run(path, lambda _: None)
    with pytest.raises(SystemExit) as ended:
        main(["demo", str(path)])
    assert ended.value.code == 2
    assert "the file already exists: move it, or choose another path" in capsys.readouterr().err
    assert path.read_text() == "mine\n"


def test_the_server_listens_on_this_machine_only_and_ends() -> None:
    with demo_server.serve() as port:
        url = f"http://127.0.0.1:{port}"
        with urllib.request.urlopen(f"{url}/tasks?done=true") as answer:
            assert answer.read().startswith(b'[{"id": 1')
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{url}/me")
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(f"{url}/tasks", data=b"no json")
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(f"{url}/tasks")


def test_a_failed_tour_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = "#+begin_src restclient\nGET http://127.0.0.1:1/\n#+end_src\n"
    monkeypatch.setattr(demo, "tour", lambda _: broken)
    messages: list[str] = []
    assert not demo.run(tmp_path / "tour.org", messages.append)
    assert "refused" in messages[1]
    assert messages[2].startswith("0 requests answered, 1 failed.")
