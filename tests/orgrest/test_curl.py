"""Requests as curl commands, and back: `orgrest.curl`."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers import RawServer, response

from orgrest import curl
from orgrest.curl import CurlError, to_command, to_request
from orgrest.model import Request, Source
from orgrest.requests import parse
from orgrest.variables import Scope, expand


def completed(text: str) -> Request:
    (parsed,) = parse(Source(text)).requests
    return expand(parsed, Scope())


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

    @pytest.mark.parametrize("body", [b"\xff", b"a\0b"])
    def test_a_body_that_is_no_text_is_refused(self, body: bytes) -> None:
        with pytest.raises(CurlError, match="the body is no text"):
            to_command(Request("POST", "http://x/", body=body))

    @pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed: apt install curl")
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


class TestFromCurl:
    @pytest.mark.parametrize(
        ("command", "text"),
        [
            ("curl http://x/", "GET http://x/"),
            ("$ curl -sSL -k --compressed x.org/a", "GET http://x.org/a"),
            ("curl -I http://x/", "HEAD http://x/"),
            ("/usr/bin/curl -XDELETE http://x/", "DELETE http://x/"),
            ("curl --url http://x/ -o file -m 3", "GET http://x/"),
            ("curl http://x/ -H 'A: b' -H'C:d' -H 'E;' -H 'F:'", "GET http://x/\nA: b\nC: d\nE: "),
            ("curl http://x/ -A me -e r", "GET http://x/\nUser-Agent: me\nReferer: r"),
            ("curl http://x/ -b c=1", "GET http://x/\nCookie: c=1"),
            ("curl -u 'me:p@ss' http://x/", "GET http://me:p%40ss@x/"),
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
        assert to_request(command) == text

    def test_a_form_becomes_a_multipart_body(self) -> None:
        text = to_request("curl http://x/ -F a=1 -F 'f=@dir/b.png;type=image/png'")
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

    def test_a_block_is_escaped_where_org_needs_it(self) -> None:
        block = curl.to_block("curl http://x/ -H 'Content-Type: a/b' -d '* a'")
        assert block == (
            "#+begin_src restclient\nPOST http://x/\nContent-Type: a/b\n\n,* a\n#+end_src\n"
        )

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            ("", "begins with curl"),
            ("curl", "has no URL"),
            ("curl a b", "two URLs: a and b"),
            ("curl http://x/ -H", "-H has no value"),
            ("curl http://x/ --ntlm x", "--ntlm is not understood"),
            ("curl 'http://x/", "no shell command: No closing quotation"),
            ("curl http://x/ -d @a -d b", "@a stands beside other data"),
            ("curl http://x/ --form-string 'a=< b'", "a line of a that begins with <"),
        ],
    )
    def test_what_is_not_understood_is_told(self, command: str, message: str) -> None:
        with pytest.raises(CurlError, match=message):
            to_request(command)


@pytest.mark.parametrize("data", ["< /etc/hostname", "a\n< /etc/hostname", "<<X"])
def test_data_that_looks_like_a_file_is_sent_as_it_is(data: str) -> None:
    request = completed(to_request(f"curl http://x/ --data-raw '{data}'"))
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
    headers = [(name, value.replace("{{", "").replace(":", "") or "v") for name, value in headers]
    if body is not None and not any(name == "Content-Type" for name, _ in headers):
        headers.append(("Content-Type", "text/plain"))
    data = None if body is None or method == "HEAD" else body.replace("{{", "").encode()
    request = Request(method, f"http://x.org/?{query}", tuple(headers), data or None)
    again = completed(to_request(to_command(request)))
    assert (again.method, again.url, again.headers) == (method, request.url, request.headers)
    assert (again.body or b"").rstrip() == (request.body or b"").rstrip()
