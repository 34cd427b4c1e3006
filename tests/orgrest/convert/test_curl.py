"""Conversion of requests to and from curl commands: `orgrest.convert.curl`."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from components import needs
from evaluated import Evaluated
from hypothesis import example, given, settings
from hypothesis import strategies as st
from servers import RawServer, closing, httpbin, redirect, response

from orgrest.convert.curl import to_command
from orgrest.convert.formats import read
from orgrest.convert.shared import documents, source
from orgrest.convert.shared.model import ConversionError, Written
from orgrest.files import write_new
from orgrest.http.auth.digest import DigestCredentials
from orgrest.http.auth.ntlm import NtlmCredentials
from orgrest.http.auth.sigv4 import AwsCredentials, sign
from orgrest.http.parsing import request_file
from orgrest.http.transport.client import Client
from orgrest.http.transport.wire import wire_headers
from orgrest.http.values import Context, Inputs, expand
from orgrest.model import (
    ClientCertificate,
    Credentials,
    OrgrestError,
    Request,
    Source,
)


def written(command: str, bodies: str | None = None) -> Written:
    """Return what `orgrest import` writes for a command.

    Raises ConversionError if the import adds a note.
    """
    whole = read(source.Source("pasted", command))
    found = documents.document_of(whole, org=False, bodies=bodies)
    for note in [*whole.folder.all_notes(), *found.notes]:
        raise ConversionError(note.reason)
    return found


def request_of(command: str) -> str:
    """Return the request that `orgrest import` writes for a command.

    The title is left out, and so are the directives for a command without -L, -b and -c.
    """
    text = written(command).text.partition("\n")[2].removesuffix("\n")
    return text.replace("# @no-redirect\n", "", 1).replace("# @no-cookie-jar\n", "", 1)


def completed(command: str, folder: Path) -> Request:
    """Return the request that is sent by the document imported from a command."""
    found = written(command, "bodies")
    for name, data in found.files.items():
        write_new(folder / name, data)
    (parsed,) = request_file.parse(Source(found.text)).requests
    assert not parsed.problems
    return expand(parsed, Context(Inputs(directory=folder)))


needs_curl = needs("curl")


def run_curl(command: str, **options: object) -> None:
    """Run a command as it would be pasted, but without the user's settings."""
    assert re.match(r"(?:\w+=.*\n)*(?:curl|printf) ", command)
    command = command.replace("curl", "curl -q -sS --max-time 5 --noproxy '*'", 1)
    subprocess.run(["bash"], input=command.encode(), check=True, capture_output=True, **options)  # type: ignore[call-overload]  # as given


def told(sent: bytes) -> tuple[bytes, set[bytes], bytes]:
    """Return the request line, the headers that both tools should send, and the body."""
    head, _, body = sent.partition(b"\r\n\r\n")
    line, *lines = head.split(b"\r\n")
    own = (b"user-agent:", b"accept-encoding:")
    return line, {line.rstrip() for line in lines if not line.lower().startswith(own)}, body


def cookies_sent(sent: bytes) -> tuple[bytes, list[bytes]]:
    """Return the request line and the cookies."""
    head = sent.partition(b"\r\n\r\n")[0]
    lines = re.findall(rb"\r\nCookie: ([^\r]*)", head)
    return head.partition(b"\r\n")[0], sorted(b"; ".join(lines).split(b"; "))


def run_document(text: str, folder: Path) -> None:
    """Send the requests of a request file."""
    inputs = Inputs(directory=folder, environ=os.environ)
    assert Evaluated(text, inputs).reasons == []


def without_boundary(sent: bytes) -> tuple[bytes, bytes]:
    head, _, body = sent.partition(b"\r\n\r\n")
    (kind,) = re.findall(rb"\r\nContent-Type: ([^\r]*); boundary=([^\r]*)", head)
    # A line end may follow the last boundary, or not (RFC 2046, section 5.1.1).
    return kind[0], body.replace(kind[1], b"BOUNDARY").removesuffix(b"\r\n")


