"""Documents evaluated with a real server: `orgrest.run.run`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from evaluated import Evaluated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from servers import RawServer, by_path, echo, response

from orgrest.files import write_result
from orgrest.http.values import Inputs
from orgrest.org.document import OrgDocument
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

JSON = "Content-Type: application/json"
TEXT = "Content-Type: text/plain"
PNG = b"\x89PNG\r\n\x1a\n\x00\x00"


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    answers = {
        "/json": response(b'{"a":1}', JSON),
        "/rows": response(b'[["a",1],["b",2]]', JSON),
        "/token": response(b"t0ken", TEXT),
        "/lines": response(b"one\n\ntwo\n", TEXT),
        "/orgish": response(b"* h\n#+begin_src restclient\nGET http://x/\n#+end_src\n", TEXT),
        "/png": response(PNG, "Content-Type: image/png"),
        "/404": response(b"no", TEXT, status="404 Not Found"),
        "/empty": response(b"", TEXT),
        "/echo": echo,
    }
    paths = by_path(answers)

    def answer(connection: object, request: bytes) -> None:
        path = request.split(b" ", 2)[1]
        if path.startswith(b"/line?"):
            text = path + b"\n" + request.partition(b"\r\n\r\n")[2]
            connection.sendall(response(text, TEXT))  # type: ignore[attr-defined]  # a socket
        else:
            paths(connection, request)  # type: ignore[arg-type]  # a socket

    with RawServer(answer) as running:
        yield running


class EvaluatedOrg(Evaluated):
    """An evaluated Org document: its text before and after, and the outcomes."""

    def __init__(
        self,
        server: RawServer,
        folder: Path,
        text: str,
        *,
        plain: bool = False,
        write: Callable[[Path, bytes], None] | None = None,
        ask: Callable[[str], bool] | None = None,
        **options: object,
    ) -> None:
        self.before = text.replace("HOST", server.url)
        super().__init__(
            text,
            Inputs(directory=folder, environ={"TOKEN": "s3cret-value"}),
            file="notes.org",
            url=server.url,
            plain=plain,
            services={"write": write, "ask": ask},
            **options,
        )
        self.notices = self.plan.warnings

    def results(self) -> list[str]:
        """Return the texts below the results keywords."""
        return [part.partition("\n")[2] for part in self.text.split("#+RESULTS")[1:]]


@pytest.fixture
def run(server: RawServer, tmp_path: Path) -> Callable[..., EvaluatedOrg]:
    def start(text: str, **options: Any) -> EvaluatedOrg:
        server.requests.clear()
        return EvaluatedOrg(server, tmp_path, text, **options)

    return start


def block(path: str, line: str = ":results value", *more: str, name: str = "") -> str:
    named = f"#+NAME: {name}\n" if name else ""
    body = "".join(f"{text}\n" for text in more)
    return f"{named}#+begin_src restclient {line}\nGET HOST{path}\n{body}#+end_src\n"


class TestResults:
    def test_the_default_is_the_block_that_ob_restclient_writes(self, run) -> None:
        text = run(block("/json", "")).results()[0]
        lines = text.splitlines()
        assert lines[:4] == ["#+BEGIN_SRC js", "{", '  "a": 1', "}"]
        assert lines[4].startswith("// GET http://127.0.0.1:")
        assert lines[5:8] == [
            "// HTTP/1.1 200 OK",
            "// Content-Type: application/json",
            "// Content-Length: 7",
        ]
        assert lines[8].startswith("// Request duration: 0.")
        assert lines[9:] == ["#+END_SRC"]

    @pytest.mark.parametrize(
        ("line", "result"),
        [
            (":noheaders", '#+BEGIN_SRC js\n{\n  "a": 1\n}\n#+END_SRC\n'),
            (":jq .a", "#+BEGIN_SRC js\n1\n#+END_SRC\n"),
            (":headers no", '#+BEGIN_SRC js\n{\n  "a": 1\n}\n#+END_SRC\n'),
            (":results value", '{\n  "a": 1\n}\n'),
            (":results value :jq .a", "1\n"),
        ],
    )
    def test_only_what_is_requested_is_shown(self, run, line: str, result: str) -> None:
        assert run(block("/json", line)).results() == [result]

    def test_noheaders_no_shows_the_headers_and_only_shows_nothing_else(self, run) -> None:
        assert "// HTTP/1.1 200 OK" in run(block("/json", ":noheaders no")).text
        text = run(block("/json", ":headers only")).text
        assert "// HTTP/1.1 200 OK" in text
        assert '"a"' not in text

    def test_silent_and_none_are_sent_but_leave_the_document_alone(self, run, server) -> None:
        for word in ("silent", "none"):
            done = run(block("/json", f":results {word}"))
            assert done.text == done.before
            assert len(server.requests) == 1

    def test_errors_of_the_server_are_answers(self, run) -> None:
        done = run(block("/404"))
        assert done.results() == ["no\n"]
        assert done.outcomes[0].exchanges[0].response.status == 404

    def test_a_response_that_looks_like_org_is_put_into_an_example_and_reported(self, run) -> None:
        done = run(block("/orgish"))
        assert done.results()[0].startswith("#+begin_example\n,* h\n,#+begin_src restclient\n")
        assert done.outcomes[0].notes == (
            "the response looks like Org markup, so its result is an example block",
        )
        assert [b.language for b in OrgDocument(done.text).blocks] == ["restclient"]

    def test_all_requests_of_a_block_run_when_asked_for(self, run, server) -> None:
        more = ("#", "GET HOST/line?2")
        assert run(block("/line?1", ":results value", *more)).results() == ["/line?1\n\n"]
        assert len(server.requests) == 1
        done = run(block("/line?1", ":results value :requests all", *more))
        assert done.results() == [":results:\n/line?1\n\n/line?2\n\n:end:\n"]
        again = EvaluatedOrg(server, Path(), done.text)
        assert again.text == done.text

    @pytest.mark.parametrize("second", ["GET HOST/{{nowhere}}", "GET HOST/2\n# ?? statsu == 1"])
    def test_requests_of_a_block_that_were_sent_before_an_error_are_reported(
        self, run, server, second: str
    ) -> None:
        done = run(block("/line?1", ":requests all", "#", second))
        assert len(server.requests) == 1
        assert [outcome.state for outcome in done.outcomes] == ["failed"]
        (sent,) = done.outcomes[0].exchanges
        assert sent.request.url.endswith("/line?1")
        assert sent.response.status == 200
        assert done.outcomes[0].broken is None

    def test_languages_http_and_rest_are_ours_too(self, run) -> None:
        text = block("/json") + block("/json")
        assert (
            len(run(text.replace("restclient", "http", 1).replace("restclient", "rest")).results())
            == 2
        )

    def test_a_restclient_document_leaves_blocks_of_other_tools_alone(self, run) -> None:
        text = block("/json") + block("/json").replace("restclient", "http")
        done = run(text)
        assert len(done.results()) == 1
        (notice,) = done.notices
        assert notice == (
            "line 4: 1 block in http ignored in a restclient document (to send it, too, use --lang "
            "restclient --lang http)"
        )
        assert len(run(text, languages=frozenset({"http", "restclient"})).results()) == 2


class TestFiles:
    def test_an_image_goes_to_a_file_named_like_its_block(self, run, tmp_path: Path) -> None:
        done = run(block("/png", "", name="my logo"))
        assert done.results() == ["[[file:my-logo.png]]\n"]
        assert done.outcomes[0].files == ((tmp_path / "my-logo.png", PNG),)

    def test_a_nameless_block_counts(self, run, tmp_path: Path) -> None:
        done = run(block("/json") + block("/png", ""))
        assert done.results()[1] == "[[file:notes-2.png]]\n"

    def test_a_file_holds_the_body_alone(self, run, tmp_path: Path) -> None:
        done = run(block("/json", ":results file :file notes-out/a.json :file-desc A"))
        assert done.results() == ["[[file:notes-out/a.json][A]]\n"]
        assert done.outcomes[0].files == ((tmp_path / "notes-out" / "a.json", b'{"a":1}'),)

    def test_a_file_holds_what_jq_makes_of_the_body(self, run, tmp_path: Path) -> None:
        done = run(block("/json", ":results file :file notes-a.json :jq .a"))
        assert done.outcomes[0].files == ((tmp_path / "notes-a.json", b"1"),)

    def test_a_file_holds_no_secrets(self, run) -> None:
        text = block("/echo", ":results file :file notes-a.txt", "X-A: :t")
        done = run(text.replace("GET", ':t := env("TOKEN")\nGET'))
        assert b"X-A: ***" in done.outcomes[0].files[0][1]

    def test_graphics_links_to_a_file_without_writing_it(self, run) -> None:
        done = run(block("/json", ":results file graphics :file a.png"))
        assert done.outcomes[0].files == ()

    @pytest.mark.parametrize("path", ["../x", "/etc/x", ".git/hooks/x", "a/../../x"])
    def test_files_elsewhere_are_not_written(self, run, path: str, tmp_path: Path) -> None:
        done = run(block("/json", f":results file :file {path}"))
        assert done.text == done.before
        assert done.reasons == [
            (
                f"notes.org:1: :file {path}: results can only be written inside the document's "
                "folder, and not to hidden files (use --allow-write "
                f"{(tmp_path / path).resolve().parent} to allow it)"
            )
        ]

    @pytest.mark.parametrize(
        ("line", "link"),
        [
            (":file notes-a]].txt", "[[file:notes-a\\]\\].txt]]"),
            (":file notes-a[b\\.txt", "[[file:notes-a\\[b\\.txt]]"),
            (":file notes-a.txt :file-desc x]]y]", "[[file:notes-a.txt][x]\u200b]y]\u200b]]"),
            (':file notes-a.txt :file-desc "x\\ny"', "[[file:notes-a.txt][x y]]"),
            (":file notes-a.txt :file-desc []", "[[file:notes-a.txt]]"),
            (":file-ext .tar.gz", "[[file:notes-1.tar.gz]]"),
        ],
    )
    def test_a_link_leads_to_the_file_whatever_its_name_holds(
        self, run, line: str, link: str
    ) -> None:
        once = run(block("/json", f":results file {line}"))
        assert once.results() == [f"{link}\n"]
        assert run(once.text).text == once.text

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (":file ~/x", ":file ~/x: results can only be written inside the document's folder"),
            (
                ":file x :output-dir ~",
                ":file x: results can only be written inside the document's folder",
            ),
            (":file ~nobody-here/x", ":file ~nobody-here/x: "),
            (
                ':file "a\\nb"',
                ":file a\nb: the name contains characters that are not allowed in a link",
            ),
            (
                ":file-ext ../../x",
                ":file-ext must be a file name suffix, such as json; found ../../x",
            ),
            (":file-ext /x", ":file-ext must be a file name suffix,"),
        ],
    )
    def test_no_link_is_made_to_another_file_than_the_one_that_is_written(
        self, run, line: str, reason: str
    ) -> None:
        done = run(block("/json", f":results file {line}"))
        assert done.text == done.before
        assert reason in done.reasons[0]

    def test_a_home_folder_around_the_document_can_be_named(
        self, run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        done = run(block("/json", ":results file :file ~/notes-a.json"))
        assert done.results() == ["[[file:notes-a.json]]\n"]
        assert done.outcomes[0].files[0][0] == tmp_path / "notes-a.json"

    def test_a_result_whose_file_cannot_be_written_leaves_the_old_one(
        self, run, tmp_path: Path
    ) -> None:
        old = "\n#+RESULTS:\n[[file:old.json]]\n\n"
        text = block("/json", f":results file :file notes-{'x' * 300}.json") + old
        done = run(text + block("/json", ":results file :file notes-b.json"), write=write_result)
        assert done.text.startswith(done.before.partition("notes-b.json")[0])
        assert "could not write the file for this result:" in done.reasons[0]
        assert "xxx.json: could not write the file: File name too long" in done.reasons[0]
        assert [outcome.state for outcome in done.outcomes] == ["failed", "done"]
        assert (tmp_path / "notes-b.json").read_bytes() == b'{"a":1}'

    def test_the_document_is_no_place_for_a_result(self, run) -> None:
        done = run(block("/json", ":results file :file notes.org"))
        assert done.reasons == [
            "notes.org:1: :file notes.org is the document itself: choose another file"
        ]


class TestVariables:
    @pytest.mark.parametrize(
        ("value", "sent"),
        [
            ('"x y"', "x%20y"),
            ("42", "42"),
            ("1.50", "1.50"),
            ("tbl", "[[1,%202]]"),
            ("tbl[2,1]", "2"),
            ("lst", "[%22one%22,%20%22two%22]"),
            ("fixed", "17"),
            ("para", "Some%20text."),
            ('\'(1 "x")', "[1,%20%22x%22]"),
            ("constant", "from-lisp"),
            ("constant()", "from-lisp"),
            ('joined(s="a")', "%3Ca%3E"),
            ("shell", "7"),
            ("token", "t0ken"),
            ("token()", "t0ken"),
            ('param(p="q")', "/line?p=q"),
            ("rows", "[[%22a%22,%201],%20[%22b%22,%202]]"),
            ("rows[1,0]", "b"),
            ("rows()[,1]", "[1,%202]"),
            ("lines[1]", "two"),
            ('(concat "a" "b")', "ab"),
        ],
    )
    def test_a_variable_may_be_a_literal_or_something_in_the_document(
        self, run, server, value: str, sent: str
    ) -> None:
        text = (
            "#+NAME: tbl\n| a | b |\n|---+---|\n| 1 | 2 |\n\n#+NAME: lst\n- one\n- two\n\n"
            "#+NAME: fixed\n: 17\n\n#+NAME: para\nSome text.\n\n"
            '#+NAME: constant\n#+begin_src emacs-lisp\n"from-lisp"\n#+end_src\n\n'
            '#+NAME: joined\n#+begin_src emacs-lisp\n(concat "<" s ">")\n#+end_src\n\n'
            "#+NAME: shell\n#+begin_src sh\necho 7\n#+end_src\n\n#+RESULTS: shell\n: 7\n\n"
            + block("/token", ":results silent", name="token")
            + block("/line?p=:p", ':results silent :var p="d"', name="param")
            + block("/rows", ":results value table", name="rows")
            + block("/lines", ":results silent list", name="lines")
            + block("/line?x=:x", f":results value :var x={value}")
        )
        done = run(text)
        assert done.reasons == []
        assert f"x={sent}" in server.requests[-1].decode().split("\r\n")[0].replace(
            "%5B", "["
        ).replace("%5D", "]")

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            ("nope", "no block, table, list or result named nope in this document"),
            ("py", "py is a block in python, which orgrest does not run, and it has no result in"),
            ("py()", "py is a block in python, which orgrest does not run"),
            ("bare()", "bare is a block without a language, which orgrest does not run"),
            ("me", "me refers to itself"),
            ("tbl[7]", "index out of range: tbl[7]"),
            ("(+ 1 2)", "Emacs Lisp is not run: (+ 1 2)"),
        ],
    )
    def test_what_cannot_be_referred_to_is_reported_and_nothing_is_sent(
        self, run, server, value: str, reason: str
    ) -> None:
        text = (
            "#+NAME: py\n#+begin_src python\n1\n#+end_src\n\n#+NAME: tbl\n| a |\n\n"
            "#+NAME: bare\n#+begin_src\n1\n#+end_src\n\n"
            + block("/json", f":var x={value}", name="me")
        )
        done = run(text)
        assert done.reasons[0].startswith(f"notes.org:15: {reason}")
        assert server.requests == []
        assert done.text == done.before

    def test_a_block_that_others_need_is_sent_once(self, run, server) -> None:
        text = block("/line?:t", ":results value :var t=token") + block("/token", name="token")
        results = run(text + "\n" + text.partition("#+NAME")[0]).results()
        assert [result.partition("\n")[0] for result in results] == [
            "/line?t0ken",
            "t0ken",
            "/line?t0ken",
        ]
        assert [request.split(b" ")[1] for request in server.requests] == [
            b"/token",
            b"/line?t0ken",
            b"/line?t0ken",
        ]

    def test_a_result_of_this_run_can_be_referred_to(self, run) -> None:
        call = "#+NAME: c\n#+CALL: p(x=1) :results replace value\n\n"
        text = block("/line?x=:x", ":results silent :var x=0", name="p") + call
        done = run(text + block("/line?y=:y", ":results value :var y=c"))
        assert done.results()[-1] == "/line?y=/line?x=1\n\n"

    @pytest.mark.parametrize(
        ("above", "sent"),
        [
            ("#+NAME: t\n", "=a_b="),
            ("#+NAME: t\n#+begin_src python\n1\n#+end_src\n\n#+RESULTS: t\n", "=a_b="),
            ("#+RESULTS: t\n", "a_b"),
            ("#+NAME: t\n#+RESULTS:\n", "a_b"),
        ],
    )
    def test_only_cells_of_results_lose_their_markers(
        self, run, server, above: str, sent: str
    ) -> None:
        table = f"{above}| =a_b= |\n\n"
        done = run(table + block("/line?x=:x", ":results value :var x=t[0,0]"))
        assert done.reasons == []
        assert server.requests[-1].split(b" ")[1].decode() == f"/line?x={sent}"

    def test_a_call_can_be_referred_to_before_it_has_a_result(self, run, server) -> None:
        text = block("/line?x=:x", ":results silent :var x=0", name="p")
        call = "#+NAME: c\n#+CALL: p(x=1) :results replace value\n\n"
        uses = block("/line?y=:y", ":results value :var y=c")
        done = run(text + call + uses, dry_run=True)
        assert done.reasons == []
        assert server.requests == []
        done = run(text + uses + call)
        assert done.reasons == []
        assert done.results()[0].startswith("/line?y=/line?x=1\n")
        paths = [request.split(b" ")[1] for request in server.requests]
        assert paths == [b"/line?x=0", b"/line?x=1", b"/line?y=/line?x=1"]

    def test_a_variable_that_names_a_call_has_the_same_value_in_every_run(
        self, run, server
    ) -> None:
        call = "#+NAME: c\n#+CALL: rows()\n\n#+RESULTS: c\n| 9 | 9 |\n\n"
        use = block("/line?y=:y", ":results value :var y=c[1,0]")
        done = run(block("/rows", ":results value table", name="rows") + call + use)
        assert done.reasons == []
        assert server.requests[-1].split(b" ")[1] == b"/line?y=b"

    def test_a_call_of_a_block_that_is_not_run_has_the_value_of_its_result(
        self, run, server
    ) -> None:
        call = "#+NAME: py\n#+begin_src python\n1\n#+end_src\n\n#+NAME: c\n#+CALL: py()\n\n"
        use = block("/line?y=:y", ":results value :var y=c")
        done = run(f"{call}#+RESULTS: c\n: 7\n\n{use}")
        assert done.reasons == []
        assert server.requests[-1].split(b" ")[1] == b"/line?y=7"
        [reason] = run(call + use).reasons
        assert "py is a block in python, which orgrest does not run" in reason

    @pytest.mark.parametrize("kind", ["table", "list"])
    def test_a_result_without_rows_or_items_is_an_empty_list(self, run, server, kind: str) -> None:
        done = run(
            block("/empty", f":results silent {kind}", name="none")
            + block("/line?y=:y", ":results value :var y=none")
        )
        assert done.reasons == []
        assert server.requests[-1].split(b" ")[1] == b"/line?y=%5B%5D"

    def test_captures_are_seen_by_later_blocks_only(self, run, server) -> None:
        capture = "-> jq-set-var :v .a"
        text = block("/line?v=:v") + block("/json", "", capture) + block("/line?v=:v")
        run(text)
        assert [request.split(b" ")[1] for request in server.requests] == [
            b"/line?v=:v",
            b"/json",
            b"/line?v=1",
        ]

    def test_prologue_variables_and_epilogue_stand_in_this_order(self, run, server) -> None:
        line = ':results value :prologue ":a = 1\\n:b = 2" :var a="3" :epilogue "end"'
        text = block("/line?a=:a&b=:b", line, "", "body")
        assert run(text).results() == ["/line?a=3&b=2\nbody\nend\n"]

    def test_values_from_the_environment_are_never_shown(self, run, server) -> None:
        text = (
            block("/echo", "")
            .replace("GET", ':t := env("TOKEN")\nGET')
            .replace("/echo", "/echo\nAuthorization: Bearer :t")
        )
        done = run(text)
        assert b"Bearer s3cret-value" in server.requests[0]
        assert "s3cret" not in done.text
        assert "Authorization: Bearer ***" in done.text


class TestQuotedVariables:
    def test_blanks_at_the_end_of_a_quoted_value_are_sent(self, run, server) -> None:
        run(block("/echo", ':var a="x  "', "Content-Type: text/plain", "", "[:a]"))
        assert server.requests[-1].endswith(b"\r\n\r\n[x  ]")


class TestNoweb:
    HEADERS = "#+NAME: heads\n#+begin_src http\nX-A: 1\nX-B: 2\n#+end_src\n\n"

    def test_blocks_are_put_in_where_their_names_stand(self, run, server) -> None:
        text = self.HEADERS + block("/json", ":noweb yes :eval no", "<<heads>>")
        run(text.replace(":eval no", ""))
        assert b"\r\nX-A: 1\r\nX-B: 2\r\n" in server.requests[0]

    def test_what_stands_before_the_name_is_repeated(self, run) -> None:
        text = self.HEADERS + block("/line?", ":results value :noweb yes", "", "> <<heads>>")
        assert run(text, languages=frozenset({"restclient"})).results() == [
            "/line?\n> X-A: 1\n> X-B: 2\n"
        ]

    def test_blocks_with_a_noweb_ref_are_joined(self, run) -> None:
        part = "#+begin_src sh :noweb-ref r\n{}\n#+end_src\n"
        text = (
            part.format("a")
            + part.format("b")
            + block("/line?", ":results value :noweb yes", "", "<<r>>")
        )
        assert run(text).results() == ["/line?\na\nb\n"]

    def test_a_name_with_arguments_stands_for_the_answer(self, run) -> None:
        text = block("/line?:p", ':results silent :var p="d"', name="p")
        text += block("/line?", ":results value :noweb yes", "", "<<p(p=1)>>")
        assert run(text).results() == ["/line?\n/line?1\n"]

    def test_blocks_that_cannot_be_read_are_no_part_of_it(self, run) -> None:
        text = '#+begin_src sh :noweb-ref r :a "b\nx\n#+end_src\n'
        done = run(text + block("/json", ":noweb yes", "", "<<r>>"))
        assert done.reasons[0].endswith("<<r>>: no source block with this name")

    def test_without_noweb_the_name_is_text(self, run) -> None:
        found = run(block("/line?", ":results value", "", "<<r>>")).results()
        assert found == ["#+begin_example\n/line?\n<<r>>\n#+end_example\n"]  # Org has such targets

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("<<nope>>", "notes.org:5: <<nope>>: no source block with this name"),
            ("<<me>>", "notes.org:5: <<me>> contains itself"),
        ],
    )
    def test_what_cannot_be_put_in_is_reported(self, run, text: str, reason: str) -> None:
        assert run(block("/json", ":noweb yes", "", text, name="me")).reasons == [reason]


class TestWhatTheUserWrote:
    """The user's text near a result is kept, whatever the server answers."""

    def test_text_below_a_result_that_became_empty_is_kept(self, run, server) -> None:
        old = "\n#+RESULTS:\n#+BEGIN_SRC js\n1\n#+END_SRC\nMine.\n"
        empty = run(block("/empty") + old)
        assert empty.text.endswith("\n#+RESULTS:\n\nMine.\n")
        again = run(empty.text.replace("/empty", "/token"))
        assert again.text.endswith("\n#+RESULTS:\nt0ken\n\nMine.\n")

    def test_a_paragraph_that_an_answer_repeats_is_kept(self, run) -> None:
        first = run(block("/lines") + "\ntwo\n")
        assert first.text.endswith("one\n\ntwo\n\n\ntwo\n")
        assert run(first.text).text == first.text
        changed = run(first.text.replace("\none\n", "\nzero\n"))
        assert changed.text == first.text

    def test_a_list_right_below_a_raw_answer_is_kept(self, run) -> None:
        old = "\n#+RESULTS:\nold\n- my own list\n| my | table |\n"
        done = run(block("/token") + old)
        assert done.text.endswith("\n#+RESULTS:\nt0ken\n- my own list\n| my | table |\n")

    @pytest.mark.parametrize("words", ["", ":results value code", ":wrap src js"])
    @pytest.mark.parametrize("opening", ["#+BEGIN_SRC", "#+begin_src"])
    def test_a_request_below_a_results_keyword_stays_however_it_is_spelled(
        self, run, opening: str, words: str
    ) -> None:
        own = f"{opening} restclient\nGET http://127.0.0.1:1/\n#+END_SRC\n"
        done = run(block("/token", words) + "\n#+RESULTS:\n" + own)
        assert own in done.text

    def test_a_quoted_answer_is_replaced_when_it_changes(self, run) -> None:
        first = run(block("/line?x=1", ":results value :wrap quote"))
        again = run(first.text.replace("x=1\n#+end_src", "x=2\n#+end_src"))
        assert again.text == first.text.replace("x=1", "x=2")

    @pytest.mark.parametrize(
        ("opening", "closing", "words"),
        [(":NOTES:", ":END:", "value drawer"), ("#+begin_quote", "#+end_quote", ":wrap quote")],
    )
    def test_an_answer_does_not_end_what_the_block_stands_in(
        self, run, opening: str, closing: str, words: str
    ) -> None:
        done = run(f"{opening}\n{block('/token', ':results ' + words)}{closing}\nMine.\n")
        assert done.text == done.before
        assert "would close the block or drawer that starts on line 1:" in done.reasons[0]


