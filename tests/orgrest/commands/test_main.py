"""The command line as users call it: `orgrest.commands.main`."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest
from components import needs
from servers import RawServer, by_path, echo, response, silent
from waiting import wait_until

from orgrest.commands.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JSON = "Content-Type: application/json"
TEXT = "Content-Type: text/plain"
BLOCK = "#+begin_src restclient :noheaders\nGET HOST/json\n#+end_src\n"
RESULT = '\n#+RESULTS:\n#+BEGIN_SRC js\n{\n  "a": 1\n}\n#+END_SRC\n'


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    count = iter(range(10**6))

    def number(connection, _: bytes) -> None:
        connection.sendall(response(b"%d" % next(count), TEXT, f"X-Number: {next(count)}"))

    def date(connection, _: bytes) -> None:
        connection.sendall(response(b"ok", TEXT, f"Date: {next(count)}", f"X-Id: {next(count)}"))

    answers = {
        "/json": response(b'{"a":1}', JSON),
        "/404": response(b"no", TEXT, status="404 Not Found"),
        "/png": response(b"\x89PNG\r\n\x1a\n\0", "Content-Type: image/png"),
        "/snow": response("☃😀".encode(), TEXT),
        "/circle": response(b"", "Location: /circle", status="302 Found"),
        "/number": number,
        "/date": date,
        "/echo": echo,
    }
    with RawServer(by_path(answers)) as running:
        yield running


@pytest.fixture
def notes(tmp_path: Path, server: RawServer) -> Callable[[str], Path]:
    def write(text: str, name: str = "notes.org") -> Path:
        server.requests.clear()
        path = tmp_path / name
        path.write_bytes(text.replace("HOST", server.url).encode())
        return path

    return write


class TestOrgFiles:
    def test_the_answer_is_below_the_block(self, orgrest, notes, server) -> None:
        path = notes(BLOCK)
        called = orgrest("notes.org")
        assert path.read_text() == BLOCK.replace("HOST", server.url) + RESULT
        assert (called.status, called.out) == (0, "")
        assert called.err.startswith(f"GET {server.url}/json  200  0.")

    def test_quiet_says_nothing_when_all_is_well(self, orgrest, notes) -> None:
        notes(BLOCK)
        assert orgrest("notes.org", "--quiet").err == ""

    @pytest.mark.parametrize("option", ["--stdout", "--diff", "--check", "--dry-run"])
    def test_options_that_only_look_write_nothing(self, orgrest, notes, option: str) -> None:
        path = notes(BLOCK)
        before = path.read_bytes()
        orgrest("notes.org", option)
        assert path.read_bytes() == before

    def test_stdout_prints_the_whole_document_in_its_encoding(
        self, notes, server, capfdbinary
    ) -> None:
        path = notes(BLOCK)
        path.write_bytes(b"caf\xe9\r\n" + path.read_bytes().replace(b"\n", b"\r\n"))
        with pytest.raises(SystemExit):
            main(["notes.org", "--stdout", "-q"])
        out = capfdbinary.readouterr().out
        text = BLOCK.replace("HOST", server.url) + RESULT
        assert out == b"caf\xe9\r\n" + text.encode().replace(b"\n", b"\r\n")

    def test_diff_shows_the_lines_that_would_change(self, orgrest, notes) -> None:
        notes(BLOCK)
        out = orgrest("notes.org", "--diff").out
        assert "+#+RESULTS:\n+#+BEGIN_SRC js\n" in out
        assert out.startswith("--- notes.org\n+++ notes.org\n")

    @needs("patch")
    @pytest.mark.parametrize("last", [b"", b"\n", b"\nend\n", b"\nend"])
    @pytest.mark.parametrize("first", [b"", b"\xef\xbb\xbf", b"caf\xe9\n", b"stray\rCR\n"])
    @pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
    def test_patch_applies_what_diff_prints(
        self, notes, server, capfdbinary, newline: bytes, first: bytes, last: bytes
    ) -> None:
        path = notes(BLOCK)
        data = (first + path.read_bytes().rstrip(b"\n") + last).replace(b"\n", newline)
        outputs = []
        for option in ("--diff", "--stdout"):
            path.write_bytes(data)
            with pytest.raises(SystemExit):
                main(["notes.org", option, "-q"])
            outputs.append(capfdbinary.readouterr().out)
        arguments = ["patch", "--binary", "--fuzz=0", "notes.org"]
        subprocess.run(arguments, input=outputs[0], check=True)
        assert path.read_bytes() == outputs[1] != data

    @pytest.mark.parametrize("name", ["notes.org", "./notes.org"])
    def test_git_applies_what_diff_prints(
        self, notes, server, capfdbinary, tmp_path: Path, name: str
    ) -> None:
        path = notes(BLOCK)
        with pytest.raises(SystemExit):
            main([name, "--diff", "-q"])
        diff = capfdbinary.readouterr().out
        # `git apply` would otherwise use a repository above the folder.
        outside = os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
        subprocess.run(["git", "apply", "-p0", "-"], input=diff, check=True, env=outside)
        assert RESULT in path.read_text()

    def test_a_dry_run_shows_requests_without_sending_or_secrets(
        self, orgrest, notes, server, monkeypatch
    ) -> None:
        monkeypatch.setenv("TOKEN", "s3cret-value")
        notes(
            '#+begin_src restclient\n:t := env("TOKEN")\nPOST HOST/json\nX-A: :t\n\nbody :t\n'
            "#+end_src\n"
        )
        out = orgrest("notes.org", "--dry-run").out
        assert out.startswith(f"POST {server.url}/json\n")
        assert "X-A: ***\n" in out
        assert out.endswith("\n\nbody ***\n\n")
        assert server.requests == []

    def test_a_secret_from_the_command_line_is_sent_but_not_shown(
        self, orgrest, notes, server, tmp_path
    ) -> None:
        path = notes("POST HOST/echo\nAuthorization: Basic u {{t}}\n\n{{t}}\n", "a.http")
        reports = [tmp_path / name for name in ("junit", "html", "har", "report-json")]
        commands = (
            ("test", *(f"--{file.name}={file}" for file in reports)),
            ("--json",),
            ("--dry-run", "--explain"),
            ("export", "--to", "curl"),
        )
        shown = ""
        for command in commands:
            done = orgrest(*command, str(path), "--var", "t=x", "--secret", "t=s3cret-value")
            shown += done.out + done.err
        shown += "".join(file.read_text() for file in reports)
        assert [request.endswith(b"s3cret-value") for request in server.requests] == [True, True]
        assert "s3cret" not in shown
        assert b64encode(b"u:s3cret-value").decode() not in shown
        assert "# t = ***  (--secret)" in shown

    @pytest.mark.parametrize(("value", "sent"), [("a#b", "a"), ("ö <1>", "%C3%B6%20%3C1%3E&z=1")])
    def test_urls_are_shown_as_they_are_sent(
        self, orgrest, notes, server, value: str, sent: str
    ) -> None:
        block = f'#+begin_src restclient :var v="{value}"\nGET HOST/json?q=:v&z=1\n#+end_src\n'
        path = notes(block)
        expected = f"GET {server.url}/json?q={sent}"
        assert f"{expected}  404" in orgrest("notes.org").err
        assert f"// {expected}\n" in path.read_text()
        assert server.requests[0].split(b" ")[1].decode() == f"/json?q={sent}"
        if "#" in value:  # a dry run shows <names> in angle brackets
            assert orgrest("notes.org", "--dry-run").out.splitlines()[0] == expected
            assert json.loads(orgrest("notes.org", "--dry-run", "--json").out)["url"] in expected

    def test_a_dry_run_does_not_judge_tests_without_a_response(self, orgrest, tmp_path) -> None:
        script = "test('x', () => { throw new Error('no'); });\nexports.$cancel = true;"
        (tmp_path / "a.http").write_text(f"{{{{\n{script}\n}}}}\nGET http://localhost/\n")
        assert orgrest("a.http", "--dry-run", "--fail").status == 0

    def test_a_request_that_is_skipped_keeps_its_earlier_result(
        self, orgrest, tmp_path, server
    ) -> None:
        script = "< {%\nCODE\n%}\n"
        block = f"#+begin_src http :noheaders\n{script}GET {server.url}/json\n#+end_src\n"
        document = tmp_path / "a.org"
        document.write_text(block.replace("CODE", ""))
        orgrest("a.org")
        before = document.read_text()
        assert '"a": 1' in before
        skip = before.replace("{%\n\n%}", "{%\npm.execution.skipRequest();\n%}")
        document.write_text(skip)
        orgrest("a.org")
        assert document.read_text() == skip

    def test_a_json_dry_run_has_the_parts(self, orgrest, notes, server) -> None:
        notes("#+begin_src restclient\nPOST HOST/json\nX-A: 1\n\nb\n#+end_src\n")
        found = json.loads(orgrest("notes.org", "--dry-run", "--json").out)
        assert (found["method"], found["url"], found["body"]) == (
            "POST",
            f"{server.url}/json",
            "b",
        )
        assert ["X-A", "1"] in found["headers"]

    def test_json_has_what_was_sent_before_a_request_was_given_up(
        self, orgrest, notes, server
    ) -> None:
        notes("#+begin_src restclient\nGET HOST/circle\n#+end_src\n")
        found = json.loads(orgrest("notes.org", "--json", "-q").out)
        assert (found["outcome"], found["status"]) == ("error", 302)
        assert found["url"] == f"{server.url}/circle"

    def test_json_gives_a_line_for_each_request(self, orgrest, notes, server) -> None:
        notes("#+NAME: n\n" + BLOCK + BLOCK.replace("HOST", "http://127.0.0.1:1"))
        called = orgrest("notes.org", "--json", "-q")
        first, second = (json.loads(line) for line in called.out.splitlines())
        assert first.pop("duration") > 0
        assert first == {
            "file": "notes.org",
            "line": 2,
            "name": "n",
            "outcome": "passed",
            "method": "GET",
            "url": f"{server.url}/json",
            "status": 200,
            "reason": "OK",
            "bytes": 7,
            "body": '{"a":1}',
            "changed": True,
        }
        assert (second["outcome"], second["line"]) == ("error", 5)
        assert "refused" in second["error"]
        assert called.status == 1

    def test_a_program_gets_the_body_alone_byte_by_byte_and_without_secrets(
        self, capsysbinary: pytest.CaptureFixture[bytes], notes, server, monkeypatch
    ) -> None:
        monkeypatch.setenv("SEC", "hunter2secret")
        requests = [
            "# @name needed\nGET HOST/json\n?? status == 200",
            "# @name picture\nGET HOST/png\nX: {{needed.response.body.a}}",
            "# @name secret\nPOST HOST/echo\nX: {{$processEnv SEC}}",
        ]
        notes("\n\n###\n".join(requests), "a.http")
        notes(BLOCK, "a.org")
        picture, needed = b"\x89PNG\r\n\x1a\n\0", b'{"a":1}'
        for arguments, expected in (
            (["a.http", "--name", "picture"], picture),
            (["a.http", "--name", "picture", "--name", "needed"], needed + picture),
            (["a.org"], needed),
        ):
            with pytest.raises(SystemExit):
                main([*arguments, "--body"])
            assert capsysbinary.readouterr().out == expected
        for options in (["--body"], ["--json"]):
            with pytest.raises(SystemExit):
                main(["a.http", "--name", "secret", *options])
            told = capsysbinary.readouterr().out
            assert b"X: ***" in told
            assert b"hunter2" not in told

    def test_json_has_no_text_for_a_picture_and_nothing_that_a_terminal_interprets(
        self, orgrest, notes
    ) -> None:
        notes("GET HOST/png\n\n###\nPOST HOST/echo\n\na\x9bé", "a.http")
        picture, text = orgrest("a.http", "--json").lines
        assert json.loads(picture)["body"] is None
        assert json.loads(text)["body"].endswith("a\x9bé")
        assert "\x9b" not in text

    def test_name_line_and_lang_choose(self, orgrest, notes, server) -> None:
        notes("#+NAME: n\n" + BLOCK + BLOCK + BLOCK.replace("restclient", "rest"))
        for arguments, count in (
            (["--name", "n"], 1),
            (["--line", "6"], 1),
            (["--lang", "rest"], 1),
            (["--lang", "rest", "--lang", "restclient"], 3),
        ):
            server.requests.clear()
            assert orgrest("notes.org", "--stdout", *arguments).status == 0
            assert len(server.requests) == count

    def test_patterns_and_tags_choose_as_in_test_runs_but_nothing_that_is_commented_out(
        self, orgrest, notes, server
    ) -> None:
        org = [
            f"* {title}\n#+NAME: {name}\n{BLOCK}"
            for title, name in (
                ("a :smoke:", "login one"),
                ("b", "setup"),
                ("COMMENT c :smoke:", "login two"),
            )
        ]
        notes("".join(org))
        requests = ["# @name login [one]\n# @tag smoke, slow", "# @name setup", "# @name login two"]
        notes("\n\n###\n".join(f"{request}\nGET HOST/json" for request in requests), "a.http")
        for arguments, count in (
            (["notes.org", "--stdout", "--name", "login*"], 1),
            (["notes.org", "--stdout", "--tag", "smoke"], 1),
            (["notes.org", "--stdout", "--tag", "smoke", "--name", "login two"], 1),
            (["notes.org", "--stdout", "--name", "login*", "--name", "login two"], 2),
            (["a.http", "--name", "login*"], 2),
            (["a.http", "--name", "login [one]"], 1),
            (["a.http", "--name", "setup"], 1),
            (["a.http", "--tag", "smoke"], 1),
            (["a.http", "--tag", "slow", "--line", "6"], 2),
        ):
            server.requests.clear()
            assert orgrest(*arguments).status == 0
            assert len(server.requests) == count

    def test_variables_come_from_the_command_line_and_env_files(
        self, orgrest, notes, server, tmp_path: Path
    ) -> None:
        (tmp_path / "env").write_text("TOKEN=s3cret-value\n")
        path = notes(
            '#+begin_src restclient\n:t := env("TOKEN")\n'
            "GET HOST/echo\nX-A: :t\nX-B: :b\n#+end_src\n"
        )
        orgrest("notes.org", "--env-file", "env", "--var", "b=from here")
        assert b"X-A: s3cret-value\r\nX-B: from here\r\n" in server.requests[0]
        assert "X-A: ***\nX-B: from here\n" in path.read_text()

    def test_files_elsewhere_are_read_when_allowed(
        self, orgrest, notes, server, tmp_path: Path
    ) -> None:
        (tmp_path / "else").mkdir()
        (tmp_path / "else" / "body.txt").write_text("from a file")
        (tmp_path / "here").mkdir()
        notes(
            "#+begin_src restclient\nPOST HOST/echo\n\n< ../else/body.txt\n#+end_src\n",
            "here/n.org",
        )
        assert orgrest("here/n.org").status == 1
        assert server.requests == []
        assert orgrest("here/n.org", "--allow-read", "else").status == 0
        assert server.requests[0].endswith(b"\r\n\r\nfrom a file")

    def test_fail_counts_a_status_of_400(self, orgrest, notes) -> None:
        path = notes(BLOCK.replace("/json", "/404"))
        assert orgrest("notes.org").status == 0
        assert orgrest("notes.org", "--fail").status == 1
        assert "no\n" in path.read_text()

    @pytest.mark.parametrize("suffix", ["org", "http"])
    def test_what_makes_a_quiet_run_fail_is_shown(self, orgrest, notes, suffix: str) -> None:
        request = "GET HOST/404\n\n?? body != yes\n?? status == 200\n"
        block = "#+begin_src http\n{}#+end_src\n" if suffix == "org" else "\n{}"
        name = f"a.{suffix}"
        notes(block.format(request), name)
        called = orgrest(name, "--fail", "--quiet")
        assert called.status == 1
        assert called.err == f"orgrest: {name}:5: FAILED  status == 200: status is 404\n"
        notes(block.format("GET HOST/404\n"), name)
        called = orgrest(name, "--fail", "--quiet")
        assert called.status == 1
        assert "/404  404  " in called.err
        assert orgrest(name, "--quiet").err == ""

    def test_a_failed_request_names_file_line_and_reason(self, orgrest, notes) -> None:
        path = notes(
            BLOCK.replace("HOST", "http://127.0.0.1:1") + "\n#+RESULTS:\n: OLD\n\n" + BLOCK
        )
        called = orgrest("notes.org")
        assert called.status == 1
        assert called.err.startswith("orgrest: notes.org:2:1: ")
        assert "refused" in called.err.splitlines()[0]
        assert ": OLD\n" in path.read_text()
        assert RESULT in path.read_text()

    def test_several_files(self, orgrest, notes, server) -> None:
        one, two = notes(BLOCK * 3, "1.org"), notes(BLOCK * 3, "2.org")
        assert orgrest("1.org", "2.org").status == 0
        assert one.read_text().count("#+RESULTS") == two.read_text().count("#+RESULTS") == 3

    def test_an_image_is_written_beside_the_document(self, orgrest, notes, tmp_path: Path) -> None:
        path = notes("#+NAME: logo\n#+begin_src restclient\nGET HOST/png\n#+end_src\n")
        orgrest("notes.org", "--check")
        assert not (tmp_path / "logo.png").exists()
        orgrest("notes.org")
        assert (tmp_path / "logo.png").read_bytes() == b"\x89PNG\r\n\x1a\n\0"
        assert "[[file:logo.png]]" in path.read_text()

    def test_characters_that_the_files_encoding_lacks_are_reported(
        self, orgrest, notes, server
    ) -> None:
        path = notes(BLOCK.replace("/json", "/snow"))
        path.write_bytes(b"caf\xe9\n" + path.read_bytes())
        err = orgrest("notes.org").err
        assert (
            "orgrest: notes.org:2: the encoding of the file, latin-1, cannot represent some" in err
        )
        assert b"caf\xe9\n#+begin" in path.read_bytes()
        assert b"\\u2603\\ud83d\\ude00\n" in path.read_bytes()


class TestSecrets:
    @pytest.mark.parametrize(
        "request_",
        [
            "GET http://:k.invalid/",
            "GET http://u::k@ab[c/",
            "GET HOST/json\n\n< ../{{k}}/x",
            "GET HOST/json\n:k",
            "GET HOST/json\n(: y",
            "GET :k",
            "GET HOST/{{k}} x/\nA{{k}}é: y",
        ],
    )
    def test_no_message_shows_a_secret(self, orgrest, notes, monkeypatch, request_: str) -> None:
        monkeypatch.setenv("SEC", "hunter2secret")
        text = f'#+begin_src restclient\n:k := env("SEC")\n{request_}\n#+end_src\n'
        for options in ([], ["--json"], ["--dry-run"], ["--dry-run", "--json"]):
            done = orgrest(str(notes(text)), *options)
            assert "hunter2" not in done.out + done.err
            assert done.status == 1 or "***" in done.out


class TestBeforeAnythingIsSent:
    def test_a_read_only_document_is_reported(self, orgrest, notes, server, monkeypatch) -> None:
        path = notes(BLOCK)
        monkeypatch.setattr("os.access", lambda *_: False)
        server.requests.clear()
        done = orgrest(str(path))
        assert (done.status, server.requests) == (1, [])
        assert done.err == (
            f"orgrest: {path}: the file is read-only: no request was sent "
            "(use --stdout to print the results)\n"
        )

    @pytest.mark.parametrize(
        ("text", "notice"),
        [
            ("#+begin_src restclient\nGET x\n* H\n", ":1: this block was ignored: missing"),
            (BLOCK.replace("\n", "\r\n") + "x\n", "the file mixes LF and CRLF line endings"),
            (BLOCK.replace("#+end", "\n#\nGET HOST/2\n#+end"), "the other request in this block"),
            (BLOCK.replace("GET", "@a = 1\nGET"), "restclient's language, write :a = 1"),
        ],
    )
    def test_what_is_not_sent_is_reported(self, orgrest, notes, text: str, notice: str) -> None:
        assert notice in orgrest(str(notes(text))).err

    def test_a_url_without_a_method_in_a_request_file_is_reported(
        self, orgrest, notes, tmp_path: Path
    ) -> None:
        path = tmp_path / "a.http"
        path.write_text(":a = 1\nhttps://example.org/\n")
        done = orgrest(str(path), "--dry-run")
        assert "line 2: this line is skipped; in restclient's language, write GET https" in done.err

    def test_a_url_alone_in_a_request_file_is_sent_with_get(self, orgrest, tmp_path: Path) -> None:
        path = tmp_path / "a.http"
        path.write_text("https://example.org/\n")
        done = orgrest(str(path), "--dry-run")
        assert (done.status, done.out.split("\n")[0]) == (0, "GET https://example.org/")

    def test_environments_are_listed_and_chosen(self, orgrest, tmp_path: Path) -> None:
        (tmp_path / "http-client.env.json").write_text('{"dev": {"h": "a"}, "prod": {"h": "b"}}')
        path = tmp_path / "a.http"
        path.write_text("GET http://{{h}}/{{$uuid}}\n")
        assert orgrest(str(path), "--list-envs").out == "dev\nprod\n"
        call = (str(path), "--dry-run", "--env", "prod", "--seed", "3")
        first = orgrest(*call).out
        assert first.startswith("GET http://b/")
        assert orgrest(*call).out == first
        done = orgrest(str(path), "--dry-run", "--env", "nope")
        assert done.status == 2
        assert "unknown environment nope; available: dev, prod" in done.err

    def test_a_folder_with_only_a_dotenv_file_is_not_said_to_have_no_environment_file(
        self, orgrest, tmp_path: Path
    ) -> None:
        (tmp_path / ".env").write_text("h=a\n")
        path = tmp_path / "a.http"
        path.write_text("GET http://{{h}}/\n")
        done = orgrest(str(path), "--dry-run", "--env", "dev")
        assert done.status == 2
        reason = "the environment files only define variables that belong to no environment"
        assert f"unknown environment dev: {reason}" in done.err
        (tmp_path / ".env").unlink()
        done = orgrest(str(path), "--dry-run", "--env", "dev")
        assert "unknown environment dev: there is no environment file in the document's" in done.err

    def test_a_dry_run_explains_where_values_come_from(self, orgrest, tmp_path: Path) -> None:
        (tmp_path / "http-client.env.json").write_text('{"dev": {"host": "http://h"}}')
        (tmp_path / "http-client.private.env.json").write_text('{"dev": {"key": "hunter2"}}')
        path = tmp_path / "a.http"
        path.write_text(
            "@base = {{host}}/v1\n# @name one\nGET {{base}}/{{id}}?k={{key}}\n###\n"
            "GET {{base}}/{{one.response.body.id}}/{{$timestamp}}\n"
        )
        call = ("a.http", "--dry-run", "--env", "dev", "--var", "id=5", "--seed", "1")
        done = orgrest(*call, "--explain")
        assert [line for line in done.out.split("\n") if line.startswith("#")] == [
            "# host = http://h  (http-client.env.json)",
            "# base = http://h/v1  (a.http:1)",
            "# id = 5  (--var)",
            "# key = ***  (http-client.private.env.json)",
            "# host = http://h  (http-client.env.json)",
            "# base = http://h/v1  (a.http:1)",
            "# one.response.body.id = <one.response.body.id>  (the response of one)",
            "# $timestamp = 946684800  (a dynamic value)",
        ]
        found = json.loads(orgrest(*call, "--explain", "--json").out.split("\n")[0])
        assert found["variables"][2] == {"name": "id", "value": "5", "origin": "--var"}
        assert "variables" not in json.loads(orgrest(*call, "--json").out.split("\n")[0])
        assert "--explain requires --dry-run" in orgrest("a.http", "--explain").err

    def test_a_dry_run_explains_what_an_iteration_sets(self, orgrest, tmp_path: Path) -> None:
        (tmp_path / "a.http").write_text(
            "# @loop for x of [1]\nGET http://h/{{x}}/{{$index}}\n###\n"
            '@list = [{"id": 2}]\nGET http://h/{{$.list..id}}\n'
        )
        done = orgrest("a.http", "--dry-run", "--explain")
        assert [line for line in done.out.split("\n") if line.startswith("#")] == [
            "# x = 1  (an iteration)",
            "# $index = 0  (an iteration)",
            "# $.list..id = 2  (an iteration)",
        ]


class TestCheck:
    def test_a_file_that_would_change_is_a_change(self, orgrest, notes, tmp_path: Path) -> None:
        path = notes(BLOCK.replace(":noheaders", ":results file :file notes-out.json"))
        orgrest(str(path))
        assert orgrest("--check", str(path)).status == 0
        (tmp_path / "notes-out.json").write_text("old")
        done = orgrest("--check", str(path))
        assert done.status == 1
        assert f"the file {tmp_path / 'notes-out.json'} would change" in done.err

    def test_a_response_of_blanks_is_compared_at_once(self, orgrest, notes, server) -> None:
        from orgrest.run.comparison import without_volatile

        assert without_volatile(" " * 200_000 + "x", ()) == " " * 200_000 + "x"

    def test_a_result_that_would_change_is_reported(self, orgrest, notes) -> None:
        notes(BLOCK.replace("/json", "/number"))
        orgrest("notes.org")
        called = orgrest("notes.org", "--check")
        assert called.status == 1
        assert "orgrest: notes.org:1: the result would change\n" in called.err

    def test_a_result_that_is_missing_is_a_change(self, orgrest, notes) -> None:
        notes(BLOCK)
        assert orgrest("notes.org", "--check").status == 1

    def test_dates_and_durations_do_not_count(self, orgrest, notes) -> None:
        notes("#+begin_src restclient\nGET HOST/json\n#+end_src\n")
        orgrest("notes.org")
        assert orgrest("notes.org", "--check").status == 0

    def test_a_document_names_what_is_volatile(self, orgrest, notes) -> None:
        notes("#+begin_src restclient :volatile X-Id\nGET HOST/date\n#+end_src\n")
        orgrest("notes.org")
        assert orgrest("notes.org", "--check").status == 0

    def test_a_result_that_is_to_be_the_same_and_is_not_is_a_change(self, orgrest, notes) -> None:
        notes("#+begin_src restclient :expect same\nGET HOST/date\n#+end_src\n")
        orgrest("notes.org")
        called = orgrest("notes.org", "--check")
        assert called.status == 1
        assert "notes.org:1: the result has changed (to" in called.err

    def test_headers_can_be_named_as_volatile(self, orgrest, notes) -> None:
        notes("#+begin_src restclient\nGET HOST/date\n#+end_src\n")
        orgrest("notes.org")
        assert orgrest("notes.org", "--check").status == 1
        assert orgrest("notes.org", "--check", "--volatile", "x-id").status == 0


class TestRequestFiles:
    TEXT = "### one\nGET HOST/json\n\n###\nGET HOST/404\n"

    def test_responses_are_printed(self, orgrest, notes) -> None:
        notes(self.TEXT, "a.http")
        out = orgrest("a.http").out
        assert out.startswith('{\n  "a": 1\n}\n// GET ')
        assert "HTTP/1.1 404 Not Found\n" in out

    def test_one_is_chosen_by_its_line(self, orgrest, notes) -> None:
        notes(self.TEXT, "a.rest")
        out = orgrest("a.rest", "--line", "2").out
        assert '"a": 1' in out
        assert "Not Found" not in out

    def test_standard_input_is_a_file_of_requests(
        self, orgrest, notes, server, monkeypatch
    ) -> None:
        for arguments in (["-"], []):
            text = io.BytesIO(b"GET " + server.url.encode() + b"/json\n")
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(text))
            assert '"a": 1' in orgrest(*arguments).out

    def test_binary_bodies_are_reported(self, orgrest, notes) -> None:
        notes("GET HOST/png\n", "a.http")
        assert orgrest("a.http").out.startswith("[9 bytes of binary data]\n")

    def test_of_a_long_body_the_beginning_is_printed(self, orgrest, notes) -> None:
        notes("GET HOST/json\n", "a.http")
        done = orgrest("--limit", "3", "a.http")
        assert done.out.startswith("[truncated: the whole body is ")
        assert "--limit to show more]" in done.out
        refused = orgrest("--limit", "lots", "a.http")
        assert refused.status == 2
        assert "found lots" in refused.err

    @pytest.mark.parametrize("option", ["--check", "--diff", "--stdout"])
    def test_what_is_for_documents_is_refused(self, orgrest, notes, option: str) -> None:
        notes(self.TEXT, "a.http")
        called = orgrest("a.http", option)
        assert called.status == 2
        assert "requires an Org document" in called.err


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["nowhere.org"], "orgrest: nowhere.org: No such file or directory\n"),
            (["."], "orgrest: . is a folder; to run the documents in it, use `orgrest test .`"),
            (["a", "b", "--line", "1"], "--line, --name and --tag require exactly one FILE"),
            (["a", "b", "--tag", "x"], "--line, --name and --tag require exactly one FILE"),
            (
                ["a", "--check", "--diff"],
                "--dry-run, --stdout, --diff and --check cannot be combined",
            ),
            (
                ["a", "--dry-run", "--diff"],
                "--dry-run, --stdout, --diff and --check cannot be combined",
            ),
            (["a", "--stdout", "--json"], "combined: both write to standard output"),
            (["a", "--body", "--json"], "--json and --body cannot be combined: both write to"),
            (["a", "--body", "--dry-run"], "--dry-run and --body cannot be combined"),
            (["a", "--var", "x"], "expected NAME=VALUE, found no ="),
            (["a", "--secret", "=x"], "expected NAME=VALUE, found no name"),
            (["notes.org", "--env-file", "nowhere"], "nowhere"),
            (["notes.org", "--ca", "nowhere"], "nowhere"),
            (["a", "--nonsense"], "No such option"),
            (["notes.org", "--name", "x"], "orgrest: notes.org: no request named x"),
            (["notes.org", "--name", ""], "orgrest: notes.org: no request named "),
            (["notes.org", "--tag", "x"], "orgrest: notes.org: no request has the tag x"),
            (
                ["notes.org", "--line", "99"],
                "orgrest: notes.org:99: no request at this line",
            ),
        ],
    )
    def test_mistakes_end_with_status_2_and_say_what_is_wrong(
        self, orgrest, notes, arguments: list[str], message: str
    ) -> None:
        notes(BLOCK)
        called = orgrest(*arguments)
        assert called.status == 2
        assert message in called.err

    def test_no_file_on_a_terminal_is_a_mistake(self, orgrest, monkeypatch) -> None:
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
        assert "missing FILE" in orgrest().err

    def test_who_starts_a_run_lets_a_request_ask_for_unverified_certificates(
        self, orgrest, notes, server
    ) -> None:
        notes("# @no-reject-unauthorized\nGET HOST/json\n", "a.http")
        refused = orgrest("a.http")
        assert refused.status == 1
        assert "a.http:2: @no-reject-unauthorized: certificates are verified" in refused.err
        assert "--insecure" in refused.err
        assert server.requests == []
        assert orgrest("a.http", "--insecure").status == 0
        assert len(server.requests) == 1
        assert orgrest("test", "a.http", "--insecure").status == 0

    def test_insecure_warns(self, orgrest, notes) -> None:
        notes(BLOCK)
        assert (
            "warning: TLS certificates are not verified" in orgrest("notes.org", "--insecure").err
        )

    def test_help_names_the_other_commands(self, orgrest) -> None:
        out = orgrest("--help").out
        assert "demo" in out
        assert "curl" in out

    def test_help_shows_each_option_in_one_section(self, orgrest) -> None:
        text = orgrest("test", "--help").out
        sections = re.split(r"^(\w[^\n]*):\n", text, flags=re.MULTILINE)
        found = dict(zip(sections[1::2], sections[2::2], strict=True))
        assert re.findall(r"^  (--\w+)", found["Which requests"], re.MULTILINE) == [
            "--name",
            "--tag",
            "--lang",
        ]
        options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)
        assert len(options) == len(set(options)) > 25

    def test_help_fits_a_narrow_terminal(self) -> None:
        command = [sys.executable, "-m", "orgrest", "test", "--help"]
        narrow = {**os.environ, "COLUMNS": "40"}
        text = subprocess.run(
            command, env=narrow, capture_output=True, text=True, check=True
        ).stdout
        examples = ("  orgrest ", "Usage:")  # can be copied
        lines = [line for line in text.splitlines() if not line.startswith(examples)]
        assert max(map(len, lines)) <= 40

    @pytest.mark.parametrize("flag", ["-h", "--help"])
    @pytest.mark.parametrize("name", ["demo", "tutorial", "lsp", "emacs"])
    def test_each_command_tells_what_it_does(self, orgrest, name: str, flag: str) -> None:
        done = orgrest(name, flag)
        assert done.status == 0
        assert done.out.startswith(f"Usage: orgrest {name} [OPTIONS]")
        output = orgrest(flag).out.partition("Commands:")[2]
        assert any(line.split()[0] == name for line in output.splitlines() if line.strip())

    def test_eval_query_asks(self, orgrest, notes, server, monkeypatch) -> None:
        notes(BLOCK.replace(":noheaders", ":eval query"))
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        monkeypatch.setattr("click.confirm", lambda question, err: "notes.org:1" not in question)
        assert "skipped: notes.org:1: not evaluated: you declined" in orgrest("notes.org").err


class TestTerminal:
    def test_many_requests_have_a_progress_bar(self, orgrest, notes, monkeypatch) -> None:
        path = notes(BLOCK * 20)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        assert orgrest("notes.org").status == 0
        assert path.read_text().count("#+RESULTS") == 20


class TestCurl:
    @needs("curl")
    def test_a_request_becomes_a_command_that_sends_the_same(
        self, orgrest, notes, server, monkeypatch
    ) -> None:
        monkeypatch.setenv("TOKEN", "s3cret value")
        notes(
            '#+begin_src restclient\n:t := env("TOKEN")\nPOST HOST/echo\nX-A: :t\n\nb\n#+end_src\n'
        )
        out = orgrest("export", "--to", "curl", "notes.org", "--line", "1").out
        assert "s3cret value" not in out
        assert server.requests == []
        sent = subprocess.run(
            ["sh", "-c", out], env={**os.environ, "t": "s3cret value"}, check=True
        )
        assert sent.returncode == 0
        assert b"\r\nX-A: s3cret value\r\n" in server.requests[0]

    def test_what_another_request_answers_is_a_variable_of_the_command(
        self, orgrest, notes, server
    ) -> None:
        login = "#+NAME: login\n#+begin_src restclient\nGET HOST/json\n#+end_src\n\n"
        use = "#+begin_src restclient :var t=login\nGET HOST/json?:t\n#+end_src\n"
        path = str(notes(login + use))
        done = orgrest("export", "--to", "curl", path, "--line", "6")
        assert done.status == 0
        assert done.out.endswith("""/json?'"${t}"\n""")
        assert server.requests == []

    def test_request_files_and_env_files_work(self, orgrest, notes, tmp_path: Path) -> None:
        (tmp_path / "env").write_text("A=b\n")
        notes('### n\n:a := env("A")\nGET HOST/:a\n', "a.http")
        out = orgrest("export", "--to", "curl", "a.http", "--name", "n", "--env-file", "env").out
        assert out.endswith('/"${A}"\n')


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "orgrest", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class TestProcess:
    def test_no_module_beside_a_document_is_run(self, notes, server, tmp_path: Path) -> None:
        for name in ("attr", "attrs", "click", "json", "keyring", "re", "rich", "urllib3", "yaml"):
            (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the document ran')")
        path = notes("GET HOST/json\n", "a.http")
        done = subprocess.run(
            [sys.executable, "-m", "orgrest", path.name, "--json"],
            cwd=path.parent,
            env={key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert server.requests

    def test_ctrl_c_keeps_what_is_done(self, notes, tmp_path: Path) -> None:
        with RawServer(silent) as other:
            path = notes(BLOCK + "\n" + BLOCK.replace("HOST", other.url))
            process = start("notes.org")
            assert process.stderr is not None
            assert "/json" in process.stderr.readline()  # the other answer is there
            wait_until(lambda: other.requests)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert err.endswith("orgrest: notes.org:5: interrupted; the results so far were saved\n")
        assert "Traceback" not in err
        assert path.read_text().count("#+RESULTS") == 1

    @pytest.mark.parametrize(
        "arguments", [("a.http",), ("a.org",), ("a.org", "--check"), ("a.org", "--diff")]
    )
    def test_ctrl_c_tells_of_no_saving_if_nothing_is_saved(
        self, notes, arguments: tuple[str, ...]
    ) -> None:
        with RawServer(silent) as other:
            name = arguments[0]
            text = f"GET {other.url}/\n" if name == "a.http" else BLOCK.replace("HOST", other.url)
            path = notes(text, name)
            process = start(*arguments)
            wait_until(lambda: other.requests)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert f"orgrest: {name}:1: interrupted\n" in err
        assert path.read_text() == text

    def test_ctrl_c_names_the_request_that_was_in_progress_for_another(self, notes) -> None:
        with RawServer(silent) as other:
            text = (
                f"GET http://h/{{{{later.response.body}}}}\n###\n# @name later\nGET {other.url}/\n"
            )
            notes(text, "a.http")
            process = start("a.http")
            wait_until(lambda: other.requests)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        assert err.endswith("orgrest: a.http:4: interrupted\n")

    def test_ctrl_c_keeps_the_result_that_the_request_in_progress_needed(self, notes) -> None:
        with RawServer(silent) as other:
            needing = BLOCK.replace("HOST", other.url).replace(":noheaders", ":var x=login")
            path = notes(f"{needing}\n#+name: login\n{BLOCK}")
            process = start("notes.org")
            wait_until(lambda: other.requests)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        assert "/json  200" in err
        assert err.endswith("orgrest: notes.org:1: interrupted; the results so far were saved\n")
        assert path.read_text().endswith(RESULT.replace("RESULTS:", "RESULTS: login"))

    @pytest.mark.parametrize("options", [(), ("--json",)])
    def test_a_run_that_ends_at_a_limit_shows_what_was_sent_for_the_last_request(
        self, notes, server, options: tuple[str, ...]
    ) -> None:
        notes(
            "GET HOST/a?{{login.a}}\n\n### login\nPOST HOST/json\n\n### c\nGET HOST/c\n", "a.http"
        )
        process = start("a.http", "--max-requests", "1", *options)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 1
        assert len(server.requests) == 1
        assert out.count('{"file"') == 2 * len(options)
        assert f"POST {server.url}/json" in out.replace('", "url": "', " ")
        assert err.endswith(
            "a.http: stopped: the run has reached its limit of 1 requests (--max-requests)\n"
        )

    def test_ctrl_c_tells_where_the_results_are_if_the_document_was_changed_meanwhile(
        self, notes, tmp_path: Path
    ) -> None:
        with RawServer(silent) as other:
            path = notes(BLOCK + "\n" + BLOCK.replace("HOST", other.url))
            process = start("notes.org")
            wait_until(lambda: other.requests)
            path.write_text("mine\n")
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "saved as" in err
        assert err.endswith("orgrest: notes.org:5: interrupted\n")
        assert path.read_text() == "mine\n"
        assert "#+RESULTS" in path.with_name("notes.org.orgrest-results").read_text()

    def test_a_closed_pipe_is_no_traceback(self, notes, tmp_path: Path) -> None:
        notes(BLOCK + "x\n" * 200_000)
        process = start("notes.org", "--stdout")
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()
        process.wait(timeout=60)
        process.stderr.close()
        assert "Traceback" not in err

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("arguments", "streams", "status", "results"),
        [
            ("", "2>&1 | head -1", 0, 1),
            ("--json", "| head -1", 0, 1),
            ("", "2>/dev/full", 1, 1),
            ("--json", ">/dev/full", 1, 1),
            ("--stdout", ">/dev/full", 1, 0),
            ("--dry-run", ">/dev/full", 1, 0),
            ("", "<&-", 0, 3),
            ("", "2>&-", 0, 3),
            ("--stdout", ">&-", 0, 0),
            ("--json", "<&- >&- 2>&-", 0, 3),
        ],
    )
    def test_streams_that_fail_cost_no_answer_and_give_no_traceback(
        self, notes, arguments: str, streams: str, status: int, results: int
    ) -> None:
        path = notes((BLOCK + "\n") * 3)
        command = f'"{sys.executable}" -m orgrest {arguments} notes.org {streams}'
        done = subprocess.run(
            ["sh", "-c", command], cwd=path.parent, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        assert path.read_text().count("#+RESULTS") >= results

    @pytest.mark.parametrize(("option", "most"), [("--dry-run", 86), ("--quiet", 105)])
    def test_what_only_some_runs_need_is_not_imported(self, notes, option: str, most: int) -> None:
        code = (
            "import sys; from orgrest.commands import main as cli\n"
            f"try: cli.main(['notes.org', '{option}'])\n"
            "except SystemExit: pass\n"
            "print(*sys.modules, file=sys.stderr)"
        )
        notes(BLOCK)
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        found = done.stderr.split()
        needless = {"rich", "scriptschema", "hypothesis", "pure_protobuf", "asyncio", "attr"}
        assert not {*needless, "concurrent.futures", "difflib"} & set(found)
        assert ("urllib3" in found) == (option == "--quiet")
        assert sum(name.split(".")[0] == "orgrest" for name in found) <= most

    def test_the_mode_of_a_document_stays(self, orgrest, notes) -> None:
        path = notes(BLOCK)
        path.chmod(0o640)
        orgrest("notes.org")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("name", "text", "status"),
    [("x.txt", "GET http://h/\n", 1), ("e.http", "###\n", 1), ("e.org", "* no block\n", 1)],
)
def test_a_file_without_a_request_says_so(
    orgrest, tmp_path: Path, name: str, text: str, status: int
) -> None:
    (tmp_path / name).write_text(text)
    called = orgrest(name)
    assert called.status == status
    assert "no request found" in called.err
    assert name in called.err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#+begin_src http\nGET http://h/\n", "this block was ignored: missing #+end_src"),
        ("#+begin_src htpp\nGET http://h/\n#+end_src\n", "htpp; did you mean http?"),
        ("#+call: nobody()\n", "no source block named nobody"),
    ],
)
def test_a_file_whose_only_request_is_misspelt_is_no_success(
    orgrest, tmp_path: Path, text: str, reason: str
) -> None:
    (tmp_path / "a.org").write_text(text)
    for command in ((), ("--quiet",), ("test",), ("export", "--to", "curl")):
        called = orgrest(*command, "a.org")
        assert called.status == 1
        assert "a.org:1" in called.err
        assert called.err.count(reason) == 1


