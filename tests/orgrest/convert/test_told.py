"""Exports: anything that is left out is reported, and secrets and files go where they belong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from imports import imported, sent

from orgrest.commands.main import program
from orgrest.convert.formats import EXPORTERS, FORMATS

EVERY = [*EXPORTERS]


def export(path: Path, target: str, *more: str, **environ: str) -> Result:
    return CliRunner().invoke(program, ["export", "--to", target, str(path), *more], env=environ)


def written(folder: Path, text: str | bytes, name: str = "a.http") -> Path:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


EVERYTHING = """\
### one
# @ref two
# @sleep 5
# @title no loss
< {% request.variables.set("a", "b") %}
GET http://h/

?? status == 200
> {% client.test("t", () => {}) %}
>> saved.json

### two
GET http://h/two
"""


@pytest.mark.parametrize("target", EVERY)
def test_what_no_format_says_is_reported_with_its_line(target: str, tmp_path: Path) -> None:
    path = written(tmp_path, EVERYTHING)
    done = export(path, target)
    output = [line.removeprefix(f"orgrest: {path}:6: not exported: ")
            for line in done.stderr.splitlines()]  # fmt: skip
    assert sorted(output) == [
        *(["?? status == 200"] if target != "postman" else []),
        "@ref two",
        "@sleep 5",
        "a script for the response",
        "a script that runs before the request",
        "saving the response to the file saved.json",
    ]
    assert done.exit_code == 0
    assert export(path, target, "--strict").exit_code == 1
    assert export(path, target, "--strict", "--name", "two").exit_code == 0


@pytest.mark.parametrize("target", EVERY)
def test_an_export_does_not_wait_for_the_modules_of_other_formats(
    target: str, tmp_path: Path
) -> None:
    path = written(tmp_path, "GET http://h/\n")
    code = (
        "import sys; from orgrest.commands.main import main\n"
        f"try: main(['export', '--to', '{target}', 'a.http'])\n"
        "except SystemExit as ended: print(ended.code, *sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=path.parent, capture_output=True, text=True, check=True
    )
    status, *found = done.stderr.split()
    assert status == "0"
    modules = {name for one in FORMATS for name in (one.importer, one.exporter)}
    needed = {EXPORTERS[target], *(["messages"] if target == "har" else [])}
    assert {name for name in modules if f"orgrest.convert.{name}" in found} == needed


def test_blocks_that_are_left_out_are_reported(tmp_path: Path) -> None:
    block = "#+begin_src {}\nGET http://h/\n#+end_src\n"
    path = written(
        tmp_path, "".join(map(block.format, ("restclient", "http", "restlcient"))), "a.org"
    )
    output = export(path, "curl").stderr
    assert "a.org:4: 1 block in http ignored" in output
    assert "a.org:7: unknown request language restlcient" in output


@pytest.mark.parametrize("target", EVERY)
def test_a_request_that_cannot_be_completed_is_left_out_with_status_1(
    target: str, tmp_path: Path
) -> None:
    path = written(tmp_path, "POST http://h/lost\n\n< ./missing.txt\n\n###\nGET http://h/kept\n")
    done = export(path, target)
    assert done.exit_code == 1
    assert f"not exported: {path}:3" in done.stderr
    assert "http://h/kept" in done.stdout
    assert "lost" not in done.stdout


@pytest.mark.parametrize("target", EVERY)
def test_where_no_request_is_left_nothing_is_written(target: str, tmp_path: Path) -> None:
    output = tmp_path / "out"
    path = written(tmp_path, "POST http://h/\n\n< ./missing.txt\n")
    done = export(path, target, "-o", str(output))
    assert done.exit_code == 1
    assert "missing.txt" in done.stderr
    assert not output.exists()
    assert not export(path, target).stdout


RUN_TIME = """\
@token = stale
@host = http://h

# @name login
POST {{host}}/login

> {% pm.environment.set("token", pm.response.json().token); %}

###
GET {{host}}/a?b={{login.response.body.$.b}}
Authorization: Bearer {{token}}
X-User: {{nobody}}
"""


@pytest.mark.parametrize("target", EVERY)
def test_what_only_a_run_knows_stays_a_variable(target: str, tmp_path: Path) -> None:
    done = export(written(tmp_path, RUN_TIME), target)
    assert done.exit_code == 0
    if target == "har":
        assert "{{nobody}}" in done.stdout
        for message in ("{{nobody}} has no value", "{{token}} is written as stale"):
            assert f"not exported: HAR files have no variables: {message}" in done.stderr
        return
    assert "the value of token" not in done.stderr
    assert done.stdout.count("stale") == 1
    assert "nobody" in done.stdout
    assert "<" not in done.stdout.replace("<<", "")
    if target == "postman":
        items = json.loads(done.stdout)["item"]
        authorization = {"key": "Authorization", "value": "Bearer {{token}}"}
        assert authorization in items[1]["request"]["header"]
        (event,) = items[0]["event"]
        assert event["script"]["exec"] == ['pm.environment.set("token", pm.response.json().token);']


LOGIN = """\
### login
# @name login
POST http://h/login