class TestCallsAndInline:
    def test_a_call_runs_a_block_with_its_arguments(self, run) -> None:
        text = block("/line?x=:x", ":eval no :var x=0", name="p")
        call = "#+CALL: p[:eval yes](x=1) :results value drawer\n"
        done = run(text + call)
        assert done.text == done.before + "\n#+RESULTS:\n:results:\n/line?x=1\n\n:end:\n"

    def test_a_call_of_a_block_that_is_not_there_is_left_alone(self, run) -> None:
        done = run("#+CALL: library(x=1)\n" + block("/token"))
        assert done.text == f"{done.before}\n#+RESULTS:\nt0ken\n"
        assert (done.reasons, done.notices) == ([], ("line 1: no source block named library",))

    def test_an_inline_block_shows_one_line_and_replaces_it(self, run, server) -> None:
        text = "see src_restclient{GET HOST/token}, and call_p[:results replace](x=2).\n\n"
        text += block("/line?x=:x", ":results silent :var x=0", name="p")
        done = run(text)
        assert (
            "{GET HOST/token}".replace("HOST", server.url) + " {{{results(=t0ken=)}}}, and"
            in done.text
        )
        assert "call_p[:results replace](x=2) {{{results(=/line?x=2=)}}}.\n" in done.text
        assert EvaluatedOrg(server, Path(), done.text).text == done.text

    def test_an_inline_block_cannot_show_several_lines(self, run) -> None:
        done = run("src_restclient{GET HOST/json}\n")
        assert done.text == done.before
        (reason,) = done.reasons
        assert reason == (
            "notes.org:1: an inline block can only show one line, but the response has 3: "
            "select a part with :jq, or use a source block"
        )

    @pytest.mark.parametrize("words", [":results html", ":results org", ":wrap src a"])
    def test_no_response_ends_what_an_inline_result_stands_in(self, run, words: str) -> None:
        jq = ':jq "[\\"a @@ } b\\"]|.[0]"'
        done = run(f"src_restclient[{words} {jq}]{{GET HOST/json}}\n")
        assert done.text == done.before
        (reason,) = done.reasons
        assert "this response cannot be inserted safely" in reason

    def test_post_hands_the_result_on(self, run) -> None:
        post = '#+NAME: post\n#+begin_src emacs-lisp :var s=""\n(concat "<" s ">")\n#+end_src\n\n'
        assert run(post + block("/token", ":results value :post post(s=*this*)")).results() == [
            "<t0ken\n>\n"
        ]
        post = (
            post.replace(' ">"', "") + "src_restclient[:post post(s=*this*)]{GET HOST/line?x=2}\n"
        )
        assert "{{{results(=</line?x=2=)}}}" in run(post).text

    @pytest.mark.parametrize(
        ("path", "words"),
        [("/token", "value file :file a.png"), ("/png", "value"), ("/png", "wrap")],
    )
    def test_post_does_not_ignore_a_result_in_a_file(self, run, path: str, words: str) -> None:
        post = '#+NAME: post\n#+begin_src emacs-lisp :var s=""\n(concat "<" s ">")\n#+end_src\n\n'
        for name, reason in (
            ("post", ":post cannot process this result, because it is a link to a file: remove"),
            ("nope", ":post: no source block named nope"),
        ):
            done = run(post + block(path, f":results {words} :post {name}(s=*this*)"))
            assert done.text == done.before
            assert reason in done.reasons[0]

    @pytest.mark.parametrize(
        ("post", "reason"),
        [
            ("nope(x=*this*)", ":post: no source block named nope"),
            ("py(x=*this*)", ":post: py is a block in python, which orgrest does not run"),
            ("bare(x=1)", ":post: bare is a block without a language, which orgrest does not run"),
            ("42", ":post must name a block, as in name(variable=*this*); found 42"),
        ],
    )
    def test_post_runs_nothing_else(self, run, post: str, reason: str) -> None:
        text = (
            "#+NAME: py\n#+begin_src python\n1\n#+end_src\n\n"
            "#+NAME: bare\n#+begin_src\n1\n#+end_src\n\n"
        )
        done = run(text + block("/token", f":results value :post {post}"))
        assert done.reasons[0].startswith(f"notes.org:11: {reason}")


