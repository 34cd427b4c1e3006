"""Imports of curl commands, raw HTTP, HAR and fetch: the requests are those of the source."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from imports import imported, parts, sent
from recorded import curl, har, requests
from servers import RawServer, response

from orgrest.commands.main import program

FROBNICATE = "unknown option --frobnicate: remove it, or write the request by hand"
OUTPUTS = ["out.http", "out.org"]


def fresh(folder: Path) -> Path:
    import tempfile

    return Path(tempfile.mkdtemp(dir=folder))


def expected(request: dict[str, Any]) -> tuple[Any, ...]:
    body = request["body"]
    return (
        request["method"],
        request["url"],
        tuple(request["headers"]),
        body.encode() if body else None,
    )


def check(folder: Path, content: str, output: str, wanted: list[dict[str, Any]]) -> None:
    folder = fresh(folder)
    done = imported(folder, content, output=output)
    assert done.exit_code == 0, done.output
    assert "not translated" not in done.output
    found = [parts(request) for request in sent(folder, output)]
    assert [(*one[:3], one[3] or None) for one in found] == [expected(one) for one in wanted]


@pytest.mark.parametrize("output", OUTPUTS)
@given(wanted=st.lists(requests(), min_size=1, max_size=3))
def test_a_recorded_request_is_sent_as_it_was(
    wanted: list[dict[str, Any]], output: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    check(tmp_path_factory.getbasetemp(), har(wanted), output, wanted)


@pytest.mark.parametrize("output", OUTPUTS)
@given(wanted=st.lists(requests(), min_size=1, max_size=3))
def test_a_script_of_curl_commands_sends_the_same(
    wanted: list[dict[str, Any]], output: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    script = "#!/bin/sh\nset -e\n" + "\n".join(map(curl, wanted)) + "\n"
    check(tmp_path_factory.getbasetemp(), script, output, wanted)


@given(wanted=requests())
def test_a_raw_request_is_sent_as_it_is(
    wanted: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    wanted["url"] = wanted["url"].replace(" ", "").replace("http:", "https:")
    body = wanted["body"] = (wanted["body"] or "").replace("\r", "")
    target = wanted["url"].removeprefix("https://h.example")
    head = [f"{wanted['method']} {target} HTTP/1.1", "Host: h.example", "Content-Length: 3"]
    head += [f"{name}: {value}" for name, value in wanted["headers"]]
    check(tmp_path_factory.getbasetemp(), "\n".join([*head, "", body]), "out.http", [wanted])


class TestShell:
    COMMANDS = """\