class TestToCommand:
    def test_a_plain_request_is_one_line(self) -> None:
        assert to_command(Request("GET", "http://x/?a=b&c")) == "curl 'http://x/?a=b&c'"

    def test_everything_is_quoted_for_the_shell(self) -> None:
        request = Request(
            "PUT", "http://x/", (("X-A", "it's $HOME"), ("X-Empty", "")), b'{"a": "`b`"}\n'
        )
        assert to_command(request) == (
            "curl \\\n  -X PUT \\\n  -H 'X-A: it'\"'\"'s $HOME' \\\n  -H 'X-Empty;' \\\n"
            '  -H Content-Type: \\\n  --data-raw \'{"a": "`b`"}\n\' \\\n  http://x/'
        )

    def test_a_head_request_does_not_wait_for_a_body(self) -> None:
        assert to_command(Request("HEAD", "http://x/")) == "curl \\\n  --head \\\n  http://x/"

    @needs_curl
    @pytest.mark.parametrize("body", [b"\xff", b"a\0b", b"\0", b"'\r\n" * 50_000])
    def test_a_body_that_no_command_line_holds_is_piped_into_curl(self, body: bytes) -> None:
        with RawServer(closing(response(b""))) as server:
            command = to_command(Request("POST", server.url, body=body))
            run_curl(command)
        assert server.requests[0].partition(b"\r\n\r\n")[2] == body

    @needs_curl
    def test_curl_sends_what_the_command_says(self) -> None:
        with RawServer(response(b"ok")) as server:
            request = Request(
                "POST", f"{server.url}/a?b=c", (("X-A", "it's"), ("X-B", "")), "é\nb".encode()
            )
            command = to_command(request).replace("curl", "curl -s --noproxy '*'", 1)
            subprocess.run(["sh", "-c", command], check=True, capture_output=True)
            head, _, body = server.requests[0].partition(b"\r\n\r\n")
        assert head.startswith(b"POST /a?b=c HTTP/1.1\r\n")
        assert b"\r\nX-A: it's\r\n" in head
        assert b"\r\nX-B:\r\n" in head
        assert b"content-type" not in head.lower()
        assert body == "é\nb".encode()

    @pytest.mark.parametrize(
        ("url", "words"),
        [
            ("http://x/?a=[1-3]&b={x,y}", "'http://x/?a=%5B1-3%5D&b=%7Bx,y%7D'"),
            ("http://x/a b/é#f", "http://x/a%20b/%C3%A9"),
            ("http://x/a/../b?..", "--path-as-is \\\n  'http://x/a/../b?..'"),
            ("http://x/%2E./b", "--path-as-is \\\n  http://x/%2E./b"),
            ("http://x/a?/../b", "'http://x/a?/../b'"),
            ("http://me:p@s s@x:80/", "http://me:p%40s%20s@x/"),
            ("http://Bücher.example", "http://xn--bcher-kva.example/"),
        ],
    )
    def test_the_url_is_the_one_that_is_sent(self, url: str, words: str) -> None:
        command = to_command(Request("GET", url))
        assert command.removeprefix("curl").lstrip(" \\\n") == words

    @pytest.mark.parametrize(
        ("request_", "message"),
        [
            (Request("GET", "ftp://x/"), "expected an absolute http or https URL, found"),
            (Request("GET", "http://x/", (("X-A", "b\nX-B: c"),)), "X-A contains a line break"),
        ],
    )
    def test_what_cannot_be_sent_is_no_command(self, request_: Request, message: str) -> None:
        with pytest.raises(OrgrestError, match=message):
            to_command(request_)

    @needs_curl
    @settings(deadline=None, max_examples=40)
    @example("POST", "/", None, "")
    @example("GET", "/{a,b}/[1-3]?x={1..2}&y=[a]", None, "me:p@s s%41{}")
    @given(
        method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH"]),
        path=st.text("ab/.%2eE é[]{}?&=#\\-,;'\"$`!~^|<>*", max_size=12).map("/".__add__),
        body=st.none() | st.text("ab@{}:<\n'\"$ é!\\", max_size=9),
        user=st.text("ab:@ %é[]{}$!", max_size=5),
    )
    def test_curl_sends_what_orgrest_sends(
        self, method: str, path: str, body: str | None, user: str
    ) -> None:
        with RawServer(response(b"")) as server, Client() as client:
            host = f"{user}@{server.host}" if user else server.host
            headers = (("X-A", "it's"), ("X-Empty", ""))
            data = None if body is None else body.encode()
            request = Request(method, f"http://{host}{path}", headers, data)
            client.send(request)
            run_curl(to_command(request))
            ours, curls = server.requests
        assert told(curls) == told(ours)

    @needs_curl
    def test_a_head_request_with_a_body_keeps_it(self) -> None:
        close = closing(b"HTTP/1.1 200 OK\r\n\r\n")
        with RawServer(close) as server:
            run_curl(to_command(Request("HEAD", server.url, body=b"x")))
        assert told(server.requests[0])[::2] == (b"HEAD / HTTP/1.1", b"x")


class TestRedirectsAndCookies:
    @needs_curl
    @pytest.mark.parametrize(
        "script",
        [
            "curl {}/start\ncurl {}/next",
            "curl -L {}/start\ncurl {}/next",
            "curl -L -b c=3 {}/start\ncurl {}/next\n",
            "curl -L -b '' {}/start\ncurl {}/next",
            "curl --location -c jar {}/start\ncurl -b jar {}/next",
            "curl -sc jar {}/start\ncurl -Lb jar -c jar {}/start",
            'cookies=$(mktemp)\ncurl -c "$cookies" {}/start\ncurl -b "${{cookies}}" {}/next',
        ],
    )
    def test_only_the_redirects_and_cookies_that_curl_handles_are_handled(
        self, script: str, tmp_path: Path
    ) -> None:
        with RawServer(redirect) as server:
            script = script.replace("{}", server.url).replace("{{", "{").replace("}}", "}")
            run_curls = script.replace("curl ", "curl -q -sS --noproxy '*' ")
            subprocess.run(["bash", "-e"], input=run_curls.encode(), check=True, cwd=tmp_path,
                           capture_output=True)  # fmt: skip
            curls, server.requests[:] = server.requests[:], []
            run_document(written(script).text, tmp_path)
            ours = server.requests[:]
        assert list(map(cookies_sent, ours)) == list(map(cookies_sent, curls))

    @pytest.mark.parametrize(
        ("script", "message"),
        [
            (
                "curl -c a http://x/\ncurl -c b http://x/",
                "curl sends no cookies of earlier commands without -b FILE",
            ),
            (
                "curl -b '' http://x/\ncurl -b '' http://x/",
                "curl sends no cookies of earlier commands without -b FILE",
            ),
            (
                "curl -c a http://x/\ncurl -b a -b c=1 http://x/",
                "also sends the cookies that respon",
            ),
            (
                "curl -L -b '' -H 'Cookie: c=1' http://x/",
                "also sends the cookies that responses set",
            ),
        ],
    )
    def test_cookies_that_curl_would_send_otherwise_are_reported(
        self, script: str, message: str
    ) -> None:
        with pytest.raises(ConversionError, match=f"curl .*{message}"):
            written(script)


