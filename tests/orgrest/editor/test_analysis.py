"""What an editor learns without sending anything: problems, names, hover, outline."""

from __future__ import annotations

import gc
import os
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from counting import bytecodes
from evaluated import Evaluated
from hypothesis import given
from hypothesis import strategies as st

from orgrest.commands import demo
from orgrest.editor import outline
from orgrest.editor.analysis import Analysis
from orgrest.editor.arguments import assignments
from orgrest.editor.diagnostics.model import Diagnostic, Fix
from orgrest.editor.diagnostics.names import of_names
from orgrest.editor.diagnostics.report import Report
from orgrest.editor.hover import hover
from orgrest.editor.names import Names, RenameError
from orgrest.http import values
from orgrest.http.parsing.request_file import is_restclient
from orgrest.org.blocks import REQUEST_LANGUAGES
from orgrest.org.text import apply

if TYPE_CHECKING:
    from orgrest.editor.regions import Kind

JSON = "Content-Type: application/json"


def problems(text: str, kind: Kind = "http", **scope: object) -> list[tuple[str, str]]:
    """Return the codes of the problems in a text, each with the text it refers to."""
    return [(d.code, text[d.span.start : d.span.end]) for d in diagnostics(text, kind, **scope)]


def fixes(text: str, kind: Kind = "http") -> list[tuple[str, Fix]]:
    """Return the fixes for the problems in a text, each with the problem's code."""
    report = Report(Analysis(text, kind))
    return [(d.code, fix) for d in report.diagnostics for fix in report.fixes(d)]


def diagnostics(text: str, kind: Kind = "http", **scope: object) -> tuple[Diagnostic, ...]:
    analysis = Analysis(text, kind, lambda: values.Inputs(**scope))  # type: ignore[arg-type]  # as given
    return Report(analysis).diagnostics


def fixed(text: str, kind: Kind = "http") -> str:
    """Return the text after applying the only fix that is offered for it."""
    ((_, fix),) = fixes(text, kind)
    return apply(text, fix.edits)


def restclient(text: str) -> str:
    """Return a request file in restclient's dialect: `:restclient = 1` is added if needed."""
    return text if is_restclient(text) else f"{text.rstrip()}\n###\n:restclient = 1\n"


def block(body: str, arguments: str = "") -> str:
    return f"text\n  #+begin_src restclient{arguments}\n  {body}\n  #+end_src\n"


# ------------------------------------------------------------------------------------ diagnostics


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("GET http://x/{{a}}\n", [("undefined-variable", "{{a}}")]),
        (":a = {{b}}\nGET http://x/\n", [("undefined-variable", "{{b}}")]),
        ("GET http://x/:id/y\n", [("undefined-variable", ":id")]),
        ("GET http://x/\nA: :b\n", [("undefined-variable", ":b")]),
        ("GET http://x/?at=10:30\n", []),
        (":tok = 1\nGET http://x/\nA: a :toc\nB: a :tokk\n", [("undefined-variable", ":tokk")]),
        ("GET http://x/\n:h\n", [("undefined-variable", ":h")]),
        (":h = <<\nno header\n#\nGET http://x/\n:h\n", [("bad-header", ":h")]),
        (":v = <<\na\nb\n#\nGET http://x/\nA: :v\n", [("bad-header", "A: :v")]),
        ("GET http://x/\nno header\n", [("bad-header", "no header")]),
        ("GET http://x/\nGET http://y/\n", [("no-separator", "GET http://y/")]),
        ("GET http://x/\n:a = 1\n", [("bad-definition", ":a")]),
        ("POST http://x/\n{}\n", [("no-empty-line", "{}")]),
        ("GET x.org/\n", [("bad-url", "x.org/")]),
        ("GET ftp://x.org/\n", [("bad-url", "ftp://x.org/")]),
        ("GET http://[::1\n", [("bad-url", "http://[::1")]),
        ("GET http://x:99999/\n", [("bad-url", "http://x:99999/")]),
        (":p = 99999\nGET http://x::p/\n", [("bad-url", "http://x::p/")]),
        ("GET http://a b/\n", [("bad-url", "http://a b/")]),
        ("GET http://x/\nContent-Length: 5\n", [("bad-length", "Content-Length: 5")]),
        ("POST http://x/\nContent-Length: 5\n\nbody\n", [("bad-length", "Content-Length: 5")]),
        (":n = 5\nPOST http://x/\nContent-Length: :n\n\nabcde\n", []),
        ("GET http://x/\n-> jq-set-var :a .\n###\nPOST http://x/\nContent-Length: 5\n\n:a\n", []),
        ("GET http://x/\n-> jq-set-var :a .\n###\nGET http://x:1:a/\n", []),
        ("GET http://x/\n\nbody\n", [("unexpected-body", "body")]),
        ("HEAD http://x/\n\nbody\n", [("unexpected-body", "body")]),
        ("DELETE http://x/\n\nbody\n", []),
        ("get http://x/\n", [("unknown-method", "get")]),
        ("BREW http://x/\n", []),
        ("GET http://x/\nHost: a\nhost: b\n", [("repeated-header", "host: b")]),
        ("GET http://x/\nAccept: a\nAccept: b\n", []),
        ("POST http://x/\n\n<<END\nx\n", [("unclosed-here", "<<END")]),
        (":a = <<\nx\n", [("unclosed-here", "<<")]),
        ("POST http://x/\n\n<<E\nx\nE\ny\n", [("lost-text", "y")]),
        ("POST http://x/\n\n< f\ny\n", [("unreadable-file", "f"), ("lost-text", "y")]),
        ("POST http://x/\n\nGET http://y/\n", [("no-separator", "GET http://y/")]),
        (":a := (foo)\nGET http://x/\n", [("lisp", "(foo)")]),
        (
            ':a := (getenv "HOME")\nGET http://x/\n',
            [("unset-environment", '(getenv "HOME")'), ("lisp", '(getenv "HOME")')],
        ),
        (':a := env("A_B_C")\nGET http://x/\n', [("unset-environment", 'env("A_B_C")')]),
        (':a := netrc("h")\nGET http://x/\n', [("no-netrc-entry", 'netrc("h")')]),
        (":a := nope()\nGET http://x/\n", [("bad-expression", "nope()")]),
        (":a = :b\n:b = :a\nGET http://x/\n", [("self-reference", ":a")]),
        ("GET http://x/\n-> run-hook (foo)\n", [("lisp", "-> run-hook (foo)")]),
        ("GET http://x/\n-> jq-set-var a\n", [("bad-hook", "-> jq-set-var a")]),
        ("GET http://x/\n-> tie-a-knot\n", [("bad-hook", "-> tie-a-knot")]),
        ("# nothing\n", [("no-request", "# nothing")]),
        ("GET http://{{a}}/\n-> jq-set-var :a .\n", [("undefined-variable", "{{a}}")]),
        ("GET http://x/\n-> jq-set-var :a .\n###\nGET {{a}}/y\nB: {{a}}\n", []),
        ("GET http://x/\n-> jq-set-var :a .\n###\nGET http://x/\n:a\n", []),
        ("POST http://x/\nContent-Type: multipart/form-data\n\nx\n", [("bad-boundary", "x")]),
    ],
)
def test_what_is_wrong_is_reported_where_it_is(text: str, found: list[tuple[str, str]]) -> None:
    assert problems(restclient(text)) == found
    in_org = problems(block(text.rstrip("\n").replace("\n", "\n  ")), "org")
    assert in_org == found


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ('{"a": 1}', None),
        ('{"a" 1}', "1}"),
        ('{"a": :n, "b": ":s"}', None),
        ('{"a": :s}', ":s"),
        ('{"a": {{n}},\n "b" {{n}}}', "{{n}}"),
        ('{"a": {{later}}, "b": "{{later}}"}', None),
        ('{"a": {{later}} "b": 1}', None),  # what comes back could be anything
        ("[:n, :n", "[:n, :n"),
        ("", None),
        ("[" * 100_000, None),  # deeper than any Python reads
    ],
)
def test_a_json_body_is_judged_with_its_variables_put_in(body: str, wrong: str | None) -> None:
    text = (
        f"GET http://x/\n-> jq-set-var :later .\n###\n:n = 12\n:s = word\n"
        f"POST http://x/\n{JSON}; charset=utf-8\n\n{body}\n"
    )
    expected = [] if wrong is None else [("bad-json", wrong)]
    assert problems(text) == expected


