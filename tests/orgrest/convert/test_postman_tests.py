"""Assertions and scripts in exported collections have the same results in Postman as in orgrest."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner
from components import needs_engine
from evaluated import Evaluated
from imports import imported
from servers import RawServer, response

from orgrest.commands.main import program
from orgrest.files import File
from orgrest.http.values import Inputs

pytestmark = needs_engine
BODY = {"n": 7, "s": "7", "t": True, "z": None, "f": 1.5, "list": [{"a": 'q"uo\\te'}], "o": {}}
SAID = [
    "status == 201", "status == 200", "status == 2xx", "status == 4xx", "status == 2XX",
    "duration < 60000", "duration >= 60000", "header X-A exists", "header X-B exists",
    "header X-A isDefined", "header X-B isDefined",
    "header X-A == a b", 'header X-A == "a b"', "header x-a contains b", "header X-A contains c",
    "body $.n == 7", "body $.n == 8", "body $.s == 7", 'body $.s == "7"', 'body $.n == "7"',
    "body $.t == true", "body $.t == false", "body $.z == null", "body $.f == 1.5",
    'body $.list[0].a == "q\\"uo\\\\te"', "body $.gone == 1", "body $.gone.more == 1",
    "body $.gone == null",
]  # fmt: skip
UNSAID = [
    "status != 500", "body contains 7", "body $..n == 7", "body $.n > 6", "body $.n == 1e3",
    "body $.n == {{n}}", "eventually 1 s status == 201", "header X-A == 7",
]  # fmt: skip


def answer(connection: socket.socket, _: bytes) -> None:
    body = json.dumps(BODY).encode()
    head = ("Content-Type: application/json", "X-A: a b")
    connection.sendall(response(body, *head, status="201 Created"))


def verdicts(path: Path) -> list[bool]:
    done = Evaluated(File.read(path).text, Inputs(directory=path.parent), file=str(path))
    assert done.reasons == []
    return [test.held for test in done.tests]


@pytest.mark.parametrize("message", SAID)
def test_an_assertion_comes_to_the_same_as_a_script(message: str, tmp_path: Path) -> None:
    with RawServer(answer) as server:
        path = tmp_path / "a.http"
        path.write_text(f"GET {server.url}/\n\n?? {message}\n")
        done = CliRunner().invoke(program, ["export", "--to", "postman", str(path), "--strict"])
        assert done.exit_code == 0, done.stderr
        assert "pm." in done.stdout
        assert imported(tmp_path, done.stdout).exit_code == 0
        ours = verdicts(path)
        assert len(ours) == 1
        assert all(verdicts(tmp_path / "out.http")) == ours[0]


@pytest.mark.parametrize("message", UNSAID)
def test_an_assertion_that_is_no_script_is_reported(message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.http"
    path.write_text(f"@n = 7\nGET http://h/\n\n?? {message}\n")
    done = CliRunner().invoke(program, ["export", "--to", "postman", str(path), "--strict"])
    assert done.exit_code == 1
    assert f"not exported: ?? {message}" in done.stderr


def test_scripts_for_pm_stay_and_others_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.http"
    path.write_text(
        "< {%\npm.variables.set('a', 1);\n%}\nGET http://h/\n\n> {%\n"
        "pm.test('x', () => pm.response.to.have.status(200));\n%}\n"
        "> {%\nclient.test('y', () => pm.expect(1).to.equal(1));\n%}\n"
    )
    done = CliRunner().invoke(program, ["export", "--to", "postman", str(path)])
    (item,) = json.loads(done.stdout)["item"]
    assert [(one["listen"], one["script"]["exec"]) for one in item["event"]] == [
        ("prerequest", ["pm.variables.set('a', 1);"]),
        ("test", ["pm.test('x', () => pm.response.to.have.status(200));"]),
    ]
    assert done.stderr.count("a script for the response") == 1


def test_what_a_kept_script_sets_is_not_exported_twice(tmp_path: Path) -> None:
    (tmp_path / "a.http").write_text(
        "< {%\npm.request.headers.add({key: 'X-Made', value: '1'});\npm.globals.set('g', 1);\n%}\n"
        "GET http://h/{{g}}\nX-Own: 2\n"
    )
    words = ["export", "--to", "postman", str(tmp_path / "a.http")]
    whole = json.loads(CliRunner().invoke(program, words).stdout)
    (item,) = whole["item"]
    assert [one["key"] for one in item["request"]["header"]] == ["X-Own"]
    assert item["event"][0]["listen"] == "prerequest"
    assert not whole.get("variable")
