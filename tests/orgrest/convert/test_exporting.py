"""Exports: the other tool sends the same requests as orgrest."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from components import require
from evaluated import Evaluated
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from imports import imported, sent
from recorded import har, requests
from servers import RawServer, redirect, response

from orgrest.commands.main import program
from orgrest.files import File
from orgrest.http.transport.wire import wire_url
from orgrest.http.values import Inputs
from orgrest.model import Request

TOLD = ["package sends", "package replaces", "package drops", "is sent as one header"]
SOME = settings(max_examples=25, deadline=None,
                suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip


def export(path: Path, target: str, *more: str) -> Result:
    return CliRunner().invoke(program, ["export", "--to", target, str(path), *more])


def parts_sent(data: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Return the request line, the headers that both tools should send, and the body."""
    head, _, body = data.partition(b"\r\n\r\n")
    line, *lines = head.split(b"\r\n")
    line = re.sub(rb"%[0-9a-f]{2}", lambda match: match[0].upper(), line)
    own = (b"user-agent:", b"accept-encoding:", b"connection:", b"content-length: 0")
    kept = [line.rstrip() for line in lines if not line.lower().startswith(own)]
    return line, sorted(kept), body


def run_orgrest(path: Path, **values: str) -> None:
    inputs = Inputs(directory=path.parent, overrides=values, environ={"SECRET": "s3cr3t"})
    assert Evaluated(File.read(path).text, inputs, file=str(path)).reasons == []


def run_curl(script: str, **values: str) -> None:
    require("curl")
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "no_proxy": "*"}
    subprocess.run(["sh", "-e", "-c", script], check=True, capture_output=True,
                   env=environ | values, timeout=30)  # fmt: skip