def test_another_body_than_json_is_not_judged() -> None:
    assert problems("POST http://x/\nContent-Type: text/plain\n\n{\n") == []
    assert problems("POST http://x/\nContent-Type: a/b+json\n\n{\n") == [("bad-json", "{")]


@pytest.mark.parametrize(
    ("line", "header", "wrong"),
    [
        ("POST http://x/", "X-REQUEST-TYPE: GraphQL\n", False),
        ("GRAPHQL http://x/", "", False),
        ("# @no-gql-parsing\nPOST http://x/", "X-Request-Type: GraphQL\n", True),
        ("POST http://x/", "", False),
        ("# @no-gql-parsing\nPOST http://x/", "", True),
    ],
)
def test_graphql_that_is_sent_as_json_is_not_called_invalid_json(
    line: str, header: str, wrong: bool
) -> None:
    text = f"{line}\n{JSON}\n{header}\nquery {{\n  people {{ id }}\n}}\n"
    assert ("bad-json" in [code for code, _ in problems(text)]) is wrong


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("@x = 1", [("bad-header", "...x")]),
        ('@x = {"a": "b\\r\\nc: d"}', [("bad-header", "...x")]),
        ('@x = {"a": "{{login.response.body.token}}"}', []),
        ("{{+\nexports.x = {a: 'b'};\n}}", []),
        ('@x = {"a": 1}', []),
    ],
)
def test_headers_from_a_variable_do_not_hide_the_other_problems(
    value: str, found: list[tuple[str, str]]
) -> None:
    text = (
        f"# @name login\nGET http://x/\n###\n{value}\n###\nGET http://x/\n...x\n###\n"
        "GET http://x/{{undefined}}\n"
    )
    assert problems(text) == [*found, ("undefined-variable", "{{undefined}}")]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("POST http://x/\n{}\n", "POST http://x/\n\n{}\n"),
        ("GET http://x/\nno header\n", "GET http://x/\n\nno header\n"),
        ("GET http://x/\nGET http://y/\n", "GET http://x/\n###\nGET http://y/\n"),
        ("POST http://x/\n\nGET http://y/\n", "POST http://x/\n\n###\nGET http://y/\n"),
        ("GET http://x/\nHost: a\nHost: b\nC: d\n", "GET http://x/\nHost: a\nC: d\n"),
        ("GET http://x/\nHost: a\nHost: b", "GET http://x/\nHost: a\n"),
        (":name = 1\nGET http://x/{{nam}}\n", ":name = 1\nGET http://x/{{name}}\n"),
        (":name = 1\nGET http://x/:nane\n", ":name = 1\nGET http://x/:name\n"),
        (':a := (getenv "X")\nGET http://x/\n', ':a := env("X")\nGET http://x/\n'),
        (":a := (org-id-uuid)\nGET http://x/\n", ":a := uuid()\nGET http://x/\n"),
        ("POST http://x/\n\n<<END\nx\n###\n", "POST http://x/\n\n<<END\nx\nEND\n###\n"),
        ("POST http://x/\n\n<<END\nx\n", "POST http://x/\n\n<<END\nx\n\nEND\n"),
        ("POST http://x/\n\n<<END\nx", "POST http://x/\n\n<<END\nx\nEND\n"),
        (":a = <<\nx", ":a = <<\nx\n#\n"),
        ("get http://x/\n", "GET http://x/\n"),
    ],
)
def test_a_fix_puts_it_right(text: str, after: str) -> None:
    mark = restclient(text).removeprefix(text.rstrip())
    text, after = restclient(text), after.rstrip() + mark
    ((code, _),) = fixes(text)
    assert fixed(text).rstrip() == after.rstrip()
    assert code not in [d.code for d in diagnostics(after)]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("GET http://x/\n\n?? statsu == 200\n", "GET http://x/\n\n?? status == 200\n"),
        ("GET http://x/{{$radnom.uuid}}\n", "GET http://x/{{$random.uuid}}\n"),
        ("# @disabld\nGET http://x/\n", "# @disabled\nGET http://x/\n"),
        (
            "# @name login\nGET http://x/\n###\n# @ref logn\nGET http://y/\n",
            "# @name login\nGET http://x/\n###\n# @ref login\nGET http://y/\n",
        ),
        (
            "# @name my login\nGET http://x/\n###\n# @ref my logn\nGET http://y/\n",
            "# @name my login\nGET http://x/\n###\n# @ref my login\nGET http://y/\n",
        ),
        (
            "#+begin_src htpp\nGET http://x/\n#+end_src\n",
            "#+begin_src http\nGET http://x/\n#+end_src\n",
        ),
    ],
)
def test_what_a_message_suggests_can_be_applied(text: str, after: str) -> None:
    kind: Kind = "org" if text.startswith("#+") else "http"
    ((_, fix),) = fixes(text, kind)
    assert fix.guess
    assert fixed(text, kind) == after
    assert diagnostics(after, kind) == ()


def test_many_unknown_request_names_do_not_delay_the_editor() -> None:
    def steps(size: int) -> int:
        names = "".join(f"###\n# @name one{n}\nGET http://x/\n" for n in range(size))
        wrong = "".join(f"###\n# @ref ona{n}\nGET http://x/\n" for n in range(size))
        analysis = Analysis(names + wrong, "http")
        return bytecodes(lambda: list(of_names(analysis)))

    assert steps(200) < 3 * steps(100)


def test_no_fix_makes_a_body_of_headers() -> None:
    text = "POST http://x/\nA: b\nno header\nC: d\n\n{}\n"
    assert problems(text) == [("bad-header", "no header")]
    assert fixes(text) == []
    text = text.replace("no header", "accept  a/b")
    assert fixed(text) == text.replace("accept  a/b", "accept: a/b")
    assert fixes(":h = <<\nno header\n#\nGET http://x/\n:h\n") == []
    assert fixes(":v = <<\na\nb\n#\nGET http://x/\nA: :v\n") == []