class TestWhatRuns:
    @pytest.mark.parametrize("value", ["no", "never", '"no"'])
    def test_eval_no_skips(self, run, server, value: str) -> None:
        assert run(block("/json", f":eval {value}")).outcomes[0].state == "skipped"
        assert server.requests == []

    def test_noeval_keeps_a_block_from_being_sent(self, run, server: RawServer) -> None:
        assert run(block("/json", ":noeval")).outcomes[0].state == "skipped"
        assert run(block("/json", ":eval :noeval")).outcomes[0].state == "skipped"
        assert server.requests == []
        assert run(block("/json", ":noeval :eval yes")).outcomes[0].state == "done"

    @pytest.mark.parametrize("value", ["yes", "no-export", "never-export", "query-export", "NO"])
    def test_other_values_of_eval_do_not(self, run, server, value: str) -> None:
        assert run(block("/json", f":eval {value}")).outcomes[0].state == "done"

    def test_eval_query_asks_on_a_terminal_and_skips_elsewhere(self, run, server) -> None:
        text = block("/json", ":eval query", name="n")
        done = run(text)
        assert done.reasons == ["notes.org:2: :eval query requires a terminal"]
        assert done.outcomes[0].state == "skipped"
        asked: list[str] = []
        assert run(text, ask=lambda q: asked.append(q) or False).reasons == [
            "notes.org:2: not evaluated: you declined"
        ]
        assert asked == ["Evaluate the block n at notes.org:2?"]
        run(block("/json", ":eval query"), ask=lambda q: asked.append(q) or True)
        assert asked[1:] == ["Evaluate the block at notes.org:1?"]
        assert run(text, ask=lambda _: True).outcomes[0].state == "done"

    def test_nothing_is_reported_what_stands_in_an_old_result(self, run, server) -> None:
        inside = "#+begin_src restclient\nnothing\n#+end_src\n#+CALL: nobody()\n"
        done = run(block("/json") + f"\n#+RESULTS:\n:results:\n{inside}:end:\n", dry_run=True)
        assert (len(done.outcomes), done.notices) == (1, ())

    def test_comment_trees_and_results_do_not_run(self, run, server) -> None:
        request = block("/json", "")
        code = "#+begin_src sh :results code\nx\n#+end_src\n"
        drawer = f"{block('/json', ':results drawer')}\n#+RESULTS:\n:results:\n{request}:end:\n"
        done = run(f"* COMMENT c\n{request}* d\n{drawer}{code}")
        assert [outcome.line for outcome in done.outcomes] == [6]

    def test_a_result_of_type_code_is_no_request(self, run, server) -> None:
        text = block("/line?GET%20http://x/", ":results value code")
        done = run(text)
        example = "#+begin_example\n/line?GET%20http://x/\n\n#+end_example\n"
        assert example in done.text  # a block with a path could be sent
        body = done.text.replace(example, block("http://127.0.0.1:1/", ""))  # by older versions
        assert len(EvaluatedOrg(server, Path(), body).outcomes) == 1

    def test_a_request_below_a_results_keyword_is_kept_but_sent_only_when_chosen(
        self, run, server
    ) -> None:
        text = block("/line?1", "") + "\n#+RESULTS:\n" + block("/line?2", "")
        done = run(text)
        assert len(server.requests) == 1
        assert done.text.count("#+begin_src restclient") == 2
        (notice,) = done.notices
        assert notice.startswith("line 6: a request right below #+RESULTS: may be part of")
        again = run(done.text)  # the result is between the keyword and the request now
        assert len(server.requests) == 1
        assert again.text.endswith(
            "\n#+RESULTS:\n" + block("/line?2", "").replace("HOST", server.url)
        )
        assert run(again.text).text.count("#+RESULTS") == 2
        run(text, lines=(6,))
        assert [request.split(b" ")[1] for request in server.requests] == [b"/line?2"]

    @pytest.mark.parametrize(
        "line",
        [
            f":results {words}"
            for words in [
                *("value", "value append", "value code append", "value code prepend", "list"),
                *("list append", "value drawer append", "drawer", "value table", "value verbatim"),
                *("list :wrap quote", "value append :wrap src restclient", "value :wrap foo"),
                *("value append :wrap", "value org append", "value html", "value pp append", "raw"),
            ]
        ],
    )
    def test_no_answer_is_ever_sent_as_a_request(self, run, server, line: str) -> None:
        evil = "{GET HOST/evil}".replace("HOST", server.url)
        for answer in [
            f"#+begin_src restclient\nGET {server.url}/evil\n#+end_src",
            f"GET {server.url}/evil",
            f"a src_restclient{evil} b",
            f"x= src_restclient{evil} =\n\n:end:\nsrc_http{evil}",
            f"#+end_quote\n#+end_example\n:end:\n#+end_src\n\nsrc_http{evil}",
        ]:
            body = "".join(
                f",{row}\n" if row[0] == "#" else f"{row}\n" for row in answer.split("\n") if row
            )
            text = f"#+begin_src restclient {line}\nPOST HOST/echo\n\n<<END\n{body}END\n#+end_src\n"
            for _ in range(3):
                done = run(text)
                assert [request.split(b" ")[1] for request in server.requests] == [b"/echo"], text
                text = done.text.replace("* NEXT", "")

    def test_no_answer_in_an_inline_result_is_ever_sent(self, run, server) -> None:
        inline = ':prologue ":k := env(\\"TOKEN\\")"'
        hostile = f"x= src_restclient[{inline}]{{GET HOST/evil}} =".replace("HOST", server.url)
        text = f"a src_restclient{{GET HOST/token}} {{{{{{results(={hostile}=)}}}}}} b\n"
        run(text)
        assert [request.split(b" ")[1] for request in server.requests] == [b"/token"]

    def test_names_and_lines_choose_blocks(self, run, server) -> None:
        text = block("/line?1", name="a") + block("/line?2") + block("/line?3", name="b")
        run(text, names=("b",), lines=(6,))
        assert [request.split(b" ")[1] for request in server.requests] == [b"/line?2", b"/line?3"]

    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            ({"names": ("x",)}, "notes.org: no request named x"),
            ({"lines": (1,)}, "notes.org:1: no request at this line"),
            ({"lines": (99,)}, "notes.org:99: no request at this line"),
        ],
    )
    def test_a_choice_of_nothing_is_an_error(
        self, run, options: dict[str, object], reason: str
    ) -> None:
        with pytest.raises(EvaluationError) as caught:
            run("text\n\n" + block("/json"), **options)
        assert str(caught.value) == reason

    def test_a_dry_run_sends_nothing(self, run, server) -> None:
        done = run(block("/json", ":var a=1"), dry_run=True)
        assert done.outcomes[0].exchanges[0].request.url == f"{server.url}/json"
        assert (server.requests, done.text) == ([], done.before)

    def test_a_cached_block_is_sent_once(self, run, server) -> None:
        done = run(block("/line?1", ":results value drawer :cache yes"))
        assert done.text.count("#+RESULTS[") == 1
        server.requests.clear()
        again = EvaluatedOrg(server, Path(), done.text)
        assert (again.outcomes[0].state, server.requests) == ("cached", [])
        text = done.text.replace("/line?1\n#+end", "/line?2\n#+end")
        changed = EvaluatedOrg(server, Path(), text)
        assert changed.results()[0] == ":results:\n/line?2\n\n:end:\n"


