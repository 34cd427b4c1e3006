"""Imports of Postman collections: newman sends the same requests, and tests become assertions."""

from __future__ import annotations

import json
import subprocess
from base64 import b64decode
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner
from components import needs, needs_engine
from hypothesis import example, given
from hypothesis import strategies as st
from imports import imported, parts, sent
from servers import RawServer, response

from orgrest.commands.main import program
from orgrest.convert.shared.expectations import as_pm, foreign, notes_on, translated
from orgrest.http.auth.ntlm import NtlmCredentials
from orgrest.org.document import OrgDocument

SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
Json = dict[str, Any]


def collection(*items: Json, **more: Any) -> str:
    return json.dumps({"info": {"name": "API", "schema": SCHEMA}, "item": items, **more})


def item(name: str = "One", **request: Any) -> Json:
    return {"name": name, "request": {"method": "GET", "url": "http://h.example/", **request}}


def values(**given: str) -> list[Json]:
    return [{"key": key, "value": value} for key, value in given.items()]


class TestRequests:
    def only(self, folder: Path, **request: Any) -> tuple[Any, ...]:
        done = imported(folder, collection(item(**request)), "--strict")
        assert done.exit_code == 0, done.output
        (found,) = sent(folder)
        return parts(found)

    def test_a_request_in_an_org_document_keeps_its_name(self, tmp_path: Path) -> None:
        text = collection(item("Log in"), item("log in"), item("we [[elisp:x]]"))
        assert imported(tmp_path, text, "--strict", output="out.org").exit_code == 0
        document = (tmp_path / "out.org").read_text()
        blocks = OrgDocument(document).blocks
        assert [block.name for block in blocks] == ["Log in", "log in (2)", "we [ [elisp: x]]"]
        assert "@name" not in document  # this directive has no effect there

    def test_the_url_is_that_of_its_parts(self, tmp_path: Path) -> None:
        url = {
            "raw": "not this",
            "protocol": "https",
            "host": ["a", "example"],
            "port": "81",
            "path": ["users", ":id", {"type": "string", "value": "x"}, ":id.json", ":no.json"],
            "query": [
                {"key": "a", "value": "b"},
                {"key": "off", "value": "1", "disabled": True},
                {"key": "bare", "value": None},
            ],
            "variable": values(id="7"),
        }
        _, sent_url, *_ = self.only(tmp_path, url=url)
        assert sent_url == "https://a.example:81/users/7/x/7.json/:no.json?a=b&bare"
        assert "# (disabled: query off=1)\n" in (tmp_path / "out.http").read_text()

    def test_a_parameter_does_not_become_another_one_or_a_fragment(self, tmp_path: Path) -> None:
        query = [*values(**{"k=1&": "c#", "b": "x=1&y=2 %26", "{{k}}": "{{a&b}}#"}), {"key": "#="}]
        imported(tmp_path, collection(item(url={"host": "http://h", "path": "", "query": query})))
        (found,) = sent(tmp_path, k="c&", a_b="d&e")
        assert found.url == "http://h/?k%3D1%26=c%23&b=x=1%26y=2 %26&c&=d&e%23&%23%3D"

    @pytest.mark.parametrize(
        ("body", "data", "kind"),
        [
            ({"mode": "raw", "raw": "a\nb"}, b"a\nb", "text/plain"),
            (
                {
                    "mode": "raw",
                    "raw": '{"a":\r\n 1} // x',
                    "options": {"raw": {"language": "json"}},
                },
                b'{"a":\n 1} ',
                "application/json",
            ),
            (
                {"mode": "urlencoded", "urlencoded": values(a="b c", d="{}")},
                b"a=b%20c&d=%7B%7D",
                "application/x-www-form-urlencoded",
            ),
            (
                {"mode": "graphql", "graphql": {"query": "{a}", "variables": '{"b": 1}'}},
                b'{"query":"{a}","variables":{"b": 1}}',
                "application/json",
            ),
            ({"mode": "none"}, None, None),
            ({}, None, None),
        ],
    )
    def test_a_body_is_sent_with_its_type(
        self, body: Json, data: bytes | None, kind: str | None, tmp_path: Path
    ) -> None:
        _, _, headers, found = self.only(tmp_path, method="POST", body=body)
        assert found == data
        assert dict(headers).get("Content-Type") == kind

    def test_a_form_with_files(self, tmp_path: Path) -> None:
        (tmp_path / "f.txt").write_text("content")
        fields = [*values(a="b"), {"key": "f", "type": "file", "src": "f.txt"}]
        *_, found = self.only(
            tmp_path, method="POST", body={"mode": "formdata", "formdata": fields}
        )
        assert b'name="a"\r\n\r\nb\r\n' in found
        text = b'name="f"; filename="f.txt"\r\nContent-Type: text/plain\r\n\r\ncontent\r\n'
        assert text in found
        *_, whole = TestRequests().only_in(
            tmp_path / "x", {"mode": "file", "file": {"src": "f.txt"}}
        )
        assert whole == b"content"

    @pytest.mark.parametrize(
        ("field", "kind"),
        [
            ({"src": "a.png"}, "image/png"),
            ({"src": "a.csv", "fileName": "b.png"}, "text/csv"),
            ({"src": "a", "fileName": "b.png"}, "image/png"),
            ({"src": "a.zzz"}, "application/octet-stream"),
            ({"src": "a.png", "contentType": "x/y"}, "x/y"),
        ],
    )
    def test_a_file_in_a_form_has_the_type_that_postman_sends(
        self, field: Json, kind: str, tmp_path: Path
    ) -> None:
        (tmp_path / field["src"]).write_text("content")
        body = {"mode": "formdata", "formdata": [{"key": "f", "type": "file", **field}]}
        *_, found = self.only(tmp_path, method="POST", body=body)
        assert f"\r\nContent-Type: {kind}\r\n\r\ncontent\r\n".encode() in found

    @pytest.mark.parametrize("text", ["l1\r\nl2", "l1\r\nl2\nl3\rl4", "l1\rl2"])
    def test_a_field_of_several_lines_leaves_a_form_valid(self, text: str, tmp_path: Path) -> None:
        fields = values(a=text, b="c\r\nd")
        body = {"mode": "formdata", "formdata": fields}
        *_, found = self.only(tmp_path, method="POST", body=body)
        head = '--orgrest-form-boundary\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
        parts = "".join(head.format(field["key"], field["value"]) for field in fields)
        assert found.decode() == f"{parts}--orgrest-form-boundary--"

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("f.txt", "text/plain"),
            ("f.json", "application/json"),
            ("f.js", "application/javascript"),
            ("f.zzz", "application/octet-stream"),
            ("f", "application/octet-stream"),
        ],
    )
    def test_a_file_is_sent_with_the_type_that_postman_sends(
        self, name: str, kind: str, tmp_path: Path
    ) -> None:
        (tmp_path / name).write_text("content")
        body = {"mode": "file", "file": {"src": name}}
        _, _, headers, _ = self.only(tmp_path, method="PUT", body=body)
        assert headers == (("Content-Type", kind),)

    def only_in(self, folder: Path, body: Json) -> tuple[Any, ...]:
        folder.mkdir()
        (folder / "f.txt").write_text("content")
        return self.only(folder, method="PUT", body=body)

    def test_a_body_that_postman_does_not_send_is_not_sent(self, tmp_path: Path) -> None:
        *_, found = self.only(tmp_path, body={"mode": "raw", "raw": "x"})
        assert found is None
        assert "sends no body with GET" in (tmp_path / "out.http").read_text()

    @pytest.mark.parametrize(
        ("auth", "header"),
        [
            ({"type": "basic", "basic": values(username="me", password="pw")}, "Basic bWU6cHc="),
            ({"type": "basic", "basic": values(username="me", password="p w")}, "Basic bWU6cCB3"),
            ({"type": "bearer", "bearer": {"token": "abc"}}, "Bearer abc"),  # as in 2.0
            ({"type": "oauth2", "oauth2": values(accessToken="t", headerPrefix="X")}, "X t"),
            ({"type": "oauth2", "oauth2": values(accessToken="t", headerPrefix="")}, "t"),
            ({"type": "oauth2", "oauth2": values(accessToken="t")}, "Bearer t"),
            (
                {"type": "oauth2", "oauth2": [*values(accessToken="t"), {"key": "headerPrefix"}]},
                "Bearer t",
            ),
            ({"type": "oauth2", "oauth2": {"accessToken": "t", "headerPrefix": None}}, "Bearer t"),
            ({"type": "noauth"}, None),
        ],
    )
    def test_credentials_become_a_header(
        self, auth: Json, header: str | None, tmp_path: Path
    ) -> None:
        _, _, headers, _ = self.only(tmp_path, auth=auth)
        assert dict(headers).get("Authorization") == header

    def test_an_api_key_stands_where_it_is_to_be(self, tmp_path: Path) -> None:
        key = values(key="k", value="v")
        first = item(
            "A", auth={"type": "apikey", "apikey": key}, header=[{"key": "K", "value": "old"}]
        )
        second = item(
            "B", auth={"type": "apikey", "apikey": [*key, {"key": "in", "value": "query"}]}
        )
        imported(tmp_path, collection(first, second))
        one, two = sent(tmp_path)
        assert one.headers == (("k", "v"),)
        assert two.url == "http://h.example/?k=v"

    def test_digest_and_aws_are_computed_on_sending(self, tmp_path: Path) -> None:
        digest = {"type": "digest", "digest": values(username="me", password="pw")}
        keys = values(accessKey="k", secretKey="s", region="r", service="x", sessionToken="t")
        imported(
            tmp_path,
            collection(item("A", auth=digest), item("B", auth={"type": "awsv4", "awsv4": keys})),
        )
        text = (tmp_path / "out.http").read_text()
        assert "Authorization: Digest me pw\n" in text
        assert "Authorization: AWS k s token:t region:r service:x\n" in text
        assert all(request.credentials is not None for request in sent(tmp_path))

    def test_ntlm_keeps_its_domain_also_before_a_variable(self, tmp_path: Path) -> None:
        plain = values(username="me", password="pw", domain="OFFICE")
        named = values(username="{{user}}", password="pw", domain="OFFICE", workstation="PC")
        done = imported(
            tmp_path,
            collection(
                *(item(name, auth={"type": "ntlm", "ntlm": given})
                  for name, given in (("A", plain), ("B", named))),
                variable=[{"key": "user", "value": "me"}],
            ),
        )  # fmt: skip
        assert "the workstation was left out:" in done.stderr
        assert "Authorization: NTLM OFFICE\\me pw\n" in (tmp_path / "out.http").read_text()
        assert [request.credentials for request in sent(tmp_path)] == [
            NtlmCredentials("OFFICE\\me", "pw", "NTLM")
        ] * 2

    @pytest.mark.parametrize("output", ["out.http", "out.org"])
    def test_spaces_and_colons_in_a_user_name_do_not_end_it(
        self, output: str, tmp_path: Path
    ) -> None:
        users = {"A": ("{{user}}", "pw"), "B": ("a:b", "{{password}}"), "C": ("me", "{{password}}")}
        basic = {
            name: {"type": "basic", "basic": values(username=user, password=password)}
            for name, (user, password) in users.items()
        }
        text = collection(
            *(item(name, auth=auth) for name, auth in basic.items()),
            *({"name": f"{name}s", "item": [item()], "auth": auth} for name, auth in basic.items()),
            variable=values(user="s p", password="c d"),
        )
        imported(tmp_path, text, output=output)
        pairs = [b"s p:pw", b"a:b:c d", b"me:c d"]
        headers = [str(request.header("Authorization")) for request in sent(tmp_path, output)]
        assert [b64decode(header.partition(" ")[2]) for header in headers] == pairs * 2

    def test_settings_become_directives(self, tmp_path: Path) -> None:
        one = item() | {
            "protocolProfileBehavior": {
                "followRedirects": False,
                "disableCookies": True,
                "strictSSL": False,
            }
        }
        done = imported(tmp_path, collection(one))
        text = (tmp_path / "out.http").read_text()
        assert "# @no-redirect\n# @no-cookie-jar\nGET" in text
        assert (
            "source: item[0]: not translated: protocolProfileBehavior: strictSSL: false"
            in done.stderr
        )

    def test_old_spellings_are_read(self, tmp_path: Path) -> None:
        given = [
            {"name": "Text", "request": "http://h.example/{{a}}"},
            item("Lines", header="A: b\nC: d"),
        ]
        imported(tmp_path, json.dumps({"collection": json.loads(collection(*given))}))
        one, two = sent(tmp_path, "out.http", a="x")
        assert one.url == "http://h.example/x"
        assert two.headers == (("A", "b"), ("C", "d"))


