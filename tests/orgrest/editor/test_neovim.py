"""The plugin for Neovim, in a real Neovim with a real language server.

It runs in the `nvim` on the PATH and, if the environment variable NEOVIM is set, in that one too.
The plugin is installed as docs/neovim.md describes, in a new home.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from components import needs
from emacs_runs import environment
from servers import RawServer, by_path, echo, response

pytestmark = needs("nvim")

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "neovim.md").read_text()
PROGRAMS = [one for one in (shutil.which("nvim"), os.environ.get("NEOVIM")) if one]
Run = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def api() -> Iterator[str]:
    def slow(connection: socket.socket, _: bytes) -> None:
        time.sleep(0.5)
        connection.sendall(response(b"one line", "Content-Type: text/plain"))

    answers: Any = {
        "/slow": slow,
        "/json": response(b'{"a": [1, 2]}', "Content-Type: application/json"),
        "/text": response(b"one line\n", "Content-Type: text/plain"),
        "/image": response(b"\x89PNG\xff\x00\r\n", "Content-Type: image/png"),
        "/bad": response(b"no", "Content-Type: text/plain", status="400 Bad"),
        "/echo": echo,
    }
    with RawServer(by_path(answers)) as server:
        yield server.url


@pytest.fixture(params=PROGRAMS, ids=lambda one: Path(one).parent.parent.name)
def neovim(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Run a step of neovim.lua and return its answers."""

    def run(step: str, *, keys: bool = True, orgrest: bool = True, choice: int = 1) -> Any:
        home = tmp_path / "home"
        config = home / ".config" / "nvim" / "init.lua"
        config.parent.mkdir(parents=True)
        setup = re.findall(r"^```lua\n(require.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
        config.write_text(setup[0] if keys else "")
        program = home / "bin" / "orgrest"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m orgrest "$@"\n')
        program.chmod(0o755 if orgrest else 0o644)
        env = {
            name: value
            for name, value in environment(home).items()
            if not name.startswith(("XDG_", "NVIM"))
        }
        path = f"{program.parent}:/usr/bin:/bin"
        env |= {"PATH": path, "FOLDER": str(tmp_path), "STEP": step, "CHOICE": str(choice)}
        env["ORGREST_HISTORY"] = str(home / "history")
        install = re.search(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
        assert install
        subprocess.run(["sh", "-ec", install[1]], cwd=ROOT, env=env, check=True)
        driver = Path(__file__).with_name("neovim.lua")
        done = subprocess.run(
            [request.param, "--headless", "-n", "-i", "NONE", "-c", f"luafile {driver}"],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        answers = tmp_path / "answers.json"
        assert answers.exists(), done.stderr
        found = json.loads(answers.read_text())
        assert "problem" not in found, found
        return found

    return run


def test_a_request_is_sent_as_on_the_screen_and_its_response_has_three_panes(
    neovim: Run, tmp_path: Path, api: str
) -> None:
    (tmp_path / "a.http").write_text(f"GET {api}/nothing\n\n###\n\nGET {api}/{{{{none}}}}\n")
    found = neovim("http")
    assert "none" in found["diagnostic"]
    assert found["focus"] == "a.http"
    body, headers, statistics = found["body"], found["headers"], found["statistics"]
    assert body["text"] == '{\n  "a": [\n    1,\n    2\n  ]\n}'
    assert body["filetype"] == "json"
    assert f"GET {api}/json 200 OK" in body["bar"]
    assert f"GET {api}/json\n" in headers["text"]
    assert "HTTP/1.1 200 OK\n" in headers["text"]
    assert "Content-Type: application/json" in headers["text"]
    assert re.search(r"^First byte +\d+\.\d ms$", statistics["text"], re.MULTILINE)
    assert "13 bytes, application/json" in statistics["text"]
    assert found["again"]["text"] == "one line"
    assert found["closed"] is True
    assert found["reopened"] == "one line"
    assert found["curl"] == f"curl \\\n  --location \\\n  --cookie '' \\\n  {api}/text"
    assert "none" in str(found["failure"])
    (first, sent), (second, failed) = found["marks"]
    assert (first, second) == (0, 4)
    assert "200 OK" in sent
    assert "none" in failed


def test_a_body_that_is_not_text_is_named_with_its_file(
    neovim: Run, tmp_path: Path, api: str
) -> None:
    (tmp_path / "a.http").write_text(f"GET {api}/image\n")
    text = neovim("image")["shown"]["text"]
    assert re.fullmatch(r"8 bytes of image/png, in /.*\.png", text)


def test_the_result_of_a_block_is_inserted_as_by_the_command(
    neovim: Run, tmp_path: Path, api: str
) -> None:
    text = f"* A\n#+begin_src restclient\nGET {api}/json\n#+end_src\n* B\n"
    (tmp_path / "notes.org").write_text(text)
    found = neovim("org")
    assert (tmp_path / "notes.org").read_text() == text
    command = [sys.executable, "-m", "orgrest", "notes.org"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    saved = (tmp_path / "notes.org").read_text()
    timeless = [re.sub(r"(duration: ).*", r"\1", one) for one in (f"{found['document']}\n", saved)]
    assert timeless[0] == timeless[1]
    assert (found["undo"], found["windows"]) == (1, 1)


def test_the_results_of_all_blocks_are_inserted_as_by_the_command(
    neovim: Run, tmp_path: Path, api: str
) -> None:
    block = f"#+begin_src restclient :results value\nGET {api}/text\n#+end_src\n\n"
    (tmp_path / "notes.org").write_text(f"{block * 3}* End\n")
    found = neovim("results")
    command = [sys.executable, "-m", "orgrest", "notes.org"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert f"{found['document']}\n" == (tmp_path / "notes.org").read_text()


def test_a_request_in_progress_is_marked_until_it_ends(
    neovim: Run, tmp_path: Path, api: str
) -> None:
    (tmp_path / "a.http").write_text(f"GET {api}/slow\n\n###\n\nGET {api}/{{{{none}}}}\n")
    found = neovim("slow")
    assert found["during"] == [[0, "  sending..."]]
    assert found["after"] == []


def test_no_request_is_in_progress_once_the_server_has_died(
    neovim: Run, tmp_path: Path, api: str
) -> None:
    (tmp_path / "a.http").write_text(f"GET {api}/slow\n")
    found = neovim("dies")
    assert found["during"] == [[0, "  sending..."]]
    assert found["after"] == []


def test_a_result_that_arrives_while_the_user_types_lands_below_its_block(
    neovim: Run, tmp_path: Path, api: str
) -> None:
    block = f"#+begin_src restclient :results value\nGET {api}/slow\n#+end_src\n"
    (tmp_path / "notes.org").write_text(f"* Notes\n{block}* End\n")
    found = neovim("typing")
    typed = "typed\n" * 20
    assert found["document"] == f"* Notes\n{typed}{block}\n#+RESULTS:\none line\n\n* End"
    assert found["shown"]["text"] == "one line"


def test_all_requests_are_sent_and_their_outcomes_stand_beside_them(
    neovim: Run, tmp_path: Path, api: str
) -> None:
    parts = [f"GET {api}/text", f"GET {api}/bad\n\n?? status == 200", f"GET {api}/json"]
    (tmp_path / "a.http").write_text("\n\n###\n".join(parts) + "\n")
    found = neovim("all")
    assert found["lines"] == [4, 9, 4]  # of the next request, the next, the previous
    first, second, third = found["marks"]
    assert (first[0], third[0]) == (0, 8)
    assert "200 OK" in first[1]
    assert "1 of 1 assertions failed" in second[1]
    assert "200 OK" in third[1]


def test_the_environment_that_was_chosen_counts(neovim: Run, tmp_path: Path, api: str) -> None:
    names = {"dev": {"path": "text"}, "prod": {"path": "json"}}
    (tmp_path / "http-client.env.json").write_text(json.dumps(names))
    (tmp_path / "a.http").write_text(f"GET {api}/{{{{path}}}}\n")
    found = neovim("environment", choice=2)
    assert found["chosen"]["items"] == ["no environment", "dev", "prod"]
    assert "no environment" in found["chosen"]["prompt"]
    assert "dev" in found["again"]["prompt"]
    assert found["shown"]["text"] == "one line"


def test_an_earlier_response_can_be_shown_again(neovim: Run, tmp_path: Path, api: str) -> None:
    (tmp_path / "a.http").write_text(f"GET {api}/json\n")
    found = neovim("history")
    (item,) = found["chosen"]["items"]
    assert f"200 GET {api}/json" in item
    assert '"a"' in found["shown"]["text"]


def test_what_the_document_asks_is_asked(neovim: Run, tmp_path: Path, api: str) -> None:
    (tmp_path / "a.http").write_text(f"# @prompt who Who?\nPOST {api}/echo\n\nit is {{{{who}}}}\n")
    found = neovim("prompt")
    assert "Who?" in found["asked"]
    assert "it is me" in found["shown"]["text"]


def test_health_names_the_program_and_what_is_missing(neovim: Run, tmp_path: Path) -> None:
    (tmp_path / "a.http").write_text("GET http://x/\n")
    report = neovim("health")["report"]
    assert re.search(r"/bin/orgrest: orgrest.* \d+\.\d+", report)
    assert "The language server runs" in report
    assert "ERROR" not in report


def test_a_missing_program_is_reported_with_what_to_do(neovim: Run, tmp_path: Path) -> None:
    (tmp_path / "a.http").write_text("GET http://x/\n")
    found = neovim("missing", orgrest=False)
    assert "orgrest is not on the PATH; see :checkhealth orgrest" in str(found["notified"])
    assert "orgrest is not on the PATH" in found["report"]


def test_without_keys_the_command_does_all(neovim: Run, tmp_path: Path, api: str) -> None:
    (tmp_path / "a.http").write_text(f"GET {api}/text\n")
    found = neovim("plain", keys=False)
    assert found["mapped"] == ""
    assert found["completed"] == ["cancel", "curl"]
    assert found["shown"]["text"] == "one line"
    assert "there is no action nonsense" in str(found["notified"])


def test_it_completes(neovim: Run, tmp_path: Path) -> None:
    (tmp_path / "b.http").write_text("GET http://x/\n\n###\nGET http://x/\ncontent-ty")
    assert neovim("completion")["line"].rstrip() == "content-type:"


def test_the_page_lists_all_keys_and_actions() -> None:
    source = (ROOT / "editors" / "nvim" / "lua" / "orgrest" / "init.lua").read_text()
    table = source.partition("M.keys = {")[2].partition("}")[0]
    keys = set(re.findall(r'(\w) = "(\w+)"', table))
    assert set(re.findall(r"^\| `<localleader>(\w)` \| `(\w+)`", PAGE, re.MULTILINE)) == keys