class TestErrors:
    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            (block("/json", ':jq ".a'), 'argument :jq has an unclosed quote: ".a'),
            (
                block("/json", ":results value :post (f)"),
                "contains Emacs Lisp, which is not run:",
            ),
            (block("/json", ":wrap (f)"), "contains Emacs Lisp, which is not run:"),
            (block("/json", ":timeout soon"), ":timeout must be a number of seconds, found soon"),
            (
                block("/json", ":timeout 0"),
                ":timeout must be more than 0 and at most 86400 seconds, found 0",
            ),
            (block("/json", ":headers some"), ":headers must be yes, no or only, found some"),
            (
                "#+begin_src restclient\ntext\n#+end_src\n",
                "no request found: requests start with a line such as GET https://example.org/",
            ),
        ],
    )
    def test_they_name_file_line_and_what_to_do(self, run, text: str, reason: str) -> None:
        done = run(text)
        assert reason in done.reasons[0]
        assert done.reasons[0].startswith(("notes.org:1:", "notes.org:2:1:"))
        assert done.text == done.before

    def test_a_failed_request_keeps_its_old_result_and_the_others_continue(self, run) -> None:
        old = "\n#+RESULTS:\n: OLD\n\n"
        dead = block("/json").replace("HOST", "http://127.0.0.1:1") + old
        done = run(dead + block("/json"))
        assert [outcome.state for outcome in done.outcomes] == ["failed", "done"]
        assert done.text.startswith(dead)
        assert done.reasons[0].startswith("notes.org:2:")

    def test_a_position_in_an_indented_block_is_that_of_the_file(self, run) -> None:
        text = "  #+begin_src http\n  GET HOST/json\n  A: {{nope}}\n  #+end_src\n"
        assert run(text).reasons[0].startswith("notes.org:3:6:")

    @pytest.mark.parametrize("line", ["run j.http", "run #login", "import j.http"])
    @pytest.mark.parametrize("request_line", ["", "\nGET HOST/json\n", "\n###\nGET HOST/json\n"])
    def test_a_line_of_request_files_is_an_error_and_not_left_out_in_silence(
        self, run, server, line: str, request_line: str
    ) -> None:
        done = run(f"#+begin_src http\n{line}\n{request_line}#+end_src\n")
        reason = f"{line.split()[0]} has an effect only in request files: remove this line"
        assert done.reasons == [f"notes.org:2:1: {reason}"]
        assert server.requests == []

    def test_a_reference_of_request_files_is_undefined_and_names_what_blocks_use(self, run) -> None:
        other = "#+begin_src http\nGET HOST/{{n.response.body.$.a}}\n#+end_src\n"
        reason = run(f"#+NAME: n\n#+begin_src http\nGET HOST/json\n#+end_src\n\n{other}").reasons[0]
        assert reason.endswith(
            "the variable n.response.body.$.a is not defined; in Org documents, :var value=n "
            "defines {{value}} as the result of the block named n"
        )

    @pytest.mark.parametrize("path", ["a.http", "{{x}}/a.http"])
    def test_an_import_in_a_block_is_only_a_warning(self, run, server, path: str) -> None:
        done = run(f"#+begin_src http\n# @import {path}\nGET HOST/json\n#+end_src\n")
        assert len(server.requests) == 1
        assert done.reasons == []

    def test_a_block_with_nothing_but_an_import_has_no_request(self, run) -> None:
        done = run("#+begin_src http\n# @import j.http\n#+end_src\n")
        assert "no request found" in done.reasons[0]

    def test_what_stands_open_above_is_not_closed_by_a_result(self, run) -> None:
        done = run(f"#+begin_example\n\n{block('/orgish')}")
        assert done.text == done.before
        assert (
            "the last line of this result would close the block or drawer that starts on line 1:"
            in done.reasons[0]
        )

    @pytest.mark.parametrize(
        "line", [":results value", ":results value drawer", "", ":results append drawer"]
    )
    def test_two_blocks_of_one_name_keep_their_answers(self, run, server, line: str) -> None:
        text = block("/line?1", line, name="n")
        done = run(text + "\n" + text.replace("?1", "?2"))
        first, second = done.results()
        assert "/line?1\n" in first
        assert "/line?2\n" in second
        (notice,) = done.notices
        assert notice.startswith(
            "line 7: the block at line 2 is also named n; orgrest keeps a result"
        )
        if "append" not in line:
            again = run(done.text)
            volatile = re.compile("Request duration: .*")
            assert volatile.sub("", again.text) == volatile.sub("", done.text)