def test_a_fix_in_a_block_keeps_its_indentation() -> None:
    assert fixed(block("POST http://x/\n  {}"), "org") == block("POST http://x/\n\n  {}")
    opened = block("POST http://x/\n\n  <<END\n  x")
    closed = block("POST http://x/\n\n  <<END\n  x\n  END")
    assert fixed(opened, "org") == closed
    assert problems(closed, "org") == []


@pytest.mark.parametrize(
    ("arguments", "code", "about"),
    [
        (" :nohaeders", "unknown-argument", ":nohaeders"),
        (' :var a="x', "bad-argument", "a"),
        (" :var a=(foo)", "bad-argument", "a"),
        (" :var a=nothing", "unknown-name", "a"),
        (' :jq "x', "bad-argument", '#+begin_src restclient :jq "x'),
    ],
)
def test_what_is_wrong_above_a_block_is_reported(arguments: str, code: str, about: str) -> None:
    assert problems(block("GET http://x/", arguments), "org") == [(code, about)]


def test_no_common_header_argument_of_org_is_called_unknown() -> None:
    names = """cache cmdline colnames comments dir eval exports epilogue file file-desc file-ext
        file-mode hlines mkdirp no-expand noeval noweb noweb-ref noweb-sep output-dir padline post
        prologue results rownames sep session shebang tangle tangle-mode var wrap"""
    for name in names.split():  # org-babel-common-header-args-w-values of Org 9.5
        assert problems(block("GET http://x/", f" :{name}"), "org") == []


def test_what_is_wrong_in_properties_is_reported() -> None:
    lines = "#+PROPERTY: header-args{0} :nohaeders :timeout 1\n"
    drawer = "* A\n:PROPERTIES:\n:header-args{0}+: :odd 1\n:END:\n"
    example = "#+begin_example\n#+PROPERTY: header-args:restclient :even\n#+end_example\n"
    wrong = [("unknown-argument", ":nohaeders"), ("unknown-argument", ":odd")]
    both = (lines + drawer).format(":restclient") + example + block("GET http://x/")
    assert problems(both, "org") == wrong
    for_all = (lines + drawer).format("") + block("GET http://x/")
    assert problems(for_all, "org") == wrong
    assert problems(for_all + "#+begin_src python\n1\n#+end_src\n", "org") == []
    assert problems(both.replace(":restclient", ":python"), "org") == []


def test_a_known_header_argument_is_put_in_for_one_like_it() -> None:
    assert fixed(block("GET http://x/", " :nohaeders"), "org") == block(
        "GET http://x/", " :noheaders"
    )


@pytest.mark.parametrize("name", [":foo", ":x", ":class", ":result-params"])
def test_nothing_is_put_in_for_a_header_argument_that_is_like_none(name: str) -> None:
    text = block("GET http://x/", f" {name} 1")
    assert problems(text, "org") == [("unknown-argument", name)]
    assert fixes(text, "org") == []


def test_what_a_block_gets_from_above_is_known() -> None:
    text = (
        "#+PROPERTY: header-args :var p=1\n#+NAME: t\n| 1 |\n\n"
        '#+HEADER: :var a="x" :var n = 3 l=\'(1 2) t=t c=(concat "a" "b")\n'
        + block("GET http://x/:a/:p/:t/:c\n  N: :n\n  L: :l", " :var e=1").removeprefix("text\n")
        + block("GET http://x/:e")
    )
    assert problems(text, "org") == [("undefined-variable", ":e")]


def test_a_capture_is_known_in_the_blocks_below_only() -> None:
    uses = block("GET http://x/{{a}}")
    text = uses + block("GET http://x/\n  -> jq-set-var :a .") + uses
    assert problems(text, "org") == [("undefined-variable", "{{a}}")]


def test_many_captures_take_memory_in_proportion() -> None:
    def peak(count: int) -> int:
        lines = [f"GET http://x/\n-> jq-set-var :v{i} .a\n" for i in range(count)]
        lines.append(f"GET http://x/:v0/:v{count}\n")
        text = "".join(f"#+begin_src http\n{line}#+end_src\n" for line in lines)
        tracemalloc.start()
        try:
            analysis = Analysis(text, "org")
            assert [diagnostic.code for diagnostic in Report(analysis).diagnostics] == [
                "undefined-variable"
            ]
            assert len(Names(analysis).variables) == count + 1
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(800) < 3 * peak(400)  # it was four times as much when each block kept all names


def test_a_call_of_no_block_is_reported() -> None:
    text = "#+NAME: here\n" + block("GET http://x/").removeprefix("text\n") + "#+CALL: hree()\n"
    assert problems(text, "org") == [("unknown-name", "hree")]
    assert "#+CALL: here()" in fixed(text, "org")
    many = "".join(f"#+NAME: n{i}\n#+CALL: no{i}()\n" + block("") for i in range(1000))
    assert len(diagnostics(text + many, "org")) == 1001


@pytest.mark.parametrize("call", ['here("x")', "here(a=nothing)", 'here[:var a="x]()'])
def test_a_call_that_would_fail_is_reported(call: str) -> None:
    here = "#+NAME: here\n" + block("GET http://x/:a", " :var a=missing").removeprefix("text\n")
    once = [("unknown-name", "a")]
    code = "unknown-name" if "nothing" in call else "bad-argument"
    assert problems(f"{here}#+CALL: {call}\n", "org") == [*once, (code, "here")]
    assert problems(f"{here}#+CALL: here()\n", "org") == once
    assert problems(f"{here}#+CALL: {call}\n".replace("restclient", "python"), "org") == []


def test_a_variable_may_be_the_result_of_a_named_call() -> None:
    text = "#+NAME: here\n" + block("GET http://x/").removeprefix("text\n")
    call = "#+NAME: called\n#+CALL: here()\n"
    assert problems(text + call + block("GET http://x/:a", " :var a=called"), "org") == []


def test_a_noweb_reference_to_no_block_is_reported() -> None:
    here = "#+NAME: here\n#+begin_src text\nA: b\n#+end_src\n#+begin_src text :noweb-ref others\n"
    text = f"{here}C: d\n#+end_src\n" + block("GET http://x/\n<<{}>>", " :noweb yes")
    for name in ("here", "others", "here()"):
        assert problems(text.format(name), "org") == []
    assert problems(text.format("hree"), "org") == [("unknown-name", "hree")]
    assert fixed(text.format("hree"), "org") == text.format("here")
    tangled = problems(text.format("hree").replace(":noweb yes", ":noweb tangle"), "org")
    assert "unknown-name" not in [code for code, _ in tangled]


def test_a_response_is_not_judged() -> None:
    response = "#+RESULTS:\n#+begin_src restclient\nno request\n#+end_src\n"
    text = block("GET http://x/").removeprefix("text\n") + f"\n{response}"
    assert problems(text, "org") == []
    assert [code for code, _ in problems(response.partition("\n")[2], "org")] == ["no-request"]


