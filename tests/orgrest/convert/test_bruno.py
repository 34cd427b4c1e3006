"""Imports of Bruno's folders: the imported requests send what the files describe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from components import needs_engine
from imports import sent
from servers import RawServer, response

from orgrest.commands.main import program
from orgrest.convert import bruno
from orgrest.convert.shared.model import ConversionError
from orgrest.convert.shared.source import Source

COLLECTION = """auth {
  mode: bearer
}

auth:bearer {
  token: {{token}}
}

headers {
  X-All: {{process.env.X}}
  ~X-Off: no
}

script:post-response {
  test('ok', () => { expect(res.status).to.equal(200); });
}
"""
LIST = """meta {
  name: List
  type: http
  seq: 2
}

get {
  url: {{host}}/users/:id?a=b c
  body: none
  auth: inherit
}

params:query {
  a: b c
  ~off: 1
}

params:path {
  id: 7
}

assert {
  res.status: eq 200
  res.body.name: eq me
  res.body.n: gt 2
  res.body.list: isArray
  res.headers.x: contains y
  ~res.status: eq 1
}

vars:post-response {
  found: res.body.list[0].id
}

settings {
  followRedirects: false
  timeout: 500
}

docs {
  Lists *users*.
}
"""


def collection(folder: Path, **files: str) -> Path:
    top = folder / "api"
    for name, text in {"bruno.json": json.dumps({"version": "1", "name": "API"}), **files}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return top


def run(folder: Path, *more: str, output: str = "out.http") -> Result:
    target = str(folder / output)
    return CliRunner().invoke(program, ["import", str(folder / "api"), "-o", target, *more])


def request(rest: str = "", head: str = "", verb: str = "post") -> str:
    return f"meta {{\n  name: One\n}}\n\n{verb} {{\n  url: http://h.example/\n{head}}}\n\n{rest}"


ENVIRONMENT = "vars {\n  host: http://d\n  token: t\n}\n"


@pytest.mark.parametrize("output", ["out.http", "out.org"])
def test_a_collection_keeps_what_it_inherits(output: str, tmp_path: Path) -> None:
    make = request('body:json {\n  {\n    "a": "{{b}}"\n  }\n}\n', "  body: json\n")
    collection(tmp_path, **{"collection.bru": COLLECTION, "Users/List.bru": LIST,
                            "Users/Make.bru": make.replace("One", "Make\n  seq: 1"),
                            "Users/folder.bru": "vars:pre-request {\n  b: x\n}\n",
                            "environments/dev.bru": ENVIRONMENT})  # fmt: skip
    done = run(tmp_path, output=output)
    assert done.exit_code == 0, done.output
    made, listed = sent(tmp_path, output, "dev", environ={"X": "e"})
    assert made.body == b'{\n  "a": "x"\n}'
    assert dict(made.headers) == {"X-All": "e", "Content-Type": "application/json"}
    assert listed.url == "http://d/users/7?a=b c"
    assert dict(listed.headers) == {"X-All": "e", "Authorization": "Bearer t"}
    text = (tmp_path / output).read_text()
    assert text.count("?? status == 200\n") == 2
    assert (
        '?? body $.name == "me"\n?? body $.n > 2\n?? body $.n isNumber\n?? body $.list isArray\n'
        in text
    )
    assert "?? header x contains y\n" in text
    assert 'client.global.set("found", response.body.list[0].id);' in text
    assert "# @no-redirect\n# @timeout 500 ms\n" in text
    assert "# Lists *users*.\n# (disabled: off: 1)\n" in text


def test_a_folders_header_replaces_that_of_the_collection(tmp_path: Path) -> None:
    collection(tmp_path, **{"collection.bru": "headers {\n  X-A: outer\n  X-B: b\n}\n",
                            "Users/folder.bru": "headers {\n  x-a: inner\n}\n",
                            "Users/Make.bru": request("").replace("One", "Make")})  # fmt: skip
    assert run(tmp_path).exit_code == 0
    [made] = sent(tmp_path)
    assert made.headers == (("X-B", "b"), ("x-a", "inner"))


@pytest.mark.parametrize(
    ("rest", "head", "data"),
    [
        ("body:text {\n  ### x\n  a: b\n}\n", "  body: text\n", b"### x\na: b"),
        ("body:xml {\n  <a/>\n}\n", "  body: xml\n", b"<a/>"),
        ("body:form-urlencoded {\n  a: b c\n  ~d: e\n}\n", "  body: formUrlEncoded\n", b"a=b+c"),
        ("body:form-urlencoded {\n  a b: ~'()!*-._+&é\n}\n", "  body: formUrlEncoded\n",
         b"a+b=%7E%27%28%29%21*-._%2B%26%C3%A9"),
        ("body:multipart-form {\n  a: b @contentType(x/y)\n  f: @file(f.txt)\n}\n",
         "  body: multipartForm\n", b"Content-Type: x/y\r\n\r\nb\r\n"),
        ("body:file {\n  file: @file(f.txt) @contentType(a/b)\n}\n", "  body: file\n", b"content"),
        ("body:graphql {\n  {a}\n}\n\nbody:graphql:vars {\n  {\"b\": 1}\n}\n", "  body: graphql\n",
         b'{"query":"{a}","variables":{"b": 1}}'),
        ("body:json {\n  {}\n}\n", "  body: none\n", b""),
        ('body:json {\n  {\n    // no "a"\n    "a": "//x" /* n */\n    /* b */\n  }\n}\n',
         "  body: json\n", b'{\n  "a": "//x" \n}'),
        ('body:graphql {\n  {a}\n}\n\nbody:graphql:vars {\n  {"b": 1} // c\n}\n',
         "  body: graphql\n", b'{"query":"{a}","variables":{"b": 1} }'),
    ],
)  # fmt: skip
def test_the_body_that_is_chosen_is_sent(rest: str, head: str, data: bytes, tmp_path: Path) -> None:
    collection(tmp_path, **{"One.bru": request(rest, head), "f.txt": "content"})
    done = run(tmp_path, "--strict")
    assert done.exit_code == 0, done.output
    (found,) = sent(tmp_path)
    assert data in (found.body or b"")


@needs_engine
def test_a_variable_in_a_form_does_not_become_another_field(tmp_path: Path) -> None:
    form = "body:form-urlencoded {\n  a: {{b}}\n  c: {{process.env.D}}\n}\n"
    collection(tmp_path, **{"One.bru": request(form, "  body: formUrlEncoded\n")})
    assert run(tmp_path, "--strict").exit_code == 0
    (found,) = sent(tmp_path, environ={"D": "2&e=3"}, b="1&admin=1")
    assert found.body == b"a=1%26admin%3D1&c=2%26e%3D3"


@pytest.mark.parametrize(
    ("auth", "line"),
    [
        ("basic {\n  username: me\n  password: pw\n}\n", "Authorization: Basic me pw\n"),
        ("apikey {\n  key: k\n  value: v\n  placement: queryparams\n}\n", "/?k=v\n"),
        ("awsv4 {\n  accessKeyId: a\n  secretAccessKey: s\n}\n", "Authorization: AWS a s\n"),
        (
            "oauth2 {\n  accessToken: t\n  token_header_prefix:\n}\n",
            "Authorization: t\n",
        ),
        (
            "wsse {\n  username: a\n}\n",
            "# not translated: auth: unknown authentication type wsse\n",
        ),
    ],
)
def test_credentials_become_a_header(auth: str, line: str, tmp_path: Path) -> None:
    mode = auth.partition(" ")[0]
    collection(tmp_path, **{"One.bru": request(f"auth:{auth}", f"  auth: {mode}\n")})
    run(tmp_path)
    assert line in (tmp_path / "out.http").read_text()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.bru": "meta {\n  name: A\n}\ngrpc {\n  url: x\n}\n"}, "not an HTTP request"),
        ({"a.bru": "get {\n  url:\n}\n"}, "the request has no URL"),
        ({"a.bru": "get {\n  url: http://x\n"}, "a.bru:1: not translated: this block is"),
        ({"a.bru": "what\n"}, "a.bru:1: not translated: expected a block, found 'what'"),
        ({"a.bru": "get {\n  what\n}\n"}, "a.bru:2: not translated: expected name: value, found"),
        ({"a.bru": request("new {\n  a: b\n}\n")}, 'new: ["a: b"]'),
        ({"collection.bru": "headers {\n  Cookie: a=b\n}\n", "a.bru": request()},
         "a.bru: not translated: if responses have set cookies, Bruno sends only these, but"),
        ({"a.bru": request("tests {\n  test('a', () => expect(res('a.b')).to.eql([]));\n}\n")},
         "a script was imported unchanged, but it uses res, which orgrest does not provide"),
        ({"a.bru": request("assert {\n  res.body.a: isJson\n}\n")}, "assert: res.body.a: isJson"),
        ({"a.bru": request("assert {\n  res.status: eq {{a}}\n}\n")}, "res.status: eq {{a}}"),
        ({"a.bru": request("assert {\n  res.headers.a: neq null\n}\n")}, "res.headers.a: neq null"),
        ({"a.bru": request("assert {\n  res.headers.a: eq 1\n}\n")}, "res.headers.a: eq 1"),
        ({"a.bru": request("assert {\n  res.headers.a: gt 1\n}\n")}, "res.headers.a: gt 1"),
        ({"a.bru": request("vars:post-response {\n  a: f(res)\n}\n")}, "post-response: a: f(res)"),
        ({"a.bru": request("tests {\n  bru.sleep(1);\n}\n")}, "a script was imported unchanged"),
        ({"b.bru": request("body:new {\n  a: b\n}\n", "  body: new\n")},
         "unknown body mode new"),
        ({"environments/a.bru": "vars:secret [\n  key,\n]\n"}, "the value of the secret key"),
        ({"environments/a.bru": "vars\n"}, "environments/a.bru:1: not translated: expected a"),
        ({"bruno.json": '{"name": "A", "proxy": {"on": true}}'}, 'proxy: {"on": true}'),
    ],
)  # fmt: skip
def test_what_is_not_translated_is_reported(
    files: dict[str, str], message: str, tmp_path: Path
) -> None:
    collection(tmp_path, **files)
    done = run(tmp_path, "--strict")
    assert done.exit_code == 1, done.output
    assert message in done.stderr


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        ("res.body.true: isTruthy", True),
        ("res.body.seven: isTruthy", False),
        ("res.body.text: isTruthy", False),
        ("res.body.false: isFalsy", True),
        ("res.body.null: isFalsy", False),
        ("res.body.none: isFalsy", False),
        ("res.body.null: isNull", True),
        ("res.body.none: isNull", False),
        ("res.body.seven: neq null", True),
        ("res.body.null: neq null", False),
        ("res.body.none: neq null", True),
        ("res.body.none['a.b'][0]: neq null", True),
        ("res.body.none: eq undefined", True),
        ("res.body.null: eq undefined", False),
        ("res.body.none: neq undefined", False),
        ("res.body.null: neq undefined", True),
        ("res.body.null: isDefined", True),
        ("res.body.none: isUndefined", True),
        ("res.body.false: isUndefined", False),
        ("res.body.seven: gt 6", True),
        ("res.body.eight: gt 6", False),
        ("res.body.none: lt 6", False),
        ("res.body.seven: neq 7", False),
        ("res.body.eight: neq 8", True),
        ("res.body.text: neq true", True),
        ("res.body.none.a: neq 7", True),
        ("res.body.text: notContains x", True),
        ("res.body.text: notContains ru", False),
        ("res.body.null: notContains x", False),
        ("res.body.none: notContains x", False),
        ("res.headers.server: notContains x", False),
        ("res.headers.empty: notContains x", True),
        ("res.body: isNotEmpty", True),
        ("res.body.text: isNotEmpty", True),
        ("res.body.list: isNotEmpty", True),
        ("res.body.object: isNotEmpty", True),
        ("res.body.void: isNotEmpty", False),
        ("res.body.void[0]: isNotEmpty", False),
        ("res.body.object.a: isNotEmpty", False),
        ("res.body.object.b: isNotEmpty", False),
        ("res.body.seven: isNotEmpty", False),
        ("res.body.true: isNotEmpty", False),
        ("res.body.null: isNotEmpty", False),
        ("res.body.none: isNotEmpty", False),
        ("res.headers.content-type: isNotEmpty", True),
        ("res.headers.empty: isNotEmpty", False),
        ("res.headers.none: isNotEmpty", False),
    ],
)
@needs_engine
def test_an_imported_assertion_has_the_verdict_that_it_has_in_bruno(
    line: str, holds: bool, tmp_path: Path
) -> None:
    collection(tmp_path, **{"One.bru": request(f"assert {{\n  {line}\n}}\n")})
    done = run(tmp_path, "--strict")
    assert done.exit_code == 0, done.output
    body = (
        b'{"true": true, "seven": 7, "eight": "8", "text": "true", "false": false, "null": null, '
        b'"list": [0], "object": {"a": "", "b": {}}, "void": []}'
    )
    with RawServer(response(body, "Content-Type: application/json", "Empty:")) as server:
        path = tmp_path / "out.http"
        path.write_text(path.read_text().replace("http://h.example", server.url))
        ran = CliRunner().invoke(program, ["test", str(path)])
    assert (ran.exit_code == 0) is holds, ran.output


@pytest.mark.parametrize(
    ("line", "text", "json"),
    [
        ("res.body: contains World", True, True),
        ("res.body: notContains World", False, False),
        ("res.body: startsWith Hello", True, True),
        ("res.body: eq Hello World", True, True),
        ("res.body: neq Hello World", False, False),
        ("res.body: isString", True, True),
        ("res.body: isDefined", True, True),
        ("res.body: isArray", False, False),
        ("res.body: eq 7", False, False),
        ("res.body: isNotEmpty", True, True),
    ],
)
@needs_engine
def test_a_body_that_is_no_json_is_a_text_in_assertions(
    line: str, text: bool, json: bool, tmp_path: Path
) -> None:
    collection(tmp_path, **{"One.bru": request(f"assert {{\n  {line}\n}}\n")})
    assert run(tmp_path, "--strict").exit_code == 0
    path = tmp_path / "out.http"
    imported = path.read_text()
    for body, kind, holds in ((b"Hello World", "plain", text), (b'"Hello World"', "json", json)):
        with RawServer(response(body, f"Content-Type: text/{kind}")) as server:
            path.write_text(imported.replace("http://h.example", server.url))
            ran = CliRunner().invoke(program, ["test", str(path)])
        assert (ran.exit_code == 0) is holds, ran.output


@needs_engine
def test_a_body_that_is_no_json_is_a_text_in_tests(tmp_path: Path) -> None:
    tests = (
        "const response = res.getBody();\n  test('text', () => {\n"
        "    for (const body of [response, res.body]) expect(body).to.include('World');\n  });"
    )
    collection(tmp_path, **{"One.bru": request(f"tests {{\n  {tests}\n}}\n")})
    assert run(tmp_path, "--strict").exit_code == 0
    path = tmp_path / "out.http"
    with RawServer(response(b"Hello World", "Content-Type: text/plain")) as server:
        path.write_text(path.read_text().replace("http://h.example", server.url))
        ran = CliRunner().invoke(program, ["test", str(path)])
    assert ran.exit_code == 0, ran.output


def test_values_of_several_lines_and_annotations_are_read() -> None:
    text = (
        "vars {\n  @number\n  a: 1\n  @description('''\n    x: y\n  ''')\n  \"b:c\": '''\n"
        "    one\n    two\n  '''\n}\nvars:secret [\n  s,\n  t\n]\n"
    )
    found: dict[str, Any] = bruno.parse(text, "x")
    assert [(var.key, var.value) for var in found["vars"]] == [("a", "1"), ("b:c", "one\ntwo")]
    assert found["vars:secret"] == ["s", "t"]


def test_a_folder_of_another_kind_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    assert "the folder has no bruno.json" in run(tmp_path).stderr
    (tmp_path / "api/bruno.json").write_text("{")
    assert "not valid JSON" in run(tmp_path).stderr


@pytest.mark.parametrize("ending", ["yml", "yaml"])
def test_a_collection_in_brunos_yaml_says_how_it_comes_in(ending: str, tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    top = tmp_path / f"api/opencollection.{ending}"
    top.write_text("opencollection: 1.0.0\ninfo:\n  name: API\n")
    assert "export the collection as a Postman collection" in run(tmp_path).stderr
    done = CliRunner().invoke(program, ["import", str(top)])
    assert done.exit_code == 2
    assert "export the collection as a Postman collection" in done.stderr


def test_hostile_folders_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = "/".join("d" * 40)
    top = collection(tmp_path, **{f"{deep}/a.bru": request()})
    assert "nested too deep" in run(tmp_path).stderr
    top = collection(tmp_path / "b", **{"a.bru": request()})
    (top / "link.bru").symlink_to("/etc/passwd")
    (top / "folder").symlink_to("/etc")
    assert [item.name for item in bruno.read(Source.at(str(top))).folder.items] == ["One"]
    monkeypatch.setattr(bruno, "LARGEST", 30)
    with pytest.raises(ConversionError, match="too large"):
        bruno.read(Source.at(str(top)))
    monkeypatch.setattr(bruno, "LARGEST", 10_000)
    monkeypatch.setattr(bruno, "_MOST_FILES", 0)
    with pytest.raises(ConversionError, match=r"too many files \(the maximum is 0\)"):
        bruno.read(Source.at(str(top)))


def test_a_header_that_is_written_twice_is_sent_once_with_its_last_value(tmp_path: Path) -> None:
    headers = "headers {\n  X-Dup: 1\n  X-B: b\n  X-Dup: 2\n  ~X-Dup: 3\n}\n"
    collection(tmp_path, **{"One.bru": request(headers)})
    assert run(tmp_path).exit_code == 0
    (found,) = sent(tmp_path)
    assert found.headers == (("X-Dup", "2"), ("X-B", "b"))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("data.txt", b"text/plain"),
        ("data.JSON", b"application/json"),
        ("data.unknown", b"application/octet-stream"),
    ],
)
def test_a_file_in_a_form_is_sent_with_its_type(name: str, kind: bytes, tmp_path: Path) -> None:
    form = f"body:multipart-form {{\n  f: @file({name})\n}}\n"
    collection(tmp_path, **{"One.bru": request(form, "  body: multipartForm\n"), name: "content"})
    assert run(tmp_path).exit_code == 0
    (found,) = sent(tmp_path)
    assert b"\r\nContent-Type: " + kind + b"\r\n\r\ncontent" in (found.body or b"")


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("Content-Type: multipart/mixed", "multipart/mixed; boundary=orgrest-form-boundary"),
        ("Content-Type: multipart/mixed; boundary=b", "multipart/mixed; boundary=b"),
        ("content-type: multipart/mixed", "multipart/form-data; boundary=orgrest-form-boundary"),
    ],
)
def test_a_multipart_body_has_the_media_type_that_bruno_sends(
    header: str, kind: str, tmp_path: Path
) -> None:
    rest = f"headers {{\n  {header}\n}}\n\nbody:multipart-form {{\n  a: b\n}}\n"
    collection(tmp_path, **{"One.bru": request(rest, "  body: multipartForm\n")})
    assert run(tmp_path, "--strict").exit_code == 0
    (found,) = sent(tmp_path)
    assert [value for name, value in found.headers if name.lower() == "content-type"] == [kind]
    assert (found.body or b"").startswith(f"--{kind.partition('=')[2]}\r\n".encode())


def test_fields_below_a_text_of_several_lines_are_parts_of_the_form(tmp_path: Path) -> None:
    form = (
        "body:multipart-form {\n  a: '''\n    x: y\n    z\n  ''' @contentType(text/csv)\n"
        "  b: @file(f.txt)\n  c: d @contentType(e\n  f: '''g'''\n}\n"
    )
    files = {"One.bru": request(form, "  body: multipartForm\n"), "f.txt": "content"}
    collection(tmp_path, **files)
    assert run(tmp_path, "--strict").exit_code == 0
    (found,) = sent(tmp_path)
    parts = (found.body or b"").split(b"--orgrest-form-boundary")
    assert [part.partition(b"name=")[2].strip() for part in parts[1:-1]] == [
        b'"a"\r\nContent-Type: text/csv\r\n\r\nx: y\r\nz',
        b'"b"; filename="f.txt"\r\nContent-Type: text/plain\r\n\r\ncontent',
        b'"c"\r\n\r\nd @contentType(e',
        b'"f"\r\n\r\ng',
    ]


@needs_engine
def test_a_script_changes_the_request(tmp_path: Path) -> None:
    script = "req.setMethod('PUT'); req.setUrl(req.getUrl() + 'x'); req.setBody({a: 1});"
    body = f"body:json {{\n  {{}}\n}}\n\nscript:pre-request {{\n  {script}\n}}\n"
    collection(tmp_path, **{"a.bru": request(body, "  body: json\n")})
    assert run(tmp_path, "--strict").exit_code == 0
    (found,) = sent(tmp_path)
    assert (found.method, found.url, found.body) == ("PUT", "http://h.example/x", b'{"a":1}')


@needs_engine
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("http://h/a?q=joe+tag@x.org&a+b", "http://h/a?q=joe%2Btag%40x.org&a%2Bb"),
        ("http://h/a?since=2024-01-01T00:00:00+02:00#x",
         "http://h/a?since=2024-01-01T00%3A00%3A00%2B02%3A00%23x"),
        ("http://h/a?q=a+b%20c&=1&&d=1/2?=&e=", "http://h/a?q=a%2Bb%2520c&d=1%2F2%3F%3D&e="),
        ("http://me@h:80/ü x/a%20b/{{v}}:m", "http://me@h:80/%C3%BC%20x/a%20b/a b+c%3Am"),
        ("{{base}}/x:y?{{v}}&z=-{{v}}-{{process.env.V}}",
         "http://h/b/x%3Ay?a b+c&z=-a%20b%2Bc-p%26q"),
        ("h:80?", "http://h:80?"),
        ("{{base}}?q={{?Ask}}&r=+", "http://h/b?q=yes&r=%2B"),
    ],
)  # fmt: skip
def test_a_plus_sign_in_a_url_is_no_blank_for_the_server_if_bruno_encodes_it(
    written: str, expected: str, tmp_path: Path
) -> None:
    settings = "settings {\n  encodeUrl: true\n}\n"
    collection(tmp_path, **{"a.bru": request(settings).replace("http://h.example/", written)})
    assert run(tmp_path, "--strict").exit_code == 0
    values = {"v": "a b+c", "base": "http://h/b", "Ask": "yes"}
    (found,) = sent(tmp_path, environ={"V": "p&q"}, **values)
    assert found.url == expected


JSON = 'body:json {\n  {"a": 1, "sig": ""}\n}\n', "  body: json\n"
FORM = "body:form-urlencoded {\n  a: b c\n}\n", "  body: formUrlEncoded\n"
EMPTY_FORM = "", "  body: formUrlEncoded\n"
XML = "body:xml {\n  <a/>\n}\n", "  body: xml\n"
GRAPHQL = "body:graphql {\n  {a}\n}\n", "  body: graphql\n"


@needs_engine
@pytest.mark.parametrize(
    ("body", "script", "data"),
    [
        (JSON, "const b = req.getBody(); b.ts = 5; req.setBody(b);", b'{"a":1,"sig":"","ts":5}'),
        (JSON, "req.setBody({...req.getBody(), sig: 's'});", b'{"a":1,"sig":"s"}'),
        (JSON, "req.setBody(req.getBody({raw: true}) + ' ');", b'{"a": 1, "sig": ""} '),
        (JSON, "req.setHeader('Content-Type', 'text/plain'); req.setBody(req.getBody() + 1);",
         b'{"a": 1, "sig": ""}1'),
        (JSON, "req.setBody('no json'); req.setBody(req.getBody() + '!');", b"no json!"),
        (JSON, "req.setBody(7);", b"7"),
        (JSON, "req.setBody(null);", b"null"),
        (XML, "req.setBody(null);", None),
        (GRAPHQL, "const b = req.getBody(); b.variables.c = 1; req.setBody(b);",
         b'{"query":"{a}","variables":{"c":1}}'),
        (XML, "req.setBody(req.getBody() + '\\n');", b"<a/>\n"),
        (FORM, "req.setBody({key: 'a b&c', list: [1, 2], in: {x: true}, no: null});",
         b"key=a%20b%26c&list=1&list=2&in%5Bx%5D=true&no="),
        (FORM, "const b = req.getBody(); b.push({name: 'd', value: '&'}); req.setBody(b);",
         b"a=b%20c&d=%26"),
        (FORM, "req.setBody('a=b+c');", b"a=b+c"),
        (EMPTY_FORM, "req.setBody({a: 'b c', list: [1, 2]});", b"a=b%20c&list=1&list=2"),
        (EMPTY_FORM, "req.setBody([{name: '', value: 0}, {name: 'n', value: null}]);", b"=0&n="),
    ],
)  # fmt: skip
def test_a_script_that_changes_a_body_sends_what_bruno_sends(
    body: tuple[str, str], script: str, data: bytes | None, tmp_path: Path
) -> None:
    rest = f"{body[0]}\nscript:pre-request {{\n  {script}\n}}\n"
    collection(tmp_path, **{"a.bru": request(rest, body[1])})
    assert run(tmp_path, "--strict").exit_code == 0
    (found,) = sent(tmp_path)
    assert found.body == data


@needs_engine
def test_a_script_gives_a_request_without_a_body_one_of_its_type(tmp_path: Path) -> None:
    script = "script:pre-request {\n  req.setBody({a: 1});\n}\n"
    collection(tmp_path, **{"a.bru": request(script)})
    assert run(tmp_path, "--strict").exit_code == 0
    (found,) = sent(tmp_path)
    assert (found.body, found.headers) == (b'{"a":1}', (("Content-Type", "application/json"),))


@pytest.mark.parametrize("place", ["collection.bru", "a.bru"])
@pytest.mark.parametrize(
    "script",
    [
        "script:pre-request {\n  req.setBody(req.getBody());\n}\n",
        "script:post-response {\n  console.log(req.getBody()[0].name);\n}\n",
        "tests {\n  test('name', () => expect(req.getBody()[0].name).to.equal('a'));\n}\n",
    ],
)
def test_a_script_that_uses_a_multipart_form_is_reported(
    script: str, place: str, tmp_path: Path
) -> None:
    form = "body:multipart-form {\n  a: b\n}\n"
    files = {"a.bru": request(form, "  body: multipartForm\n")}
    collection(tmp_path, **{**files, place: files.get(place, "") + "\n" + script})
    done = run(tmp_path, "--strict")
    assert "a.bru: not translated: a script was imported unchanged, but it" in done.stderr
    assert "# @disabled\n" in (tmp_path / "out.http").read_text()


@needs_engine
def test_headers_of_collections_and_folders_and_of_scripts_are_sent(tmp_path: Path) -> None:
    script = 'script:pre-request {\n  req.setHeader("X-Script", req.getMethod() + "!");\n}\n'
    own = "headers {\n  X-Folder: own\n}\n\n"
    collection(tmp_path, **{
        "collection.bru": "headers {\n  X-All: a\n  ~X-Off: b\n}\n",
        "Users/folder.bru": "headers {\n  X-Folder: c\n  X-More: {{more}}\n}\n\n"
                            "vars:pre-request {\n  more: d\n}\n",
        "Users/One.bru": request(own + script),
    })  # fmt: skip
    done = run(tmp_path)
    assert (done.exit_code, done.stderr) == (0, "")
    with RawServer(response(b"ok")) as server:
        path = tmp_path / "out.http"
        path.write_text(path.read_text().replace("http://h.example", server.url))
        assert CliRunner().invoke(program, [str(path)]).exit_code == 0
        (got,) = server.requests
    lines = got.split(b"\r\n")
    for line in (b"X-All: a", b"X-Folder: own", b"X-More: d", b"X-Script: POST!"):
        assert line in lines
    assert b"X-Off" not in got
    assert got.count(b"X-Folder") == 1


def test_oauth_settings_become_a_login(tmp_path: Path) -> None:
    auth = ("auth:oauth2 {\n  grant_type: password\n  access_token_url: https://a.example/t\n"
            "  client_id: me\n  client_secret: {{s}}\n  username: u\n  password: p\n"
            "  credentials_placement: body\n}\n")  # fmt: skip
    collection(tmp_path, **{"One.bru": request(auth, "  auth: oauth2\n")})
    done = run(tmp_path)
    text = (tmp_path / "out.http").read_text()
    assert "not translated" not in done.stderr
    assert "Authorization: oauth2 password login\n" in text
    assert "@login_useAuthorizationHeader = false\n" in text
    assert "@login_clientSecret = {{s}}\n" in text


def asked(which: str, rest: str = "") -> str:
    return request(rest, verb="get").replace("One", which).replace("h.example/", "h/?p={{p}}")


DEV = "vars {\n  p: env\n}\n"


@pytest.mark.parametrize("output", ["out.http", "out.org"])
@pytest.mark.parametrize("collected", ["", "vars:pre-request {\n  p: collection\n}\n"])
def test_a_requests_variable_is_that_of_no_other_request(
    collected: str, output: str, tmp_path: Path
) -> None:
    own = asked("B", "vars:pre-request {\n  p: own\n  q: {{p}}-{{p_2}}\n}\n")
    collection(tmp_path, **{"collection.bru": collected, "environments/dev.bru": DEV,
                            "a.bru": asked("A"), "b.bru": own.replace("={{p}}", "={{p}}{{q}}"),
                            "c.bru": asked("C")})  # fmt: skip
    assert run(tmp_path, output=output).exit_code == 0
    found = [request.url for request in sent(tmp_path, output, "dev", p_2="2")]
    assert found == [f"http://h/?p={value}" for value in ("env", "ownown-2", "env")]


@pytest.mark.parametrize("output", ["out.http", "out.org"])
def test_a_folders_variable_is_not_that_of_an_environment(output: str, tmp_path: Path) -> None:
    inner = asked("C", "vars:pre-request {\n  p: {{p}}\n}\n").replace("{{p}}\n", "own\n")
    collection(tmp_path, **{"folder/folder.bru": "vars:pre-request {\n  p: folder\n}\n",
                            "environments/dev.bru": DEV, "folder/b.bru": asked("B"),
                            "folder/c.bru": inner, "folder/d.bru": asked("D"),
                            "one/a.bru": asked("A"), "z/e.bru": asked("E")})  # fmt: skip
    assert run(tmp_path, output=output).exit_code == 0
    found = sorted(request.url[12:] for request in sent(tmp_path, output, "dev"))
    assert found == ["env", "env", "folder", "folder", "own"]


@needs_engine
@pytest.mark.parametrize("output", ["out.http", "out.org"])
@pytest.mark.parametrize("place", ["collection.bru", "a.bru"])
def test_a_variable_of_several_lines_keeps_them(place: str, output: str, tmp_path: Path) -> None:
    own = "vars:pre-request {\n  v: '''\n    x 'y\\\n    {{w}}}\n  '''\n  w: 2\n}\n"
    text = request("body:text {\n  [{{v}}]\n}\n", "  body: text\n")
    files = {"a.bru": text}
    collection(tmp_path, **{**files, place: files.get(place, "") + "\n" + own})
    assert run(tmp_path, "--strict", output=output).stderr == ""
    assert [made.body for made in sent(tmp_path, output)] == [b"[x 'y\\\n2}]"]


@pytest.mark.parametrize("output", ["out.http", "out.org"])
@pytest.mark.parametrize("more", ["", "  p: 2\n"])
def test_a_request_that_loses_a_variable_is_not_sent_with_another_value(
    more: str, output: str, tmp_path: Path
) -> None:
    own = asked("A", f"vars:pre-request {{\n  p: '''\n    {{{{\n    y\n  '''\n{more}}}\n")
    collection(tmp_path, **{"a.bru": own, "b.bru": asked("B"),
                            "collection.bru": "vars:pre-request {\n  p: outer\n}\n"})  # fmt: skip
    done = run(tmp_path, "--strict", output=output)
    reason = "the value of p contains {{, and spans several lines"
    assert done.stderr.count(f"a.bru: not translated: {reason}") == 1
    text = (tmp_path / output).read_text()
    assert f"# not translated: {reason}" in text
    assert "\nGET http://h/?p={{p}}\n" in text.partition("B\n")[0]
    assert [request.url for request in sent(tmp_path, output)] == ["http://h/?p=outer"]


def test_a_script_reads_the_variable_of_its_request(tmp_path: Path) -> None:
    script = "script:pre-request {\n  req.setHeader('X', bru.getRequestVar('p'));\n}\n"
    own = asked("A", f"vars:pre-request {{\n  p: own\n}}\n\n{script}")
    collection(tmp_path, **{"environments/dev.bru": DEV, "a.bru": own})
    assert run(tmp_path).exit_code == 0
    assert "pm.environment.get('p_2')" in (tmp_path / "out.http").read_text()


def test_folders_and_requests_are_in_the_order_in_which_bruno_runs_them(tmp_path: Path) -> None:
    files = {}
    for name, number in {"B": 0, "a": 0, "three": 3, "first": 1, "again": 3, "last": 9}.items():
        seq = f"  seq: {number}\n" if number else ""
        files[f"{name}/folder.bru"] = f"meta {{\n  name: {name}\n{seq}}}\n"
        files[f"{name}/x.bru"] = request().replace("h.example/", name)
    for name, number in (("z", 1), ("y", 2)):
        of_request = request().replace("h.example/", name)
        files[f"{name}.bru"] = of_request.replace("One\n", f"One\n  seq: {number}\n")
    collection(tmp_path, **files)
    assert run(tmp_path).exit_code == 0
    found = [request.url.removeprefix("http://") for request in sent(tmp_path)]
    assert found == ["first", "a", "again", "three", "B", "last", "z", "y"]
