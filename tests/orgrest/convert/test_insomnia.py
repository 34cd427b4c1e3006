"""Imports of Insomnia's exports: both versions become the same requests."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from components import needs_engine
from imports import imported, sent

from orgrest.commands.main import program

Json = dict[str, Any]
TREE = """
type: collection.insomnia.rest/5.0
name: API
meta: {id: wrk_1}
collection:
  - name: Users
    meta: {id: fld_1}
    environment: {page: 2}
    headers: [{name: X-All, value: "{{ _.token }}"}]
    authentication: {type: bearer, token: "{{ token }}"}
    scripts: {afterResponse: "insomnia.test('x', () => { insomnia.response.to.have.status(200); })"}
    children:
      - name: List
        meta: {id: req_1}
        url: "{{ _.host.base }}/users/:id"
        method: GET
        pathParameters: [{name: id, value: "7"}]
        parameters:
          - {name: page, value: "{{ _['page'] }}"}
          - {name: q, value: a b}
          - {name: "off", value: x, disabled: true}
        settings: {followRedirects: "off", cookies: {send: false, store: true}}
      - name: Make
        meta: {id: req_2}
        url: "{{ _.host.base }}/users"
        method: POST
        headers: [{name: X-All, value: own}]
        authentication: {type: basic, username: me, password: pw}
        body: {mimeType: application/json, text: '{"id": "{% uuid ''v4'' %}", "a": "\\\\{{b}}"}'}
environments:
  name: Base
  data: {host: {base: "http://base.example"}, token: t}
  subEnvironments:
    - {name: dev, data: {host: {base: "http://dev.example"}}}
    - {name: prod, meta: {isPrivate: true}, data: {token: s3cret}}