def test_only_blocks_that_are_evaluated_are_judged() -> None:
    wrong = "\nGET http://x/{{a}}\n#+end_src\n"
    blocks = [
        f"* {heading}\n** B\n{above}#+begin_src {language} :odd 1 :var b=nothing c=(foo){wrong}"
        for heading in ("A", "COMMENT A")
        for language in sorted(REQUEST_LANGUAGES)
        for above in ("", "#+RESULTS:\n")
    ]
    calls = "* COMMENT\n#+CALL: nowhere()\n"
    for text in ("".join(blocks), "".join(b for b in blocks if "src restclient" not in b)):
        done = Evaluated(text, file="x.org", dry_run=True)
        sent = [outcome.line for outcome in done.outcomes]
        assert sent
        found = diagnostics(text + calls, "org")
        others = {one for one in found if "ignored in a restclient document" in one.message}
        assert len(others) == 2 * ("src restclient" in text)  # http and rest
        judged = {text.count("\n", 0, one.span.start) for one in found if one not in others}
        assert judged == {line for number in sent for line in (number - 1, number)}


def test_what_resembles_a_request_is_a_warning_where_it_stands() -> None:
    good = "#+begin_src http\nGET http://x/\n#+end_src\n"
    for wrong, line in (
        (good.replace("begin_src", "begn_src"), "#+begn_src http"),
        (good.replace("http\n", "htpp\n"), "#+begin_src htpp"),
        (good.replace("http\n", "http expect 5xx\n"), "#+begin_src http expect 5xx"),
        (f"#+hedaer: :expect 5xx\n{good}", "#+hedaer: :expect 5xx"),
        (good.replace("GET", "# @disabled\nGET"), "# @disabled"),
        (good.replace("GET", "// @loop for 2\nGET"), "// @loop for 2"),
        (good.replace("GET", "# @name login\nGET"), "# @name login"),
    ):
        assert problems(good + wrong, "org") == [("misspelt", line)]
    with_effect = good.replace("GET", "# @no-redirect\n# @timeout 9 s\nGET")
    assert problems(with_effect, "org") == []
    comment = with_effect.replace("http\n", "restclient\n")
    assert problems(comment, "org") == [
        ("misspelt", "# @no-redirect"),
        ("misspelt", "# @timeout 9 s"),
    ]
    quoted = "#+begin_example\n#+begn_src http\n#+hedaer: :expect 5xx\n#+end_example\n"
    assert problems(good + quoted, "org") == []


def test_a_line_of_request_files_in_a_block_is_an_error_where_it_stands() -> None:
    for line in ("run other.http", "run #login", "import other.http"):
        text = f"#+begin_src http\n{line}\n\nGET http://x/\n#+end_src\n"
        assert problems(text, "org") == [("run", line)]
        assert problems(text.replace("GET http://x/\n", ""), "org") == [("run", line)]


@pytest.mark.parametrize("above", ["", "#+begin_src http\nGET http://x/\n#+end_src\n\n"])
@pytest.mark.parametrize("below", ["", "* Next\n"])
def test_a_block_without_an_end_is_a_warning_where_it_begins(above: str, below: str) -> None:
    text = f"{above}#+begin_src restclient :var a=1\nGET http://x/\n{below}"
    (found,) = [one for one in diagnostics(text, "org") if "ignored in a rest" not in one.message]
    assert text[found.span.start : found.span.end] == "#+begin_src restclient :var a=1"
    assert (found.severity, found.message) == (
        "warning",
        "this block was ignored: missing #+end_src",
    )
    (mixed,) = diagnostics("#+begin_src http\nGET http://x/\n#+end_src\r\n", "org")
    assert mixed.message.endswith("missing #+end_src; the file mixes LF and CRLF line endings")
    drawer = "#+RESULTS:\n:results:\n#+begin_src http\nGET http://y/\n:end:\n"
    result = "#+begin_src http\nGET http://x/\n#+end_src\n\n" + drawer
    assert problems(result, "org") == problems("#+begin_src sh\nls\n", "org") == []


def test_a_block_may_be_called_call() -> None:
    text = "#+NAME: call\n#+begin_src http\nGET http://x/\n#+end_src\n#+call: call()\n"
    assert same(text, "#+call: ca|ll", "org") == [1, 5]
    (found,) = diagnostics(text.replace("NAME: call", "NAME: b"), "org")
    assert found.span.start == text.index("call()") - 3


def test_a_fragment_for_other_blocks_or_an_empty_one_needs_no_request() -> None:
    line = "Accept: a/b"
    empty = block("").replace("  \n", "")
    assert problems("") == problems("\n") == problems(empty, "org") == []
    for arguments in (" :eval no", " :eval never", " :noeval"):
        assert problems(block(line, arguments), "org") == []
    user = block("GET http://x/\n  <<Hd>>", " :noweb yes")
    for fragment in (
        block(line).replace("text", "#+NAME: hd"),
        block(line, " :noweb-ref Hd"),
    ):
        assert problems(fragment, "org") == [("no-request", line)]
        assert problems(fragment + user, "org") == []
    assert problems(block(line, " :eval (no)"), "org") == [("no-request", line)]


EXAMPLES = (Path(__file__).parents[3] / "examples" / "orgrest").glob("*.org")


@pytest.mark.parametrize("path", [*sorted(EXAMPLES), None], ids=lambda p: p.name if p else "tour")
def test_nothing_is_wrong_in_the_examples_and_the_tour(path: Path | None, tmp_path: Path) -> None:
    (tmp_path / "report.csv").write_text("a,b\n")
    environ = {"GITHUB_TOKEN": "token", "SHOP_PASSWORD": "password"}
    text = path.read_text("utf-8") if path else demo.tour(8080)
    found = diagnostics(text, "org", directory=tmp_path, environ=environ)
    assert [one.message for one in found] == []


def test_what_other_blocks_put_in_is_not_judged() -> None:
    body = "GET http://x/{{a}}\n  <<more>>"
    more = "#+NAME: more\n#+begin_src text\nA: b\n#+end_src\n"
    assert problems(more + block(body, " :noweb yes"), "org") == []
    assert [code for code, _ in problems(block(body), "org")] == [
        "undefined-variable",
        "no-empty-line",
        "unexpected-body",
    ]


def test_the_length_of_a_body_is_not_known_if_other_blocks_are_inserted() -> None:
    text = block("POST http://x/\n  Content-Length: 5\n\n  <<body>>", " :noweb yes")
    text += "#+NAME: body\n#+begin_src text\nabcde\n#+end_src\n"
    assert problems(text, "org") == []
    assert problems(block("GET http://x/{{a}}", ' :prologue ":a = 1"'), "org") == []


def test_a_file_is_looked_up_in_the_documents_folder_only(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "f").write_text("x")
    (tmp_path / "out").write_text("x")
    text = "POST http://x/\n\n< {}\n"
    folder = tmp_path / "in"
    assert problems(text.format("f"), directory=folder) == []
    assert problems(text.format("../out"), directory=folder) == [("unreadable-file", "../out")]
    assert problems(text.format("g"), directory=folder) == [("unreadable-file", "g")]
    in_dir = block("POST http://x/\n\n  < f", " :dir in")
    assert problems(in_dir, "org", directory=tmp_path) == []