class TestInheritance:
    BEARER: ClassVar[Json] = {"type": "bearer", "bearer": values(token="{{my token}}")}
    BACKSLASHES: ClassVar[dict[str, str]] = {"a": "x\\", "b": "y z", "c": "\\\\", "d": 'e "\\" f'}

    @pytest.mark.parametrize("output", ["out.http", "out.org"])
    def test_a_value_that_ends_with_a_backslash_ends_there(
        self, output: str, tmp_path: Path
    ) -> None:
        names = "".join(f"{{{{{name}}}}}," for name in self.BACKSLASHES)
        text = collection(
            item(method="POST", body={"mode": "raw", "raw": names}),
            variable=values(**self.BACKSLASHES),
        )
        imported(tmp_path, text, output=output)
        (request,) = sent(tmp_path, output)
        assert request.body == b'x\\,y z,\\\\,e "\\" f,'

    @needs("emacs")
    def test_emacs_reads_the_variables_that_end_with_a_backslash(self, tmp_path: Path) -> None:
        imported(tmp_path, collection(variable=values(**self.BACKSLASHES)), output="out.org")
        code = """(progn (require 'ob) (find-file "out.org") (princ (json-encode (mapcar
            (lambda (pair) (org-babel-ref-parse (cdr pair)))
            (seq-filter (lambda (pair) (eq (car pair) :var)) (org-babel-parse-header-arguments
             (cdr (assoc "header-args" org-keyword-properties))))))))"""
        command = ["emacs", "-Q", "--batch", "--eval", code]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
        assert json.loads(done.stdout) == self.BACKSLASHES

    @pytest.mark.parametrize("output", ["out.http", "out.org"])
    def test_credentials_and_variables_of_folders_are_inherited(
        self, output: str, tmp_path: Path
    ) -> None:
        inner = {"name": "Inner", "item": [item("B")], "auth": {"type": "noauth"}}
        other = {
            "name": "Other",
            "item": [item("C")],
            "auth": {"type": "basic", "basic": values(username="me", password="pw")},
        }
        text = collection(
            {"name": "F", "item": [item("A"), inner, other, item("D")]},
            auth=self.BEARER,
            variable=values(**{"my token": "abc"}),
        )
        done = imported(tmp_path, text, "--strict", output=output)
        assert done.exit_code == 0, done.output
        found = [request.header("Authorization") for request in sent(tmp_path, output)]
        assert found == ["Bearer abc", None, "Basic bWU6cHc=", "Bearer abc"]
        written = (tmp_path / output).read_text()
        assert written.count("{{my_token}}") == 1, "it stands once, and the requests refer to it"

    def test_a_request_is_not_sent_without_the_credentials_of_its_folder(
        self, tmp_path: Path
    ) -> None:
        hawk = {"type": "hawk", "hawk": []}
        inner = {"name": "Inner", "item": [item("B")]}
        own = item("C", auth={"type": "bearer", "bearer": values(token="abc")})
        text = collection({"name": "F", "item": [item("A"), inner, own], "auth": hawk})
        done = imported(tmp_path, text, "--strict")
        assert done.exit_code == 1
        assert done.stderr.count("inherited auth: unknown authentication type hawk") == 2
        assert [request.header("Authorization") for request in sent(tmp_path)] == ["Bearer abc"]

    def test_scripts_of_folders_are_those_of_their_requests(self, tmp_path: Path) -> None:
        event = [
            {"listen": "test", "script": {"exec": "pm.response.to.have.status(200)"}},
            {"listen": "prerequest", "script": {"exec": ["let a = 1;"]}},
            {"listen": "test", "disabled": True, "script": {"exec": ["x"]}},
        ]
        imported(
            tmp_path, collection({"name": "F", "item": [item("A"), item("B")], "event": event})
        )
        text = (tmp_path / "out.http").read_text()
        assert text.count("?? status == 200\n") == 2
        assert text.count("< {%\nlet a = 1;\n%}\n") == 2


