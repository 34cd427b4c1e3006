"""Formatting changes no byte that is sent, and formatting again changes nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from editors import Editor
from evaluated import Evaluated
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lsprotocol import types
from servers import RawServer, response

from orgrest.editor import body_layout, formatting
from orgrest.editor.analysis import Analysis
from orgrest.editor.formatting import formatted
from orgrest.editor.regions import Kind
from orgrest.files import File
from orgrest.http.values import Inputs
from orgrest.model import Span
from orgrest.org.text import apply

TESTS = Path(__file__).parents[1]
FILES = sorted(
    [
        *(TESTS / "corpus" / "requests").glob("*.http"),
        *(TESTS.parents[1] / "examples" / "orgrest").rglob("*.org"),
        *(TESTS.parents[1] / "examples" / "orgrest").rglob("*.http"),
    ]
)
_TIMES = re.compile(r"\$\w*(?:time|date)|now", re.IGNORECASE)


def planned(text: str, kind: Kind, directory: Path) -> list[Any]:
    """Return the requests of a document in a dry run, or their errors, in order."""
    inputs = Inputs(directory=directory, seed=1, environ={"HOME": "/nowhere"})
    found: list[Any] = []
    for outcome in Evaluated(text, inputs, file=f"notes.{kind}", dry_run=True).outcomes:
        reason = outcome.reason
        found.append((outcome.state, outcome.name, None if reason is None else reason.code))
        for exchange in outcome.exchanges:
            request = exchange.request
            found.append((request.method, request.url, request.headers, request.body))
    return found


def same(one: list[Any], other: list[Any], text: str) -> bool:
    """Compare requests, except for digits in those that contain the time."""
    if one == other or not _TIMES.search(text):
        return one == other
    return re.sub(r"\d", "0", repr(one)) == re.sub(r"\d", "0", repr(other))


# ------------------------------------------------------------------------ what is sent is the same


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_sent_the_same_when_it_was_formatted(path: Path) -> None:
    text = File.read(path).text
    kind: Kind = "org" if path.suffix == ".org" else "http"
    after = formatted(text, kind)
    assert formatted(after, kind) == after
    if after != text:
        assert same(planned(after, kind, path.parent), planned(text, kind, path.parent), text)


LINES = st.sampled_from(
    [
        "GET http://a/", "get   http://a/  ", "POST  {{h}}/b   HTTP/1.1", "https://c/", "###",
        "###name", "  ###  name  ", "#@name  x", "# @name x", "// c  ", "# c", "  # c", "A:b",
        "  A  :   b  ", "A:", "Content-Type: multipart/mixed; boundary=x", "", " ", "", "{", "}",
        "{{", "}}", "{{@response", "> {%", "%}", "> {% x %}", "< {% y %}", "< file", "> f.js",
        ">> o", "<> h", "??status == 1", "?? status == 1  ", "@a=1", "@a  = 1 ", "@a:=1", ":b=2",
        ":b   =  2 ", "HTTP/1.1 200 OK", "import x  ", "/*", "*/", "text", "?a=1", "  &b=2",
        "# @disabled", "GRPC a/b", "...x", ":b = <<E", "E", "<<E", "-> jq-set-var :x  .a ", ":h",
        "#", "  GET http://:b/x", "b \r", "<<other>>",
    ]
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=14).map("\n".join)
BLOCKS = st.tuples(
    st.sampled_from(["", "  ", "\t"]),
    st.sampled_from(["restclient", "http", "restclient :var b=1", "http -i", "http :noweb yes"]),
    st.lists(LINES, max_size=10),
).map(
    lambda block: (
        f"{block[0]}#+begin_src {block[1]}\n"
        + "".join(f"{block[0]}{line}\n" for line in block[2])
        + f"{block[0]}#+end_src\n"
    )
)
DOCUMENTS = st.one_of(
    st.tuples(st.just("http"), TEXTS),
    st.tuples(
        st.just("org"),
        st.lists(BLOCKS, max_size=3).map(lambda blocks: "* A  \n\n\ntext  \n" + "".join(blocks)),
    ),
)


@given(DOCUMENTS)
@example(("org", " #+begin_src http :var b=1\n get   http://a/  \n A:b\n #+end_src\n"))
@example(("http", "get   http://a/  \n  ###  name  \nE\nA:b\n  GET :b/x\n"))
@example(("http", "GET http://a/\n\n\n\n{}\n\n\n\n###\n\n\n\nGET http://b/\n"))
@settings(deadline=None)
def test_a_document_is_sent_the_same_when_it_was_formatted(
    tmp_path_factory: pytest.TempPathFactory, document: tuple[Kind, str]
) -> None:
    kind, text = document
    folder = tmp_path_factory.getbasetemp()
    after = formatted(text, kind)
    assert formatted(after, kind) == after
    if after != text:
        assert planned(after, kind, folder) == planned(text, kind, folder)
    if kind == "org":
        outside = re.compile(r"#\+begin_src.*?#\+end_src", re.DOTALL)
        assert outside.sub("", after) == outside.sub("", text)


SENT = """\
@host={url}
@user   =  me
###Log in
#@name   login
POST   {{{{host}}}}/login    HTTP/1.1
Content-Type:application/json
X-Blanks  :    two  words{blanks}