def test_a_file_that_comes_and_goes_is_looked_up_anew(tmp_path: Path) -> None:
    text = "POST http://x/\n\n< f\n"

    def scope() -> values.Inputs:
        return values.Inputs(directory=tmp_path)

    before = Report(Analysis(text, "http", scope))
    assert before.diagnostics
    (tmp_path / "f").write_text("x")
    assert Report(Analysis(text, "http", scope, before.analysis), before).diagnostics == ()


def test_of_all_analyses_only_the_last_keeps_what_it_read() -> None:
    first = Analysis("GET http://x/\n", "http")
    last, report = first, Report(first)
    for number in range(5):
        last = Analysis(f"GET http://x/{number}\n", "http", before=last)
        report = Report(last, report)
    gc.collect()
    assert not [
        referrer for referrer in gc.get_referrers(first) if isinstance(referrer, Analysis | Report)
    ]
    assert report.diagnostics == ()


def test_a_name_that_stands_twice_is_reported_and_can_be_made_one_of_its_own() -> None:
    one = "#+NAME: {}\n#+begin_src http\nGET http://x/\n#+end_src\n\n"
    text = one.format("Login") + one.format("login") + "#+RESULTS: login\n: old\n"
    report = Report(Analysis(text, "org"))
    (found,) = report.diagnostics
    assert (found.code, text[found.span.start : found.span.end]) == ("repeated-name", "login")
    assert "line 2" in found.message
    (fix,) = report.fixes(found)
    after = apply(text, fix.edits)
    assert after == one.format("Login") + one.format("login-2") + "#+RESULTS: login-2\n: old\n"
    assert problems(after, "org") == []


def test_a_renamed_block_takes_no_name_that_is_taken_and_no_result_of_the_other() -> None:
    one = "#+NAME: {}\n#+begin_src http\nGET http://x/\n#+end_src\n\n"
    text = "".join(map(one.format, ("a", "A-2", "a"))) + "text\n\n#+RESULTS: a\n: old\n"
    assert fixed(text, "org") == text.replace("#+NAME: a\n", "#+NAME: a-3\n").replace("a-3", "a", 1)


def test_what_a_server_sent_into_a_drawer_is_not_judged() -> None:
    inside = "#+begin_src http\nGET http://x/{{nope}}\n#+end_src\n"
    block = "#+begin_src http :results drawer\nGET http://x/\n#+end_src\n\n"
    assert problems(f"{block}#+RESULTS:\n:results:\n\n{inside}:end:\n", "org") == []
    drawer = f":mine:\n{inside}:end:\n"  # the user's own
    assert problems(f"{block}text\n{drawer}", "org") == [("undefined-variable", "{{nope}}")]


def test_blocks_of_other_tools_may_share_a_name() -> None:
    one = "#+NAME: a\n#+begin_src {}\ntext\n#+end_src\n\n"
    assert problems(one.format("python") * 2, "org") == []


def test_no_message_shows_a_secret() -> None:
    text = ':a := env("A")\nGET http://x/\n:a\n'
    found = diagnostics(text, environ={"A": "hunter2"})
    assert found
    assert "hunter2" not in repr(found)


def test_values_that_grow_endlessly_are_not_computed() -> None:
    lines = [":a0 = xxxxxxxxxx"]
    lines += [f":a{i} = {f':a{i - 1}' * 10}" for i in range(1, 40)]
    assert problems("\n".join([*lines, "GET http://x/", "A: :a39", "", ""])) == []


# ------------------------------------------------------------------------- all of it, on any text

LINES = st.sampled_from(
    [
        "* Heading",
        "",
        "#+NAME: one",
        "#+begin_src restclient :var a=1",
        "#+begin_src http :var b=one :noweb yes",
        "  #+begin_src restclient",
        "#+end_src",
        "#+CALL: one(a=2)",
        "#+RESULTS: one",
        "### name",
        ":a = {{b}}",
        ":b := base64(:a)",
        "\t:c = <<END",
        "END",
        "GET http://x/:a/{{b}}",
        "POST http://x/",
        "  ?q=:a",
        JSON,
        ":b",
        "-> jq-set-var :d .x",
        '{"a": :a, "d": {{d}}}',
        "< file",
        "<<one>>",
        "\t,#+end_src",
        "# comment",
    ]
)
DOCUMENT = st.lists(LINES | LINES | st.text(max_size=20), max_size=30).map("\n".join)


@given(DOCUMENT, st.sampled_from(["org", "http"]), st.integers(0, 600))
def test_nothing_an_editor_asks_breaks_on_any_text(text: str, kind: Kind, at: int) -> None:
    analysis = Analysis(text, kind)
    names = Names(analysis)
    report = Report(analysis)
    for diagnostic in report.diagnostics:
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
        for fix in report.fixes(diagnostic):
            assert apply(text, fix.edits) != text
    for name in (*names.variables, *names.elements):
        assert text[name.span.start : name.span.end] == name.name
        assert name in names.same(name)
    hover(analysis, names, min(at, len(text)))
    end = 0
    for token in outline.tokens(analysis):
        assert end <= token.start < token.end
        assert "\n" not in text[token.start : token.end]
        end = token.end
    for fold in (fold for part in analysis.parts for fold in outline.folds_of(part, text)):
        assert "\n" in text[fold.start : fold.end]
    for symbol in outline.symbols(analysis):
        for inner in (symbol, *symbol.children):
            assert symbol.span.start <= inner.selection.start <= inner.selection.end
            assert inner.selection.end <= inner.span.end <= symbol.span.end
    outline.lenses(analysis)


@given(DOCUMENT, DOCUMENT, st.sampled_from(["org", "http"]))
def test_an_analysis_that_continues_from_another_says_the_same(
    old: str, new: str, kind: Kind
) -> None:
    before = Report(Analysis(old, kind))
    after = Report(Analysis(new, kind, before=before.analysis), before)
    assert after.diagnostics == Report(Analysis(new, kind)).diagnostics


@given(DOCUMENT, st.sampled_from(["org", "http"]))
def test_a_name_that_is_changed_and_changed_back_leaves_the_text(text: str, kind: Kind) -> None:
    names = Names(Analysis(text, kind))
    for one in (*names.variables, *names.elements):
        try:
            renamed = apply(text, names.rename(one, "other"))
        except RenameError:
            continue
        again = Names(Analysis(renamed, kind))
        at = next(o for o in (*again.variables, *again.elements) if o.name == "other")
        assert apply(renamed, again.rename(at, one.name)) == text or one.part is None


# ------------------------------------------------------------------------------------------ names