class TestCredentials:
    @needs_curl
    def test_curl_answers_digest_challenges_as_we_do(self) -> None:
        with httpbin() as url:
            request = Request(
                "GET",
                f"{url}/digest-auth/auth/me/pa=ss",
                credentials=DigestCredentials("me", "pa=ss"),
            )
            command = to_command(request).replace("curl", "curl --fail", 1)
            run_curl(command)
            with pytest.raises(subprocess.CalledProcessError):
                run_curl(command.replace("me:pa=ss", "me:other"))

    @needs_curl
    def test_curl_signs_for_aws_as_we_do(self) -> None:
        keys = AwsCredentials("AKID", "se cret", "T0K", "eu-west-1", "execute-api")
        with RawServer(closing(response(b""))) as server:
            request = Request("GET", f"{server.url}/a?b=c", credentials=keys)
            run_curl(to_command(request))
        lines = server.requests[0].decode().split("\r\n")[1:]
        sent = {n.lower(): v for n, _, v in (line.partition(": ") for line in lines)}
        moment = (("X-Amz-Date", sent["x-amz-date"]),)
        again = dict(sign(keys, "GET", sent["host"], "/a?b=c", moment, b""))
        assert sent["authorization"].split("=")[-1] == again["Authorization"].split("=")[-1]

    def test_a_client_certificate_and_a_websocket_are_told_to_curl_or_refused(self) -> None:
        certificate = ClientCertificate("a.pem", "b.pem", "pass")
        command = to_command(Request("GET", "https://a/", certificate=certificate))
        assert command.split(" \\\n  ")[1:4] == ["--cert a.pem", "--key b.pem", "--pass pass"]
        with pytest.raises(ConversionError, match="WebSockets"):
            to_command(Request("WEBSOCKET", "ws://a/"))