class TestHostileDocuments:
    """A run of any document ends soon, and reports the reason if it fails."""

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("#+begin_src restclient :noweb yes\n#+end_src\n", "no request found"),
            ("#+name: a\n#+begin_src sh\n#+end_src\n" + block("/<<a>>", ":noweb yes"), None),
            (block("/json", ":dir ~nosuchuser/x"), ":dir ~nosuchuser/x: "),
            (block("/json", ":results value file :file a\0b"), ":file a\0b: "),
            (
                block("/json", ":results value file :file-ext a\0b"),
                ":file-ext must be a file name suffix,",
            ),
            (block("/json", ":dir a\0b", "", "< c"), "cannot contain NUL characters"),
            (block("/json", ":results value file :file loop/x"), ":file loop/x: "),
            ("\n#+RESULTS:\n" + block("/png"), None),
            (block("/png", "", name="n") + "\n#+RESULTS: n\n" + block("/png"), None),
        ],
    )
    def test_odd_blocks_do_not_break_the_run(self, run, tmp_path, text, reason) -> None:
        (tmp_path / "loop").symlink_to("loop")
        done = run(text + block("/token"))
        assert done.text.endswith("\n#+RESULTS:\nt0ken\n")
        if reason is not None:
            assert reason in done.reasons[0]

    def test_noweb_that_doubles_without_growing_ends(self, run) -> None:
        links = [
            f"#+name: a{i}\n#+begin_src sh\n<<a{i + 1}>><<a{i + 1}>>\n#+end_src\n"
            for i in range(40)
        ]
        last = "#+name: a40\n#+begin_src sh\n\n#+end_src\n"
        done = run("".join(links) + last + block("/json", ":noweb yes", "", "<<a0>>"))
        assert done.reasons == []

    def test_noweb_that_repeats_a_long_prefix_is_refused_before_it_is_built(self, run) -> None:
        many = "#+name: a\n#+begin_src sh\n" + "x\n" * 20_000 + "#+end_src\n"
        done = run(many + block("/json", ":noweb yes", "", "y" * 200_000 + "<<a>>"))
        assert "the block is longer than" in done.reasons[0]

    def test_variables_that_grow_in_many_headers_are_refused(self, run) -> None:
        values = [":a0 = " + "x" * 1000, *(f":a{i + 1} = {f':a{i} ' * 10}" for i in range(4))]
        headers = [f"X-{i}: :a4" for i in range(300)]
        text = "\n".join([*values, "GET HOST/json", *headers])
        done = run(f"#+begin_src http\n{text}\n#+end_src\n")
        assert "the values of the variables exceed 64 MiB in total" in done.reasons[0]

    @pytest.mark.parametrize("use", [":var t=login", ":var t=login()", "<<login()>>"])
    def test_a_secret_in_a_response_is_sent_on_and_shown_as_asterisks(
        self, run, server, use: str
    ) -> None:
        login = block("/line?x:k", ":results value", name="login")
        login = login.replace("GET", ':k := env("TOKEN")\nGET')
        use, target = ("", use) if use[0] == "<" else (use, ":t")
        second = block("/echo", f":noweb yes {use}", "", target).replace("GET", "POST")
        done = run(login + second)
        assert done.reasons == []
        assert b"/line?xs3cret-value" in server.requests[1]
        assert "s3cret-value" not in done.text
        assert "x***" in done.text
        assert done.outcomes[1].exchanges[0].request.secrets == {"s3cret-value"}

    def test_a_secret_in_a_reason_is_known_to_who_shows_it(self, run) -> None:
        done = run(
            block("/json", "", "", "< ../{{k}}").replace("GET", ':k := env("TOKEN")\nGET', 1)
        )
        (outcome,) = done.outcomes
        assert outcome.state == "failed"
        assert outcome.secrets == {"s3cret-value"}