def run_python(script: str, monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("NETRC", "/nonexistent")
        patch.setenv("NO_PROXY", "*")
        for name, value in values.items():
            patch.setenv(name, value)
        exec(compile(script, "exported.py", "exec"), {"print": lambda *_: None})


def document(folder: Path, wanted: list[dict[str, Any]], output: str) -> Path:
    """Return a document that sends these requests."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    assert imported(folder, har(wanted), output=output).exit_code == 0
    return folder / output


@pytest.mark.parametrize("output", ["out.http", "out.org"])
@pytest.mark.parametrize("target", ["curl", "python"])
@SOME
@given(wanted=st.lists(requests(), min_size=1, max_size=3))
def test_what_is_written_sends_what_orgrest_sends(
    wanted: list[dict[str, Any]], output: str, target: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    with RawServer(response(b"ok")) as server:
        for one in wanted:
            one["url"] = one["url"].replace("http://h.example", server.url)
        path = document(tmp_path, wanted, output)
        run_orgrest(path)
        done = export(path, target)
        assert done.exit_code == 0, done.output
        ours, server.requests[:] = server.requests[:], []
        if target == "curl":
            run_curl(done.stdout)
        else:
            run_python(done.stdout, monkeypatch)
            for message in TOLD:  # what requests cannot send otherwise
                if message in done.stderr:
                    return
        theirs = server.requests[:]
    assert list(map(parts_sent, theirs)) == list(map(parts_sent, ours)), done.stdout


@pytest.mark.parametrize("target", ["har", "postman"])
@SOME
@given(wanted=st.lists(requests(), min_size=1, max_size=3))
def test_what_is_written_is_read_back_as_the_same_requests(
    wanted: list[dict[str, Any]], target: str, tmp_path: Path
) -> None:
    path = document(tmp_path, wanted, "out.http")
    done = export(path, target)
    assert done.exit_code == 0, done.output
    if "Postman reads it" in done.stderr:
        return
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    assert imported(folder, done.stdout).exit_code == 0
    assert [wired(request) for request in sent(folder)] == [
        wired(request) for request in sent(path.parent)
    ]


def wired(request: Request) -> tuple[str, str, tuple[tuple[str, str], ...], bytes | None]:
    headers = tuple(sorted(request.headers))
    return request.method, wire_url(request), headers, request.body or None


HOW = st.sampled_from(["", "# @no-redirect\n", "# @no-cookie-jar\n",
                       "# @no-redirect\n# @no-cookie-jar\n"])  # fmt: skip


def without_order(data: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Return the parts of a request with its cookies sorted: curl sorts by time of creation."""
    line, headers, body = parts_sent(data)
    cookies = [header.removeprefix(b"Cookie: ").split(b"; ") for header in headers]
    return line, sorted(b"; ".join(sorted(each)) for each in cookies), body


@pytest.mark.parametrize("target", ["curl", "python"])
@SOME
@example(how=["", ""])
@given(how=st.lists(HOW, min_size=1, max_size=3))
def test_redirects_are_followed_and_cookies_are_sent_as_in_the_document(
    how: list[str], target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    with RawServer(redirect) as server:
        text = "".join(f"###\n{directives}GET {server.url}/start\n\n" for directives in how)
        (folder / "a.http").write_text(text)
        run_orgrest(folder / "a.http")
        ours, server.requests[:] = server.requests[:], []
        done = export(folder / "a.http", target, "--strict")
        if target == "curl":
            assert done.exit_code == 0, done.output
            run_curl(done.stdout)
        else:
            assert done.exit_code == int("# @no-cookie-jar\n" in how)  # reported
            if done.exit_code:
                return
            run_python(done.stdout, monkeypatch)
        theirs = server.requests[:]
    assert list(map(without_order, theirs)) == list(map(without_order, ours)), done.stdout
    if target == "curl":
        assert imported(folder, done.stdout, "--strict").exit_code == 0
        again = re.sub(r"(?m)^# (?!@).*\n", "", (folder / "out.http").read_text())
        if len(how) == 1 and "no-redirect" in how[0]:  # then there are no cookies to leave out
            text = text.replace("# @no-cookie-jar\n", "")
        assert re.sub(r"###.*", "###", again) == text.rstrip() + "\n"


@pytest.mark.parametrize("target", ["curl", "python"])
@pytest.mark.parametrize(
    ("method", "body"),
    [("POST", "a"), ("PUT", "é {{v}}\nb"), ("POST", ""), ("GET", ""), ("HEAD", "")],
)
def test_a_chunked_body_does_not_hang_the_server(
    method: str, body: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RawServer(response(b"")) as server:
        path = tmp_path / "a.http"
        head = f"@v = w\n# @timeout 5 s\n{method} {server.url}/\nTransfer-Encoding: chunked\n"
        path.write_text(f"{head}\n{body}\n", "utf-8")
        run_orgrest(path)
        ours, server.requests[:] = server.requests[:], []
        done = export(path, target, "--strict")
        assert done.exit_code == 0, done.output
        run_curl(done.stdout) if target == "curl" else run_python(done.stdout, monkeypatch)
        theirs = server.requests[:]
    assert list(map(parts_sent, theirs)) == list(map(parts_sent, ours)), done.stdout


@pytest.mark.parametrize("target", ["curl", "python", "postman"])
def test_credentials_in_a_url_do_not_replace_those_in_a_header(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RawServer(response(b"")) as server:
        path = tmp_path / "a.http"
        path.write_text(f"GET http://a:b@127.0.0.1:{server.port}/\nAuthorization: Bearer x\n")
        run_orgrest(path)
        ours, server.requests[:] = server.requests[:], []
        done = export(path, target, "--strict")
        assert done.exit_code == 0, done.output
        if target == "postman":
            run_postman(done.stdout, tmp_path)
        else:
            run_curl(done.stdout) if target == "curl" else run_python(done.stdout, monkeypatch)
        theirs = server.requests[:]
    assert list(map(parts_sent, theirs)) == list(map(parts_sent, ours)), done.stdout


def test_two_headers_with_credentials_are_both_exported(tmp_path: Path) -> None:
    path = tmp_path / "a.http"
    path.write_text("GET http://h/\nAuthorization: Bearer x\nAuthorization: Basic a b\n")
    assert export(path, "curl", "--strict").stdout.count("-H 'Authorization: B") == 2
    done = export(path, "python", "--strict")
    assert '"Bearer x, Basic YTpi"' in done.stdout
    assert "Authorization is sent as one header instead of 2" in done.stderr


def test_what_python_does_to_every_percent_sign_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RawServer(response(b"")) as server:
        path = tmp_path / "a.http"
        path.write_text(f"GET {server.url}/%41?discount=50%&name=J%C3%B6rg\n")
        done = export(path, "python")
        assert "sends every % in a path or query as %25 if one of them is not" in done.stderr
        run_python(done.stdout, monkeypatch)
        assert b"?discount=50%25&name=J%25C3%25B6rg " in server.requests[0]


def test_a_user_in_a_url_is_sent_by_python_too_or_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RawServer(response(b"")) as server:
        path = tmp_path / "a.http"
        for user in ("tok", "tok:", "t%40k"):
            path.write_text(f"GET http://{user}@{server.host}/\n")
            run_python(export(path, "python", "--strict").stdout, monkeypatch)
        sent = [re.findall(rb"Authorization: Basic (\S+)", one) for one in server.requests]
        assert sent == [[b"dG9rOg=="], [b"dG9rOg=="], [b"dEBrOg=="]]
        path.write_text(f"GET http://\xfc:p@{server.host}/\n", "utf-8")
        assert (
            "sends the user and the password in a URL in Latin-1" in export(path, "python").stderr
        )


def test_codings_that_python_cannot_announce_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.http"
    path.write_text("POST http://h/\nTransfer-Encoding: gzip, chunked\nContent-Length: 1\n\na\n")
    done = export(path, "python", "--strict")
    assert done.exit_code == 1
    assert "not exported: Transfer-Encoding: gzip, chunked" in done.stderr
    assert (
        "not exported: Content-Length, because the request also has Transfer-Encoding"
        in done.stderr
    )


def test_postman_does_not_add_a_length_to_a_chunked_body(tmp_path: Path) -> None:
    path = tmp_path / "a.http"
    path.write_text("POST http://h/\nTransfer-Encoding: chunked\nContent-Type: a/b\n\na\n")
    (item,) = json.loads(export(path, "postman", "--strict").stdout)["item"]
    behavior = item["protocolProfileBehavior"]
    assert behavior["disabledSystemHeaders"] == {"content-length": True}


def test_a_request_with_its_own_cookies_sends_no_others(tmp_path: Path) -> None:
    with RawServer(redirect) as server:
        path = tmp_path / "a.http"
        url = f"{server.url}/start"
        path.write_text(f"GET {url}\n###\nGET {url}\nCookie: c=3\n###\nGET {url}\n")
        run_orgrest(path)
        ours, server.requests[:] = server.requests[:], []
        done = export(path, "curl")
        run_curl(done.stdout)
        theirs = server.requests[:]
    assert list(map(parts_sent, theirs)) == list(map(parts_sent, ours)), done.stdout
    assert "a.http:3: not exported: storing the cookies of the response" in done.stderr


@pytest.mark.parametrize("target", ["curl", "python", "postman"])
def test_a_secret_that_a_redirect_carries_to_another_origin_is_reported(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RawServer(response(b"ok")) as other:
        away = f"HTTP/1.1 307 Away\r\nLocation: {other.url}/\r\nContent-Length: 0\r\n\r\n"
        with RawServer(away.encode()) as server:
            path = tmp_path / "a.http"
            secret = "{{$processEnv SECRET}}"
            path.write_text(
                f"POST {server.url}/\nAuthorization: Bearer {secret}\nCookie: a={secret}\n"
                f"X-Api-Key: {secret}\nX-Plain: b\n\n{secret}\n"
            )
            done = export(path, target, "--strict")
            if target == "curl":
                run_curl(done.stdout, SECRET="s3cr3t")
            elif target == "python":
                run_python(done.stdout, monkeypatch, SECRET="s3cr3t")
    assert done.exit_code == 1
    reported = re.findall("the restriction of ([^:]+) to one origin: after a redirect", done.stderr)
    if target == "postman":
        assert reported == ["Cookie", "X-Api-Key", "the body"]
        return
    assert reported == ["X-Api-Key", "the body"]
    (sent_there,) = other.requests
    _, headers, body = parts_sent(sent_there)
    assert [header for header in headers if b"s3cr3t" in header] == [b"X-Api-Key: s3cr3t"]
    assert body.strip() == b"s3cr3t"


@pytest.mark.parametrize("target", ["curl", "python", "postman"])
@pytest.mark.parametrize(
    "head",
    [
        "# @no-redirect\nGET http://h/\nX-Api-Key: {{$processEnv SECRET}}\n",
        "@plain = a\nGET http://h/\nX-Plain: {{plain}}\nX-Other: b\n",
        "GET http://h/\nAuthorization: Bearer {{$processEnv SECRET}}\n",
    ],
)
def test_nothing_is_reported_of_a_secret_that_no_redirect_carries_away(
    head: str, target: str, tmp_path: Path
) -> None:
    (tmp_path / "a.http").write_text(head)
    assert export(tmp_path / "a.http", target, "--strict").exit_code == 0


def test_python_answers_a_digest_challenge_of_another_origin_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.http").write_text("GET http://h/\nAuthorization: Digest me pass\n")
    done = export(tmp_path / "a.http", "python", "--strict")
    assert "the restriction of the Digest credentials to one origin: after a red" in done.stderr


VALUES = st.one_of(
    st.text("abcXYZ019 '\"$`\\%&=?/#@:;{}é<>!~*", max_size=12),
    st.sampled_from(["8080", "5", "http", "a b", "{}", "$HOME", "{{$uuid}}"]),
).map(str.strip)


@pytest.mark.parametrize("target", ["curl", "python", "postman"])
@SOME
@example(name="8080", other="x y", form="json")
@example(name="a b", other="", form="form")
@given(name=VALUES.filter(bool), other=VALUES, form=st.sampled_from(["json", "form", "text"]))
def test_variables_that_are_kept_send_what_their_values_send(
    name: str, other: str, form: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = {"json": "application/json", "form": "application/x-www-form-urlencoded",
            "text": "text/plain"}[form]  # fmt: skip
    body = {"json": '{"a": "{{name}}",\n "b": "{{other}}"}', "form": "a={{name}}&b={{other}}",
            "text": "{{other}} é {{name}}\n{{name}}"}[form]  # fmt: skip
    with RawServer(response(b"ok")) as server:
        path = Path(tempfile.mkdtemp(dir=tmp_path)) / "a.http"
        path.write_text(
            f"@base = {server.url}/api\n@port = {server.port}\n@http_proxy = http://nowhere\n"
            f"### a\nPOST {{{{base}}}}/x/{{{{name}}}}?q={{{{other}}}}&p={{{{http_proxy}}}}\n"
            f"Content-Type: {kind}\n"
            "X-A: a{{name}}b{{other}}\nAuthorization: Basic {{name}} {{other}}\n\n"
            f"{body}\n\n### b\nGET http://127.0.0.1:{{{{port}}}}/{{{{PATH}}}}\n"
            "Authorization: Bearer {{PATH}}-{{$processEnv SECRET}}\n",
            "utf-8",
        )
        with monkeypatch.context() as patch:
            patch.setenv("SECRET", "s3cr3t")
            given_ = ("--var", f"name={name}", "--var", f"other={other}", "--var", "PATH=p")
            dry = CliRunner().invoke(program, [str(path), "--dry-run", *given_])
            if dry.exit_code:  # a value that cannot be sent
                return
            done = export(path, target, *given_)
        assert done.exit_code == 0, done.output
        if any(message in done.stderr for message in [*TOLD, "Postman reads it"]):
            return
        run_orgrest(path, name=name, other=other, PATH="p")
        ours, server.requests[:] = server.requests[:], []
        if target == "curl":
            run_curl(done.stdout, SECRET="s3cr3t")
        elif target == "python":
            run_python(done.stdout, monkeypatch, SECRET="s3cr3t")
        else:
            run_postman(done.stdout, path.parent)
        theirs = server.requests[:]
    assert "s3cr3t" not in done.stdout
    assert done.stdout.count("base") >= 2
    assert list(map(parts_sent, theirs)) == list(map(parts_sent, ours)), done.stdout


DYNAMIC = """\
@note = a b
### one
POST {{base}}/{{$uuid}}/{{ $random.uuid }}?t={{$timestamp}}&i={{$isoTimestamp}}
X-Note: {{note}} {{$guid}}{{$randomInt}}.
X-Basic: {{$random.email}}
Authorization: Basic me {{$uuid}}
Content-Type: application/json

{"n": {{$randomInt}}, "t": {{$timestamp}}, "id": "{{$uuid}}{{$uuid}}", "note": "{{note}}"}
"""
RANDOM = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]{12}Z|[a-z]{10}(?=@)|"
    r'\b\d{10}\b|(?<="n": )\d+|\d+(?=\.\r)'
)
VARYING = re.compile(r"(?:Authorization: Basic|Content-Length:) .*\r\n")


def test_postman_computes_the_dynamic_values_that_it_also_has_at_each_use(tmp_path: Path) -> None:
    (tmp_path / "a.http").write_text(DYNAMIC)
    with RawServer(response(b"ok")) as server:
        done = export(tmp_path / "a.http", "postman", "--var", f"base={server.url}")
        assert (done.exit_code, done.stderr) == (0, "")
        run_orgrest(tmp_path / "a.http", base=server.url)
        run_postman(done.stdout, tmp_path)
        run_orgrest(tmp_path / "out.http")
        texts = [data.decode() for data in server.requests]
    values = [RANDOM.findall(text) for text in texts]
    assert [len(each) for each in values] == [11, 11, 11]
    assert values[1][0] != values[2][0]
    assert len({RANDOM.sub("", VARYING.sub("", text)) for text in texts}) == 1
    (item,) = json.loads(done.stdout)["item"]
    headers = {pair["key"]: pair["value"] for pair in item["request"]["header"]}
    assert headers["X-Note"] == "{{note}} {{$guid}}{{$randomInt}}."
    assert headers["X-Basic"] == "{{$randomExampleEmail}}"
    variables = [each["key"] for each in json.loads(done.stdout)["variable"]]
    assert sorted(variables) == ["base", "note"]


@pytest.mark.parametrize("more", [("--seed", "1"), ("--var", "$uuid=5"), ()])
def test_a_dynamic_value_that_the_document_fixes_stays_fixed_in_postman(
    more: tuple[str, ...], tmp_path: Path
) -> None:
    definition = "" if more else "@$uuid = 5\n"
    (tmp_path / "a.http").write_text(f"{definition}GET http://h/{{{{$uuid}}}}\n")
    done = export(tmp_path / "a.http", "postman", *more)
    (item,) = json.loads(done.stdout)["item"]
    assert "{{" not in item["request"]["url"]


def test_what_postman_would_not_compute_in_the_same_way_is_exported_as_it_is(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.http").write_text(
        "@note = a b\nPOST http://h/{{$uuid}}\nX: {{note}} {{$uuid}} {{$mongoId}}\n"
        "Content-Type: application/x-www-form-urlencoded\n\na={{note}}&b={{$uuid}}\n"
    )
    done = export(tmp_path / "a.http", "postman")
    (item,) = json.loads(done.stdout)["item"]
    request = item["request"]
    assert request["url"] == "http://h/{{$guid}}"
    assert re.fullmatch(r"a b [0-9a-f-]{36} [0-9a-f]{24}", request["header"][0]["value"])
    assert re.fullmatch(r"a=a%20b&b=[0-9a-f-]{36}\n?", request["body"]["raw"])
    assert "the variables in X: they were replaced with their values" in done.stderr


def run_postman(collection: str, folder: Path) -> None:
    """Send the requests that orgrest imports from a collection."""
    assert imported(folder, collection).exit_code == 0
    run_orgrest(folder / "out.http", SECRET="s3cr3t")


@pytest.mark.parametrize("target", ["curl", "python"])
def test_a_binary_body_with_a_variable_is_exported_with_the_value(
    target: str, tmp_path: Path
) -> None:
    (tmp_path / "b.bin").write_bytes(b"bin\0ary")
    (tmp_path / "a.http").write_text("@a = value\nPOST http://h/\n\n{{a}}\n< b.bin\n")
    done = export(tmp_path / "a.http", target)
    shown = base64.b64encode(b"value\nbin\0ary").decode()
    assert (shown if target == "curl" else repr("value\nbin\0ary")[1:-1]) in done.stdout
    assert "not exported: the variables in the body: they were replaced" in done.stderr


@pytest.mark.parametrize("target", ["curl", "python", "postman"])
def test_a_secret_is_reported_even_if_its_header_also_has_another_value(
    target: str, tmp_path: Path
) -> None:
    secret = "X-Api-Key: {{$processEnv SECRET}}"
    (tmp_path / "a.http").write_text(f"GET http://h/\n{secret}\nX-Api-Key: plain\n")
    done = export(tmp_path / "a.http", target)
    assert done.stderr.count("the restriction of X-Api-Key") == 1


CHAIN = """\
@token = {{login.response.body.$.data[0]['token']}}
# @name login
POST {{host}}/login

###
GET {{host}}/1
Authorization: Bearer {{login.response.body.$.data[0].token}}

###
GET {{host}}/2
Authorization: Bearer {{login.data[0].token}}

###
GET {{host}}/3/{{login.response.body.id}}
Authorization: Bearer {{token}}
"""
ANSWER = json.dumps({"id": 7, "data": [{"token": 'it\'s "a" $token'}]}).encode()


def test_a_script_takes_the_token_from_the_response_to_the_login(tmp_path: Path) -> None:
    require("jq")
    path = tmp_path / "a.http"
    path.write_text(CHAIN)
    with RawServer(response(ANSWER)) as server:
        run_orgrest(path, host=server.url)
        ours, server.requests[:] = server.requests[:], []
        done = export(path, "curl", "--strict", "--var", f"host={server.url}")
        assert done.exit_code == 0, done.output
        run_curl(done.stdout)
        assert list(map(parts_sent, server.requests)) == list(map(parts_sent, ours))
    assert done.stdout.startswith("#!/bin/sh\n# This script needs jq ")
    assert done.stdout.count(" | jq ") == 2


def test_a_script_needs_no_token_if_other_variables_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.http"
    path.write_text(CHAIN)
    script = export(path, "curl").stdout
    assert [line for line in script.splitlines() if ":?" in line] == [
        ': "${host:?set it to the value of host}"'
    ]


def test_a_script_stops_if_the_login_fails(tmp_path: Path) -> None:
    require("jq")
    path = tmp_path / "a.http"
    path.write_text(CHAIN)
    with RawServer(response(b'{"data": [{}]}')) as server:
        script = export(path, "curl", "--var", f"host={server.url}").stdout
        with pytest.raises(subprocess.CalledProcessError) as stopped:
            run_curl(script)
        assert len(server.requests) == 1
    assert stopped.value.stderr.endswith(b"the response has no value at $.data[0].token\n")
    assert stopped.value.stdout == b'{"data": [{}]}\n'


@pytest.mark.parametrize("target", ["curl", "python"])
def test_a_value_of_a_response_is_one_variable_in_any_spelling(target: str, tmp_path: Path) -> None:
    path = tmp_path / "a.http"
    path.write_text(CHAIN)
    selected = ("--line", "6", "--line", "10", "--line", "14", "--var", "host=http://h")
    script = export(path, target, *selected).stdout
    lines = [line for line in script.splitlines() if ":?" in line or "= os.environ" in line]
    assert len(lines) == 2, script  # the token and the id


def test_an_environment_variable_named_response_is_not_replaced_by_the_login(
    tmp_path: Path,
) -> None:
    require("jq")
    path = tmp_path / "a.http"
    path.write_text(CHAIN.replace("/1", "/1/{{$env.response}}"))
    with RawServer(response(ANSWER)) as server:
        script = export(path, "curl", "--var", f"host={server.url}").stdout
        assert script.count(":?") == 1
        (name,) = re.findall(r"\$\{(\w+):\?", script)
        run_curl(script, **{name: "mine"})
        assert server.requests[1].startswith(b"GET /1/mine ")


@pytest.mark.parametrize("value", [False, True, 0, 1.5, "", "false", [], {"a": [1, "b"]}])
def test_a_script_takes_any_value_but_null_from_a_response(value: object, tmp_path: Path) -> None:
    require("jq")
    path = tmp_path / "a.http"
    path.write_text(CHAIN.replace("/1", "/1\nX: <{{login.response.body.$.x}}>"))
    data = json.dumps(json.loads(ANSWER) | {"x": value}, separators=(",", ":"))
    with RawServer(response(data.encode())) as server:
        run_orgrest(path, host=server.url)
        ours, server.requests[:] = server.requests[:], []
        run_curl(export(path, "curl", "--var", f"host={server.url}").stdout)
        assert list(map(parts_sent, server.requests)) == list(map(parts_sent, ours))


def test_a_script_shows_no_progress_of_a_login_but_its_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.http"
    path.write_text(CHAIN)
    script = export(path, "curl").stdout
    assert "response=$(curl \\\n  --silent \\\n  --show-error \\\n" in script
    assert script.count("--silent") == 1


def test_a_script_stops_if_the_token_is_null(tmp_path: Path) -> None:
    require("jq")
    path = tmp_path / "a.http"
    path.write_text(CHAIN)
    with RawServer(response(b'{"data": [{"token": null}]}')) as server:
        script = export(path, "curl", "--var", f"host={server.url}").stdout
        with pytest.raises(subprocess.CalledProcessError):
            run_curl(script)
        assert len(server.requests) == 1
