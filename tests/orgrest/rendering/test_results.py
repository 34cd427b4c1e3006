"""What a response looks like in a document: readable, true, and harmless whatever it contains."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import shutil
import sys
import urllib.parse
from typing import TYPE_CHECKING

import pytest
from components import needs
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orgrest import classes
from orgrest.http.parsing.restclient import parse
from orgrest.http.values import Context, expand
from orgrest.model import Capture, OrgrestError, Redirect, Request, Response, Source, Span
from orgrest.org import document as org
from orgrest.rendering import jq, masking
from orgrest.rendering.content import media_type
from orgrest.rendering.jq import CaptureError
from orgrest.rendering.masking import mask, mask_bytes
from orgrest.rendering.pretty import json_text, xml_text
from orgrest.rendering.results import Rendered, captures, render
from orgrest.rendering.sanitize import is_plain, visible

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from orgrest.http.syntax import ParsedRequest

GET = Request("GET", "http://h/p?q")


def answer(body: bytes | str = b"", kind: str | None = "text/plain", **changes: object) -> Response:
    data = body.encode() if isinstance(body, str) else body
    headers = (("Content-Type", kind),) if kind is not None else ()
    values: dict[str, object] = {
        "status": 200,
        "reason": "OK",
        "version": "1.1",
        "headers": headers,
        "body": data,
        "duration": 0.0743481,
        "url": "http://h/p?q",
        **changes,
    }
    return Response(**values)  # type: ignore[arg-type]


def show(body: bytes | str, kind: str | None = "text/plain", **options: str) -> Rendered:
    return render(GET, answer(body, kind), **options)


def hiding(*secrets: str, request: Request = GET) -> Request:
    return Request(request.method, request.url, secrets=frozenset(secrets))


# --------------------------------------------------------------------------------- the whole result


def test_a_json_answer_looks_as_ob_restclient_writes_it() -> None:
    headers = (("Server", "s"), ("Content-Type", "application/json"), ("server", "t"))
    rendered = render(GET, answer('{"a":1}', headers=headers))
    assert rendered.block() == (
        "#+BEGIN_SRC js\n"
        '{\n  "a": 1\n}\n'
        "// GET http://h/p?q\n"
        "// HTTP/1.1 200 OK\n"
        "// Server: s\n"
        "// Content-Type: application/json\n"
        "// server: t\n"
        "// Request duration: 0.074348s\n"
        "#+END_SRC\n"
    )
    assert rendered.value == '{\n  "a": 1\n}\n'


def test_a_body_that_ends_in_a_newline_leaves_an_empty_line_before_the_head() -> None:
    assert "\n}\n\n// GET" in show('{"a":1}\n', "application/json").text


@pytest.mark.parametrize(
    ("kind", "language", "line"),
    [
        ("application/json", "js", "// HTTP/1.1 200 OK"),
        ("Application/JSON; charset=utf-8", "js", "// HTTP/1.1 200 OK"),
        ("application/vnd.api+json", "js", "// HTTP/1.1 200 OK"),
        ("text/javascript", "js", "// HTTP/1.1 200 OK"),
        ("application/x-ndjson", "js", "// HTTP/1.1 200 OK"),
        ("text/xml", "nxml", "<!-- HTTP/1.1 200 OK -->"),
        ("application/rss+xml", "nxml", "<!-- HTTP/1.1 200 OK -->"),
        ("text/html", "html", "<!-- HTTP/1.1 200 OK -->"),
        ("text/plain", "text", "HTTP/1.1 200 OK"),
        ("text/csv", "text", "HTTP/1.1 200 OK"),
        ("application/x-www-form-urlencoded", "text", "HTTP/1.1 200 OK"),
        ("text/css", "css", "/* HTTP/1.1 200 OK */"),
        ("text/markdown", "markdown", "<!-- HTTP/1.1 200 OK -->"),
        ("application/yaml", "yaml", "# HTTP/1.1 200 OK"),
        ("application/x+yaml", "yaml", "# HTTP/1.1 200 OK"),
        ("application/unheard-of", "js", "// HTTP/1.1 200 OK"),
        (None, "js", "// HTTP/1.1 200 OK"),
    ],
)
def test_the_language_and_the_comments_go_by_the_content_type(
    kind: str | None, language: str, line: str
) -> None:
    rendered = show("x", kind)
    assert rendered.language == language
    assert line in rendered.block().split("\n")


@pytest.mark.parametrize(
    ("body", "language"),
    [('<?xml version="1.0"?><a/>', "nxml"), ("<!DOCTYPE html><p>", "html"), ("[1]", "js")],
)
def test_a_body_without_a_type_is_looked_at(body: str, language: str) -> None:
    assert show(body, None).language == language


def test_an_answer_without_a_body_is_its_head() -> None:
    response = answer(b"", None, status=204, reason="No Content")
    rendered = render(GET, response)
    assert rendered.block().split("\n")[:3] == [
        *("#+BEGIN_SRC js", "// GET http://h/p?q", "// HTTP/1.1 204 No Content")
    ]
    assert rendered.value == ""


@pytest.mark.parametrize(
    ("headers", "expected"),
    [("no", "x\n"), ("only", "GET http://h/p?q\nHTTP/1.1 200 OK\n")],
)
def test_headers_can_be_left_out_or_be_all(headers: str, expected: str) -> None:
    text = show("x", "text/plain", headers=headers).text
    assert text.startswith(expected)
    assert ("HTTP/1.1" in text) == (headers == "only")
    assert text.startswith("x") == (headers == "no")


def test_redirects_are_shown_between_request_and_answer() -> None:
    steps = (Redirect(302, "Found", "http://h/b"), Redirect(303, "See Other", "http://h/c"))
    assert render(GET, answer("x", redirects=steps)).head[:4] == (
        "GET http://h/p?q",
        "302 Found -> http://h/b",
        "303 See Other -> http://h/c",
        "HTTP/1.1 200 OK",
    )


def test_a_cut_body_says_so_in_the_result_and_in_the_notes() -> None:
    rendered = render(GET, answer("x" * 2**20, truncated=True))
    assert "Body cut after 1 MiB" in rendered.head
    assert rendered.notes == ("the body is larger than 1 MiB: the rest was not read",)
    cut = render(GET, answer("abc", truncated=True))
    assert "Body cut after 3 bytes" in cut.head
    assert cut.value == "abc\nBody cut after 3 bytes\n"
    assert cut.text.count("Body cut after 3 bytes") == 1
    linked = classes.evolve(cut, link="[[file:x.txt]]")
    assert linked.value == "abc\nBody cut after 3 bytes: [[file:x.txt]]\n"
    with pytest.raises(OrgrestError, match="only the beginning of the body was read"):
        cut.uncut()


def test_jq_is_not_run_on_the_beginning_of_a_body() -> None:
    capture = Capture("a", "1", Source("x"), Span(0, 1))
    request, cut = Request("GET", "http://h/", captures=(capture,)), answer("1 2 3", truncated=True)
    for use in (lambda: render(GET, cut, jq="1"), lambda: list(captures(request, cut))):
        with pytest.raises(OrgrestError, match="larger than 5 bytes: the rest was not read"):
            use()


def test_warnings_of_the_transport_are_passed_on() -> None:
    assert render(GET, answer("x", warnings=("odd \x1b",))).notes == ("odd \\x1b",)


# --------------------------------------------------------------------------------------------- JSON


@pytest.mark.parametrize(
    ("text", "laid_out"),
    [
        ("{}", "{}"),
        ("[ ]", "[]"),
        ("[[],{}]", "[\n  [],\n  {}\n]"),
        ('{"b":1,"a":{"y":[1,2]},"b":null}', None),
        ("42", "42"),
        ('"x"', '"x"'),
        (" true ", " true "),
        ('{"a":1}{"b":2}\n', '{\n  "a": 1\n}{\n  "b": 2\n}\n'),
        ('{"a":1}\n{"b":2}', '{\n  "a": 1\n}\n{\n  "b": 2\n}'),
        ('{"a": 1} trailing', '{\n  "a": 1\n} trailing'),
    ],
)
def test_json_is_laid_out_with_two_blanks(text: str, laid_out: str | None) -> None:
    expected = '{\n  "b": 1,\n  "a": {\n    "y": [\n      1,\n      2\n    ]\n  },\n  "b": null\n}'
    assert json_text(text) == (laid_out or expected)


@pytest.mark.parametrize(
    "number",
    ["12345678901234567890123", "1.0", "1.10", "-0.0", "1E5", "1e400", "1e-7", "0.1", "-5"],
)
def test_numbers_stay_as_the_server_wrote_them(number: str) -> None:
    assert json_text(f"[{number}]") == f"[\n  {number}\n]"


@pytest.mark.parametrize(
    ("string", "shown"),
    [
        (r'"caf\u00e9 \u20ac \ud83d\ude00 \/"', '"café € 😀 /"'),
        (r'"a\u0022b\u000ac\u0009"', r'"a\"b\nc\t"'),
        (r'"\\u0041 a\\b"', r'"\\u0041 a\\b"'),
        (r'"x\u0001\u007f\u202e\ud800"', r'"x\u0001\u007f\u202e\ud800"'),
        ('"\x7f\u2028\x9b"', r'"\u007f\u2028\u009b"'),
    ],
)
def test_strings_have_only_the_escapes_that_they_need(string: str, shown: str) -> None:
    assert json_text(string) == shown


@pytest.mark.parametrize(
    "text",
    [
        *('{"a": 1, oops}', "[1,]", "{,}", '{"a"}', '{"a":}', "[1 2]", "01", "1.", "nul", "+1"),
        *('"x', '"\n"', '"\\x"', '"\\u12"', "[", "{", '{"a":1', "[}", "{]", ":", ",", "{1:2}", "x"),
        *("NaN", "-", "'a'", "", " ", "[1,,2]", '{"a":1,}', "truee", "1a"),
    ],
)
def test_what_is_no_json_is_shown_as_it_is(text: str) -> None:
    assert json_text(text) == text


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(JSON, st.booleans(), st.sampled_from([None, 0, 3]))
def test_laid_out_json_says_the_same_and_is_stable(
    value: object, ascii_only: bool, indent: int | None
) -> None:
    laid_out = json_text(json.dumps(value, ensure_ascii=ascii_only, indent=indent))
    assert json.loads(laid_out) == value
    assert json_text(laid_out) == laid_out
    reference = json.dumps(value, indent=2, ensure_ascii=False)
    if visible(reference) == reference:
        assert laid_out == reference


@settings(deadline=None)
@given(JSON)
def test_the_layout_is_that_of_pythons_json(value: object) -> None:
    lines = json_text(json.dumps(value)).split("\n")
    reference = json.dumps(value, indent=2, ensure_ascii=False).split("\n")
    assert [len(x) - len(x.lstrip(" ")) for x in lines] == [
        len(x) - len(x.lstrip(" ")) for x in reference
    ]


@settings(deadline=None)
@given(st.text('{}[],:"\\0123eE+-. \ntrufalsn', max_size=30))
def test_json_that_python_refuses_is_never_changed_but_in_layout(text: str) -> None:
    shown = json_text(text)
    assert re.sub(r"\s", "", shown.replace("\\/", "/")) == re.sub(r"\s", "", shown)
    try:
        value = json.loads(text, parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError, RecursionError):
        return
    assert json.loads(shown) == value


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        "[" * 400 + "1," * 200_000 + "1" + "]" * 400,
        '{"a":' * 100_000,
        "1 " * 200_000,
        '"' + "\\u0041" * 200_000 + '"',
        '"' + "\\" * 400_001,
        "<a>" * 100_000,
        "<a>" * 1000 + "</a>" * 1000,
        "<a b='" + "x" * 400_000,
        "<!--" * 100_000,
        "<!A" + "[" * 200_000,
        "<a>" + "<b/>" * 100_000 + "</a>",
    ],
    ids=lambda text: f"{text[:6]}...",
)
def test_hostile_bodies_are_shown_in_linear_time_and_space(text: str) -> None:
    # A quadratic layout would need hours or gigabytes here.
    for laid_out in (json_text(text), xml_text(text)):
        assert len(laid_out) <= 12 * len(text) + 2**18
    assert show(text, None).text


# ---------------------------------------------------------------------------------------------- XML


@pytest.mark.parametrize(
    ("text", "laid_out"),
    [
        (
            '<?xml version="1.0"?><a x="1"><b>1</b><c/></a>',
            '<?xml version="1.0"?>\n<a x="1">\n  <b>1</b>\n  <c/>\n</a>',
        ),
        ("<a>\n      <b>1</b>\n <!-- c -->\n</a>\n", "<a>\n  <b>1</b>\n  <!-- c -->\n</a>\n"),
        ("<a><b><c>x</c></b></a>", "<a>\n  <b>\n    <c>x</c>\n  </b>\n</a>"),
        ("<a></a>", "<a>\n</a>"),
        ("<a><b></b></a>", "<a>\n  <b>\n  </b>\n</a>"),
        (
            '<!DOCTYPE a [<!ENTITY e "<x>">]><a>&e;</a>',
            '<!DOCTYPE a [<!ENTITY e "<x>">]>\n<a>&e;</a>',
        ),
        ("<a b='>' c=\"<'\"><d/></a>", None),
        ("<x:a><x:b/></x:a >", "<x:a>\n  <x:b/>\n</x:a >"),
    ],
)
def test_xml_is_laid_out_with_two_blanks(text: str, laid_out: str | None) -> None:
    assert xml_text(text) == (text if laid_out is None else laid_out)


@pytest.mark.parametrize(
    ("element", "shown"),
    [
        ("<d>a <e>u</e> v</d>", "<d>a <e>u</e> v</d>"),
        ("<d>t<e>u</e>v</d>", "<d>t\n  <e>u</e>v</d>"),
        ("<d>a <e>b</e><e>c</e></d>", "<d>a <e>b</e>\n  <e>c</e>\n  </d>"),
        ("<d><e/>a<f/><!-- c --></d>", "<d>\n    <e/>a<f/>\n    <!-- c -->\n  </d>"),
        ("<d>a\n <e/><e/></d>", "<d>a\n <e/><e/></d>"),
        ("<d>a <![CDATA[<x>]]><e/></d>", "<d>a <![CDATA[<x>]]>\n  <e/>\n  </d>"),
        ('<pre xml:space="preserve"> <e/> </pre>', '<pre xml:space="preserve"> <e/> </pre>'),
    ],
)
def test_an_element_with_text_is_broken_where_ob_restclient_breaks_it(
    element: str, shown: str
) -> None:
    assert xml_text(f"<a><b/>{element}</a>") == f"<a>\n  <b/>\n  {shown}\n</a>"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "<a>",
            "</a>",
            "<a></b>",
            "<a><b></a></b>",
            "text",
            "<a/>text",
            "<a/><b/>",
            "<a",
            "< a/>",
        ),
        *(
            "",
            "  ",
            "<!-- only -->",
            "<a><!-- </a>",
            "<a>&</a><",
            '<a b="<"/>',
            "<a>" * 600 + "</a>" * 600,
        ),
    ],
)
def test_what_is_no_xml_is_shown_as_it_is(text: str) -> None:
    assert xml_text(text) == text


XML = st.recursive(
    st.sampled_from(["<e/>", "<e></e>", "<e>t</e>", "<!-- c -->", "<e a='1'/>", "<?p i?>"]),
    lambda inner: st.lists(inner, max_size=3).map(lambda parts: "<n>" + "".join(parts) + "</n>"),
    max_leaves=8,
)


@settings(deadline=None)
@given(XML)
def test_laid_out_xml_differs_only_in_blanks_between_tags(text: str) -> None:
    laid_out = xml_text(text)
    assert re.sub(r"\n *", "", laid_out) == text
    assert xml_text(laid_out) == laid_out


def test_no_entity_is_ever_resolved() -> None:
    text = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y "&x;&x;">]><a>&y;</a>'
    assert show(text, "text/xml").body.endswith("<a>&y;</a>")


# ------------------------------------------------------------------------------ charsets, line ends


@pytest.mark.parametrize(
    ("body", "kind", "shown"),
    [
        ("café".encode("latin-1"), "text/plain; charset=iso-8859-1", "café"),
        ("café".encode("latin-1"), 'text/plain;CHARSET="ISO-8859-1"', "café"),
        ("café".encode("utf-16"), "text/plain; charset=utf-16", "café"),
        ("café".encode("utf-16-le"), "text/plain; charset=utf-16le", "café"),
        ("café".encode("utf-8-sig"), "text/plain", "café"),
        ("café".encode("utf-16"), "text/plain", "café"),
        ("café".encode("utf-32"), "text/plain; charset=utf-8", "café"),
        ("日本".encode("shift-jis"), "text/plain; charset=shift_jis", "日本"),
        ("<?xml version='1.0' encoding='latin-1'?><a>é</a>".encode("latin-1"), "text/xml", None),
        ("<meta charset=latin-1><p>é".encode("latin-1"), "text/html", "<meta charset=latin-1><p>é"),
        (b"a\r\nb\r\n", "text/plain", "a\nb\n"),
        (b"\n\r\n\n  a\n\n\nb\n\n", "text/plain", "  a\n\n\nb\n\n"),
    ],
)
def test_a_text_is_decoded_as_its_sender_says(body: bytes, kind: str, shown: str | None) -> None:
    rendered = show(body, kind)
    assert rendered.body == (shown or "<?xml version='1.0' encoding='latin-1'?>\n<a>é</a>")
    assert rendered.notes == ()


@pytest.mark.parametrize(
    "charset", ["no-such", "rot13", "zlib", "idna", "punycode", "unicode_escape", "undefined", "\\"]
)
def test_a_charset_that_is_invalid_is_reported_and_utf_8_taken(charset: str) -> None:
    rendered = show("café \\u0041", f"text/plain; charset={charset}")
    assert rendered.body == "café \\u0041"
    assert rendered.notes == (f"unknown charset {charset}: read as UTF-8",)


def test_bytes_that_are_not_of_the_charset_are_shown_as_such() -> None:
    rendered = show(b"caf\xe9 \xff!", "text/plain")
    assert rendered.body == "caf\\xe9 \\xff!"
    assert rendered.notes == ("bytes that are not valid utf-8 are shown as \\xNN",)


def test_control_characters_are_made_visible() -> None:
    text = "a\x1b[31mred\x00\x7f\x9b\r\u202e\u2028\ufeffb\tc"
    shown = "a\\x1b[31mred\\x00\\x7f\\x9b\\x0d\\u202e\\u2028\\ufeffb\tc"
    assert show(f"-{text}").body == f"-{shown}"
    assert visible("a\nb\udcff") == "a\nb\\xff"
    assert visible("a\nb", one_line=True) == "a\\x0ab"
    headers = (("X-\x1b", "a\nb"), ("Content-Type", "text/plain"))
    rendered = render(GET, answer("", headers=headers, reason="\x1b\n"))
    assert "HTTP/1.1 200 \\x1b\\x0a" in rendered.head
    assert "X-\\x1b: a\\x0ab" in rendered.head


# ------------------------------------------------------------------------------------------- binary


@pytest.mark.parametrize(
    ("kind", "body", "extension"),
    [
        ("image/png", b"\x89PNG", ".png"),
        ("image/svg+xml", b"<svg/>", ".svg"),
        ("image/unheard-of", b"x", ".bin"),
        ("application/octet-stream", bytes(range(256)), ".bin"),
        ("application/pdf", b"%PDF\x00", ".pdf"),
        ("audio/mpeg", b"\xff\xfb\x00", ".mp3"),
        (None, b"\x00\x01", ".bin"),
    ],
)
def test_images_and_binary_bodies_are_for_a_file(
    kind: str | None, body: bytes, extension: str
) -> None:
    rendered = show(body, kind)
    assert (rendered.data, rendered.body, rendered.extension) == (body, "", extension)
    assert "HTTP/1.1 200 OK" in rendered.head


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/octet-stream", b"plain text\n"),
        ("application/unheard-of", "é\t\x1b[0m\f".encode()),
        ("text/plain", b"\x00\x01"),
        ("application/json", b"\xff"),
        ("image/png", b""),
        (None, "é".encode("utf-16")),
        ("application/x", "xé".encode()[:-1]),
    ],
)
def test_texts_are_not_for_a_file_whatever_they_are_called(kind: str | None, body: bytes) -> None:
    assert show(body, kind).data is None


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", bytes(1000)),
        ("application/json", bytes(16)),
        ("text/html; charset=utf-8", bytes(range(256)) * 4),
        ("text/plain", b"GIF89a" + bytes(range(128, 256)) * 2),
        ("text/plain; charset=utf-16", "a\0\0\0\0".encode("utf-16")),
        ("text/csv", b"\x01\x02\x03\x04\x05"),
    ],
)
def test_bytes_that_are_called_text_are_for_a_file(kind: str, body: bytes) -> None:
    rendered = show(body, kind)
    assert (rendered.data, rendered.body) == (body, "")
    assert not rendered.is_cut


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", b"one \x00 or two \x00 slips"),
        ("text/plain", b"\x1b[31m\x1b[1m\x1b[0m\x1b[0m"),
        ("text/plain; charset=utf-16", "plain".encode("utf-16")),
        ("text/plain; charset=koi8-r", "привет".encode("koi8-r")),
        ("text/plain", "é".encode() * 2**16),
    ],
)
def test_texts_with_odd_characters_are_not_for_a_file(kind: str, body: bytes) -> None:
    assert show(body, kind).data is None


# ------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "text/xml", "text/html"])
def test_of_a_long_body_the_beginning_is_shown_and_all_of_it_kept(kind: str) -> None:
    body = "".join(f"line {number}\n" for number in range(100_000))
    rendered = render(GET, answer(body, kind), limit=1000)
    assert rendered.is_cut
    assert rendered.data == body.encode()
    assert body.startswith(rendered.body + "\n")
    assert 900 < len(rendered.body) <= 1000
    assert rendered.notes == ("the body is larger than 1000 bytes: at most its beginning is shown",)
    linked = classes.evolve(rendered, link="[[file:x.txt]]")
    assert linked.value == f"{rendered.body}\nThe whole body: [[file:x.txt]]\n"
    assert "The whole body: [[file:x.txt]]" in linked.text


@pytest.mark.parametrize("body", ["x" * 1000, "é" * 500, "", "a\n" * 500])
def test_a_body_of_the_limit_is_shown_whole(body: str) -> None:
    rendered = render(GET, answer(body), limit=1000)
    assert rendered.body.rstrip("\n") == body.rstrip("\n")
    assert (rendered.data, rendered.notes) == (None, ())


def test_one_mebibyte_is_shown_unless_told_otherwise() -> None:
    rendered = show("x" * (2**20 + 1))
    assert len(rendered.body) == 2**20
    assert len(rendered.data or b"") == 2**20 + 1


def test_a_cut_inside_of_a_character_leaves_no_half_of_it() -> None:
    assert render(GET, answer("é" * 400), limit=99).body == "é" * 49
    assert render(GET, answer("é" * 200_000), limit=2**16 + 1).body == "é" * 2**15


@pytest.mark.parametrize(
    "item",
    ['{"a":[1,"two",null]}', '"text, \\" and \\u0041"', "-12.5e3", "true", "[[]]"],
)
def test_of_long_json_the_beginning_is_laid_out(item: str) -> None:
    body = "[" + ",".join([item] * 40_000) + "]"
    rendered = render(GET, answer(body, "application/json"), limit=5000)
    assert rendered.is_cut
    whole = json_text(body)
    assert whole.startswith(rendered.body)
    assert len(rendered.body) > 4000


@pytest.mark.parametrize("end", range(1, 60))
def test_json_that_is_cut_anywhere_is_laid_out_as_far_as_it_goes(end: int) -> None:
    body = '[{"a": "x\\ny\\"", "b": [-1.5e3, true, null]}, {"c": {}, "d": []}]'
    shown = json_text(body[:end], cut=True)
    assert "".join(shown.split()) == "".join(body[:end].split())


def test_the_json_in_front_of_a_cut_must_still_be_json() -> None:
    assert json_text('{"a": 1, b: 2, "c', cut=True) == '{"a": 1, b: 2, "c'
    assert json_text('{"a": 1}} x', cut=True) == '{\n  "a": 1\n}} x'


def test_a_long_body_is_kept_without_secrets() -> None:
    body = "x s3cret\n" * 300
    rendered = render(hiding("s3cret"), answer(body), limit=100)
    assert rendered.data == body.replace("s3cret", "***").encode()
    assert "s3" not in rendered.body


def test_a_long_result_of_jq_is_kept_as_jq_gave_it() -> None:
    pytest.importorskip("jq")
    body = json.dumps(["a" * 100] * 100)
    rendered = render(GET, answer(body, "application/json"), jq=".[]", jq_args="-r", limit=1000)
    assert rendered.body == "\n".join(["a" * 100] * 9)
    assert rendered.data == "\n".join(["a" * 100] * 100).encode()


def test_a_long_blank_body_is_only_kept() -> None:
    rendered = render(GET, answer(" " * 2**18), limit=1000)
    assert (rendered.body, rendered.data) == ("", b" " * 2**18)


# ----------------------------------------------------------------------- no structure in a document

ORGISH = st.sampled_from(
    [
        *("* head", "** two", "#+end_src", "#+END_SRC", "#+RESULTS:", "#+begin_src restclient"),
        *(":end:", ",* comma", " ,#+x", "#+begin_example", "\t#+end_src", "*bold*", ":PROPERTIES:"),
        *(
            "GET http://h/",
            "| a |",
            "- x",
            "[fn:1] x",
            "#",
            "\x00",
            "\r",
            "\u2028",
            "\x85",
            "-->",
            "*/",
        ),
    ]
)
HOSTILE = st.lists(
    st.tuples(st.sampled_from(["", " ", "\t", "\r\n", "\n"]), ORGISH | st.text(max_size=4)),
    max_size=6,
).map(lambda parts: "\n".join(a + b for a, b in parts).encode("utf-8", "surrogatepass"))
KINDS = st.sampled_from(
    [
        *("text/plain", "application/json", "text/xml", "text/html", "text/css", "text/markdown"),
        *("application/yaml", None, "text/plain; charset=utf-16", "text/plain; charset=cp037"),
        *("text/plain; charset=utf-7", "application/x"),
    ]
)


@settings(deadline=None)
@given(HOSTILE | st.binary(), KINDS, HOSTILE, HOSTILE)
@example(b"* head\n#+end_src\n,* x", "text/plain", b"x\n* y", b"#+end_src")
def test_no_response_can_become_org_structure(
    body: bytes, kind: str | None, reason: bytes, header: bytes
) -> None:
    text = header.decode("utf-8", "surrogateescape")
    headers = ((text or "x", text), *((("Content-Type", kind),) if kind else ()))
    response = answer(body, headers=headers, reason=reason.decode("utf-8", "surrogateescape"))
    block = render(GET, response).block()
    lines = block.split("\n")
    assert lines[0].startswith("#+BEGIN_SRC ")
    assert lines[-2:] == ["#+END_SRC", ""]
    for line in lines[1:-2]:
        assert not re.match(r"[ \t]*(?:\*|#\+)", line)
    block.encode()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]", block)
    before = "* one\n#+begin_src restclient\nGET http://h/\n#+end_src\n\n#+RESULTS:\n"
    document = org.OrgDocument(f"{before}{block}\n* two\n")
    assert [b.language for b in document.blocks] == ["restclient", lines[0].split(" ")[1]]


@pytest.mark.parametrize(
    "text",
    [
        *("* x", "a\n** x", "#+end_src", "  #+BEGIN_SRC x", "#+RESULTS:", ":end:", "  :drawer: "),
        *("src_restclient{GET http://h/}", "src_sh[:x]{ls}", "call_f(1)", "%%(lisp)", "[fn:1] x"),
        *("\\begin{x}", "see <%%(lisp)>", "{{{macro(x)}}}"),
    ],
)
def test_texts_that_org_would_read_as_structure_are_recognised(text: str) -> None:
    assert not is_plain(text)


@pytest.mark.parametrize("text", ["", "plain", "a: b", "1 * 2", "a #+b", ",* x"])
def test_plain_texts_are_not_taken_for_structure(text: str) -> None:
    assert is_plain(text)


@pytest.mark.parametrize("text", ["*bold*", "# x", ":a", "a_b", "https://x/", "<2024-01-01>"])
def test_texts_in_which_org_would_read_markup_are_recognised(text: str) -> None:
    assert not is_plain(text)


def test_a_header_cannot_end_the_comment_that_it_stands_in() -> None:
    headers = (("Content-Type", "text/html"), ("X", "--> <script>"))
    assert render(GET, answer("x", headers=headers)).block().count("-->") == len(headers) + 3
    styles = (("Content-Type", "text/css"), ("X", "*/ b{}"))
    assert render(GET, answer("x", headers=styles)).text.count("*/") == len(styles) + 3


# ------------------------------------------------------------------------------------------ secrets

SECRET = 'p"ä&ss /+<wörd>'


@pytest.mark.parametrize(
    "shown",
    [
        SECRET,
        urllib.parse.quote(SECRET, safe=""),
        urllib.parse.quote(SECRET),
        urllib.parse.quote_plus(SECRET),
        urllib.parse.quote(SECRET, safe="").lower(),
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        "p&quot;ä&amp;ss /+&lt;wörd&gt;",
        'p"ä&amp;ss /+&lt;wörd&gt;',
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
    ],
)
def test_a_secret_is_masked_in_every_spelling(shown: str) -> None:
    masked = mask(f"before {shown} after", {SECRET})
    assert masked.strip('"') in ("before *** after", 'before "***" after')


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("p@ss wo,rd", "p@ss%20wo,rd"),  # a request target
        ("Sec/RETkey", "Sec%2fRETkey"),
        ("(a b)*'c!", "(a%20b)*'c!"),  # JavaScript's encodeURIComponent
        ("ab~c", "ab%7Ec"),  # URLSearchParams, Java
        ("a~b c*d", "a%7Eb+c*d"),
        ("a~b (c)!", "a%7eb+(c)!"),  # .NET
        ("Hunter2", "%48%75%6E%74%65%72%32"),  # any encoder that encodes all characters
        ("Hunter2", "%48%75%6e%74%65%72%32"),
        ("pässwörd", "%70%E4%73%73%77%F6%72%64"),
        ('it\'s "x"', "it&#39;s &#34;x&#34;"),  # Flask, Go
        ('it\'s "x"', "it&apos;s &quot;x&quot;"),  # XML
        ("it's <x>", "it&apos;s &lt;x&gt;"),
        ("a/b<c>", "a\\/b<c>"),  # PHP's JSON
        ("a/b<c>", "a/b\\u003cc\\u003e"),  # Go's JSON
        ("s" * 80, base64.encodebytes(b"s" * 80).decode().rstrip("\n")),
    ],
)
def test_a_secret_is_masked_as_other_programs_write_it(secret: str, shown: str) -> None:
    assert mask(f"before {shown} after", {secret}) == "before *** after"


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("hunter2", base64.b64encode(b"hunter2").decode()),
        ("hunter2", b"hunter2".hex()),
        ("hunter2", b"hunter2".hex().upper()),
        ("hunter2", "HUNTER2"),
        ("Hunter2", "hunter2"),
        ("hunter2", "\\u0068\\u0075\\u006e\\u0074\\u0065\\u0072\\u0032"),
        ("hunter2", "\\u0068\\u0075\\u006E\\u0074\\u0065\\u0072\\u0032"),
        ("pässwörd", "p\\u00e4ssw\\u00f6rd"),
        ("pässwörd", "p\\u00E4ssw\\u00F6rd"),
        ("hunter2", "&#104;&#117;&#110;&#116;&#101;&#114;&#50;"),
        ("hunter2", "&#x68;&#x75;&#x6e;&#x74;&#x65;&#x72;&#x32;"),
        ("hunter2", "&#x68;&#x75;&#x6E;&#x74;&#x65;&#x72;&#x32;"),
        ("p&ss", "p&#38;ss"),
        ("pässwörd", "p&auml;ssw&ouml;rd"),
        ("<pässwörd>", "&lt;p&#228;ssw&#246;rd&gt;"),
        ("pässwörd", "p&#xE4;ssw&#xf6;rd".replace("E4", "e4")),
        ("pässwörd", "pässwörd".encode().decode("latin-1")),
        ("paßword", "paßword".encode().decode("cp1252")),
        ("pässwörd", "pässwörd".encode("latin-1").decode("utf-8", "replace")),
        ("pässwörd", "pässwörd".encode("latin-1").decode("utf-8", "surrogateescape")),
        ("pässwörd", "p%E4ssw%F6rd"),
        ("pässwörd", base64.b64encode("pässwörd".encode("latin-1")).decode()),
    ],
)
def test_a_secret_is_masked_as_servers_echo_it(secret: str, shown: str) -> None:
    assert mask(f"before {shown} after", {secret}) == "before *** after"


@settings(deadline=None)
@given(
    st.binary(max_size=9),
    st.text("abcXYZ019!ä ", min_size=5, max_size=12).filter(lambda text: text.strip() == text),
    st.binary(max_size=9),
    st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]),
)
@example(b"user:", "s3cret", b"", base64.b64encode)
def test_a_secret_is_masked_wherever_it_stands_in_base64(
    before: bytes, secret: str, after: bytes, encode: Callable[[bytes], bytes]
) -> None:
    shown = encode(before + secret.encode() + after).decode()
    assert mask(f"Basic {shown}, x", {secret}) == "Basic ***, x"


def test_two_secrets_of_one_base64_text_are_masked_in_linear_time() -> None:
    text = base64.b64encode(b"user:s3cret" * 50_000).decode()
    assert mask(text, {"s3cret"}) == "***"
    assert mask("a" * 1_000_000, {"s3cret"}) == "a" * 1_000_000


def test_the_bytes_of_a_file_hold_no_secret_either() -> None:
    data = b"\xff s3cret \x00 S3CRET " + b"s3cret".hex().encode()
    assert mask_bytes(data, {"s3cret"}) == b"\xff *** \x00 *** ***"
    assert mask_bytes(data, ()) is data


def test_an_answer_does_not_become_file_local_variables_of_emacs() -> None:
    body = "x\n# Local Variables:\n# eval: (shell-command)\n# End:\n"
    shown = render(GET, answer(body, headers=(("X", "LOCAL variables:"),))).block()
    assert "# Local Variables\\x3a\n" in shown
    assert "local variables:" not in shown.lower()


def test_a_secret_is_masked_in_url_headers_reason_redirects_and_body() -> None:
    request = Request("GET", "http://h/s3cret", secrets=frozenset({"s3cret"}))
    response = answer(
        '{"a": "x\\u0073\\u0033cret", "s3cret": 1}',
        headers=(("Content-Type", "application/json"), ("X-s3cret", "s3cret")),
        reason="s3cret",
        redirects=(Redirect(302, "s3cret", "http://h/?s3cret"),),
        warnings=("s3cret",),
    )
    rendered = render(request, response)
    assert "s3cret" not in rendered.block()
    assert "s3cret" not in "".join(rendered.notes)
    assert '"a": "x***"' in rendered.body
    assert '"***": 1' in rendered.body


def test_a_number_that_is_a_secret_is_masked() -> None:
    rendered = render(hiding("1234"), answer('{"pin":1234}', "application/json"))
    assert rendered.body == '{\n  "pin": ***\n}'


def test_a_secret_that_the_layout_would_tear_apart_is_masked() -> None:
    rendered = render(hiding("k><y"), answer("<a><k><y/></k></a>", "text/xml"))
    assert "k><y" not in rendered.body
    assert "***" in rendered.body


def test_a_key_of_several_lines_is_masked_line_by_line() -> None:
    key = "-----BEGIN KEY-----\nMIIabcdefgh\n-----END KEY-----\n"
    for text in (key, key.replace("\n", "\r\n"), "x MIIabcdefgh y", json.dumps(key)):
        assert "MIIabcdefgh" not in mask(text, {key})


def test_the_beginning_of_a_secret_at_the_cut_is_masked() -> None:
    request = hiding("0123456789")
    rendered = render(request, answer("body 0123456", truncated=True))
    assert rendered.body == "body ***"


@pytest.mark.parametrize("before", [b"user:", b"user1:", b"user12:", b""])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_the_beginning_of_a_secret_in_base64_at_the_cut_is_masked(
    before: bytes, encode: Callable[[bytes], bytes]
) -> None:
    secret = "s3cret-\u00ff\u00fe-s3cret"
    whole = encode(before + secret.encode()).decode()
    for kept in range(len(before) * 4 // 3 + 6, len(whole) - 4):
        shown = masking.mask_cut(mask(f"Basic {whole[:kept]}", {secret}), {secret})
        assert shown == "Basic ***", kept


def test_the_beginning_of_a_secret_at_the_cut_of_bytes_is_masked() -> None:
    secret = "s3cret value"
    for shown in (secret, secret.encode().hex(), base64.b64encode(secret.encode()).decode()):
        cut = shown.encode()[:-2]
        assert masking.mask_cut_bytes(b"\xff " + cut, {secret}) == b"\xff ***"
    assert masking.mask_cut_bytes(b"\xff s3c", {secret}) == b"\xff s3c"


def test_a_secret_that_repeats_its_beginning_is_masked_at_the_cut() -> None:
    assert masking.mask_cut("aabaaba", {"aabacccc"}) == "aab***"
    assert masking.mask_cut("a" * 9, {"a" * 6 + "b"}) == "aaa***"


def test_a_secret_is_masked_wherever_a_message_cuts_it() -> None:
    message = "found 'a s3cret v...', not s3cre... or s3cret value; see..."
    shown = masking.mask_message(message, {"s3cret value"})
    assert shown == "found 'a ***...', not ***... or ***; see..."


def test_a_secret_in_a_binary_body_is_masked_and_reported() -> None:
    rendered = render(hiding("s3cret"), answer(b"\x00s3cret", "image/png"))
    assert rendered.data == b"\x00***"
    assert rendered.notes == (
        "the body is binary and contains a secret: results and reports contain *** instead",
    )
    other = render(hiding("other"), answer(b"\x00s3cret", "image/png"))
    assert (other.data, other.notes) == (b"\x00s3cret", ())


def test_nothing_is_masked_for_blank_secrets() -> None:
    assert mask("a b ***", {" ", "", "*"}) == "a b ***"


def test_a_secret_of_few_characters_hides_no_text_that_holds_them_by_chance() -> None:
    assert mask("https://example.org/", {"s", "ttp", "1"}) == "https://example.org/"
    assert mask("ttp", {"s", "ttp"}) == "***"  # a value that is shown by itself
    assert mask("the PIN 1234", {"1234"}) == "the PIN ***"


@settings(deadline=None)
@given(
    st.text(min_size=4, max_size=12).filter(
        lambda s: len(s.strip()) >= masking.LEAST and s.strip("*") and s.isprintable()
    ),
    st.text(max_size=8),
    st.sampled_from(["raw", "json", "json-ascii", "quote", "xml"]),
    KINDS.filter(lambda kind: kind is None or "charset" not in kind),
)
def test_a_secret_never_stands_in_a_result(
    secret: str, around: str, spelling: str, kind: str | None
) -> None:
    text = around + secret + around
    body = {
        "raw": text,
        "json": json.dumps({"a": [text]}, ensure_ascii=False),
        "json-ascii": json.dumps({text: 1}),
        "quote": urllib.parse.quote(text),
        "xml": f"<a><b>{text}</b></a>",
    }[spelling]
    request = Request("GET", f"http://h/{secret}", secrets=frozenset({secret}))
    rendered = render(request, answer(body, kind, reason=secret))
    scaffold = render(request, answer("", kind)).block()
    if secret not in scaffold:
        assert secret not in rendered.block()
    assert secret not in rendered.body


# ----------------------------------------------------------------------------------------------- jq

PACKAGE = importlib.util.find_spec("jq") is not None
PROGRAM = shutil.which("jq") is not None
WAYS = [
    pytest.param(
        "package",
        marks=pytest.mark.skipif(not PACKAGE, reason="pip install jq: the package jq is missing"),
    ),
    pytest.param(
        "program",
        marks=needs("jq"),
    ),
]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "program":
        monkeypatch.setattr(jq, "find_spec", lambda _: None)
    else:
        monkeypatch.setattr(shutil, "which", lambda _: None)
    return str(request.param)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("program", "args", "printed"),
    [
        (".id", "", "7"),
        (".token", "", '"abc\\n"'),
        (".token", "-r", "abc\n"),
        (".items", "", '[\n  "p",\n  "é"\n]'),
        (".items", "-c", '["p","é"]'),
        (".items[]|ascii_upcase", "--raw-output", "P\né"),
        (".items[]", "-j", "pé"),
        ("[$a, $b]", "-c --arg a 1 --argjson b '[2]'", '["1",[2]]'),
        ("length", "-s", "1"),
        ("-.id", "", "-7"),
        ("env|length", "", "0"),
        ("empty", "", ""),
    ],
)
def test_a_jq_program_gives_what_jq_prints(program: str, args: str, printed: str) -> None:
    data = '{"token":"abc\\n","id":7,"items":["p","é"]}'
    assert jq.run(program, data, args) == printed.removesuffix("\n") + (
        "\n" if printed.endswith("\n") else ""
    )


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("program", "text"),
    [("nope", "1"), (".a", "1"), (".", "x{"), (".[", "1"), ("error", '"s"')],
)
def test_a_jq_program_that_fails_is_an_error(program: str, text: str) -> None:
    with pytest.raises(CaptureError, match=r"^jq: "):
        jq.run(program, text)


@pytest.mark.usefixtures("way")
def test_a_jq_program_that_ends_before_it_read_its_input_is_an_error() -> None:
    with pytest.raises(CaptureError, match=r"^jq: "):
        jq.run("nope", "[" + "1," * 2**20 + "1]")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("program", ["def f: f; f", "[range(1e12)]|length"])
def test_a_jq_program_that_does_not_end_is_stopped(
    monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setattr(jq, "TIMEOUT", 1)
    monkeypatch.setattr(jq, "PATIENCE", 20)
    killed: list[jq.Child] = []
    monkeypatch.setattr(jq.Child, "kill", lambda child: killed.append(child) or child.terminate())
    with pytest.raises(CaptureError, match=r"used more than 1 s of CPU time|^jq: "):
        jq.run(program, "1")
    assert killed == []  # its limit of CPU time ended it


@pytest.mark.usefixtures("way")
def test_a_jq_program_that_takes_too_much_memory_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jq, "_CHILD", jq._CHILD.replace('("AS", 2**31)', '("AS", 2**28)'))
    with pytest.raises(CaptureError, match=r"^jq: .*memory"):
        jq.run('reduce range(28) as $_ ("x"; . + .) | length', "1")


@pytest.mark.usefixtures("way")
def test_a_jq_program_that_prints_endlessly_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jq, "MAX_OUTPUT", 2**16)
    with pytest.raises(CaptureError, match=r"jq printed more than 0 MiB"):
        jq.run("range(1e9)", "1")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("-f /etc/passwd", "unsupported jq argument -f; supported: -r, --raw-output"),
        ("--slurpfile a /etc/passwd", "unsupported jq argument --slurpfile; supported:"),
        ("-L /", "unsupported jq argument -L; supported:"),
        ("-rf", "unsupported jq argument -rf; supported:"),
        ("x.json", "unsupported jq argument x.json; supported:"),
        ("--arg a", "jq argument --arg requires a value"),
        ("--argjson a {", "the value of jq's --argjson is not valid JSON: {"),
        ("'", 'invalid jq arguments "\'": No closing quotation'),
    ],
)
def test_jq_gets_no_argument_that_reads_files(args: str, message: str) -> None:
    with pytest.raises(CaptureError) as caught:
        jq.run(".", "1", args)
    assert str(caught.value).startswith(message)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    "program",
    [
        "import IT; $d",
        "include IT; 1",
        "# c\nimport IT; $d",
        "# c \\\nimport IT;\nimport IT; $d",
        '# \\\n"\nimport IT; $d',
        'module {"a": "\\(1)"}; import IT; $d',
        "1; import IT;",
        "import#\n IT; $d",
        "import @text IT; $d",
        "#\rimport IT; $d\nimport IT; $d",
        '"FOLDER/cred"|modulemeta',
        '"\\("FOLDER/cred"|modulemeta)"',
        '"a"|.[., modulemeta:2]',
        "get_search_list",
        "get_prog_origin",
    ],
)
def test_a_jq_program_reads_no_file_and_learns_of_none(tmp_path: Path, program: str) -> None:
    (tmp_path / "cred.json").write_text('"s3cret"')
    (tmp_path / "cred.jq").write_text('module {"a": "s3cret"}; def f: "s3cret";')
    it = f'"cred" as $d {{search: "{tmp_path}"}}'
    with pytest.raises(CaptureError, match="cannot import modules"):
        jq.run(program.replace("IT", it).replace("FOLDER", str(tmp_path)), "1")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("program", "printed"),
    [
        (".import", "1"),
        ("{modulemeta, import: .import, include : 2}", '{"modulemeta":3,"import":1,"include":2}'),
        ("{modulemeta: .modulemeta}", '{"modulemeta":3}'),
        ('"import \\"x\\" \\(1 + ("(" | length)) #" # import "x";', '"import \\"x\\" 2 #"'),
        ('. as $modulemeta | "\\($modulemeta | .import)"', '"1"'),
        ("1 # a\\\n2", "1"),
        ("1 # a\\", "1"),
        ("# a\n[1, # b\n2]", "[1,2]"),
    ],
)
def test_the_words_of_modules_are_fine_as_keys_and_text(program: str, printed: str) -> None:
    assert jq.run(program, '{"import": 1, "modulemeta": 3}', "-c") == printed


PIECES = st.sampled_from([*'"\\()#\n', '#"\n', "#\\\n", '"\\(', ')"', "\\\\", "module {};", "\r"])


def jq_says(program: str) -> str:
    try:
        importlib.import_module("jq").compile(program)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.skipif(not PACKAGE, reason="pip install jq: the package jq is missing")
@settings(deadline=None, max_examples=300)
@given(st.lists(PIECES, max_size=8))
def test_whatever_stands_around_an_import_jq_never_looks_for_the_module(pieces: list[str]) -> None:
    try:
        program = jq._checked("".join([*pieces, 'import "nosuch" as $d; 1']))
    except CaptureError:
        return
    assert "module not found" not in jq_says(program)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("program", ["env", "$ENV", "[env.SECRET, $ENV.SECRET]|add", "[inputs]"])
def test_a_jq_program_sees_no_environment_and_no_other_input(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "s3cret")
    assert jq.run(program, "1", "-c") in ("{}", "null", "[]")


def test_the_process_that_becomes_jq_starts_without_the_users_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SECRET", "s3cret")
    monkeypatch.setattr(jq, "_CHILD", "import os; print(sorted(os.environ))")
    assert "SECRET" not in jq.run(".", "1")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("program", "args", "message"),
    [
        (".", f"--argjson x {'[' * 100_000}", "the value of jq's --argjson is nested too deeply"),
        (f'"{"x" * 180_000}"', "", "the jq program is too long for the command line"),
        ("1\0 2", "", "the jq program contains a NUL character"),
        (".", "--arg x 'a\0'", "invalid jq program or arguments: embedded null byte"),
    ],
)
def test_a_huge_or_broken_jq_program_is_reported_in_words(
    program: str, args: str, message: str, way: str
) -> None:
    if way == "package" and "null" in message:
        assert jq.run("$x", "1", args) == '"a\\u0000"'
        return
    with pytest.raises(CaptureError) as caught:
        jq.run(program, "1", args)
    assert str(caught.value) == message


@pytest.mark.skipif(not PACKAGE, reason="pip install jq: the package jq is missing")
def test_a_result_nested_too_deep_is_reported_in_words() -> None:
    # From 3.13 on, CPython writes JSON of this depth, which is too long then: indented 3,000 times.
    deep = sys.version_info < (3, 13)
    reason = "jq: the result is nested too deeply" if deep else "jq printed more than 16 MiB"
    with pytest.raises(CaptureError, match=f"^{reason}$"):
        jq.run("reduce range(3000) as $i (0; [.])", "1")


def test_jq_that_cannot_be_started_is_reported_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(CaptureError, match=r"^could not start jq: No such file or directory$"):
        jq.run(".", "1")


@needs("jq")
def test_arguments_that_only_the_program_knows_go_to_it() -> None:
    assert jq.run(".", '{"b":1,"a":"é"}', "-Sca --indent 0") == '{"a":"\\u00e9","b":1}'
    assert jq.run(".", "[1]", "--tab") == "[\n\t1\n]"
    assert jq.run("1,null", "{}", "-ne") == "1\nnull"


def test_without_jq_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jq, "find_spec", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(CaptureError, match=r"jq is not installed: .*pip install .*jq, or install"):
        jq.run(".", "1")


def test_jq_takes_the_bodys_place_and_the_head_stays() -> None:
    rendered = show('{"id": 7}', "application/json", jq=".id")
    assert rendered.text.startswith("7\n// GET http://h/p?q\n")
    assert rendered.language == "js"


def test_a_secret_does_not_come_through_jq() -> None:
    rendered = render(hiding("s3cret"), answer('{"a":"s3cret"}', "application/json"), jq=".a")
    assert rendered.body == '"***"'


# ----------------------------------------------------------------------------------------- captures


def capture(parsed: ParsedRequest, body: str, scope: Context) -> None:
    for name, value in captures(expand(parsed, scope), answer(body, "application/json")):
        scope.capture(parsed, name, value)


def captured(text: str, body: str) -> Context:
    scope = Context()
    parsed = parse(Source(text, file="c.org")).requests[0]
    capture(parsed, body, scope)
    return scope


def later(scope: Context, text: str) -> bytes | None:
    return expand(parse(f"POST http://h/\n\n{text}").requests[0], scope.block()).body


def test_a_capture_is_a_variable_of_the_blocks_below() -> None:
    text = 'GET http://h/\n-> jq-set-var :id .id\n-> jq-set-var :all .items | join(",")'
    scope = captured(text, '{"id": 7, "items": ["{{x}}", "b"]}')
    assert later(scope, ":id {{all}}") == b"7 {{x}},b"


@pytest.mark.parametrize("program", [".nope", ".nope[]?"])
def test_a_capture_that_finds_nothing_is_an_error_with_its_place(program: str) -> None:
    with pytest.raises(CaptureError) as caught:
        captured(f"GET http://h/\n-> jq-set-var :x {program}", "{}")
    assert str(caught.value) == (
        f"c.org:2:15: {program} matches nothing in the response, so :x was not set"
    )


def test_a_capture_that_fails_keeps_those_above_it() -> None:
    scope = Context()
    text = "GET http://h/\n-> jq-set-var :a .a\n-> jq-set-var :b .a.b"
    parsed = parse(Source(text, file="c.org")).requests[0]
    with pytest.raises(OrgrestError, match=r"^c\.org:3:15: jq: "):
        capture(parsed, '{"a":1}', scope)
    assert scope.captured().keys() == {"a"}


def test_a_request_without_captures_needs_no_jq(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jq, "run", None)
    assert captured("GET http://h/", "not json").captured() == {}


def test_the_media_type_is_without_parameters() -> None:
    assert media_type(answer("", "Text/HTML ; charset=x")) == "text/html"
    assert media_type(answer("", None)) == ""