class TestEnvironments:
    ENVIRONMENT = json.dumps(
        {
            "id": "1",
            "name": "dev",
            "_postman_variable_scope": "environment",
            "values": [
                {"key": "host", "value": "http://dev.example", "enabled": True, "type": "default"},
                {"key": "token", "value": "s3cret", "enabled": True, "type": "secret"},
            ],
        }
    )

    def both(self, folder: Path) -> Any:
        (folder / "env.json").write_text(self.ENVIRONMENT)
        (folder / "api.json").write_text(
            collection(
                item(url="{{host}}/{{token}}"), variable=values(host="http://own.example", own="x")
            )
        )
        names = [str(folder / "api.json"), str(folder / "env.json")]
        return CliRunner().invoke(program, ["import", *names, "-o", str(folder / "out.http")])

    def test_an_environment_wins_over_the_collection(self, tmp_path: Path) -> None:
        assert self.both(tmp_path).exit_code == 0
        (found,) = sent(tmp_path, "out.http", "dev")
        assert found.url == "http://dev.example/s3cret"
        (found,) = sent(tmp_path, "out.http", token="t")
        assert found.url == "http://own.example/t"

    def test_an_environment_wins_over_each_of_several_collections(self, tmp_path: Path) -> None:
        (tmp_path / "env.json").write_text(self.ENVIRONMENT)
        names = [str(tmp_path / name) for name in ("a.json", "b.json", "env.json")]
        for name in names[:2]:
            variables = values(host="http://own.example", s="hidden")
            variables[1]["type"] = "secret"
            Path(name).write_text(collection(item(url="{{host}}"), variable=variables))
        target = str(tmp_path / "out.http")
        assert CliRunner().invoke(program, ["import", *names, "-o", target]).exit_code == 0
        for environment, host in ((["dev"], "dev"), ([], "own")):
            found = sent(tmp_path, "out.http", *environment)
            assert [request.url for request in found] == [f"http://{host}.example"] * 2
        private = json.loads((tmp_path / "http-client.private.env.json").read_text())
        assert private["$shared"] == {"s": "hidden"}

    def test_secrets_are_kept_apart_and_reported(self, tmp_path: Path) -> None:
        done = self.both(tmp_path)
        public = json.loads((tmp_path / "http-client.env.json").read_text())
        private = tmp_path / "http-client.private.env.json"
        assert public == {
            "$shared": {"host": "http://own.example"},
            "dev": {"host": "http://dev.example"},
        }
        assert json.loads(private.read_text()) == {"dev": {"token": "s3cret"}}
        assert private.stat().st_mode & 0o077 == 0
        assert "to .gitignore" in done.stderr
        assert "s3cret" not in (tmp_path / "out.http").read_text()

    def test_files_that_exist_are_merged_and_never_changed(self, tmp_path: Path) -> None:
        file = tmp_path / "http-client.env.json"
        file.write_text('{"dev": {"other": "1"}}')
        assert self.both(tmp_path).exit_code == 0
        assert json.loads(file.read_text())["dev"] == {"other": "1", "host": "http://dev.example"}
        (tmp_path / "out.http").unlink()
        before = '{"dev": {"host": "mine"}}'
        file.write_text(before)
        done = self.both(tmp_path)
        assert done.exit_code == 2
        assert "host already has a different value in the environment dev" in done.stderr
        assert file.read_text() == before
        assert not (tmp_path / "out.http").exists()

    @pytest.mark.parametrize("content", ["{", "[]", '{"a": 1}', '{"a": {}} // x'])
    def test_a_file_that_is_no_environment_is_left_alone(
        self, content: str, tmp_path: Path
    ) -> None:
        (tmp_path / "http-client.env.json").write_text(content)
        assert self.both(tmp_path).exit_code == 2
        assert (tmp_path / "http-client.env.json").read_text() == content