HTTP = """:host = x.org
:base = https://:host
### login
POST :base/login
-> jq-set-var :token .token

{"user": "{{host}}", "id": :hostile}
### use
GET :base/:token
Authorization: Bearer {{token}}
"""
ORG = """#+PROPERTY: header-args :var q=1
#+NAME: Login
#+begin_src restclient :var h="x.org"
GET https://:h/:q
-> jq-set-var :tok .x
#+end_src

#+RESULTS: login
: 1

#+NAME: table
| 1 |

#+NAME: me
#+HEADER: :var z=login(h="y") t=table
#+begin_src restclient :noweb yes :post login(h=*this*)
:h = 4
GET http://:h/{{tok}}/:z?:q:t
<<login>>
#+end_src
#+CALL: login(h="z")
Inline call_me(z=3).
"""


def where(text: str, marked: str) -> int:
    """Return the offset in `text` that `|` marks in `marked`, or the offset of `marked`."""
    before, _, after = marked.partition("|")
    return text.index(before + after) + len(before)


def same(text: str, marked: str, kind: Kind) -> list[int]:
    names = Names(Analysis(text, kind))
    one = names.at(where(text, marked))
    return [text.count("\n", 0, o.span.start) + 1 for o in names.same(one)] if one else []


def test_a_variable_of_a_request_file_is_found_everywhere() -> None:
    assert same(HTTP, ":ho|st = x", "http") == [1, 2, 7]
    assert same(HTTP, "{{tok|en}}", "http") == [5, 9, 10]
    assert same(HTTP, "PO|ST", "http") == []


def test_a_variable_of_a_block_belongs_to_the_block() -> None:
    assert same(ORG, ':var |h="x.org"', "org") == [3, 4, 15, 16, 21]
    assert same(ORG, ":|h = 4", "org") == [17, 18]
    assert same(ORG, "{{to|k}}", "org") == [5, 18]
    assert same(ORG, ":var |q=1", "org") == [1, 4, 18]
    assert same(ORG, ":var |z=", "org") == [15, 18, 22]


def test_a_block_is_found_wherever_it_is_named() -> None:
    assert same(ORG, "call_|me", "org") == [14, 22]
    assert same(ORG, "#+CALL: log|in", "org") == [2, 8, 15, 16, 19, 21]
    assert same(ORG, "t=tab|le", "org") == [11, 15]


@pytest.mark.parametrize(
    ("marked", "line"),
    [("{{tok|}}", 5), ("//:|h/{{", 17), ("#+CALL: log|in", 2), ("t=|table", 11), ("//:h/:|q", 1)],
)
def test_a_name_leads_to_where_it_is_set(marked: str, line: int) -> None:
    names = Names(Analysis(ORG, "org"))
    one = names.at(where(ORG, marked))
    assert one is not None
    assert [ORG.count("\n", 0, o.span.start) + 1 for o in names.definitions(one)] == [line]


def test_of_two_definitions_the_one_above_counts() -> None:
    text = ":a = 1\nGET http://x/:a\n#\n:a = 2\nGET http://y/:a\n"
    names = Names(Analysis(text, "http"))
    found = [names.definitions(names.at(text.index(u) + 10)) for u in ("http://x", "http://y")]  # type: ignore[arg-type]  # there is one
    assert [[o.span.start for o in one] for one in found] == [[1], [26]]


def test_renaming_changes_every_place_and_nothing_else() -> None:
    names = Names(Analysis(HTTP, "http"))
    one = names.at(where(HTTP, ":ho|st = x"))
    assert one is not None
    assert apply(HTTP, names.rename(one, ":server")) == (
        HTTP.replace(":host\n", ":server\n").replace("{{host}}", "{{server}}")
    ).replace(":host = ", ":server = ")
    names = Names(Analysis(ORG, "org"))
    one = names.at(where(ORG, "#+CALL: log|in"))
    assert one is not None
    renamed = apply(ORG, names.rename(one, "sign-in"))
    assert renamed == ORG.replace("Login", "sign-in").replace("login", "sign-in")


@pytest.mark.parametrize(
    ("text", "kind", "marked", "new", "reason"),
    [
        (HTTP, "http", ":ho|st = x", "a b", "invalid name"),
        (HTTP, "http", ":ho|st = x", "1a", "invalid name"),
        (HTTP, "http", ":ho|st = x", "", "invalid name"),
        (HTTP, "http", ":ho|st = x", "base", "already"),
        (HTTP, "http", ":ho|st = x", "hostile", "would change what other text"),
        (ORG, "org", "t=tab|le", "ME", "already"),
        (ORG, "org", "t=tab|le", "a(b", "invalid name"),
        ("GET http://x/{{a}}\n", "http", "{{a|}}", "b", "not defined"),
    ],
)
def test_a_name_that_would_mean_something_else_is_refused(
    text: str, kind: Kind, marked: str, new: str, reason: str
) -> None:
    names = Names(Analysis(text, kind))
    one = names.at(where(text, marked))
    assert one is not None
    with pytest.raises(RenameError, match=reason):
        names.rename(one, new)


def test_renaming_an_inherited_variable_changes_calls_and_the_blocks_they_call() -> None:
    text = """\
#+PROPERTY: header-args:restclient :var host="http://x"
#+NAME: login
#+begin_src restclient
GET :host/login
#+end_src

#+begin_src restclient
GET :host/me
#+end_src

#+CALL: login(host="http://y")

#+begin_src restclient :var t=login(host="http://z")
GET :host/t/:t
#+end_src

#+begin_src restclient :var host="http://own"
GET :host/own
#+end_src
"""
    own = text.index("#+begin_src restclient :var host")
    after = text[:own].replace("host", "base") + text[own:]
    for at in (i for i in range(own) if text.startswith("host", i)):
        names = Names(Analysis(text, "org"))
        one = names.at(at)
        assert one is not None
        assert apply(text, names.rename(one, "base")) == after


NAMED = """\
#+NAME: base
#+begin_src restclient
GET http://h/
#+end_src

#+NAME: other
#+begin_src restclient :var x="" :var arg="1"
GET http://h/:x/:arg
#+end_src

#+CALL: other(x=base)
#+CALL: other[:var arg=base](x=other(x=base)) :post other(x=base)
See [[base]], [[base][this]], src_sh[:var x=base]{echo $x} and
call_other[:var arg="9"](arg="4")[:var x=base].

#+HEADER: :var a=other(x=base) b=base[1,1], c=other(x=1, arg=base[0,1])
#+begin_src restclient :post other(x=base) :var d=base
GET http://h/:a/:b/<<other(x=base)>>
#+end_src

| a |
#+TBLFM: $2=remote(base, @1$1)
"""
OTHERS = """
#+begin_src restclient :var t="base"
GET http://h/:t/[[base]]
#+end_src

#+begin_example
#+NAME: base
#+end_example
"""


@pytest.mark.parametrize(("name", "new"), [("base", "zz"), ("arg", "zz")])
def test_renaming_changes_the_arguments_of_calls_links_and_formulas(name: str, new: str) -> None:
    text = NAMED + OTHERS
    for at in (i for i in range(len(NAMED)) if text.startswith(name, i)):
        names = Names(Analysis(text, "org"))
        one = names.at(at)
        assert one is not None
        assert apply(text, names.rename(one, new)) == NAMED.replace(name, new) + OTHERS