#!/bin/bash
set -eu
HOST=http://localhost:8000 TOKEN="ab c"
# Log in
curl -s "$HOST/login?x={{a}}" -H "Authorization: Bearer ${TOKEN}" -d '{"a": "$b"}' | jq . > out 2>&1
ID=$(curl -s $HOST/id)
curl -u "me:$PASSWORD" "${HOST}/a"; curl $HOST/b -d @- <<EOF
TOKEN=other
curl "$HOST/$TOKEN" --cookie 'a=b' &
curl --frobnicate x
curl "$HOST/$(date)"
"""

    def test_variables_are_kept_as_variables(self, tmp_path: Path) -> None:
        done = imported(tmp_path, self.COMMANDS)
        text = (tmp_path / "out.http").read_text()
        assert done.exit_code == 0
        assert "@HOST = http://localhost:8000\n" in text
        assert "@PASSWORD = {{$processEnv PASSWORD}}\n" in text
        assert "GET {{HOST}}/a\nAuthorization: Basic me {{PASSWORD}}\n" in text
        found = sent(tmp_path, "out.http", PASSWORD="pw")
        assert [one.url for one in found] == [
            "http://localhost:8000/login?x={{a}}",
            "http://localhost:8000/a",
            "http://localhost:8000/ab c",
        ]
        assert found[0].header("Authorization") == "Bearer ab c"
        assert found[0].body == b'{"a": "$b"}'
        assert found[1].header("Authorization") == "Basic bWU6cHc="
        assert found[2].header("Cookie") == "a=b"

    def test_what_is_not_translated_is_reported_with_its_line(self, tmp_path: Path) -> None:
        done = imported(tmp_path, self.COMMANDS, "--strict")
        assert done.exit_code == 1
        output = [line.split("source:")[1] for line in done.stderr.splitlines()]
        assert output == [
            "6: not translated: not a curl command: ID=$(curl -s $HOST/id)",
            "8: not translated: TOKEN is already set; this value is ignored",
            "5: not translated: everything after | was left out",
            "7: not translated: cannot read standard input: give the text or a file name",
            "10: not translated: " + FROBNICATE,
            "11: not translated: $( is expanded by the shell: replace it with its value",
        ]
        text = (tmp_path / "out.http").read_text()
        assert "# curl --frobnicate x\n# not translated: unknown option --frobnicate" in text

    @pytest.mark.parametrize(
        ("command", "line"),
        [
            ("curl http://x/ -F 'a=b' -F 'f=@x.txt'", "< x.txt"),
            ("$ curl http://x/ \\\n  --max-time 5", "# @timeout 5 s"),
            ("curl 'http://x/' -H 'a: '$'b\\u0021'", "a: b!"),
            ("curl --insecure https://x/", "# not translated: curl --insecure was left out"),
            ('curl ^"http://x/^" ^\r\n  -H ^"a: b^"', "a: b"),
            ("curl $HOST", "GET {{HOST}}"),
            ("curl http://x/ -d @- <<< abc", "# not translated: cannot read"),
        ],
    )
    def test_a_command_is_read_as_a_shell_reads_it(
        self, command: str, line: str, tmp_path: Path
    ) -> None:
        done = imported(tmp_path, command)
        assert done.exit_code == 0, done.output
        assert line in (tmp_path / "out.http").read_text()

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("curl 'http://x/", "source:1: not a valid shell command: it ends inside quotes"),
            ("for x in 1; do echo $x; done", "not a format that orgrest can import"),
        ],
    )
    def test_what_is_no_script_is_an_error(self, text: str, reason: str, tmp_path: Path) -> None:
        done = imported(tmp_path, text)
        assert done.exit_code == 2
        assert reason in done.stderr
        assert not (tmp_path / "out.http").exists()


class TestHar:
    def entry(self, **request: Any) -> str:
        whole = {"method": "POST", "url": "https://x.example/a", "headers": [], **request}
        return json.dumps({"request": whole, "response": {}})

    def test_an_entry_alone_is_read(self, tmp_path: Path) -> None:
        imported(tmp_path, self.entry(cookies=[{"name": "a", "value": "b", "httpOnly": True}]))
        (request,) = sent(tmp_path)
        assert request.header("Cookie") == "a=b"

    def test_bytes_of_a_body_are_sent_as_they_were(self, tmp_path: Path) -> None:
        data = {"mimeType": "image/png", "text": "iVD/AAo=", "encoding": "base64"}
        imported(tmp_path, self.entry(postData=data))
        (request,) = sent(tmp_path)
        assert request.body == b"\x89P\xff\0\n"
        assert request.header("Content-Type") == "image/png"

    def test_fields_of_a_form_become_its_body(self, tmp_path: Path) -> None:
        params = [{"name": "a b", "value": "c&{{d}}"}, {"name": "e", "value": ""}]
        kind = "application/x-www-form-urlencoded"
        imported(tmp_path, self.entry(postData={"mimeType": kind, "params": params}))
        (request,) = sent(tmp_path)
        assert request.body == b"a%20b=c%26%7B%7Bd%7D%7D&e="

    def test_the_parts_of_a_form_become_its_parts(self, tmp_path: Path) -> None:
        (tmp_path / "f.txt").write_bytes(b"content")
        params = [{"name": "a", "value": "b"}, {"name": "f", "value": "", "fileName": "f.txt"}]
        imported(
            tmp_path, self.entry(postData={"mimeType": "multipart/form-data", "params": params})
        )
        (request,) = sent(tmp_path)
        assert request.body is not None
        assert b'name="a"\r\n\r\nb\r\n' in request.body
        assert b'filename="f.txt"\r\n\r\ncontent\r\n' in request.body

    @pytest.mark.parametrize(
        "sent_type", ["multipart/form-data", "multipart/form-data; boundary=b"]
    )
    def test_the_parts_of_a_form_have_the_boundary_that_the_header_names(
        self, sent_type: str, tmp_path: Path
    ) -> None:
        headers = [{"name": "content-type", "value": sent_type}, {"name": "X", "value": "y"}]
        data = {"mimeType": sent_type, "params": [{"name": "a", "value": "b"}]}
        imported(tmp_path, self.entry(headers=headers, postData=data), "--strict")
        (request,) = sent(tmp_path)
        boundary = (request.header("Content-Type") or "").partition("boundary=")[2]
        assert boundary
        assert (request.body or b"").startswith(f"--{boundary}\r\n".encode())
        assert len(request.headers) == 2

    def test_a_recorded_body_is_sent_with_the_content_type_that_was_recorded(
        self, tmp_path: Path
    ) -> None:
        headers = [{"name": "content-type", "value": "multipart/form-data; boundary=a"}]
        text = '--a\r\nContent-Disposition: form-data; name="b"\r\n\r\nc\r\n--a--\r\n'
        data = {"mimeType": "multipart/form-data; boundary=other", "text": text}
        imported(tmp_path, self.entry(headers=headers, postData=data), "--strict")
        (request,) = sent(tmp_path)
        assert request.headers == (("content-type", "multipart/form-data; boundary=a"),)

    def test_only_entries_for_requests_over_http_become_requests(self, tmp_path: Path) -> None:
        urls = ["data:image/png;base64,iVBOR", "wss://x.example/ws", "blob:https://x.example/1"]
        entries = [json.loads(self.entry(url=url, method="GET")) for url in [*urls, "http://x/"]]
        done = imported(tmp_path, json.dumps({"log": {"entries": entries}}), "--strict")
        assert [request.url for request in sent(tmp_path)] == ["http://x/"]
        (problem,) = done.stderr.splitlines()
        assert "WebSockets are not imported: write WEBSOCKET wss://x.example/ws" in problem

    def test_a_recorded_redirect_is_not_followed_to_a_request_that_is_sent_again(
        self, tmp_path: Path
    ) -> None:
        def answer(connection: Any, request: bytes) -> None:
            moved = request.startswith(b"GET /old ")
            status, lines = ("302 Found", ["Location: /new"]) if moved else ("200 OK", [])
            connection.sendall(response(b"", *lines, status=status))

        with RawServer(answer) as server:
            entries = [
                {
                    "request": {"method": "GET", "url": f"{server.url}{path}", "headers": []},
                    "response": {"status": status},
                }
                for path, status in (("/old", 302), ("/new", 200))
            ]
            imported(tmp_path, json.dumps({"log": {"entries": entries}}))
            CliRunner().invoke(program, [str(tmp_path / "out.http")])
            assert [request.split()[1] for request in server.requests] == [b"/old", b"/new"]

    @pytest.mark.parametrize(
        ("recorded", "cookies"), [("a=1", ["a=1", None]), (None, [None, "b=2"])]
    )
    def test_a_request_gets_no_cookie_that_was_not_recorded(
        self, recorded: str | None, cookies: list[str | None], tmp_path: Path
    ) -> None:
        answer = response(b"", "Set-Cookie: b=2; Path=/")
        with RawServer(lambda connection, _: connection.sendall(answer)) as server:
            headers = [{"name": "Cookie", "value": recorded}] if recorded else []
            entries = [
                {"request": {"method": "GET", "url": f"{server.url}/", "headers": given}}
                for given in (headers, [])
            ]
            imported(tmp_path, json.dumps({"log": {"entries": entries}}))
            CliRunner().invoke(program, [str(tmp_path / "out.http")])
            found = [re.search(rb"Cookie: (.*)\r", request) for request in server.requests]
        assert [match and match[1].decode() for match in found] == cookies

    def test_pages_become_folders(self, tmp_path: Path) -> None:
        request = {"method": "GET", "url": "https://x.example/a", "headers": []}
        entries = [{"pageref": f"p{n}", "request": request} for n in (1, 2, 1)]
        pages = [{"id": "p1", "title": "First"}, {"id": "p2", "title": "Second"}]
        imported(
            tmp_path, json.dumps({"log": {"entries": entries, "pages": pages}}), output="o.org"
        )
        headings = [
            line for line in (tmp_path / "o.org").read_text().splitlines() if line[:1] == "*"
        ]
        assert headings == ["* First", "** GET /a", "** GET /a (2)", "* Second", "** GET /a (3)"]

    def test_a_field_that_nobody_reads_is_reported(self, tmp_path: Path) -> None:
        done = imported(tmp_path, self.entry(newField={"a": 1}), "--strict")
        assert done.exit_code == 1
        assert 'source: request: not translated: newField: {"a": 1}' in done.stderr
        assert '# not translated: newField: {"a": 1}\n' in (tmp_path / "out.http").read_text()

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            ('{"log": {"entries": []}}', "the HAR file has no entries"),
            ('{"log": ', "1:9: not valid JSON"),
            ('{"a":' * 500 + "1" + "}" * 500, "nested"),
            ('{"method": "a b", "url": "x", "headers": []}', "no method or no URL"),
            ('{"other": 1}', "not a format that orgrest can import"),
        ],
    )
    def test_what_is_malformed_is_an_error(self, content: str, reason: str, tmp_path: Path) -> None:
        done = imported(tmp_path, content)
        assert done.exit_code == 2
        assert reason in done.stderr


class TestRaw:
    def test_the_scheme_follows_from_host_and_version(self, tmp_path: Path) -> None:
        for number, (host, version, url) in enumerate(
            [
                ("a.example", "1.1", "https://a.example/x"),
                ("a.example:8443", "1.1", "https://a.example:8443/x"),
                ("a.example:81", "1.1", "http://a.example:81/x"),
                ("localhost", "1.1", "http://localhost/x"),
                ("localhost", "2", "https://localhost/x"),
            ]
        ):
            imported(
                tmp_path, f"GET /x HTTP/{version}\r\nHost: {host}\r\n", output=f"{number}.http"
            )
            assert [request.url for request in sent(tmp_path, f"{number}.http")] == [url]

    def test_chunks_are_put_together(self, tmp_path: Path) -> None:
        head = "POST http://x/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        imported(tmp_path, f"{head}3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")
        (request,) = sent(tmp_path)
        assert request.body == b"abcde"

    @pytest.mark.parametrize(
        ("message", "reason"),
        [
            ("GET /x HTTP/1.1\r\n\r\n", "the request needs a Host header"),
            ("GET x HTTP/1.1\r\nHost: a\r\n\r\n", "not a valid path: x"),
            (
                "GET / HTTP/1.1\r\nHost a\r\n\r\n",
                "source:2: expected a header (Name: value), found 'Host a'",
            ),
            ("PUT http://x/ HTTP/1.1\nTransfer-Encoding: chunked\n\n9\nab", "incomplete"),
        ],
    )
    def test_what_is_malformed_is_an_error(self, message: str, reason: str, tmp_path: Path) -> None:
        done = imported(tmp_path, message)
        assert done.exit_code == 2
        assert reason in done.stderr


def test_a_body_that_needs_a_file_is_reported_where_there_is_none() -> None:
    command = "curl http://x/ -d '### a'"
    done = CliRunner().invoke(program, ["import", "-"], input=command)
    assert done.exit_code == 0
    assert "standard input:1: not translated: the body would" in done.stderr
    assert "with -o FILE it is written to a file" in done.stderr
    assert "# POST http://x/\n" in done.stdout


def test_standard_input_that_is_named_twice_is_imported_once_without_an_error() -> None:
    done = CliRunner().invoke(program, ["import", "-", "-"], input="curl http://x/")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.count("GET http://x/\n") == 1


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_request_that_could_not_be_written_does_not_make_the_run_fail(
    output: str, tmp_path: Path
) -> None:
    commands = "curl http://x/a -H 'Authorization: Digest a b'\ncurl http://x/b\n"
    assert "shorthand" in imported(tmp_path, commands, output=output).stderr
    assert [request.url for request in sent(tmp_path, output)] == ["http://x/b"]
    text = (tmp_path / output).read_text()
    assert text.count(":eval no") == (output == "out.org")


def test_bytes_are_never_sent_as_their_description_in_python() -> None:
    data = {"mimeType": "image/png", "text": "AAECAwT/", "encoding": "base64"}
    entry = {"request": {"method": "POST", "url": "http://x/", "headers": [], "postData": data}}
    source = json.dumps({"log": {"entries": [entry]}})
    done = CliRunner().invoke(program, ["import", "-", "--strict"], input=source)
    assert done.exit_code == 1
    assert "the body is not text: with -o FILE it is written to a file" in done.stderr
    assert all(line.startswith("#") for line in done.stdout.splitlines() if line)


FILES = {
    "bruno": ("api/a.bru", """post {\n  url: http://h/\n  body: file\n}
body:file {\n  file: @file(f/a.txt)\n}\n"""),
    "hurl": ("api/a.hurl", "POST http://h/\nfile,f/a.txt;\n"),
    "curl": ("api/a.sh", "curl http://h/ --data-binary @./f/a.txt"),
    "postman": ("api/a.json", json.dumps({
        "info": {"schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
        "item": [{"request": {"url": "http://h/", "method": "POST",
                              "body": {"mode": "file", "file": {"src": "f/a.txt"}}}}]})),
    "insomnia": ("api/a.json", json.dumps({"_type": "export", "__export_format": 4, "resources": [
        {"_type": "workspace", "_id": "w", "parentId": None, "name": "w"},
        {"_type": "request", "_id": "r", "parentId": "w", "method": "POST", "url": "http://h/",
         "body": {"mimeType": "application/octet-stream", "fileName": "f/a.txt"}}]})),
}  # fmt: skip


def from_folder(kind: str, output: str | None) -> Result:
    """Import a request that sends the file f/a.txt. Its source is in the folder api."""
    name, content = FILES[kind]
    Path("api").mkdir(exist_ok=True)
    Path(name).write_text(content)
    Path("api/bruno.json").write_text("{}")
    more = [] if output is None else ["-o", output]
    source = "api" if kind == "bruno" else name
    return CliRunner().invoke(program, ["import", source, *more, "--strict"])


@pytest.mark.parametrize("output", ["sub/out.http", "sub/out.org", "api/out.http", None])
@pytest.mark.parametrize("kind", FILES)
def test_an_imported_request_finds_its_file_from_any_folder(
    kind: str, output: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (".git", "sub", "api/f"):
        Path(folder).mkdir(parents=True)
    Path("api/f/a.txt").write_text("content")
    done = from_folder(kind, output)
    assert done.exit_code == 0, done.output
    if output is None:
        Path("out.http").write_text(done.stdout)
    (found,) = sent(Path(output or "out.http").parent, Path(output or "out.http").name)
    assert found.body == b"content"


def test_a_command_finds_its_file_in_the_folder_where_it_was_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f").mkdir()
    Path("f/a.txt").write_text("content")
    assert from_folder("curl", "out.http").exit_code == 0
    (found,) = sent(tmp_path)
    assert found.body == b"content"


def test_an_import_finds_its_file_on_another_drive_of_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def relpath(_path: str, _start: str) -> str:
        raise ValueError("path is on mount 'C:', start on mount 'D:'")

    monkeypatch.chdir(tmp_path)
    for folder in (".git", "sub", "api/f"):
        Path(folder).mkdir(parents=True)
    Path("api/f/a.txt").write_text("content")
    with monkeypatch.context() as patch:
        patch.setattr("os.path.relpath", relpath)
        assert from_folder("curl", "sub/out.http").exit_code == 0
    assert f"< {tmp_path.resolve()}/api/f/a.txt\n" in Path("sub/out.http").read_text()
    (found,) = sent(tmp_path / "sub")
    assert found.body == b"content"


@pytest.mark.parametrize("kind", FILES)
def test_an_import_reports_a_file_that_does_not_exist(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = from_folder(kind, "out.http")
    assert done.exit_code == 1
    assert "not translated: the file api/f/a.txt does not exist" in done.stderr