class TestFromCurl:
    @pytest.mark.parametrize(
        ("command", "text"),
        [
            ("curl http://x/", "GET http://x/"),
            ("$ curl -sSL --compressed x.org/a", "GET http://x.org/a"),
            ("curl -I http://x/", "HEAD http://x/"),
            ("/usr/bin/curl -XDELETE http://x/", "DELETE http://x/"),
            ("curl --url http://x/ -o file", "GET http://x/"),
            ("curl http://x/ -H 'A: b' -H'C:d' -H 'E;' -H 'F:'", "GET http://x/\nA: b\nC: d\nE:"),
            ("curl http://x/ -A me -e r", "GET http://x/\nUser-Agent: me\nReferer: r"),
            ("curl http://x/ -b c=1", "GET http://x/\nCookie: c=1"),
            ("curl http://x/ -b c=1 --cookie d=2 -b '' -e ''", "GET http://x/\nCookie: c=1; d=2"),
            ("curl http://x/ -H Cookie:a -H Cookie:b", "GET http://x/\nCookie: a\nCookie: b"),
            ("curl -g --path-as-is http://x/a/../b", "GET http://x/a/../b"),
            ("curl http://x/?a=1#f --url-query 'b=c d' --url-query +e=f", "GET http://x/?a=1&b=c%20d&e=f"),
            ("curl http://x/#f -G -d a=1 --url-query 'b&c'", "GET http://x/?b%26c&a=1"),
            ("curl http://x/ --json @a.json", ("POST http://x/\nContent-Type: application/json\n"
             "Accept: application/json\n\n< a.json")),
            ("curl http://x/ -H $'A: it\\'s \\u00e9\\x21'", "GET http://x/\nA: it's é!"),
            ("curl 'http://x/'\"a\\\n\\$b\" \\\r\n -H 'A: \\\\'", "GET http://x/a$b\nA: \\\\"),
            ("curl -u me: http://u:p@x/a@b", "GET http://me:@x/a@b"),
            ("curl -u 'me:p@ss' http://x/", "GET http://x/\nAuthorization: Basic me p@ss"),
            ("curl -G http://x/?a=1 -d b=2 --data-urlencode 'c=d e'", "GET http://x/?a=1&b=2&c=d%20e"),
            (
                "curl http://x/ -d a=1 -d b=2",
                "POST http://x/\nContent-Type: application/x-www-form-urlencoded\n\na=1&b=2",
            ),
            (
                "curl http://x/ -H 'content-type: a/b' --data-binary @body.bin",
                "POST http://x/\ncontent-type: a/b\n\n< body.bin",
            ),
            (
                "curl http://x/ --json '{\"a\":' --json ' 1}'",
                ("POST http://x/\nContent-Type: application/json\nAccept: application/json\n\n"
                '{"a": 1}'),
            ),
            (
                "curl http://x/ \\\n  -X PUT \\\n  --data-raw '@x'",
                "PUT http://x/\nContent-Type: application/x-www-form-urlencoded\n\n@x",
            ),
        ],
    )  # fmt: skip
    def test_what_is_sent_is_kept(self, command: str, text: str) -> None:
        assert request_of(command) == text

    @pytest.mark.parametrize(
        ("options", "line"),
        [
            ("-m 3", "# @timeout 3 s"),
            ("--max-time 2.5", "# @timeout 2.5 s"),
            ("--connect-timeout 1", "# @connection-timeout 1 s"),
            ("--cert c.pem:pw --key k.pem", "X-ClientCert: cert: c.pem key: k.pem passphrase: pw"),
            ("-E c.pem --pass pw", "X-ClientCert: cert: c.pem passphrase: pw"),
        ],
    )
    def test_how_curl_sends_is_reported_where_a_document_can_say_it(
        self, options: str, line: str
    ) -> None:
        text = request_of(f"curl {options} http://x/ -d a=b")
        (parsed,) = request_file.parse(text).requests
        assert not parsed.problems
        assert not parsed.notices
        assert line in text.split("\n")
        assert parsed.body is not None
        assert parsed.body.template.text == "a=b"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ("-x http://p:1", "-x http://p:1 was left out: use orgrest --proxy URL"),
            ("--proxy http://p:1", "--proxy http://p:1 was left out"),
            ("--cacert ca.pem", "--cacert ca.pem was left out: use orgrest --ca FILE"),
            ("--retry 3", "--retry 3 was left out: use orgrest test --retry N"),
            (
                "-k",
                "--insecure was left out: to turn off certificate verification",
            ),
            ("--http2", "--http2 was left out: requests are sent as HTTP/1.1"),
            ("--resolve x:80:127.0.0.1", "--resolve x:80:127.0.0.1 was left out"),
        ],
    )
    def test_what_no_document_can_say_is_named(self, options: str, message: str) -> None:
        with pytest.raises(ConversionError, match=re.escape(f"curl {message}")):
            request_of(f"curl {options} http://x/")

    @pytest.mark.parametrize(
        "credentials",
        [
            DigestCredentials("me", "pa=ss:word"),
            AwsCredentials("AKID", "se/cret", "", "eu-west-1", "execute-api"),
            NtlmCredentials("OFFICE\\me", "pa:ss", "NTLM"),
            NtlmCredentials("me", "pass", "Negotiate"),
        ],
    )
    def test_credentials_survive_the_way_to_curl_and_back(self, credentials: Credentials) -> None:
        request = Request("GET", "http://x/a", credentials=credentials)
        text = request_of(to_command(request))
        (parsed,) = request_file.parse(Source(text)).requests
        again = expand(parsed, Context())
        assert (again.method, again.url, again.headers) == ("GET", "http://x/a", ())
        assert again.credentials == credentials

    @pytest.mark.parametrize(
        "options", ["--digest", "--digest -u 'a b:c'", "--aws-sigv4 osc:amz:r:s"]
    )
    def test_credentials_that_cannot_be_kept_are_an_error(self, options: str) -> None:
        with pytest.raises(ConversionError):
            request_of(f"curl {options} http://x/")

    def test_a_form_in_a_file_has_the_line_ends_that_servers_require(self, tmp_path: Path) -> None:
        command = "curl http://x/ -F 'title=# Heading' -F n=1"
        assert "< bodies/" in written(command, "bodies").text
        body = completed(command, tmp_path).body or b""
        assert body.count(b"\n") == body.count(b"\r\n") == 8

    def test_a_header_that_curl_must_not_add_is_not_added(self) -> None:
        assert request_of("curl http://x/ -d a -H Content-Type:") == "POST http://x/\n\na"

    @pytest.mark.parametrize("url", ["http://x/{a,b}", "http://x/{a}", "http://x/[1-20:2]?[a-f]"])
    def test_a_url_that_stands_for_several_is_reported(self, url: str) -> None:
        with pytest.raises(ConversionError, match="curl sends one request for each value of"):
            request_of(f"curl '{url}'")
        assert request_of(f"curl -g '{url}'") == f"GET {url}"

    @needs_curl
    @pytest.mark.parametrize(
        "arguments",
        ["{}/x", "-X POST {}/x?a", "{}/x -XPATCH -H 'Content-Type: a/b'"],
    )
    def test_a_file_is_uploaded_as_by_curl(self, arguments: str, tmp_path: Path) -> None:
        (tmp_path / "a b.bin").write_bytes(b"\0\xff{{x}}\r\n")
        with RawServer(closing(response(b""))) as server, Client() as client:
            command = f"curl -H Expect: -T './a b.bin' {arguments.format(server.url)}"
            run_curl(command, cwd=tmp_path)
            client.send(completed(command, tmp_path))
            curls, ours = map(told, server.requests)
        assert ours == curls

    @pytest.mark.parametrize(
        "arguments",
        ["- http://x/a", "f http://x", "f http://x/a/?b", "f -d a http://x/a"],
    )
    def test_an_upload_that_depends_on_more_than_the_command_is_an_error(
        self, arguments: str
    ) -> None:
        with pytest.raises(ConversionError):
            request_of(f"curl -T {arguments}")

    @pytest.mark.parametrize("name", ["{a,b}", "{a}", "a[1-2]"])
    def test_an_upload_of_several_files_is_not_taken_for_one_file(self, name: str) -> None:
        with pytest.raises(ConversionError, match="uploads one file for each value of"):
            request_of(f"curl -T '{name}' http://x/y")
        with pytest.raises(ConversionError, match="uploads one file for each value of"):
            request_of(f"A='{name}'\ncurl -T $A http://x/y")
        assert request_of(f"curl -T '{name}' -g http://x/y") == f"PUT http://x/y\n\n< {name}"

    @needs_curl
    @pytest.mark.parametrize(
        "arguments",
        ["-T ''", "-T '' -X DELETE", "-T '' -d a", "-T '' -I", "-T '' -T f", "-T f -T ''",
         "-T '' -H 'Content-Type: a/b'", "-X DELETE -I", "-I -X DELETE", "-I -G -d a"],
    )  # fmt: skip
    def test_what_curl_does_not_upload_is_not_uploaded(
        self, arguments: str, tmp_path: Path
    ) -> None:
        (tmp_path / "f").write_text("text")
        with RawServer(closing(response(b""))) as server, Client() as client:
            command = f"curl -m 30 -H Expect: {arguments} {server.url}/"
            if "-T f" in arguments:
                command += "f"
            run_curl(command, cwd=tmp_path)
            client.send(completed(command, tmp_path))
            curls, ours = map(told, server.requests)
        assert ours == curls

    @needs_curl
    @pytest.mark.parametrize("data", ["-T f", "-d a", "-F a=b", "--json 1", "-T f -X PUT"])
    def test_options_with_which_curl_sends_nothing_are_reported(
        self, data: str, tmp_path: Path
    ) -> None:
        (tmp_path / "f").write_text("text")
        for command in (f"curl -I {data} http://x/f", f"curl {data} -I http://x/f"):
            with pytest.raises(subprocess.CalledProcessError) as raised:
                run_curl(command, cwd=tmp_path)
            assert raised.value.returncode == 2  # wrong options
            with pytest.raises(ConversionError, match="curl cannot combine -I with"):
                request_of(command)

    @needs_curl
    @pytest.mark.parametrize(
        "options",
        [
            "-u a:b -H 'authorization: Bearer x'",
            "-u 'a:b c' -H 'Authorization: Bearer x'",
            "-u a:b --aws-sigv4 aws:amz:r:s -H 'Authorization: Bearer x'",
            "-u a:b -H Authorization:",
            "-A one -A two -e r1 -e r2",
            "-A one -H 'User-Agent: two' -H 'Referer;' -e r",
            "-A one -e r -e '' -H Referer:",
            "-b a=1 -H 'Cookie: d=4'",
            "-b a=1 -H Cookie:",
            "-A one -e 'r;auto'",
        ],
    )
    def test_a_header_that_several_options_set_is_sent_as_curl_sends_it(
        self, tmp_path: Path, options: str
    ) -> None:
        names = (b"authorization:", b"user-agent:", b"referer:", b"cookie:")
        with RawServer(closing(response(b""))) as server, Client() as client:
            command = f"curl -A none {server.url} {options}"
            run_curl(command)
            client.send(completed(command, tmp_path))
            curls, ours = (
                sorted(
                    line.rstrip() for line in sent.split(b"\r\n") if line.lower().startswith(names)
                )
                for sent in server.requests
            )
        assert ours == curls

    @pytest.mark.parametrize(
        ("options", "header"),
        [
            ("-A ''", "User-Agent"),
            ("-H user-agent:", "User-Agent"),
            ("--json 1 -A x -H Accept:", "Accept"),
            ("-H Accept-Encoding:", "Accept-Encoding"),
        ],
    )
    def test_a_header_that_only_orgrest_sends_is_reported(self, options: str, header: str) -> None:
        reason = f"curl sends no {header} header, but orgrest does"
        with pytest.raises(ConversionError, match=f"^{reason}$"):
            request_of(f"curl http://x/ {options}")

    def test_a_referer_that_only_curl_sends_is_reported(self) -> None:
        with pytest.raises(ConversionError, match="curl -e ;auto sets Referer after a redirect"):
            request_of("curl -L http://x/ -e 'a;auto'")

    @needs_curl
    @pytest.mark.parametrize(
        "script",
        [
            'A="B: $C"\ncurl $U -H "$A" -H "D: e"',
            'A=B\ncurl $U -H "X-$A: 1" -H "X-$C: 2"',
            "A='B;'\ncurl $U -H \"$A\"",
            'A=q.txt\ncurl $U --data-binary "@$A"',
            'A=@q.txt\ncurl $U --data-binary "$A"',
            'curl $U --data-binary "@$F"',
            'A=\'{"b": 1}\'\ncurl $U --json "$A"',
            "A='b=c'\nT=3\ncurl $U -b \"$A\" -m $T",
            'A=HEAD\ncurl $U -X "$A" -H "$A: $A"',
            'A=me:p@s\ncurl $U -u "$A"',
            "A='b=c+d'\ncurl $U --data-urlencode \"$A\"",
            'A=?a=1\ncurl -G "$U$A&b=2" -d c=3',
        ],
    )
    def test_a_shell_variable_is_sent_as_curl_sends_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
    ) -> None:
        monkeypatch.setenv("C", "of-environment")
        monkeypatch.setenv("F", "q.txt")
        (tmp_path / "q.txt").write_text("text")
        with RawServer(closing(response(b""))) as server:
            script = script.replace("$U", f"{server.url}/")
            run_curl(script, cwd=tmp_path)
            run_document(written(script).text, tmp_path)
            curls, ours = map(told, server.requests)
        assert ours == curls

    @needs_curl
    @pytest.mark.parametrize(
        "script",
        [
            'A=d/q.png\ncurl $U -F "f=@$A"',
            'A=d\ncurl $U -F "f=@$A/q.png" -F "g=<$A/q.png"',
            'A=@d/q.png\nB=q.txt\nC=x/y\ncurl $U -F "f=$A;filename=$B;type=$C"',
            'A="f=@d/q.png"\ncurl $U -F "$A" -F "$N=b" --form-string "g=$A"',
            'curl $U -F "f=@$D/q.png"',
        ],
    )
    def test_a_shell_variable_in_a_form_is_sent_as_curl_sends_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
    ) -> None:
        monkeypatch.setenv("N", "name")
        monkeypatch.setenv("D", "d")
        (tmp_path / "d").mkdir()
        (tmp_path / "d/q.png").write_text("text")
        with RawServer(response(b"")) as server:
            script = script.replace("$U", server.url)
            run_curl(script, cwd=tmp_path)
            run_document(written(script).text, tmp_path)
            curls, ours = map(without_boundary, server.requests)
        assert ours == curls

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                '-H "$A"',
                "-H $A: the name of the header is not in the script: use -H 'NAME: $VALUE'",
            ),
            ('-b "$A"', "-b $A may read cookies from a file, which is not supported:"),
            (
                '-X "$A"',
                "the method $A contains a variable that the script does not set: write -X METHOD",
            ),
            ('-m "$A"', "-m must be a number of seconds, found $A"),
            ('-x "${A}"', "curl -x $A was left out: use orgrest --proxy URL"),
            ('-d "@$A"', "curl -d sends $A without line breaks, but orgrest keeps them"),
            (
                '-F "f=@$A"',
                "$A, but orgrest sends application/octet-stream: write ;filename=NAME;type=TYPE",
            ),
            ('-F "f=@$A;type=x/y"', "but orgrest sends x/y: write ;filename=NAME;type=TYPE"),
            ('--aws-sigv4 "$A"', "--aws-sigv4 $A: only aws:amz:REGION:SERVICE is supported"),
            ("$A", "the command has more than one URL: http://x/ and $A"),
        ],
    )
    def test_a_shell_variable_that_could_mean_anything_is_reported(
        self, options: str, message: str
    ) -> None:
        with pytest.raises(ConversionError, match=re.escape(message)):
            request_of(f"curl http://x/ {options}")

    def test_a_password_in_a_variable_is_not_copied_into_the_request(self) -> None:
        text = request_of("B=s3cret\ncurl http://x/ -u $A:$B")
        assert text.endswith("Authorization: Basic {{A}} {{B}}")

    def test_shell_variables_that_multiply_are_no_danger(self) -> None:
        lines = ["A0=x", *(f"A{n + 1}=$A{n}$A{n}" for n in range(99))]
        with pytest.raises(ConversionError, match="the name of the header is not in the script"):
            request_of("\n".join([*lines, 'curl http://x/ -H "$A99"']))

    @needs_curl
    @settings(deadline=None, max_examples=40)
    @example("/a/../b?c=/../d", "")
    @example("/a/b/../..", "-G -d x=/../y")
    @example("/a/../b", "--path-as-is")
    @example("/?a&", "-G -d b")
    @given(
        st.lists(st.sampled_from(["", "a", ".", "..", "...", ".b", "?", "?c=/.."]), max_size=6).map(
            lambda parts: "/" + "/".join(parts)
        ),
        st.sampled_from(["", "--path-as-is", "-G -d a=b"]),
    )
    def test_the_path_is_the_one_that_curl_sends(self, path: str, options: str) -> None:
        with RawServer(closing(response(b""))) as server, Client() as client:
            command = f"curl '{server.url}{path}' {options}"
            run_curl(command)
            client.send(completed(command, Path()))
            curls, ours = server.requests
        assert ours.partition(b"\r\n")[0] == curls.partition(b"\r\n")[0]

    @pytest.mark.parametrize("url", ["$BASE/../a", "http://x/$A/../b"])
    def test_dots_after_a_variable_are_reported(self, url: str) -> None:
        with pytest.raises(ConversionError, match="curl removes dot segments after a variable"):
            request_of(f"curl {url}")
        assert "/.." not in request_of(f"curl {url.replace('/..', '/c/..')}")

    @pytest.mark.parametrize("url", ["http://[::1]:80/", "http://x/?a[]=1&b[0]=2"])
    def test_brackets_that_are_part_of_a_url_stay(self, url: str) -> None:
        assert request_of(f"curl '{url}'") == f"GET {url}"

    @pytest.mark.parametrize("body", ["# x", "a\n?? b", "GET http://y/", '{"a": 1}'])
    def test_a_body_that_a_request_file_would_change_goes_into_a_file(
        self, tmp_path: Path, body: str
    ) -> None:
        command = f"curl -m 3 http://x/ -d '{body}'"
        assert completed(command, tmp_path).body == body.encode()
        with pytest.raises(
            ConversionError, match="with -o FILE it is written to a file beside FILE"
        ):
            request_of(command)

    @pytest.mark.parametrize("body", ['{"a": 1}', '{"a": 1}\n', "@lines"])
    def test_lines_of_json_are_sent_as_curl_sends_them(self, tmp_path: Path, body: str) -> None:
        (tmp_path / "lines").write_text('{"a": 1}\n{}\n')
        kind = "Content-Type: application/x-ndjson"
        request = completed(f"curl http://x/ -H '{kind}' --data-binary '{body}'", tmp_path)
        assert request.body == (b'{"a": 1}\n{}\n' if body == "@lines" else body.encode())

    @pytest.mark.parametrize("options", ["-m soon", "--cert 'a b.pem'", "-m -1"])
    def test_a_value_that_cannot_be_kept_is_an_error(self, options: str) -> None:
        with pytest.raises(ConversionError):
            request_of(f"curl {options} http://x/")

    @pytest.mark.parametrize("option", ["-d", "--data", "--data-ascii"])
    def test_that_curl_strips_the_line_ends_of_a_file_is_reported(self, option: str) -> None:
        with pytest.raises(ConversionError, match=r"curl -d sends dir/a\.txt without line breaks"):
            request_of(f"curl http://x/ {option} @dir/a.txt")
        for other in ("--data-binary", "--json"):
            assert request_of(f"curl http://x/ {other} @dir/a.txt").endswith("\n\n< dir/a.txt")

    def test_a_form_becomes_a_multipart_body(self) -> None:
        text = request_of("curl http://x/ -F a=1 -F 'f=@dir/b.png;type=image/png'")
        assert text.splitlines()[1:] == [
            "Content-Type: multipart/form-data; boundary=orgrest-form-boundary",
            "",
            "--orgrest-form-boundary",
            'Content-Disposition: form-data; name="a"',
            "",
            "1",
            "--orgrest-form-boundary",
            'Content-Disposition: form-data; name="f"; filename="b.png"',
            "Content-Type: image/png",
            "",
            "< dir/b.png",
            "--orgrest-form-boundary--",
        ]

    @needs_curl
    @pytest.mark.parametrize(
        "options",
        [
            "-F 'a=b;type=text/plain'",
            "-F 'a=b; type=text/x; charset=utf-8' -F ' b = c '",
            """-F 'a="b;c\\"d";type=x/y' -F 'e=f;filename=g'""",
            "-F a=@q.txt -F b=@q.bin -F c=@q.json",
            "-F 'a=@q.txt;filename=z.png' -F 'b=<q.txt;type=x/y' -F 'c=@\"q.txt\"'",
            "-F 'a\"b=1' --form-string 'c=d;type=x/y' --form-string e=@f",
            "-F a=orgrest-form-boundary",
            "-F 'a=<q.png' -F 'b=<q.txt' -F 'c=<q.png;filename=x' -F 'd=@q.png;filename=x'",
            "-F 'a=b;filename=c.png' -F 'd=e;filename=f.txt'",
            "-F 'a=x #' -F b=@q.txt -F 'c= d '",
            "-H 'Content-Type: multipart/form-data' -F a=b",
        ],
    )
    def test_a_form_is_sent_as_curl_sends_it(self, tmp_path: Path, options: str) -> None:
        for name in ("q.txt", "q.bin", "q.json", "q.png"):
            (tmp_path / name).write_text(name)
        with RawServer(response(b"")) as server, Client() as client:
            command = f"curl {server.url} {options}"
            run_curl(command, cwd=tmp_path)
            client.send(completed(command, tmp_path))
            plain = [without_boundary(sent) for sent in server.requests]
        assert plain[0] == plain[1]

    @settings(deadline=None, max_examples=40)
    @given(
        st.lists(
            st.sampled_from(
                [
                    *("a", "b", " ", "é", "!", "$", '"', "\n", "\\", r"\n", r"\t", r"\'", r"\""),
                    *(r"\x41", r"\x4", r"\101", r"\u00e9", r"\cA", r"\xc3\xa9", r"\U0001F600"),
                    *(r"\?", r"\e", r"\z", r"\v", r"\\"),
                ]
            ),
            max_size=6,
        ).map("".join)
    )
    def test_bash_quotes_mean_what_bash_says(self, text: str) -> None:
        word = f"x$'{text}'."
        command = f"curl http://x/ --data-raw {word}"
        bash = subprocess.run(
            ["bash", "-c", f"printf %s {word}"], capture_output=True, env={"LC_ALL": "C.UTF-8"}
        )
        printed = bash.stdout.decode(errors="replace")
        if bash.returncode or "\N{REPLACEMENT CHARACTER}" in printed:
            with pytest.raises(ConversionError, match=r"inside quotes|bytes that are not text"):
                request_of(command)
        else:
            with TemporaryDirectory() as folder:
                assert completed(command, Path(folder)).body == printed.encode()

    def test_a_body_that_chrome_copied_is_the_one_it_sent(self, tmp_path: Path) -> None:
        text = r"""curl 'http://x/' --data-raw $'{"a":"it\'s \u0021 \ud83d\ude00\\n"}'"""
        assert completed(text, tmp_path).body == """{"a":"it's ! 😀\\n"}""".encode()

    @pytest.mark.parametrize(
        "command",
        [
            '''curl ^"http://x/?a=1^&b=^%^2F^" ^
  -H ^"A: b^" ^
  --data-raw ^"^{^\\^"c^\\^":^\\^"d^\\^"^}^"''',
            '''curl.exe "http://x/?a=1&b=%2F" ^
  -H "A: b" ^
  --data-raw "{\\"c\\":\\"d\\"}"''',
        ],
    )
    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    def test_a_command_copied_for_windows_is_read(
        self, tmp_path: Path, command: str, newline: str
    ) -> None:
        request = completed(command.replace("\n", newline), tmp_path)
        assert (request.method, request.url) == ("POST", "http://x/?a=1&b=%2F")
        assert request.header("A") == "b"
        assert request.body == b'{"c":"d"}'

    def test_a_backtick_copied_for_windows_is_text(self, tmp_path: Path) -> None:
        command = 'curl ^"http://x/^" ^\n  -H ^"A: `$b^" ^\n  --data-raw ^"^`c`^"'
        request = completed(command, tmp_path)
        assert (request.header("A"), request.body) == ("`$b", b"`c`")

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            ("curl ", "has no URL"),
            ("curl a b", "more than one URL: a and b"),
            ("curl http://x/ -H", "-H requires a value"),
            ("curl http://x/ --krb x", "unknown option --krb"),
            ("curl http://x/ -d @a -d b", "@a cannot be combined with other data:"),
            ("curl http://x/ -d @-", "-d @-: cannot read standard input: give the text"),
            ("curl http://x/ -F a=@-", "-F a=@-: cannot read standard input"),
            ("curl http://x/ -F a=@b,c", "contains several files: use one -F for each"),
            (
                "curl http://x/ -F 'a=b;c'",
                "the part after ; is not supported: quote the value",
            ),
            ("curl http://x/ -F 'a=b;headers=@h'", "the part after ; is not supported:"),
            ("curl http://x/ -F a", "-F a is not a form field: write NAME=VALUE"),
            ("curl http://x/ -F a=b -d c", "a form and other data"),
            ("curl http://x/ -F $'a=b;type=c\\nd'", "the type of a contains a line break"),
            ("curl http://x/ -F $'a=@b\\nc'", "the name of the file contains a line break"),
            (
                "curl http://x/ -H @h.txt",
                "-H @h.txt reads headers from a file, which is not supported: use -H",
            ),
            (
                "curl http://x/ -b c.txt",
                "-b c.txt reads cookies from a file, which is not supported: use NAME=VALUE",
            ),
            (
                "curl http://x/ --data-urlencode n@f",
                "encodes the content of a file, which is not supported: write the text",
            ),
            (
                "curl http://x/ --url-query n@f",
                "encodes the content of a file, which is not supported: write the text",
            ),
            ("curl http://x/ -H $'A: b\\nC: d'", "the value of A contains a line break: remove it"),
            ("curl http://x/ -H $'A\\nB: d'", "invalid header name"),
            ("curl http://x/ -A 'a\nX: b'", "the value of User-Agent contains a line break"),
            ("curl 'http://x/\nX: b'", "the URL contains a line break"),
            ("curl http://x/ -X 'GET y'", "invalid method 'GET y'"),
            ("curl http://x/ -d $'\\xff'", "bytes that are not text: put them into a file"),
            ("curl http://x/ -d $'a\\0'", "bytes that are not text: put them into a file"),
            ("curl http://x/ -d $'\\U110000'", "U110000 is not a valid character"),
            ("curl http://x/ --form-string 'a=< b'", "the body would be sent differently"),
        ],
    )
    def test_what_is_not_understood_is_reported(self, command: str, message: str) -> None:
        with pytest.raises(ConversionError, match=message):
            request_of(command)