def test_names_are_found_whatever_is_in_the_arguments_of_calls() -> None:
    text = NAMED + f"#+CALL: {'other(x=' * 20000}base{')' * 20000}\n"
    assert len(Names(Analysis(text, "org")).elements) > 20


def test_a_link_to_a_heading_is_no_name() -> None:
    assert Names(Analysis("* a\nSee [[a]] and [[http://x/]].\n", "org")).elements == []


def test_renaming_to_the_same_name_does_nothing() -> None:
    names = Names(Analysis(HTTP, "http"))
    one = names.at(where(HTTP, ":ho|st = x"))
    assert one is not None
    assert names.rename(one, "host") == []


# ------------------------------------------------------------------------------------------ hover


def told(text: str, marked: str, kind: Kind = "http", **scope: object) -> str | None:
    analysis = Analysis(text, kind, lambda: values.Inputs(**scope))  # type: ignore[arg-type]  # as given
    found = hover(analysis, Names(analysis), where(text, marked))
    return found[0] if found else None


@pytest.mark.parametrize(
    ("marked", "parts"),
    [
        ("PO|ST", ["**POST**", "RFC 9110"]),
        ("POST :base/lo|gin", ["https://x.org/login"]),
        (":ba|se = ", ["https://x.org", "set on line 2"]),
        ("{{tok|en}}", ["set when requests are sent", "captured from a response on line 5"]),
        (":tok|en .token", ["set when requests are sent"]),
        ("Autho|rization: ", ["**Authorization**", "RFC 9110"]),
        ("Bea|rer", ["Bearer"]),
    ],
)
def test_what_is_under_the_pointer_is_explained(marked: str, parts: list[str]) -> None:
    found = told(HTTP, marked)
    assert found is not None
    assert all(part in found for part in parts), found


def test_media_types_and_status_codes_are_explained() -> None:
    text = f"POST http://x/\n{JSON}\n\nx\n"
    assert "RFC 8259" in (told(text, "application/js|on") or "")
    result = "#+RESULTS:\n#+begin_src js\n// HTTP/1.1 404 Not Found\n#+end_src\n"
    assert "**404 Not Found**" in (told(result, "4|04", "org") or "")
    assert told(result, "#+RES|ULTS", "org") is None
    assert told(text, "\nx|", "http") is None
    assert told("GET http://x/\nX-Own: y\n", "X-O|wn") is None
    assert told("GET http://x/\nX-Own: y\n", "X-Own: y|") is None
    assert told("BREW http://x/\n", "BR|EW") is None


def test_header_arguments_are_explained() -> None:
    text = (
        "#+HEADER: :timeout 5\n#+begin_src http :headers only :nonsense\nGET http://x/\n#+end_src\n"
    )
    assert "seconds" in (told(text, ":time|out", "org") or "")
    assert "- `only`: The headers only." in (told(text, ":hea|ders", "org") or "")
    assert told(text, ":non|sense", "org") is None


def test_what_properties_say_is_explained() -> None:
    text = (
        '#+PROPERTY: header-args:restclient :timeout 5 :var h="x.org"\n* A\n:PROPERTIES:\n'
        ":header-args+: :headers only\n:END:\n" + block("GET http://:h/")
    )
    assert "seconds" in (told(text, ":time|out", "org") or "")
    assert "- `only`: The headers only." in (told(text, ":hea|ders", "org") or "")
    assert "x.org" in (told(text, ":var |h=", "org") or "")
    assert told("#+PROPERTY: header-args :var h=1\n", ":var |h=", "org") is None


def test_a_captured_value_is_reported_once_it_is_known() -> None:
    found = told(HTTP, "{{tok|en}}", remembered={"token": "abc"})
    assert found is not None
    assert "abc" in found
    assert "https://x.org/abc" in (
        told(HTTP, "GET :ba|se/", remembered={"token": "abc"}) or ""
    ) or ("abc" in (told(HTTP, "/:token|\n", remembered={"token": "abc"}) or ""))


def test_a_variable_of_a_block_is_reported_with_its_value() -> None:
    assert "x.org" in (told(ORG, ':var |h="x.org"', "org") or "")
    assert "not defined here" in (told("GET http://x/{{a}}\n", "{{a|}}") or "")
    late = "GET http://x/\n#\n:late = 1\n"
    assert "set on line 3" in (told(late, ":la|te") or "")


def test_a_variable_that_can_have_no_value_is_reported_with_the_reason() -> None:
    text = block("GET http://x/:t", ' :var t=(getenv "HOME")')
    for marked in (":var |t=", "x/:|t"):
        found = told(text, marked, "org") or ""
        assert "Lisp" in found
        assert "requests are sent" not in found
    captured = block("GET http://x/\n  -> jq-set-var :t .a", " :var t=(foo)")
    assert "requests are sent" in (told(captured, ":|t .a", "org") or "")


def test_secrets_are_masked_wherever_they_are_reported() -> None:
    text = ':s := env("S")\n:t = a:s\nGET http://x/:t?b=:s\nA: :t\n'
    for marked in (":|s :=", ":|t = ", "http://|x", "A: :|t"):
        found = told(text, marked, environ={"S": "hunter2"})
        assert found is not None
        assert "hunter2" not in found
        assert "***" in found


def test_a_value_cannot_end_the_code_that_it_is_shown_in() -> None:
    found = told(":a = ```x\nGET http://x/:a\n", ":|a =")
    assert found is not None
    assert "````\n```x\n````" in found


# ---------------------------------------------------------------------------------------- outline


def test_the_outline_names_requests_and_blocks() -> None:
    found = outline.symbols(Analysis(HTTP, "http"))
    assert [(s.name, s.detail, s.kind) for s in found] == [
        (":host", "", "variable"),
        (":base", "", "variable"),
        ("login", "POST :base/login", "request"),
        ("use", "GET :base/:token", "request"),
    ]
    (login, me) = outline.symbols(Analysis(ORG, "org"))
    assert (login.name, me.name) == ("Login", "me")
    assert [child.name for child in me.children] == [":h", "GET http://:h/{{tok}}/:z?:q:t"]


def test_requests_bodies_and_here_documents_can_be_folded() -> None:
    text = ":a = <<\nx\n#\n### n\nPOST http://x/\nA: b\n\n{\n}\n"
    found = [span for part in Analysis(text, "http").parts for span in outline.folds_of(part, text)]
    lines = [(text.count("\n", 0, s.start), text.count("\n", 0, s.end)) for s in found]
    assert lines == [(0, 2), (3, 8), (7, 8)]


def test_each_part_of_a_request_has_its_colour() -> None:
    text = (
        "### n\n:a = 1\n:b := base64(:a)\nPOST http://x/:a\n  ?q=1\nA: {{a}}c\n# note\n:h\n"
        "-> jq-set-var :d .x\n\n< :a.txt\n"
    )
    found = outline.tokens(Analysis(text, "http"))
    assert [(text[t.start : t.end], t.type) for t in found] == [
        ("### n", "comment"),
        (":a", "variable"),
        ("=", "operator"),
        ("1", "string"),
        (":b", "variable"),
        (":=", "operator"),
        ("base64", "function"),
        (":a", "variable"),
        ("POST", "method"),
        ("http://x/", "string"),
        (":a", "variable"),
        ("?q=1", "string"),
        ("A", "property"),
        ("{{a}}", "variable"),
        ("c", "string"),
        ("# note", "comment"),
        (":h", "variable"),
        ("->", "operator"),
        ("jq-set-var", "keyword"),
        (":d", "variable"),
        (".x", "string"),
        ("<", "keyword"),
        (":a", "variable"),
        (".txt", "string"),
    ]