### me
GET http://h/me
Authorization: Bearer {{login.token}}

### again
GET http://h/again
Authorization: Bearer {{login.token}}
"""


@pytest.mark.parametrize("target", [target for target in EVERY if target != "curl"])
def test_a_value_from_a_response_is_reported(target: str, tmp_path: Path) -> None:
    path = written(tmp_path, LOGIN)
    done = export(path, target, "--strict")
    assert done.exit_code == 1
    lines = done.stderr.splitlines()
    for line in (6, 10):
        reason = (
            "the value of login.token, which is only known during a run (the response of login)"
        )
        assert f"orgrest: {path}:{line}: not exported: {reason}" in lines
    assert export(path, target, "--strict", "--name", "login").exit_code == 0


def test_a_script_logs_in_before_it_needs_the_token(tmp_path: Path) -> None:
    path = written(tmp_path, LOGIN.replace("login.token", "login.response.headers.X-Token"))
    script = export(path, "curl").stdout
    name = "login_response_headers_x_token"
    guard = f': "${{{name}:?set it to the value of login.response.headers.X-Token}}"'
    assert script.count(guard) == 1
    assert script.index("/login") < script.index(guard) < script.index("# me")
    path = written(tmp_path, LOGIN)
    script = export(path, "python").stdout
    definition = 'login_token = os.environ["login_token"]'
    assert script.count(definition) == 1
    assert script.index("/login") < script.index(definition) < script.index("# me")


@pytest.mark.parametrize("target", EVERY)
def test_an_org_block_that_takes_the_result_of_another_is_exported(
    target: str, tmp_path: Path
) -> None:
    text = (
        "#+name: login\n#+begin_src restclient\nPOST http://h/login\n#+end_src\n\n"
        "#+begin_src restclient :var token=login\nGET http://h/a\nAuthorization: Bearer :token\n"
        "#+end_src\n"
    )
    done = export(written(tmp_path, text, "a.org"), target)
    assert done.exit_code == 0, done.stderr
    assert "http://h/a" in done.stdout
    kept = {"curl": "'Authorization: Bearer '\"${token}\"", "har": "Bearer {{token}}",
            "postman": "Bearer {{token}}", "python": '"Bearer " + token'}  # fmt: skip
    assert kept[target] in done.stdout


@pytest.mark.parametrize("target", EVERY)
def test_secrets_are_left_out(target: str, tmp_path: Path) -> None:
    path = written(tmp_path, "GET http://h/\nAuthorization: Bearer {{$processEnv TOKEN}}\n")
    done = export(path, target, TOKEN="a-long-secret")
    assert done.exit_code == 0
    assert "a-long-secret" not in done.output
    assert "this holds" not in done.stderr


@pytest.mark.parametrize("is_set", [True, False])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.http", "GET http://h/\nA: {{$processEnv TOKEN}}\n"),
        ("a.http", "GET http://h/\nA: {{$env.TOKEN}}\n"),
        ("a.http", "GET http://h/\nA: {{process.env.TOKEN}}\n"),
        ("a.http", "@b = {{$processEnv TOKEN}}\n@c = {{b}}\nGET http://h/\nA: {{c}}\n"),
        ("a.org", ':b := env("TOKEN")\n:c = :b\nGET http://h/\nA: :c\n'),
    ],
)
def test_a_script_reads_the_environment_variables_of_the_document(
    name: str, text: str, is_set: bool, tmp_path: Path
) -> None:
    block = f"#+begin_src restclient\n{text}#+end_src\n"
    path = written(tmp_path, block if name == "a.org" else text, name)
    environ = {"TOKEN": "a-long-secret"} if is_set else {}
    done = export(path, "curl", **environ)
    assert done.stdout.split("\n")[1] == ': "${TOKEN:?set this environment variable}"'
    assert "-H 'A: '\"${TOKEN}\"" in done.stdout
    assert 'os.environ["TOKEN"]' in export(path, "python", **environ).stdout


@pytest.mark.parametrize("target", ["curl", "python", "postman"])
@pytest.mark.parametrize(
    "text",
    [
        """@q = a b 100%
POST http://h/?q={{q}}
A: {{$processEnv TOKEN}}
Content-Type: application/x-www-form-urlencoded

x={{q}}&t={{$processEnv TOKEN}}
""",
        """@x = 5
@q = a b
GET http://h/{{x}}
###
# @prompt x
POST http://h/?q={{q}}&x={{x}}
B: {{$processEnv TOKEN}}
""",
        """#+begin_src restclient :var host="http://h"