def test_default_headers_near_the_document_do_not_prevent_the_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".vscode").mkdir()
    settings_file = tmp_path / ".vscode" / "settings.json"
    settings_file.write_text('{"rest-client.defaultHeaders": {"X-Own": "1"}}')
    monkeypatch.chdir(tmp_path)
    assert request_of("### one\ncurl http://a/") == "# one\nGET http://a/"


@pytest.mark.parametrize("data", ["< /etc/hostname", "a\n< /etc/hostname", "<<X"])
def test_data_that_looks_like_a_file_is_sent_as_it_is(tmp_path: Path, data: str) -> None:
    request = completed(f"curl http://x/ --data-raw '{data}'", tmp_path)
    assert request.body == data.encode()


names = st.sampled_from(["X-A", "x-b", "Content-Type"])
values = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=9
)


@given(
    method=st.sampled_from(["GET", "POST", "PUT", "HEAD", "REPORT"]),
    query=st.text("abc=&", max_size=5),
    headers=st.lists(st.tuples(names, values), max_size=3),
    body=st.none() | st.text("ab#{}:<\n'\"$ é", min_size=1, max_size=20),
)  # fmt: skip
def test_a_request_survives_the_way_to_curl_and_back(
    method: str, query: str, headers: list[tuple[str, str]], body: str | None
) -> None:
    # A text that looks like a variable, also an escaped one, cannot always be written.
    headers = [(name, re.sub(r":|(?:\\*\{){2}", "", value) or "v") for name, value in headers]
    if body is not None and not any(name == "Content-Type" for name, _ in headers):
        headers.append(("Content-Type", "text/plain"))
    data = None if body is None or method == "HEAD" else body.replace("{{", "").encode()
    request = Request(method, f"http://x.org/?{query}", tuple(headers), data or None)
    with TemporaryDirectory() as folder:
        again = completed(to_command(request), Path(folder))
    assert (again.method, again.url) == (method, request.url)
    assert wire_headers(again) == wire_headers(request)
    assert (again.body or b"") == (request.body or b"")