class TestWhatIsNotTranslated:
    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({"certificate": {"name": "x"}}, 'certificate: {"name": "x"}'),
            ({"auth": {"type": "hawk", "hawk": []}}, "auth: unknown authentication type hawk"),
            (
                {"auth": {"type": "oauth2", "oauth2": []}},
                "auth: OAuth 2.0 requires a token endpoint",
            ),
            (
                {"auth": {"type": "digest", "digest": values(username="a b")}},
                "requires a user name",
            ),
            ({"auth": {"type": "awsv4", "awsv4": []}}, "AWS requires an access key"),
            ({"auth": {"type": "apikey", "apikey": []}}, "the API key has no name"),
            ({"url": "http://h/{{$randomCity}}"}, "{{$randomCity}} is not supported"),
            ({"method": "A B"}, "invalid method 'A B'"),
            ({"url": ""}, "the request has no URL"),
            ({"url": {"raw": ""}}, "the request has no URL"),
            ({"body": {"mode": "new"}}, "unknown body mode new"),
            ({"header": [{"key": "a b", "value": "c"}]}, "expected a header"),
            ({"header": [3]}, "header[0] is not an object"),
            (
                {
                    "body": {"mode": "formdata", "formdata": [{"key": "f", "type": "file"}]},
                    "method": "PUT",
                },
                "no file name is given for the field f",
            ),
        ],
    )
    def test_is_reported_with_its_place(self, more: Json, message: str, tmp_path: Path) -> None:
        done = imported(tmp_path, collection(item(**more), item("Two")), "--strict")
        assert done.exit_code == 1, done.output
        assert message in done.stderr
        assert "# not translated:" in (tmp_path / "out.http").read_text()
        assert "### Two\nGET http://h.example/\n" in (tmp_path / "out.http").read_text()

    @given(st.text("abc", min_size=1), st.sampled_from(["", "request", "body", "url"]))
    def test_a_field_that_nobody_reads_is_reported_wherever_it_stands(
        self, name: str, where: str
    ) -> None:
        import tempfile

        one = item(
            body={"mode": "raw", "raw": "x"},
            method="POST",
            url={"host": ["h.example"], "path": [""]},
        )
        inside = {
            "": one,
            "request": one["request"],
            "body": one["request"]["body"],
            "url": one["request"]["url"],
        }[where]
        inside[f"new {name}"] = "lost?"
        with tempfile.TemporaryDirectory() as folder:
            done = imported(Path(folder), collection(one))
        assert f'new {name}: "lost?"' in done.stderr

    @pytest.mark.parametrize("setting", [{}, {"disableCookies": True}])
    def test_cookies_that_only_postman_would_send_are_reported(
        self, setting: Json, tmp_path: Path
    ) -> None:
        one = item(header=[{"key": "cookie", "value": "lang=en"}])
        text = collection({**one, "protocolProfileBehavior": setting})
        done = imported(tmp_path, text)
        reason = "Postman also sends the cookies that responses set, but orgrest sends only the"
        assert (reason in done.stderr) == (not setting)
        assert len(sent(tmp_path)) == 1

    def test_a_variable_of_a_folder_which_postman_ignores_is_reported(self, tmp_path: Path) -> None:
        folder = {"name": "F", "item": [item(url="http://{{a}}/")], "variable": values(a="folder")}
        done = imported(tmp_path, collection(folder, variable=values(a="all")), "--strict")
        assert done.exit_code == 1
        assert 'item[0]: not translated: variable: [{"key": "a"' in done.stderr
        assert [request.url for request in sent(tmp_path)] == ["http://all/"]

    def test_a_disabled_variable_is_reported(self, tmp_path: Path) -> None:
        variable = [{"key": "a", "value": "b", "disabled": True}, {"value": "x"}]
        done = imported(tmp_path, collection(item(), variable=variable))
        assert "a is disabled" in done.stderr