{{"user":   "{{{{user}}}}",{blanks}
 "n": 1.0}}


?? status == 200
###
get {{{{host}}}}/a?x=1
    &y=2
Accept:*/*
### with a here-document
POST {{{{host}}}}/b
Content-Type:   text/plain

line one{blanks}


line two



"""


def test_a_server_gets_the_same_bytes_when_a_file_was_formatted(tmp_path: Path) -> None:
    def sent(text: str, kind: Kind) -> list[bytes]:
        with RawServer(response(b"{}", "Content-Type: application/json")) as server:
            inputs = Inputs(directory=tmp_path, seed=1)
            done = Evaluated(text.replace("URL", server.url), inputs, file=f"notes.{kind}")
            assert done.reasons == []
            host = server.host.encode()
            return [request.replace(host, b"HOST") for request in server.requests]

    text = SENT.format(url="URL", blanks="  ")
    after = formatted(text, "http")
    assert after == (
        "@host = URL\n@user = me\n\n### Log in\n# @name login\nPOST {{host}}/login HTTP/1.1\n"
        "Content-Type: application/json\nX-Blanks: two  words\n\n"
        '{"user":   "{{user}}",  \n "n": 1.0}\n\n?? status == 200\n\n###\n'
        "GET {{host}}/a?x=1\n    &y=2\nAccept: */*\n\n### with a here-document\nPOST {{host}}/b\n"
        "Content-Type: text/plain\n\nline one  \n\n\nline two\n"
    )
    wanted = sent(text, "http")
    assert len(wanted) == 3
    assert sent(after, "http") == wanted
    block = (
        "  #+begin_src restclient\n  :a=1\n  POST   URL/:a  \n  X:y\n\n  <<E\n  b  \n\n\n  E\n\n\n"
    )
    block += "  #\n  GET URL/c\n  #+end_src\n"
    after = formatted(block, "org")
    assert after == block.replace(":a=1", ":a = 1").replace(
        "POST   URL/:a  ", "POST URL/:a"
    ).replace("X:y", "X: y").replace("  E\n\n\n", "  E\n\n")
    assert sent(after, "org") == sent(block, "org")


@pytest.mark.parametrize(
    "text",
    [
        "GET http://a/\n\n> {%\nclient.log(1)\n\n\n%}\n",
        "GET http://a/\n\n{{@response\nx  \n\n\n}}\n",
        "GET http://a/\n\nHTTP/1.1 200 OK\nA:b\n\n\n\nx  \n",
        "/*\nA:b\n\n\n*/\nGET http://a/\n",
        "GET   http://a/  \nA:b\n\n> {%\nnever ended\n",
        "GET http://a/\nno header at all  \n\n\n\nbody\n",
        "words  \n\n\nmore words\n\nGET http://a/\n",
        ":a = <<E\nb  \n\n\nE\nGET http://a/\n",
    ],
)
def test_what_is_no_spacing_and_what_is_not_understood_stays(text: str) -> None:
    assert formatted(text, "http") == text


def test_blocks_that_are_made_of_others_stay() -> None:
    text = (
        "#+name: head\n#+begin_src restclient\nGET   http://a/\nA:b\n#+end_src\n"
        "#+begin_src restclient :noweb yes\n<<head>>\nC:d\n#+end_src\n"
        "#+begin_src restclient :cache yes\nGET   http://a/\n#+end_src\n"
        "#+begin_src restclient :prologue GET http://a/\nA:b\n#+end_src\n"
        "#+begin_src restclient :epilogue C: d\nGET   http://a/\n#+end_src\n"
    )
    assert formatted(text, "org") == text


