"""`pytest --orgrest`: documents collected as tests, by a real pytest in its own process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HTTP = """### teardown
DELETE HOST/echo?teardown

### login
# @tag smoke
# @name login
GET HOST/json
?? status == 200

### uses it
GET HOST/json?{{login.response.body.id}}
?? body id == {{expected}}

### wrong
GET HOST/json
?? status == 404

### left out
# @disabled
GET HOST/json

### setup
PUT HOST/echo?setup
"""
ORG = """* Reading :smoke:
#+begin_src restclient
GET HOST/json
#+end_src
"""


@pytest.fixture
def collected(server, folder: Path) -> Callable[..., tuple[int, str]]:
    """Call pytest for the two documents. Return its exit status and output."""
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (folder / "docs").mkdir()
    (folder / "docs/api.http").write_text(HTTP.replace("HOST", server.url))
    (folder / "docs/notes.org").write_text(ORG.replace("HOST", server.url))

    def call(*arguments: str) -> tuple[int, str]:
        plugins = ("-p", "no:cacheprovider", "-p", "orgrest.pytest_plugin")
        command = [sys.executable, "-m", "pytest", *plugins, *arguments]
        done = subprocess.run(
            command,
            cwd=folder,
            # Without all the other plugins that are installed here.
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    return call


def test_pytest_finds_the_plugin() -> None:
    [found] = entry_points(group="pytest11", name="orgrest")
    assert found.value == "orgrest.pytest_plugin"


def test_each_request_is_a_test_that_says_why_it_fails(collected, paths, folder: Path) -> None:
    options = ("--orgrest", "--orgrest-var", "expected=1", "--junitxml", "r.xml")
    status, output = collected("docs", "-v", *options)
    assert status == 1
    assert re.search("docs/api.http::login PASSED", output)
    assert re.search("docs/api.http::uses it PASSED", output)
    assert re.search("docs/api.http::wrong FAILED", output)
    assert re.search("docs/api.http::left out SKIPPED", output)
    assert re.search("docs/notes.org::line 2 PASSED", output)
    failure = (
        r"api.http:15: failed\n  \S+api.http:16: status == 404: .*200\n\n  GET http.*\n    {.id"
    )
    assert re.search(failure, output)
    assert "Traceback" not in output
    assert ".py:" not in output.partition("FAILURES")[2]
    assert paths() == [
        "PUT /echo?setup",
        "GET /json",
        "GET /json?1",
        "GET /json",
        "DELETE /echo?teardown",
        "GET /json",
    ]
    assert 'name="uses it"' in (folder / "r.xml").read_text()


def test_each_of_several_requests_on_a_line_is_sent_and_judged(
    collected, paths, folder: Path, server
) -> None:
    text = "".join(f"src_http[:jq .id]{{GET HOST/{path}}} " for path in ("json?1", "404", "json?3"))
    (folder / "docs/notes.org").write_text(text.replace("HOST", server.url))
    status, output = collected("docs/notes.org", "--orgrest", "-v")
    assert status == 1
    assert re.search("docs/notes.org::line 1 PASSED", output)
    assert re.search(r"docs/notes.org::line 1 \(2\) FAILED", output)
    assert re.search(r"docs/notes.org::line 1 \(3\) PASSED", output)
    assert paths() == ["GET /json?1", "GET /404", "GET /json?3"]


def test_what_is_chosen_is_sent_with_what_it_needs(collected, paths, folder: Path) -> None:
    options = ("--orgrest", "--orgrest-var", "expected=1")
    status, output = collected("docs", *options, "-k", "uses")
    assert (status, "1 passed, 4 deselected" in output) == (0, True)
    needed = ["PUT /echo?setup", "GET /json", "GET /json?1", "DELETE /echo?teardown"]
    assert paths() == needed
    (folder / "docs/http-client.env.json").write_text('{"dev": {"expected": "1"}}')
    status, output = collected("docs", "--orgrest", "--orgrest-env", "dev", "-k", "smoke or uses")
    assert (status, "3 passed, 2 deselected" in output) == (0, True)


def test_a_request_that_is_cancelled_after_it_needed_another_is_skipped(
    collected, paths, folder: Path, server
) -> None:
    script = "{{\nexports.$cancel = true;\n}}"
    text = f"### a\n# @name a\nGET HOST/json\n### b\n# @ref a\n{script}\nGET HOST/b\n"
    (folder / "docs/api.http").write_text(text.replace("HOST", server.url))
    status, output = collected("docs/api.http", "-k", "b", "--orgrest", "-v")
    assert (status, "b SKIPPED" in output, paths()) == (0, True, ["GET /json"])


def test_a_needed_request_that_is_not_chosen_fails_the_test_that_needs_it(
    collected, paths, folder: Path, server
) -> None:
    text = "### a\n# @name a\nGET HOST/json\n?? status == 404\n### b\n# @ref a\nGET HOST/json?b\n"
    (folder / "docs/api.http").write_text(text.replace("HOST", server.url))
    status, output = collected("docs/api.http", "--orgrest", "-v")
    assert (status, "a FAILED" in output, "b PASSED" in output) == (1, True, True)
    for chosen in (["docs/api.http::b"], ["docs/api.http", "-k", "b"]):
        status, output = collected(*chosen, "--orgrest", "-v")
        assert (status, "b FAILED" in output) == (1, True)
        assert re.search(r"api.http:3: failed\n  \S+api.http:4: status == 404: .*200\n", output)
    assert paths() == ["GET /json", "GET /json?b"] * 3


def test_a_secret_for_pytest_is_not_shown(collected, paths) -> None:
    status, output = collected("docs", "--orgrest", "--orgrest-secret", "expected=a-long-secret")
    assert status == 1
    assert "body id == {{expected}}" in output
    assert "a-long-secret" not in output
    assert (
        "--orgrest-secret: expected NAME=VALUE"
        in collected("--orgrest", "--orgrest-secret", "a")[1]
    )


def test_it_ends_at_the_first_failure_where_that_is_requested(collected, paths) -> None:
    status, output = collected("docs", "--orgrest", "--orgrest-var", "expected=2", "-x")
    assert status == 1
    assert "1 failed, 1 passed" in output
    assert paths()[-1] == "DELETE /echo?teardown"


def test_a_misspelt_environment_fails_even_requests_that_use_no_variable(
    collected, paths, folder: Path
) -> None:
    (folder / "docs/http-client.env.json").write_text('{"dev": {"a": "1"}}')
    (folder / "docs/below").mkdir()
    (folder / "docs/notes.org").rename(folder / "docs/below/notes.org")
    status, output = collected("docs/below", "--orgrest", "--orgrest-env", "dev")
    assert status == 1
    assert "--orgrest-env: unknown environment dev: there is no environment file" in output
    status, output = collected("docs", "--orgrest", "--orgrest-env", "dve", "-k", "login or line")
    assert status == 1
    assert "--orgrest-env: unknown environment dve; available: dev" in output
    assert "2 errors" in output
    assert paths() == []
    status, output = collected("docs", "--orgrest", "--orgrest-env", "dev", "-k", "login")
    assert status == 0


def test_a_hint_names_the_options_of_pytest_itself(collected, folder: Path) -> None:
    (folder / "docs/http-client.env.json").write_text('{"dev": {"user": "me"}}')
    asked = "### asked\n# @prompt who\nGET http://h/{{who}}\n"
    (folder / "docs/api.http").write_text(f"### undefined\nGET http://h/{{{{user}}}}\n{asked}")
    _, output = collected("docs/api.http", "--orgrest")
    assert "select it, for example with --orgrest-env dev" in output
    assert "use --orgrest-var 'who=VALUE'" in output


def test_the_environments_of_many_folders_are_looked_up_once(collected, folder: Path) -> None:
    for number in range(9):
        (folder / f"docs/{number}").mkdir()
        (folder / f"docs/{number}/http-client.env.json").write_text('{"dev": {}}')
        (folder / f"docs/{number}/a.http").write_text("### a\n# @disabled\nGET http://h/\n")
    (folder / "conftest.py").write_text(
        "from orgrest.http.values import environments\n"
        "find = environments.find\n"
        "def counted(folder):\n    print('looked up', folder)\n    return find(folder)\n"
        "environments.find = counted\n"
    )
    options = ("--orgrest", "--orgrest-env", "dev", "-s")
    status, output = collected(*(f"docs/{number}" for number in range(9)), *options)
    assert (status, "9 skipped" in output) == (0, True)
    assert output.count("looked up") < 4 * 9


@pytest.mark.slow
def test_the_workers_of_xdist_keep_documents_together(collected, paths) -> None:
    options = ("--orgrest", "--orgrest-var", "expected=1", "-p", "xdist", "-n", "2")
    status, output = collected("docs", *options)
    assert status == 1
    assert "1 failed, 3 passed, 1 skipped" in output
    assert paths().count("PUT /echo?setup") == paths().count("DELETE /echo?teardown") == 1


def test_without_the_option_nothing_is_collected_and_nothing_loaded(collected, paths) -> None:
    status, output = collected("docs")
    assert (status, paths()) == (5, [])
    assert "no tests ran" in output
    code = (
        "import sys, orgrest.pytest_plugin\n"
        "print(sorted(one for one in sys.modules if one.startswith(('orgrest', 'attr'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['orgrest', 'orgrest.pytest_plugin']"


def test_a_failed_setup_is_an_error_of_each_request_and_is_cleaned_up(
    collected, paths, folder: Path, server
) -> None:
    text = "### setup\nGET HOST/json\n?? status == 1\n\n### a\nGET HOST/404\n\n### teardown\n"
    text += "GET HOST/json?clean\n?? status == 2\n\n### a\nGET HOST/404\n"
    (folder / "docs/api.http").write_text(text.replace("HOST", server.url))
    (folder / "docs/bad.http").write_text("@a = 1\n?? status == 200\n")
    (folder / "docs/notes.org").unlink()
    status, output = collected("docs/api.http", "--orgrest")
    assert status == 1
    assert "status == 1: " in output
    assert "pytest_collector" not in output
    assert "GET /404" not in paths()
    assert re.search("ERROR docs/api.http::a ", output)
    assert re.search(r"ERROR docs/api.http::a \(line 13\)", output)
    status, output = collected("docs/bad.http", "--orgrest")
    assert status == 2
    assert "bad.http:2" in output