def test_requests_can_be_sent_from_their_first_line() -> None:
    lenses = outline.lenses(Analysis(HTTP, "http"))
    assert [HTTP[start:][:4] for start in lenses] == ["POST", "GET "]
    assert len(outline.lenses(Analysis(ORG, "org"))) == 2
    assert outline.lenses(Analysis("#+begin_src http\n#+end_src\n", "org")) == []


VERB = """\
* API :verb:
template {{(verb-var base)}}
** Lisp
get /{{(verb-var id)}}/{{(user-login-name)}}
** Header
post /x
no header
** Assertion
get /x
?? staus == 200
** Environment
get /{{(getenv "ORGREST_UNSET")}}
** Stored
get /{{(oref (verb-stored-response "nowhere") body)}}
** Proxy
:PROPERTIES:
:Verb-Proxy: x
:END:
get /x
* Bad template :verb:
template ftp://x
** One
get /a
** Two
get /b
* Block
  #+begin_src verb :var host="x"
  get {{(verb-var host)}}/a
  #+end_src
"""


def test_verbs_requests_are_checked_while_one_types_as_a_run_checks_them() -> None:
    found = diagnostics(VERB, "org", environ={})
    assert [(VERB[d.span.start : d.span.end], d.severity, d.message[:30]) for d in found] == [
        ("{{(user-login-name)}}", "error", "Emacs Lisp is not run: (user-l"),
        ("no header", "error", "expected a header (Name: value"),
        ("?? staus == 200", "error", "unknown subject staus; did you"),
        ('{{(getenv "ORGREST_UNSET")}}', "warning", "ORGREST_UNSET is not set in th"),
        (
            '{{(oref (verb-stored-response "nowhere") body)}}',
            "error",
            "no heading in this document ha",
        ),
        ("** Proxy", "error", "the property Verb-Proxy is not"),
        ("ftp://x", "error", "expected an http or https URL,"),
        ("{{(verb-var host)}}", "error", "no http:// or https:// URL wit"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "* A :verb:\nget {{(verb-var url)}}\nX: {{(verb-var x)}}\n",
        "* A :verb:\nget http://{{(verb-var host)}}:{{(verb-var port)}}/{{(verb-var id)}}\n",
        """* A :verb:\n:PROPERTIES:\n:Verb-Store: a\n:END:\nget http://x/
* B :verb:\nget {{(oref (verb-stored-response "a") body)}}\n""",
        "#+NAME: a\n: http://x/\n#+begin_src verb :var u=a\nget {{(verb-var u)}}\n#+end_src\n",
        "#+begin_src verb :noweb yes\n<<a>>\n#+end_src\n",
        "* A :verb:\npost http://x/\nContent-Type: a/b; charset={{(verb-var cs)}}\n\nbody\n",
        "* A :verb:\nsome notes\n",
        "* COMMENT A :verb:\nget {{(x)}}\n",
    ],
)
def test_nothing_is_wrong_with_what_only_a_run_of_verbs_requests_knows(text: str) -> None:
    assert diagnostics(text, "org", environ={}) == ()


def test_verbs_requests_are_in_the_outline_and_can_be_sent_from_there() -> None:
    text = """* API :verb:
template https://a.example
** List
get /list
** Blocks
#+begin_src http
GET https://b.example
#+end_src
#+begin_src verb
post /c
#+end_src
** Prose
only words
"""
    analysis = Analysis(text, "org")
    assert [(symbol.name, symbol.detail) for symbol in outline.symbols(analysis)] == [
        ("API", "template https://a.example"),
        ("List", "GET /list"),
        ("GET https://b.example", ""),
        ("POST /c", "POST /c"),
    ]
    lenses = [text[start:][:17] for start in outline.lenses(analysis)]
    assert lenses == ["** List\nget /list", "#+begin_src http\n", "#+begin_src verb\n"]


def test_the_users_netrc_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("machine h login u password hunter2\n")
    monkeypatch.setenv("NETRC", os.fspath(tmp_path / "netrc"))
    text = ':a := netrc("h")\nGET http://x/:a\n'
    analysis = Analysis(text, "http", lambda: values.Inputs.of_user(tmp_path))
    assert Report(analysis).diagnostics == ()
    found = hover(analysis, Names(analysis), 1)
    assert found is not None
    assert "***" in found[0]


@given(DOCUMENT, st.lists(st.tuples(st.integers(0), st.integers(0, 9), DOCUMENT), max_size=3))
def test_what_is_remembered_of_an_earlier_text_changes_no_name(
    text: str, edits: list[tuple[int, int, str]]
) -> None:
    names = Names(Analysis(text, "org"))
    for place, size, new in edits:
        at = place % (len(text) + 1)
        text = text[:at] + new + text[at + size :]
        names = Names(Analysis(text, "org", before=names.analysis), names)
        fresh = Names(Analysis(text, "org"))
        assert names.elements == fresh.elements
        assert names.variables == fresh.variables
        assert [symbol.span for symbol in outline.symbols(names.analysis)] == [
            symbol.span for symbol in outline.symbols(fresh.analysis)
        ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("#+name: t\n| 1 |\n", "#+name: u\n| 1 |\n"),
        ("#+PROPERTY: header-args :var b=1\n", "#+PROPERTY: header-args :var c=1\n"),
        (":PROPERTIES:\n:header-args: :var b=1\n:END:\n", ""),
        ("", "#+PROPERTY: header-args :expect nonsense\n"),
    ],
)
def test_what_is_around_a_block_that_stays_the_same_counts_for_it(old: str, new: str) -> None:
    block = "#+begin_src restclient :var x=t\nGET http://:x/{{b}}\n#+end_src\n"
    for first, second in ((old, new), (new, old)):
        one, other = (f"* A\n{text}{block}" for text in (first, second))
        before = Report(Analysis(one, "org"))
        assert before.diagnostics is not None
        after = Report(Analysis(other, "org", before=before.analysis), before)
        assert after.diagnostics == Report(Analysis(other, "org")).diagnostics
        assert after.diagnostics != before.diagnostics


def test_the_value_of_a_variable_ends_where_the_next_one_begins() -> None:
    """Otherwise, finding the names in many arguments takes quadratic time."""
    text = ':var a=f(x=b, y="c d") g = h i= j k =l :post m(n=o) :var p=q'
    found = [*assignments(text)]
    expected = [("a", 'f(x=b, y="c d")'), ("g", "h"), ("i", "j"), ("k", "l"), ("p", "q")]
    assert [(each.name, each.value) for each in found] == expected
    for each in found:
        assert text[each.span(0).start : each.span(0).end] == each.name
        assert text[each.value_start :].startswith(each.value)