def test_a_selection_is_formatted_alone() -> None:
    text = "get  http://a/\n\n###\nget  http://b/\n"
    found = formatting.edits(Analysis(text, "http"), Span(0, 5))
    assert apply(text, found) == "GET http://a/\n\n###\nget  http://b/\n"


# ------------------------------------------------------------------------------------ in an editor


@pytest.fixture(scope="module")
def editor() -> Iterator[Editor]:
    with Editor() as running:
        yield running


def test_an_editor_formats_with_the_line_ends_of_its_document(
    editor: Editor, tmp_path: Path
) -> None:
    text = "get  http://a/\r\nA:b\r\n###\r\nget   http://😀/ HTTP/1.1\r\nB:c\r\n"
    options = types.FormattingOptions(tab_size=2, insert_spaces=True)
    buffer = editor.open(tmp_path / "a.http", text, "http")
    where = types.Range(types.Position(3, 5), types.Position(4, 1))
    part = types.DocumentRangeFormattingParams(buffer.identifier, where, options)
    found = buffer.ask(types.TEXT_DOCUMENT_RANGE_FORMATTING, part)
    editor.make(types.WorkspaceEdit(changes={buffer.identifier.uri: found}))
    assert buffer.text == text.replace("get   http://😀", "GET http://😀").replace("B:c", "B: c")
    whole = types.DocumentFormattingParams(buffer.identifier, options)
    found = buffer.ask(types.TEXT_DOCUMENT_FORMATTING, whole)
    editor.make(types.WorkspaceEdit(changes={buffer.identifier.uri: found}))
    assert buffer.text == (
        "GET http://a/\r\nA: b\r\n\r\n###\r\nGET http://😀/ HTTP/1.1\r\nB: c\r\n"
    )
    assert not buffer.ask(types.TEXT_DOCUMENT_FORMATTING, whole)


def test_a_body_is_reformatted_only_by_a_command_that_says_what_it_does(
    editor: Editor, tmp_path: Path
) -> None:
    text = '* A\n  #+begin_src restclient\n  POST http://x/\n\n  {"a": [1.0, :b]}\n  #+end_src\n'
    buffer = editor.open(tmp_path / "a.org", text, "org")
    where = types.Range(types.Position(2, 0), types.Position(2, 0))
    context = types.CodeActionContext([], only=[types.CodeActionKind.Refactor])
    params = types.CodeActionParams(buffer.identifier, where, context)
    (one,) = buffer.ask(types.TEXT_DOCUMENT_CODE_ACTION, params)
    assert one.title == "Format the body (changes the bytes that are sent)"
    editor.make(one.edit)
    assert buffer.text == text.replace(
        '{"a": [1.0, :b]}', '{\n    "a": [\n      1.0,\n      :b\n    ]\n  }'
    )
    assert not buffer.ask(types.TEXT_DOCUMENT_CODE_ACTION, params)


# -------------------------------------------------------------------------------------- the bodies