class TestHostileCollections:
    def test_no_name_becomes_anything_but_a_name(self, tmp_path: Path) -> None:
        evil = "x\n### y\nDELETE http://evil.example/\n< {% evil() %}"
        text = collection(
            {"name": evil, "description": evil, "item": [item(evil, description=evil)]}
        )
        for output in ("out.http", "out.org"):
            imported(tmp_path, text, output=output)
            assert [request.method for request in sent(tmp_path, output)] == ["GET"]

    def test_bodies_stay_below_the_folder(self, tmp_path: Path) -> None:
        text = collection(item("../../etc/x", method="POST", body={"mode": "raw", "raw": "### a"}))
        imported(tmp_path, text, output="o ut.http")
        assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.body")] == [
            "o-ut-bodies/etc-x.body"
        ]
        done = imported(tmp_path, text, output="none/out.http")
        assert done.exit_code == 2
        assert not (tmp_path / "none").exists()

    def test_a_header_cannot_bring_another(self, tmp_path: Path) -> None:
        text = collection(item(header=[{"key": "A", "value": "b\r\nC: d"}]))
        done = imported(tmp_path, text)
        assert "not translated" in done.stderr
        assert "\nGET" not in (tmp_path / "out.http").read_text()

    def test_an_existing_document_is_not_overwritten(self, tmp_path: Path) -> None:
        (tmp_path / "out.http").write_text("mine")
        done = imported(tmp_path, collection(item()))
        assert done.exit_code == 2
        assert "the file already exists" in done.stderr
        assert (tmp_path / "out.http").read_text() == "mine"