"""

FILE = {"name": "f", "type": "file", "fileName": "f.txt"}


def request(**more: Any) -> Json:
    return {"_id": "req_1", "_type": "request", "parentId": "wrk_1", "name": "One",
            "url": "http://h.example/", "method": "POST", **more}  # fmt: skip


def export(*resources: Json) -> str:
    workspace = {"_id": "wrk_1", "_type": "workspace", "name": "API", "parentId": None}
    whole = {"_type": "export", "__export_format": 4, "resources": [workspace, *resources]}
    return json.dumps(whole)


@pytest.mark.parametrize("output", ["out.http", "out.org"])
def test_a_tree_keeps_what_it_inherits(output: str, tmp_path: Path) -> None:
    done = imported(tmp_path, TREE, output=output)
    assert done.exit_code == 0, done.output
    listed, made = sent(tmp_path, output, b="x")
    assert listed.url == "http://base.example/users/7?page=2&q=a%20b"
    assert dict(listed.headers) == {"X-All": "t", "Authorization": "Bearer t"}
    assert dict(made.headers) == {
        "X-All": "own", "Content-Type": "application/json", "Authorization": "Basic bWU6cHc=",
    }  # fmt: skip
    assert len(json.loads((made.body or b"").replace(b"\\", b""))["id"]) == 36
    text = (tmp_path / output).read_text()
    assert text.count("?? status == 200") == 2
    assert "# @no-redirect\n# @no-cookie-jar\nGET" in text
    assert "# (disabled: off: x)\n" in text
    assert [request.url[:18] for request in sent(tmp_path, output, "dev", b="x")] == [
        "http://dev.example"
    ] * 2
    private = json.loads((tmp_path / "http-client.private.env.json").read_text())
    assert private == {"prod": {"token": "s3cret"}}


def test_a_list_of_resources_becomes_a_tree(tmp_path: Path) -> None:
    text = export(
        request(parentId="fld_1", name="B", metaSortKey=2, url="{{ base }}/b", body={}),
        request(parentId="fld_1", name="A", metaSortKey=1, preRequestScript="let a = 1;",
                body={"mimeType": "application/x-www-form-urlencoded",
                      "params": [{"name": "a", "value": "b c"}]}),
        {"_id": "fld_1", "_type": "request_group", "parentId": "wrk_1", "name": "F"},
        {"_id": "env_1", "_type": "environment", "parentId": "wrk_1", "data": {"base": "http://b"}},
        {"_id": "env_2", "_type": "environment", "parentId": "env_1", "name": "dev", "data": {}},
        {"_id": "jar_1", "_type": "cookie_jar", "parentId": "wrk_1", "cookies": []},
    )  # fmt: skip
    done = imported(tmp_path, text, "--strict")
    assert done.exit_code == 0, done.output
    first, second = sent(tmp_path)
    assert (first.body, second.url) == (b"a=b%20c", "http://b/b")
    assert "< {%\nlet a = 1;\n%}" in (tmp_path / "out.http").read_text()


@pytest.mark.parametrize(
    ("auth", "line"),
    [
        ({"type": "apikey", "key": "k", "value": "v"}, "k: v"),
        ({"type": "apikey", "key": "k", "value": "v", "addTo": "queryParams"}, "/?k=v"),
        ({"type": "apikey", "key": "k", "value": "v", "addTo": "cookie"}, "Cookie: k=v\n"),
        ({"type": "bearer", "token": "t", "prefix": "Token"}, "Authorization: Token t"),
        ({"type": "iam", "accessKeyId": "a", "secretAccessKey": "s", "region": "r"},
         "Authorization: AWS a s region:r"),
        ({"type": "bearer", "token": "t", "disabled": True}, "POST http://h.example/\n"),
        ({"type": "oauth2", "accessToken": "t", "tokenPrefix": ""}, "Authorization: Bearer t"),
        ({"type": "basic", "username": "\u00fc", "password": "p", "useISO88591": True},
         "# not translated: auth: the user name and password are encoded in UTF-8, not in ISO"),
        ({"type": "basic", "username": "u", "password": "p", "useISO88591": True},
         "### One\nPOST http://h.example/\nAuthorization: Basic u p"),
        ({"type": "hawk"}, "# not translated: auth: unknown authentication type hawk"),
    ],
)  # fmt: skip
def test_credentials_become_a_header(auth: Json, line: str, tmp_path: Path) -> None:
    imported(tmp_path, export(request(authentication=auth)))
    assert line in (tmp_path / "out.http").read_text()


def test_a_key_in_a_cookie_is_added_to_the_other_cookies(tmp_path: Path) -> None:
    auth = {"type": "apikey", "key": "k", "value": "v", "addTo": "cookie"}
    cookie = {"name": "cookie", "value": "a=b"}
    done = imported(tmp_path, export(request(authentication=auth, headers=[cookie])))
    (found,) = sent(tmp_path)
    assert found.headers == (("Cookie", "a=b; k=v"),)
    assert "Insomnia also sends the cookies that responses set" in done.stderr


@needs_engine
def test_a_value_in_the_url_is_encoded_once(tmp_path: Path) -> None:
    parameters = [
        {"name": "a", "value": "2024-01-01T00%3A00"},
        {"name": "b", "value": "1,2 50% %C3%BC"},
        {"name": "c,d", "value": "3%2c4%2C5"},
    ]
    values = [
        {"name": "id", "value": "a/b?c"},
        {"name": "who", "value": "{{ _.who }}"},
        {"name": "none", "value": ""},
    ]
    url = "http://h.example/:id/:who/:none/:idx/{{ _.who }}?x=:id"
    imported(
        tmp_path, export(request(url=url, pathParameters=values, parameters=parameters)), "--strict"
    )
    (found,) = sent(tmp_path, who="d/e")
    assert found.url == (
        "http://h.example/a%2Fb%3Fc/d%2Fe/:none/:idx/d/e?x=:id"
        "&a=2024-01-01T00%3A00&b=1,2%2050%25%20%C3%BC&c%2Cd=3,4,5"
    )


@pytest.mark.parametrize(
    ("body", "data"),
    [
        ({"mimeType": "multipart/form-data", "params": [FILE]}, b'="f.txt"\r\n\r\nfile\r\n'),
        ({"mimeType": "application/octet-stream", "fileName": "f.txt"}, b"file"),
        ({"mimeType": "application/graphql", "text": '{"query": "{a}"}'}, b'{"query": "{a}"}'),
        ({"mimeType": "text/plain", "text": "### x"}, b"### x"),
    ],
)  # fmt: skip
def test_a_body_is_sent_as_it_was(body: Json, data: bytes, tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("file")
    imported(tmp_path, export(request(body=body)))
    (found,) = sent(tmp_path)
    assert data in (found.body or b"")


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        (request(url=""), "the request has no URL"),
        (request(method="A B"), "invalid method"),
        (request(new=1), "new: 1"),
        (request(url="http://h/{% response 'body', 'req_2' %}"), "'req_2' %} is not supported"),
        (request(url="http://h/{{ a | upper }}"), "{{ a | upper }} is not supported"),
        (request(afterResponseScript="insomnia.vault.get(1)"), "a script was imported unchanged"),
        (request(body={"mimeType": "multipart/x", "params": [{"name": "f", "type": "file"}]}),
         "no file name is given for the field f"),
        ({"_id": "g", "_type": "grpc_request", "name": "G", "parentId": "wrk_1"}, "grpc_request G"),
    ],
)  # fmt: skip
def test_what_is_not_translated_is_reported(resource: Json, message: str, tmp_path: Path) -> None:
    done = imported(tmp_path, export(resource), "--strict")
    assert done.exit_code == 1
    assert message in done.stderr


def test_what_is_malformed_is_an_error(tmp_path: Path) -> None:
    done = imported(tmp_path, '{"__export_format": 3, "resources": []}')
    assert done.exit_code == 2
    assert "Insomnia exports of version 3 are not supported: export" in done.stderr
    circle = {"_id": "wrk_1", "_type": "request_group", "parentId": "wrk_1"}
    assert "contain themselves" in imported(tmp_path, export(circle)).stderr


def test_a_part_of_another_response_is_referred_to(tmp_path: Path) -> None:
    path = base64.b64encode(b"$.token").decode()
    tags = [f"{{% response 'body', 'req_1', 'b64::{path}::46b', 'never', 60 %}}",
            "{% response 'header', 'req_1', 'X-Id', 'never', 60 %}",
            "{% response 'body', 'req_9', '$.a' %}"]  # fmt: skip
    headers = [{"name": f"X-{n}", "value": tag} for n, tag in enumerate(tags[:2])]
    done = imported(tmp_path, export(
        request(_id="req_1", name="Log in"), request(_id="req_2", name="Two", headers=headers),
        request(_id="req_3", name="Three", headers=[{"name": "A", "value": tags[2]}]),
    ))  # fmt: skip
    text = (tmp_path / "out.http").read_text()
    assert "# @name Log_in\n" in text
    assert "X-0: {{Log_in.response.body.$.token}}\n" in text
    assert "X-1: {{Log_in.response.headers.X-Id}}\n" in text
    assert "is not supported" in done.stderr
    assert [request.url for request in sent(tmp_path)] == ["http://h.example/"] * 2


def test_blocks_in_org_documents_have_different_names(tmp_path: Path) -> None:
    headers = [{"name": "A", "value": "{% response 'header', 'req_1', 'X-Id', 'never', 60 %}"}]
    imported(tmp_path, export(
        request(_id="req_1", name="Log in"), request(_id="req_2", name="log_in"),
        request(_id="req_3", name="Three", headers=headers),
    ), output="out.org")  # fmt: skip
    names = re.findall(r"#\+NAME: (.*)", (tmp_path / "out.org").read_text())
    assert len({name.lower() for name in names}) == 3


def test_a_request_with_an_unknown_tag_is_never_sent(tmp_path: Path) -> None:
    imported(tmp_path, export(request(url="http://h.example/{% cookie 'a' %}"), request()))
    assert (
        "# @disabled\nPOST http://h.example/{% cookie 'a' %}\n"
        in (tmp_path / "out.http").read_text()
    )
    assert [request.url for request in sent(tmp_path)] == ["http://h.example/"]
    imported(tmp_path, (tmp_path / "source").read_text(), output="out.org")
    assert "#+begin_src http :eval no\n" in (tmp_path / "out.org").read_text()
    assert [request.url for request in sent(tmp_path, "out.org")] == ["http://h.example/"]


FLOW = """{type: "collection.insomnia.rest/5.0", name: API, collection: [
  {name: One, url: "http://h.example/", method: GET}]}"""
QUOTED = """type: "collection.insomnia.rest/5.0"
name: API
collection:
- {name: One, url: "http://h.example/", method: GET}
"""


@pytest.mark.parametrize("text", [FLOW, QUOTED])
def test_an_export_is_known_by_its_content_however_it_is_spelled(text: str, tmp_path: Path) -> None:
    source = tmp_path / "Insomnia.yaml"
    for content in (text, json.dumps(json.loads(export(request())))):
        source.write_text(content)
        done = CliRunner().invoke(program, ["import", str(source)])
        assert done.exit_code == 0, done.output
        assert "http://h.example/" in done.stdout


@pytest.mark.parametrize("output", ["out.http", "out.org"])
def test_a_folders_variable_wins_over_an_environment_only_in_the_folder(
    output: str, tmp_path: Path
) -> None:
    text = export(
        {"_id": "env_b", "_type": "environment", "parentId": "wrk_1", "name": "Base", "data": {}},
        {"_id": "env_d", "_type": "environment", "parentId": "env_b", "name": "dev",
         "data": {"p": "env"}},
        {"_id": "fld_1", "_type": "request_group", "parentId": "wrk_1", "name": "F",
         "environment": {"p": "folder"}, "metaSortKey": 1},
        request(parentId="fld_1", url="http://h/{{ _.p }}"),
        request(_id="req_2", url="http://h/{{ _.p }}", metaSortKey=2),
    )  # fmt: skip
    assert imported(tmp_path, text, output=output).exit_code == 0
    found = [found.url for found in sent(tmp_path, output, "dev")]
    assert found == ["http://h/folder", "http://h/env"]