def test_a_document_that_is_not_utf8_is_named_with_its_line(orgrest, tmp_path: Path) -> None:
    (tmp_path / "a.http").write_bytes(b"GET http://127.0.0.1:1/\n### caf\xe9\n")
    called = orgrest("--dry-run", "a.http")
    assert called.err == (
        "orgrest: a.http: line 2 is not UTF-8: the file was read as Latin-1, "
        "but requests are sent in UTF-8\n"
    )
    (tmp_path / "a.http").write_bytes(b"# -*- coding: latin-1 -*-\nGET http://127.0.0.1:1/\xe9\n")
    assert orgrest("--dry-run", "a.http").err == ""


@pytest.mark.parametrize(
    "prepared",
    [
        "import atexit; atexit.register(print, 'at the end')",
        "import threading; threading.Timer(0.5, print, ['at the end']).start()",
    ],
)
def test_the_process_ends_after_its_threads_and_what_is_registered_for_its_end(
    prepared: str,
) -> None:
    code = f"{prepared}; from orgrest.commands.main import run; run()"
    for argument, status in (("--version", 0), ("--unknown", 2)):
        done = subprocess.run(
            [sys.executable, "-c", code, argument], capture_output=True, text=True, check=False
        )
        assert done.returncode == status
        assert "at the end" in done.stdout.splitlines()


def test_a_profile_of_a_command_is_written(tmp_path: Path) -> None:
    path = tmp_path / "profile"
    command = ["cProfile", "-o", str(path), "-m", "orgrest", "--version"]
    subprocess.run([sys.executable, "-m", *command], capture_output=True, check=True)
    assert path.stat().st_size