class TestTests:
    @pytest.mark.parametrize(
        ("script", "assertions"),
        [
            ("pm.test('x', function () { pm.response.to.have.status(201); });", ["status == 201"]),
            (
                'pm.test("x", () => pm.expect(pm.response.code).to.be.oneOf([200, 201]))',
                ["status in 200, 201"],
            ),
            (
                "pm.test('x', () => { pm.response.to.be.json; pm.response.to.have.header('X-A') })",
                ["body $ isDefined", "header X-A isDefined"],
            ),
            (
                "pm.test('x', () => { pm.response.to.have.header('X-A', 'b') })",
                ['header X-A == "b"'],
            ),
            ("pm.expect(pm.response.headers.get('A')).to.include('b')", ["header A contains b"]),
            ("pm.expect(pm.response.responseTime).to.be.below(200);", ["duration < 200"]),
            ('pm.expect(pm.response.text()).to.not.include("o\'k");', ["body not contains o'k"]),
            (
                "let a=pm.response.json()\ntest('',function(){expect(a.a['b-c'][0]).to.eql('d')})",
                ['body $.a["b-c"][0] == "d"'],
            ),
            (
                "pm.expect(pm.response.json().n).to.equal(-1.5)",
                ["body $.n == -1.5", "body $.n isNumber"],
            ),
            (
                "pm.expect(pm.response.json().n).to.be.true",
                ["body $.n == true", "body $.n isBoolean"],
            ),
            ("pm.expect(pm.response.json().n).to.be.an('array')", ["body $.n isArray"]),
            ("pm.expect(pm.response.json().n).to.not.equal('a')", ['body $.n != "a"']),
            (
                "pm.expect(pm.response.json().n).to.be.above(2)",
                ["body $.n > 2", "body $.n isNumber"],
            ),
            (
                "pm.expect(pm.response.headers.get('A')).to.not.include('b')",
                ["header A isDefined", "header A not contains b"],
            ),
            ("tests['a'] = JSON.parse(responseBody).n == 7", ["body $.n == 7"]),
            ("tests['a'] = JSON.parse(responseBody).n == '7'", ["body $.n == 7"]),
            ("tests['a'] = postman.getResponseHeader('A') == 7", ["header A == 7"]),
            ('tests["ok"] = responseCode.code === 200;', ["status == 200"]),
            (
                "pm.response.to.be.success;\npm.response.to.have.body('x')",
                ["status == 2xx", 'body == "x"'],
            ),
            (
                "test('x', ()=>{expect(res.status).to.eql(2); expect(res.body.a).to.eql(null) })",
                ["status == 2", "body $.a == null"],
            ),
            (
                "pm.expect(pm.response.json().n).to.be.null",
                ["body $.n == null"],
            ),
            (
                r"pm.expect(pm.response.json().n).to.eql('\x41\u00e9\ud83d\ude00\u{1F600}\b\'\z')",
                ['body $.n == "Aé😀😀\\b\'z"'],
            ),
            ("pm.expect(pm.response.json().n).to.eql('a\\\nb')", ['body $.n == "ab"']),
            (
                "pm.expect(pm.response.json().n)\n .to.eql('a  b\tc')",
                ['body $.n == "a  b\\tc"'],
            ),
        ],
    )
    def test_what_an_assertion_can_say_becomes_one(
        self, script: str, assertions: list[str]
    ) -> None:
        found = translated(script)
        assert list(found.assertions) == assertions
        assert found.script == ""

    @pytest.mark.parametrize(
        ("script", "names"),
        [
            ('pm.environment.set("h", "{{v}}-1");', "h"),
            ("pm.variables.set('h', `a${b}{{v}}`); pm.globals.set(\n'i',\n'{{v}}')", "h, i"),
            ("postman.setEnvironmentVariable('h', x + '{{v}}')", "h"),
            ("bru.setVar('h', '{{v}}')", "h"),
            ("insomnia.environment.set('h', '{{v}}')", "h"),
            ("pm.environment.set('h', pm.variables.replaceIn('{{v}}'))", ""),
            ("pm.environment.set('h', 'v'); log('{{v}}')", ""),
            ("pm.environment.set('h', JSON.stringify({a: {b: 1}}))", ""),
        ],
    )
    def test_braces_that_a_script_stores_are_reported(self, script: str, names: str) -> None:
        for before, after in (([script], []), ([], [script])):
            notes = [note for note in notes_on(before, after, "") if "braces" in note.reason]
            assert [note.blocks for note in notes] == ([bool(before)] if names else [])
            assert all(f"a script sets {names} to a text" in note.reason for note in notes)

    @pytest.mark.parametrize(
        "script",
        [
            "pm.test('x', () => { for (const a of b) { pm.expect(a).to.eql(1); } });",
            "pm.test('x', () => { pm.expect(pm.response.json()).to.have.property('a'); });",
            "pm.expect(other.a).to.eql(1);",
            "pm.expect(pm.response.json().a).to.eql(b);",
            "pm.expect(pm.response.json().a).to.include('b');",
            "if (pm.response.code === 200) { pm.response.to.be.json }",
            "pm.response.to.have.header('a b')",
            "pm.response.to.have.jsonBody('a')",
            "pm.expect(pm.response.json().f(x)).to.eql(1)",
            # An assertion converts types, or holds for a missing value, where the test does not.
            "pm.expect(pm.response.headers.get('a')).to.equal(1)",
            "pm.expect(pm.response.headers.get('a')).to.be.above(0)",
            "pm.expect(pm.response.text()).to.equal(1)",
            "pm.expect(pm.response.json().a).to.not.equal(1)",
            "pm.expect(pm.response.json().a).to.not.equal(true)",
            "pm.expect(pm.response.json().a.b).to.not.eql('c')",
            "pm.expect(pm.response.json().a.b).to.not.be.a('string')",
            "tests['a'] = JSON.parse(responseBody).n == true",
            "tests['a'] = JSON.parse(responseBody).n == 0",
            "tests['a'] = JSON.parse(responseBody).n == ''",
        ],
    )
    def test_what_none_can_say_stays_a_script(self, script: str) -> None:
        assert translated(script).assertions == ()
        assert translated(script).script.rstrip(";") == script.rstrip(";")

    @pytest.mark.parametrize(
        "change",
        [
            "d = d.a",
            "d.b.sort()",
            "d.b[0] = 1",
            "d.n += 1",
            "d.n++",
            "delete d.b",
            "if (d.a) { d = d.a }",
            "let use = () => { d = d.a }",
        ],
    )
    def test_a_test_of_a_changed_value_stays_a_script(self, change: str) -> None:
        test = "test('x', () => { expect(d.b).to.equal('c') })"
        script = f"let d = pm.response.json();\n{change};\n{test};"
        assert translated(script).assertions == ()
        assert translated(script).script == script

    @pytest.mark.parametrize("use", ["pm.environment.set('x', d.b)", "if (d.b === 1) { f(d.b) }"])
    def test_a_value_that_is_only_used_can_be_in_assertions(self, use: str) -> None:
        test = "test('x', () => { const d = pm.response.json(); expect(d.b).to.equal('c') })"
        found = translated(f"let d = pm.response.json();\n{use};\n{test};")
        assert found.assertions == ('body $.b == "c"',)
        assert found.script == f"let d = pm.response.json();\n{use};"

    @pytest.mark.parametrize(
        "leaves",
        [
            "return",
            "if (a) return",
            "if (a) { return }",
            "for (const a of b) { if (a) { return } }",
            "if (a) { throw new Error('b') }",
        ],
    )
    def test_a_test_that_may_not_run_stays_a_script(self, leaves: str) -> None:
        before, after = "tests['a'] = responseCode.code === 200", "pm.response.to.have.status(500)"
        found = translated(f"{before};\n{leaves};\n{after};")
        assert found.assertions == ("status == 200",)
        assert found.script == f"{leaves};\n{after};"

    @pytest.mark.parametrize(("body", "holds"), [(b"null", True), (b'{"id": 7,', False)])
    def test_only_a_json_body_is_json(self, body: bytes, holds: bool, tmp_path: Path) -> None:
        script = {"listen": "test", "script": {"exec": ["pm.response.to.be.json"]}}
        imported(tmp_path, collection(item(url="{{host}}/") | {"event": [script]}), "--strict")
        with RawServer(response(body, "Content-Type: application/json")) as server:
            arguments = [str(tmp_path / "out.http"), "--var", f"host={server.url}"]
            done = CliRunner().invoke(program, ["test", *arguments])
        assert (done.exit_code == 0) is holds, done.output

    def test_a_function_that_returns_ends_no_script(self) -> None:
        script = "const f = () => { return 1 };\npm.response.to.have.status(200);\nf();"
        assert translated(script).assertions == ("status == 200",)
        script = "if (a) { log('we return') }\npm.response.to.have.status(200);"
        assert translated(script).assertions == ("status == 200",)

    def test_a_script_keeps_what_is_no_assertion(self, tmp_path: Path) -> None:
        script = [
            "// note",
            "pm.test('ok', () => { pm.response.to.have.status(200); });",
            "pm.environment.set('id', pm.response.json().id);",
        ]
        one = item() | {"event": [{"listen": "test", "script": {"exec": script}}]}
        done = imported(tmp_path, collection(one), "--strict")
        assert done.exit_code == 0, done.output
        text = (tmp_path / "out.http").read_text()
        assert (
            "?? status == 200\n> {%\npm.environment.set('id', pm.response.json().id);\n%}" in text
        )

    @pytest.mark.parametrize("word", ["catch (e) { f() }", "finally { f() }", "else { f() }"])
    def test_a_statement_that_continues_in_the_next_line_stays_one(self, word: str) -> None:
        begin = "if (a) { f() }" if word.startswith("else") else "try { f() }"
        script = f'tests["ok"] = responseCode.code === 200;\n{begin}\n{word}\ng()'
        found = translated(script)
        assert found.assertions == ("status == 200",)
        assert found.script == f"{begin}\n{word};\ng();"

    def test_a_callback_is_not_taken_for_another_tools_response(self) -> None:
        sends = "pm.sendRequest('http://h', (err, res) => { use(res.status, res.body) })"
        assert not foreign(sends)
        assert as_pm(sends) == sends
        assert foreign("use(res.getUrl())")

    def test_a_script_that_cannot_run_is_reported(self, tmp_path: Path) -> None:
        event = [
            {"listen": "test", "script": "pm.visualizer.set('x')"},
            {"listen": "new", "script": "a"},
        ]
        done = imported(tmp_path, collection(item() | {"event": event}))
        assert "a script was imported unchanged" in done.stderr
        assert "a script for the event new was left out" in done.stderr

    @example("/*")
    @given(
        st.text(st.sampled_from("pm.test('x', () => { });\n\"`/*[]=5 expect to.eql"), max_size=60)
    )
    def test_what_is_no_test_is_kept_whole(self, script: str) -> None:
        found = translated(f"{script}\nneeded()")
        assert found.assertions or "needed()" in found.script

    @pytest.mark.parametrize(
        ("given", "made"),
        [
            ("insomnia.environment.set('a', 1)", "pm.environment.set('a', 1)"),
            ("postman.setGlobalVariable('a', responseBody)",
             "postman.setGlobalVariable('a', responseBody)"),
            ('tests["ok"] = responseCode.code < 300;', 'tests["ok"] = responseCode.code < 300;'),
            ("bru.setEnvVar('a', res.body.b)", "pm.environment.set('a', pm.response.json().b)"),
            ("test('x', () => expect(res.getStatus()).to.be.above(1))",
             "pm.test('x', () => pm.expect(pm.response.code).to.be.above(1))"),
            ("test('expect(res.body)', () => log(`${res.status}`, \"insomnia.x\"))",
             "pm.test('expect(res.body)', () => log(`${pm.response.code}`, \"insomnia.x\"))"),
        ],
    )  # fmt: skip
    def test_scripts_of_other_tools_have_the_functions_of_pm(self, given: str, made: str) -> None:
        assert as_pm(given) == made
        assert not foreign(made)

    @needs_engine
    def test_a_kept_script_runs(self, tmp_path: Path) -> None:
        script = [
            "const list = pm.response.json();",
            "pm.environment.set('id', list[0].id);",
            "pm.test('some', () => { for (const one of list) pm.expect(one.id).to.eql(7); });",
        ]
        first = item("A", url="{{host}}/list") | {
            "event": [{"listen": "test", "script": {"exec": script}}]
        }
        imported(tmp_path, collection(first, item("B", url="{{host}}/{{id}}")))
        with RawServer(response(b'[{"id": 7}]', "Content-Type: application/json")) as server:
            arguments = [str(tmp_path / "out.http"), "--var", f"host={server.url}"]
            done = CliRunner().invoke(program, ["test", *arguments])
            asked = [request.split(b" ")[1] for request in server.requests]
        assert done.exit_code == 0, done.output
        assert asked == [b"/list", b"/7"]
        assert "some" in done.output or "2 passed" in done.output

    def test_assertions_hold_and_fail_where_the_tests_would(self, tmp_path: Path) -> None:
        held = [
            "pm.response.to.have.status(200)",
            "pm.response.to.be.ok",
            "pm.response.to.be.json",
            "pm.response.to.have.header('X-A', 'b c')",
            "pm.response.to.be.success",
            "pm.expect(pm.response.headers.get('X-A')).to.include('b c')",
            "pm.expect(pm.response.text()).to.not.include('zz')",
            "pm.expect(pm.response.code).to.be.oneOf([200, 201])",
            "pm.expect(pm.response.json().n).to.eql(7)",
            "pm.expect(pm.response.json().n).to.be.above(6)",
            "pm.expect(pm.response.json().s).to.eql('7')",
            "pm.expect(pm.response.json().t).to.be.true",
            "pm.expect(pm.response.json().l).to.be.an('array')",
            "pm.expect(pm.response.json().l[0]['a-b']).to.equal('x y')",
            "pm.expect(pm.response.json().z).to.be.null",
            "pm.expect(pm.response.json().s).to.not.eql('8')",
            "pm.expect(pm.response.json().gone).to.not.eql('8')",
            "pm.expect(pm.response.headers.get('X-A')).to.not.include('d')",
            "pm.response.to.have.header('X-Empty')",
            "tests['a'] = JSON.parse(responseBody).s == 7",
            "tests['a'] = JSON.parse(responseBody).n == '7'",
        ]
        fails = [
            "pm.response.to.have.status(201)",
            "pm.response.to.have.header('X-B')",
            "pm.expect(pm.response.json().n).to.eql('7')",
            "pm.expect(pm.response.json().s).to.eql(7)",
            "pm.expect(pm.response.json().t).to.be.false",
            "pm.expect(pm.response.json().n).to.be.below(7)",
            "pm.expect(pm.response.text()).to.include('zz')",
            "pm.expect(pm.response.json().l).to.be.an('object')",
            "pm.expect(pm.response.json().s).to.be.above(0)",
            "pm.expect(pm.response.json().gone).to.be.below(10)",
            "pm.expect(pm.response.headers.get('X-B')).to.not.include('d')",
        ]
        body = b'{"n": 7, "s": "7", "t": true, "l": [{"a-b": "x y"}], "z": null}'
        asked = []
        for number, script in enumerate([*held, *fails]):
            assert translated(script).script == "", script
            event = [{"listen": "test", "script": {"exec": script}}]
            asked.append(item(str(number), url="{{host}}/") | {"event": event})
        imported(tmp_path, collection(*asked), "--strict")
        answer = response(body, "Content-Type: text/plain", "X-A: b c", "X-Empty:")
        with RawServer(answer) as server:
            arguments = [str(tmp_path / "out.http"), "--var", f"host={server.url}"]
            done = CliRunner().invoke(
                program, ["test", *arguments, "--report-json", str(tmp_path / "r.json")]
            )
        assert f"{len(held)} passed, {len(fails)} failed" in done.output, done.output