JSON = st.recursive(
    st.sampled_from(
        ["null", "true", "1.0", "1e5", "-0", "123456789012345678901", '""', '"a\\u00e9"']
    )
    | st.text().map(json.dumps),
    lambda inner: st.one_of(
        st.lists(inner).map(lambda items: f"[{' , '.join(items)}]"),
        st.lists(st.tuples(st.text("ab").map(json.dumps), inner)).map(
            lambda pairs: "{" + " ,\n ".join(f"{key}\t: {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=8,
)


def read(text: str) -> Any:
    """Parse JSON, keeping the spelling of numbers and duplicate keys."""
    return json.loads(text, object_pairs_hook=tuple, parse_int=str, parse_float=str)


@given(JSON)
@settings(deadline=None)
def test_formatted_json_has_the_same_numbers_strings_and_keys(text: str) -> None:
    found = body_layout.formatted_body(text, "json")
    assert found is not None
    assert read(found) == read(text)
    strings = re.compile(r'"(?:[^"\\]|\\.)*"')
    assert strings.findall(found) == strings.findall(text)
    assert body_layout.formatted_body(found, "json") == found


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("json", '{"a":{{x}},{{k}}:[],"c"::y}', '{\n  "a": {{x}},\n  {{k}}: [],\n  "c": :y\n}'),
        ("json", '["{{f("x")}}",{}]', '[\n  "{{f("x")}}",\n  {}\n]'),
        ("xml", "<a><b>{{x}} y</b><c/></a>", "<a>\n  <b>{{x}} y</b>\n  <c/>\n</a>"),
        (
            "graphql",
            'query Q($a:[Int!]!=-1.5)@d{u(i:$a,f:{a:1}){...F id,...on U@i(if:1){n}b}}\n\n{"a":1}',
            """query Q($a: [Int!]! = -1.5) @d {
  u(i: $a, f: {a: 1}) {
    ...F
    id
    ... on U @i(if: 1) {
      n
    }
    b
  }
}

{
  "a": 1
}""",
        ),
        (
            "graphql",
            "query A{x:y(a:[1,2],b:\"c\")}fragment F on U{x}",
            'query A {\n  x: y(a: [1, 2], b: "c")\n}\n\nfragment F on U {\n  x\n}',
        ),
    ],
)  # fmt: skip
def test_a_body_with_variables_is_formatted(kind: Any, text: str, wanted: str) -> None:
    assert body_layout.formatted_body(text, kind) == wanted


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("json", '{"a": 1,}'), ("json", "[1 2]"), ("json", '{"a"}'), ("json", "[1]]"),
        ("json", '{"a": 1} x'), ("json", "[}"), ("json", '"' + "{{x}}" * 200), ("json", ""),
        ("json", "[" * 10_000), ("xml", "<a>text<b/></a>"), ("xml", "<a><b></a>"),
        ("graphql", "query { a"), ("graphql", "{ a ) }"), ("graphql", "{ a # c\n }"),
        ("graphql", "query { a }\n\n{x"), ("graphql", "{" * 10_000), (None, "a=b"),
    ],
)  # fmt: skip
def test_a_body_that_is_not_understood_is_left_as_it_is(kind: Any, text: str) -> None:
    assert body_layout.formatted_body(text, kind) in (None, text)


@given(st.recursive(st.just("<x/>") | st.sampled_from(["<y>a b</y>", '<z a="1"> c </z>']),
                    lambda inner: st.lists(inner, min_size=1).map(
                        lambda items: f"<l>{''.join(items)}</l>"), max_leaves=8))  # fmt: skip
@settings(deadline=None)
def test_xml_that_is_laid_out_has_the_same_texts(text: str) -> None:
    found = body_layout.formatted_body(text, "xml")
    assert found is not None

    def texts(source: str) -> list[tuple[str, str | None]]:
        every = ElementTree.fromstring(source).iter()
        return [(one.tag, one.text if one.tag != "l" else None) for one in every]

    assert texts(found) == texts(text)


@pytest.mark.parametrize(
    "text",
    [
        "POST http://x/\n\n{\n# a comment\n}\n",
        "POST http://x/\nContent-Type: application/json\n\n< body.json\n",
        "POST http://x/\n\ntext\n",
        "POST http://x/\nContent-Type: text/plain\n\n{}\n",
        "POST http://x/\nno header\n\n{}\n",
        "GET http://x/\n",
        "text\n",
        "GRAPHQL http://x/\n\nno query\n",
    ],
)
def test_a_request_without_a_body_to_lay_out_has_no_command_for_it(text: str) -> None:
    analysis = Analysis(text, "http")
    assert [body_layout.find(analysis, at) for at in range(len(text))] == [None] * len(text)


def test_a_here_document_keeps_its_word_and_a_file_its_other_requests() -> None:
    text = ":a = 1\nPOST http://x/\n\n<<END\n[1,2]\nEND\n\n#\nGET http://y/\n"
    edit = body_layout.find(Analysis(text, "http"), text.index("POST"))
    assert edit is not None
    assert apply(text, [edit]) == text.replace("[1,2]", "[\n  1,\n  2\n]")
    text = "GRAPHQL http://x/\n\n{ a }\n\n> {% client.log(1) %}\n?? status == 200\n\n### b\nGET http://y/\n"
    edit = body_layout.find(Analysis(text, "http"), text.index("{ a"))
    assert edit is not None
    assert apply(text, [edit]) == text.replace("{ a }", "{\n  a\n}")