:b := env("TOKEN")
GET :host/one
A: :b
#+end_src
""",
    ],
)
def test_who_lacks_a_secret_exports_the_same_requests_as_who_has_it(
    text: str, target: str, tmp_path: Path
) -> None:
    path = written(tmp_path, text, "a.org" if text.startswith("#+") else "a.http")
    done = export(path, target, TOKEN="a-long-secret")
    assert export(path, target).stdout == done.stdout


@pytest.mark.parametrize("secret", ["a-long-secret", "a long secret%"])
def test_a_secret_that_is_sent_in_another_form_is_reported_next_to_other_values(
    secret: str, tmp_path: Path
) -> None:
    form = "Content-Type: application/x-www-form-urlencoded\n\nx={{q}}&t={{$processEnv TOKEN}}\n"
    path = written(tmp_path, f"@q = a b\nPOST http://h/\n{form}")
    done = export(path, "curl", TOKEN=secret)
    is_encoded = secret != "a-long-secret"
    assert ("a secret that is encoded" in done.stderr) == is_encoded
    assert ("--data-raw 'x=a%20b&t='\"${TOKEN}\"" in done.stdout) != is_encoded


def test_a_name_that_a_shell_cannot_set_is_replaced_in_scripts(tmp_path: Path) -> None:
    text = "@token = x\nGET http://h/{{token}}/{{$processEnv a-b}}/{{$processEnv cookies}}"
    path = written(tmp_path, f"{text}/{{{{$processEnv token}}}}\n")
    done = export(path, "curl")
    names = ("token_", "processenv_a_b", "processenv_cookies", "token")
    assert "http://h/" + "/".join(f'"${{{name}}}"' for name in names) in done.stdout
    done = export(path, "python")
    for name in names[1:]:
        assert f'os.environ["{name}"]' in done.stdout


def test_a_value_of_the_env_file_has_the_environments_name_only_if_it_is_there(
    tmp_path: Path,
) -> None:
    written(tmp_path, "TOKEN=a-long-secret\n", ".env")
    path = written(tmp_path, "GET http://h/\nA: {{$dotenv TOKEN}}\n")
    assert "${dotenv_token:?" in export(path, "curl").stdout
    assert "${TOKEN:?" in export(path, "curl", TOKEN="another-secret").stdout


@pytest.mark.parametrize("target", EVERY)
def test_a_secret_that_is_encoded_on_the_way_is_left_out_too(target: str, tmp_path: Path) -> None:
    form = "Content-Type: application/x-www-form-urlencoded"
    url = "http://h/?q={{$processEnv TOKEN}}"
    path = written(tmp_path, f"POST {url}\n{form}\n\na={{{{$processEnv TOKEN}}}}\n")
    done = export(path, target, TOKEN="a long secret")
    assert done.exit_code == 0
    assert "long" not in done.output
    assert "a secret that is encoded or otherwise changed before it is sent" in done.stderr


def test_a_url_whose_variables_are_replaced_is_not_called_missing(tmp_path: Path) -> None:
    path = written(tmp_path, "@a = b c\nGET http://h/?q={{a}}\n")
    assert "not exported: the variables in the URL: they were" in export(path, "curl").stderr


@pytest.mark.parametrize("target", EVERY)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("$mongoId", "GET http://h/{{$mongoId}}\n"),
        ("$uuid", "@a = {{$uuid}}\nGET http://h/{{a}}\n"),
        ("$uuid", "@a = {{$uuid}}\nGET http://h/{{a}}/{{$uuid}}\n"),
        ("$uuid", "GET http://h/{{$uuid}}\nA: {{$uuid}} {{$mongoId}}\n"),
    ],
)
def test_a_value_that_no_longer_changes_is_reported_with_the_reason(
    name: str, text: str, target: str, tmp_path: Path
) -> None:
    path = written(tmp_path, text)
    reason = f"{{{{{name}}}}}: replaced with its current value, because exports cannot compute it"
    assert reason in export(path, target).stderr
    assert name not in export(path, target, "--seed", "1").stderr  # orgrest does the same
    fixed = written(tmp_path, "GET http://h/{{$projectRoot}}\nA: {{$processEnv TOKEN}}\n")
    assert "current value" not in export(fixed, target, TOKEN="abc").stderr


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    path = written(tmp_path, "GET http://h/\n")
    output = written(tmp_path, "precious", "out")
    done = export(path, "curl", "-o", str(output))
    assert (done.exit_code, output.read_text()) == (2, "precious")
    assert "the file already exists" in done.stderr


BINARY = bytes(range(256))


@pytest.mark.parametrize("target", ["har", "postman"])
def test_bytes_that_are_no_text_come_back_through_our_own_import(
    target: str, tmp_path: Path
) -> None:
    (tmp_path / "a.bin").write_bytes(BINARY)
    path = written(tmp_path, "POST http://h/\nContent-Type: image/png\n\n< a.bin\n")
    output = tmp_path / "to" / "out.json"
    output.parent.mkdir()
    done = export(path, target, "-o", str(output))
    assert done.exit_code == 0
    assert imported(output.parent, output.read_bytes()).exit_code == 0
    (request,) = sent(output.parent)
    assert request.body == BINARY


def test_a_postman_collection_on_standard_output_tells_of_a_body_without_a_file(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.bin").write_bytes(BINARY)
    done = export(written(tmp_path, "POST http://h/\n\n< a.bin\n"), "postman")
    assert "with -o FILE it is written to a file beside FILE" in done.stderr


CREDENTIALS = "GET http://h/\nAuthorization: {}\n"


@pytest.mark.parametrize(
    ("target", "credentials", "shown"),
    [
        ("curl", "Digest me pass", "--digest"),
        ("python", "Digest me pass", 'auth=HTTPDigestAuth("me", "pass")'),
        ("postman", "Digest me pass", '"type": "digest"'),
        ("postman", "AWS key secret region:r service:s", '"type": "awsv4"'),
        ("postman", "NTLM OFFICE\\me pass", '"value": "OFFICE"'),
        ("postman", "Negotiate me pass", None),
        ("python", "NTLM me pass", None),
        ("python", "AWS key secret region:r service:s", None),
        ("har", "Digest me pass", None),
        ("har", "Basic me p%40ss", "Basic bWU6cCU0MHNz"),
    ],
)
def test_credentials_are_reported_in_the_other_tools_words_or_told(
    target: str, credentials: str, shown: str | None, tmp_path: Path
) -> None:
    done = export(written(tmp_path, CREDENTIALS.format(credentials)), target)
    if shown is None:
        assert "credentials that are computed when the request is sent" in done.stderr
    else:
        assert shown in done.stdout


@pytest.mark.parametrize("target", EVERY)
def test_a_websocket_is_reported(target: str, tmp_path: Path) -> None:
    done = export(written(tmp_path, "WEBSOCKET ws://h/\n\n{}\n"), target, "--strict")
    assert done.exit_code == 1
    assert "WebSocket" in done.stderr


def test_how_a_request_is_sent_is_kept_where_it_can_be(tmp_path: Path) -> None:
    path = written(tmp_path, "# @timeout 3 s\n# @no-redirect\nGET http://h/\n")
    assert "timeout=3, allow_redirects=False" in export(path, "python").stdout
    assert "--max-time 3" in export(path, "curl").stdout
    done = export(path, "postman")
    (item,) = json.loads(done.stdout)["item"]
    assert item["protocolProfileBehavior"]["followRedirects"] is False
    assert "the time limit" in done.stderr


def test_that_cookies_and_redirects_are_turned_off_is_not_lost(tmp_path: Path) -> None:
    path = written(tmp_path, "# @no-redirect\n# @no-cookie-jar\nGET http://h/\n")
    assert export(path, "curl", "--strict").stdout == "curl http://h/\n"
    assert "requests.Session().request(" in export(path, "python", "--strict").stdout
    (item,) = json.loads(export(path, "postman", "--strict").stdout)["item"]
    assert item["protocolProfileBehavior"]["disableCookies"] is True
    done = export(path, "har", "--strict")
    assert done.exit_code == 1
    assert "not exported: the setting that disables following redirects" in done.stderr
    assert "not exported: the setting that disables storing and sending cookies" in done.stderr


def test_an_org_document_and_standard_input_are_exported(tmp_path: Path) -> None:
    text = "#+name: n\n#+begin_src restclient\n:h = http://h\nGET :h/a\n#+end_src\n"
    done = export(written(tmp_path, text, "a.org"), "python", "--name", "n")
    assert 'h + "/a"' in done.stdout
    words = ["export", "--to", "curl", "-", "--stdin-name", "a.org"]
    done = CliRunner().invoke(program, words, input=text)
    assert done.stdout == (
        "#!/bin/sh\nh=http://h\n\n# n\ncurl \\\n  --location \\\n  --cookie '' \\\n  \"${h}\"/a\n"
    )


@pytest.mark.parametrize("name", ["a.http", "a.org"])
def test_a_variable_of_the_environment_that_is_not_set_remains_one(
    name: str, tmp_path: Path
) -> None:
    text = ':token := env("NOT_SET_HERE")\nGET http://h/\nAuthorization: Bearer :token\n'
    block = f"#+begin_src restclient\n{text}#+end_src\n"
    done = export(written(tmp_path, block if name == "a.org" else text, name), "curl")
    assert done.exit_code == 0, done.stderr
    assert "'Authorization: Bearer '\"${NOT_SET_HERE}\"" in done.stdout