@pytest.mark.parametrize("bearer", [[], values(token=""), {"token": ""}])
def test_an_empty_bearer_token_adds_no_header(bearer: Any, tmp_path: Path) -> None:
    imported(tmp_path, collection(item(auth={"type": "bearer", "bearer": bearer})))
    (request,) = sent(tmp_path)
    assert request.header("Authorization") is None


def test_oauth_settings_of_a_collection_become_a_login(tmp_path: Path) -> None:
    oauth = values(grant_type="client_credentials", accessTokenUrl="https://a.example/t",
                   clientId="me", clientSecret="{{s}}", scope="a b",
                   redirect_uri="https://oauth.pstmn.io/v1/callback")  # fmt: skip
    done = imported(
        tmp_path, collection(item(), auth={"type": "oauth2", "oauth2": oauth}), output="out.http"
    )
    text = (tmp_path / "out.http").read_text()
    assert "@login_tokenEndpoint = https://a.example/t\n" in text
    assert "@login_scope = a b\n" in text
    assert "Authorization: oauth2 client_credentials login\n" in text
    assert "@disabled" not in text
    assert "was left out: the login redirects to a free port on this machine" in done.stderr


@pytest.mark.parametrize("output", ["out.http", "out.org"])
def test_a_secret_keeps_the_space_at_its_end(output: str, tmp_path: Path) -> None:
    oauth = values(grant_type="client_credentials", accessTokenUrl="https://a.example/t",
                   clientId="me", clientSecret="s3cret ")  # fmt: skip
    auth = {"type": "oauth2", "oauth2": oauth}
    done = imported(tmp_path, collection(item(auth=auth)), "--strict", output=output)
    assert (done.exit_code, done.stderr) == (0, "")
    assert '@login_clientSecret = {{"s3cret "}}\n' in (tmp_path / output).read_text()