class TestOrder:
    def test_what_depends_on_others_is_sent_behind_them(self, run, server) -> None:
        text = (
            block("/token", ":results silent", name="token")
            + block("/line?:t", ":results value :var t=token")
            + block("/json", ":results silent", "-> jq-set-var :v .a")
            + block("/line?v=:v")
            + block("/line?w").replace("GET", "POST")
            + block("/line?last")
        )
        done = run(text)
        assert done.reasons == []
        paths = [request.split(b" ")[1] for request in server.requests]
        assert paths == [
            b"/token",
            b"/line?t0ken",
            b"/json",
            b"/line?v=1",
            b"/line?w",
            b"/line?last",
        ]

    def test_errors_come_in_their_turn(self, run) -> None:
        text = (
            block("/json") + block("/json").replace("HOST", "http://127.0.0.1:1") + block("/json")
        )
        done = run(text)
        assert [outcome.state for outcome in done.outcomes] == ["done", "failed", "done"]


class TestRequestFiles:
    TEXT = "### one\nGET HOST/line?1\n\n###\n:a = 2\nGET HOST/line?:a\n"

    def test_every_request_is_sent_in_order(self, run) -> None:
        done = run(self.TEXT, plain=True)
        assert [outcome.exchanges[0].rendered.body.strip() for outcome in done.outcomes] == [
            "/line?1",
            "/line?2",
        ]
        assert [outcome.line for outcome in done.outcomes] == [2, 6]

    def test_a_line_or_a_name_chooses_one(self, run) -> None:
        assert [outcome.line for outcome in run(self.TEXT, plain=True, lines=(6,)).outcomes] == [6]
        assert [
            outcome.line for outcome in run(self.TEXT, plain=True, names=("one",)).outcomes
        ] == [2]

    def test_what_is_wrong_between_requests_is_reported_and_the_others_continue(self, run) -> None:
        done = run("GET HOST/json\n\n###\n:a = <<\nnever ends\n", plain=True)
        assert [outcome.state for outcome in done.outcomes] == ["failed", "done"]
        assert done.reasons[0].startswith("notes.org:4:6: this << is never closed: ")

    def test_a_file_without_a_request_says_so(self, run) -> None:
        assert run("# text\n", plain=True).reasons[0].startswith("notes.org:1:1: no request found")
        reason = run("text\n", plain=True).reasons[0]
        assert reason.startswith("notes.org:1:1: unexpected line: expected")

    @pytest.mark.parametrize("options", [{"lines": (99,)}, {"names": ("x",)}])
    def test_a_choice_of_nothing_is_an_error(self, run, options: dict[str, object]) -> None:
        with pytest.raises(EvaluationError):
            run(self.TEXT, plain=True, **options)


class TestTwice:
    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["/json", "/lines", "/orgish", "/rows", "/empty", "/png", "/404"]),
                st.sampled_from(
                    [
                        ":noheaders",
                        ":results value",
                        ":results value drawer",
                        ":results value list",
                        ":results table",
                        ":results value pp",
                        ":results value code",
                        ":results value org",
                        ":noheaders :wrap quote",
                        ":results value :requests all",
                        ":noheaders :cache yes",
                    ]
                ),
                st.sampled_from(["", "n", "m"]),
                st.sampled_from(["", "\n", "text\n", "\n\n* H\n", "\ntext\n", ": x\n", "- i\n"]),
            ),
            min_size=1,
            max_size=4,
        )
    )
    def test_a_second_run_against_the_same_server_changes_nothing(
        self, server: RawServer, tmp_path: Path, pieces: list[tuple[str, str, str, str]]
    ) -> None:
        seen: set[str] = set()
        text = ""
        for path, line, name, after in pieces:
            text += block(path, line, name="" if name in seen else name) + after
            seen.add(name)
        once = EvaluatedOrg(server, tmp_path, text).text
        assert EvaluatedOrg(server, tmp_path, once).text == once