def test_a_test_keeps_its_name(tmp_path: Path) -> None:
    script = {"listen": "test", "script": {"exec": [
        "pm.test('It is there', () => { pm.response.to.have.status(200); });",
        "pm.test('@disabled # ?? x', () => pm.expect(pm.response.code).to.equal(200));",
    ]}}  # fmt: skip
    imported(tmp_path, collection({**item(), "event": [script]}))
    text = (tmp_path / "out.http").read_text()
    assert "# It is there\n?? status == 200\n" in text
    with RawServer(response(b"no", status="404 Not Found")) as server:
        path = tmp_path / "out.http"
        path.write_text(text.replace("http://h.example", server.url))
        done = CliRunner().invoke(program, ["test", str(path)])
    assert "It is there (status == 200)" in done.output
    again = CliRunner().invoke(program, ["export", "--to", "postman", str(tmp_path / "out.http")])
    assert 'pm.test(\\"It is there\\"' in again.stdout


def test_two_tests_of_the_same_keep_both_names(tmp_path: Path) -> None:
    script = {"listen": "test", "script": {"exec": [
        "pm.response.to.have.status(200);",
        "pm.test('It is there', () => { pm.response.to.have.status(200); });",
        "tests['old style'] = responseCode.code === 200;",
        "tests['old style'] = responseCode.code === 200;",
    ]}}  # fmt: skip
    imported(tmp_path, collection({**item(), "event": [script]}))
    text = (tmp_path / "out.http").read_text()
    assert "\n\n# It is there\n?? status == 200\n# old style\n?? status == 200\n" in text
    with RawServer(response(b"no", status="404 Not Found")) as server:
        path = tmp_path / "out.http"
        path.write_text(text.replace("http://h.example", server.url))
        done = CliRunner().invoke(program, ["test", str(path)])
    assert "It is there (status == 200)" in done.output
    assert "old style (status == 200)" in done.output


@pytest.mark.parametrize(
    ("listen", "code", "name"),
    [
        ("test", "postman.setNextRequest('Two')", "postman.setNextRequest"),
        ("test", "pm.execution.setNextRequest(null)", "pm.execution.setNextRequest"),
        ("test", "pm.response.to.have.jsonSchema({type: 'object'})", "jsonSchema"),
        ("test", "pm.expect(pm.response.json()).to.be.jsonSchema({})", "jsonSchema"),
        ("prerequest", "pm.request.to.have.header('a')", "pm.request.to"),
        ("prerequest", "pm.request.url.query.add('a=b')", "pm.request.url.query.add"),
        ("prerequest", "if (pm.request.body.mode) return", "pm.request.body.mode"),
        ("prerequest", "pm.request.headers.clear()", "pm.request.headers.clear"),
        ("prerequest", "pm.request.removeQueryParams('a')", "pm.request.removeQueryParams"),
        ("prerequest", "setTimeout(() => {}, 1); new Intl.NumberFormat()", "setTimeout, Intl"),
        ("prerequest", "const a = _.get(b, 'c'); CryptoJS.MD5('a')", "_.get, CryptoJS"),
    ],
)
def test_a_function_that_is_not_known_is_reported_by_its_name(
    listen: str, code: str, name: str, tmp_path: Path
) -> None:
    event = {"listen": listen, "script": {"exec": [code]}}
    done = imported(tmp_path, collection({**item(), "event": [event]}))
    assert f"imported unchanged, but it uses {name}, which orgrest does not provide" in done.stderr
    # What a script does before a request may change what is sent.
    assert ("# @disabled" in (tmp_path / "out.http").read_text()) == (listen == "prerequest")


@needs_engine
def test_what_a_script_set_before_it_failed_stays_set(tmp_path: Path) -> None:
    event = {"listen": "test", "script": {"exec": [
        "pm.environment.set('a', 5);",
        "postman.setEnvironmentVariable('b', {toString: () => 'text'});",
        "pm.test('kept', () => pm.expect(typeof pm.environment.get('b')).to.equal('string'));",
        "throw new Error('too late');",
    ]}}  # fmt: skip
    two = item("Two", header=[{"key": "X", "value": "{{a}}-{{b}}"}])
    imported(tmp_path, collection({**item(), "event": [event]}, two))
    with RawServer(response(b"{}")) as server:
        path = tmp_path / "out.http"
        path.write_text(path.read_text().replace("http://h.example", server.url))
        done = CliRunner().invoke(program, ["test", str(path)])
    assert b"\r\nX: 5-text\r\n" in server.requests[1]
    assert "too late" in done.output
    assert done.exit_code == 1


@pytest.mark.parametrize(
    "code",
    [
        "pm.environment.set('session', 1)",
        'pm.collectionVariables.set("session", 1)',
        "postman.setGlobalVariable('session', 1)",
    ],
)
def test_a_dry_run_names_what_an_earlier_script_sets(code: str, tmp_path: Path) -> None:
    event = {"listen": "test", "script": {"exec": [code]}}
    two = item("Two", header=[{"key": "X", "value": "{{session}}"}])
    imported(tmp_path, collection({**item(), "event": [event]}, two))
    done = CliRunner().invoke(program, ["--dry-run", str(tmp_path / "out.http")])
    assert done.exit_code == 0, done.output
    assert "X: <session>\n" in done.output


def test_a_dry_run_shows_the_host_of_a_private_environment(tmp_path: Path) -> None:
    given = [{"key": "base", "value": "http://h.example", "type": "secret"},
             {"key": "key", "value": "s3cr3t", "type": "secret"}]  # fmt: skip
    header = [{"key": "X", "value": "{{key}}"}]
    one = {"name": "One", "request": {"url": "{{base}}/a", "method": "GET", "header": header}}
    imported(tmp_path, collection(one, variable=given))
    done = CliRunner().invoke(program, ["--dry-run", str(tmp_path / "out.http")])
    assert "GET http://h.example/a\n" in done.output
    assert "X: ***\n" in done.output
