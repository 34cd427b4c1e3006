"""An assertion that could not be checked never passes."""

from __future__ import annotations

import pytest
from components import needs_engine


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.http", "GET HOST/404\n"),
        ("a.http", "GET HOST/404\n\n?? body exists\n"),
        ("a.http", "GET HOST/404\n\n?? body.status not exists\n"),
        (
            "a.http",
            "GET HOST/404\n\n> {% client.log(response.status); client.test('', () => 1) %}\n",
        ),
        ("a.http", "GET HOST/404\n\n> {%\n// response.status\nclient.test('', () => 1) %}\n"),
        ("a.http", "GET HOST/404\n\n?? header x-status not exists\n"),
        ("a.http", "GET HOST/404\n\n> {% client.test('', () => response.body.status) %}\n"),
        ("a.org", "#+begin_src restclient\nGET HOST/404\n#+end_src\n"),
        (
            "a.http",
            "GET HOST/404\n\n> {% client.test('any', () => client.assert(true)) %}\n",
        ),
    ],
)
def test_a_status_that_nobody_expects_is_a_failure(run, name: str, text: str) -> None:
    done = run(name, **{name.replace(".", "_"): text})
    assert (done.status, done.outcomes) == (1, ["failed"])
    assert done.requests[0]["reason"] == "the status is 404, which no assertion expects"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.http", "GET HOST/404\n\n?? status == 404\n"),
        ("a.http", "GET HOST/404\n\n# ?? status == 4xx\n"),
        ("a.http", "GET HOST/404\n\n?? js response.statusCode == 404\n"),
        ("a.http", "GET HOST/404\n\n{{\ntest.status(404)\n}}\n"),
        ("a.org", "#+begin_src restclient :expect 404\nGET HOST/404\n#+end_src\n"),
        (
            "a.http",
            "GET HOST/404\n\n> {% client.test('', () => client.assert(response.status==404)) %}\n",
        ),
    ],
)
def test_a_status_that_an_assertion_expects_passes(run, name: str, text: str) -> None:
    done = run(name, **{name.replace(".", "_"): text})
    assert (done.status, done.outcomes) == (0, ["passed"])


RESTCLIENT = "#+begin_src restclient\nGET HOST/json\n#+end_src\n"


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (
            "#+begin_src restclient :exepct 200\nGET HOST/json\n#+end_src\n",
            6,
            "unknown header argument :exepct; did you mean :expect?",
        ),
        (
            "#+begin_src restlcient\nGET HOST/json\n#+end_src\n",
            6,
            "restlcient; did you mean restclient?",
        ),
        ("#+begin_src http\nGET HOST/json\n#+end_src\n", 6, "1 block in http ignored"),
        ("#+begin_src restclient\nGET HOST/json\n", 6, "this block was ignored: missing"),
        ("#+call: nobody()\n", 6, "no source block named nobody"),
        *(
            (f"#+begin_src restclient {given}\nGET HOST/json\n#+end_src\n", 6, meant)
            for given, meant in (
                (":Expect 200", "unknown header argument :Expect; did you mean :expect?"),
                (":assert status == 500", "unknown header argument :assert; did you mean :expect?"),
                ("expect 500", "expect 500: not a header argument; did you mean :expect?"),
                (": expect 500", ": expect 500: not a header argument"),
            )
        ),
        *(
            (f"{line}\n#+begin_src restclient\nGET HOST/json\n#+end_src\n", 6, meant)
            for line, meant in (
                ("#+hedaer: :expect 500", "did you mean #+header:?"),
                ("#+property: header-arg :expect 500", "did you mean #+property: header-args?"),
                ("#+proprety: header-args :expect 500", "did you mean #+property:?"),
            )
        ),
        ("* a\n:properties:\n:header-argz: :expect 5xx\n:end:\n" + RESTCLIENT, 10, "header-argz"),
        ("#+begin_src restclient\nGET HOST/json\n" + RESTCLIENT, 8, "which has no #+end_src"),
        ("#+begn_src http\nGET HOST/json\n#+end_src\n", 6, "did you mean #+begin_src?"),
        ("#+begin_src htpp\nGET HOST/json\n#+end_src\n", 6, "htpp; did you mean http?"),
        ("#+begin_src\nGET HOST/json\n#+end_src\n", 6, "no language"),
        ("#+begin_src restclient\n# @disabled\nGET HOST/json\n#+end_src\n", 7, "use :eval no"),
    ],
)
def test_a_block_that_is_not_run_as_it_was_meant_is_an_error(
    run, text: str, line: int, why: str
) -> None:
    first = "#+begin_src restclient :expect 200\nGET HOST/json\n#+end_src\n"
    done = run("a.org", a_org=f"{first}\n\n{text}")
    [error] = [request for request in done.requests if request["outcome"] == "error"]
    assert error["line"] == line
    assert why in error["reason"]
    assert done.status == 1


BODY = "POST HOST/echo\n\nbody\n"


@pytest.mark.parametrize(
    "line",
    [
        "? status == 500",
        "# ? status == 500",
        "# ??? status == 500",
        "; ?? status == 500",
        "-- ?? status == 500",
        "\uff1f\uff1f status == 500",
        "# \u2047 status == 500",
        "HTTP 500",  # hurl's assertion
    ],
)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.http", BODY + "LINE\n"),
        ("a.http", "GET HOST/echo\nLINE\n"),
        ("a.org", f"#+begin_src http\n{BODY}LINE\n#+end_src\n"),
        ("a.org", f"#+begin_src restclient\n{BODY}LINE\n#+end_src\n"),
        ("a.org", f"* a :verb:\n{BODY}LINE\n"),
    ],
)
def test_an_assertion_behind_another_mark_is_an_error_and_is_not_sent(
    run, server, name: str, text: str, line: str
) -> None:
    done = run(name, **{name.replace(".", "_"): text.replace("LINE", line)})
    assert (done.status, done.outcomes, server.requests) == (1, ["error"], [])


@pytest.mark.parametrize("line", ["# @asert status == 500", "# @expect 500", "# @disabeld"])
def test_a_misspelt_directive_is_an_error(run, server, line: str) -> None:
    done = run("a.http", a_http=f"{line}\nGET HOST/json\n")
    assert (done.status, done.outcomes, server.requests) == (1, ["error"], [])


def test_prose_with_question_marks_and_other_directives_are_no_errors(run) -> None:
    text = "# Why? status == 500\n# ? Is this it\n# @tags x\nGET HOST/json\n?status=5\n"
    assert run("a.http", a_http=text).status == 0


def test_blocks_of_other_languages_and_arguments_of_org_are_no_errors(run) -> None:
    done = run(
        "a.org",
        a_org=(
            "#+begin_src restclient :expect 200 :async yes :kernel k\nGET HOST/json\n#+end_src\n"
            "#+begin_src html\nGET /a\n#+end_src\n#+begin_src rust\nGET /a\n#+end_src\n"
            "#+begin_src rst\nText\n#+end_src\n#+begin_src sh\ncurl HOST/json\n#+end_src\n"
        ),
    )
    assert (done.status, done.outcomes) == (0, ["passed"])


@pytest.mark.parametrize(
    ("word", "why"),
    [("no", ":eval no"), ("never", ":eval never"), ("query", ":eval query requires")],
)
def test_a_block_that_is_not_evaluated_is_not_sent_for_another_one(
    run, server, word: str, why: str
) -> None:
    name = f"#+name: x\n#+begin_src http :eval {word}\nPOST HOST/echo\n#+end_src\n\n"
    done = run("a.org", a_org=f"{name}#+begin_src http :var y=x\nPOST HOST/{{{{y}}}}\n#+end_src\n")
    assert (done.outcomes, server.requests) == (["skipped", "error"], [])
    assert done.requests[1]["reason"].startswith(
        f"not sent: depends on x, which is disabled ({why}"
    )


def test_a_step_that_fails_before_it_is_sent_is_reported_once(run) -> None:
    text = "# @name x\n# @disabled nowhere\nGET /x\n\n###\n# @ref x\nGET /y\n"
    done = run("a.http", a_http=text)
    assert done.outcomes == ["error", "error"]
    assert "1 document: 2 errors in" in done.err


def test_the_summary_says_how_much_was_checked(run) -> None:
    done = run(
        "a.http", a_http="GET HOST/json\n\n?? status == 200\n?? body exists\n\n###\nGET HOST/json\n"
    )
    summary = done.report["summary"]
    assert (summary["assertions"], summary["unasserted"]) == (2, 1)
    assert "2 assertions checked; 1 of 2 requests has no assertions" in done.err


@needs_engine
def test_a_script_that_fails_hides_neither_its_tests_nor_the_assertions(run) -> None:
    script = "client.test('a', () => client.assert(false, 'no'));\nclient.log('said');\nnothing();"
    done = run("a.http", a_http=f"GET HOST/json\n\n?? status == 201\n> {{%\n{script}\n%}}\n")
    [request] = done.requests
    assert request["outcome"] == "error"
    assert "nothing is not defined" in request["reason"]
    assert [(test["name"], test["passed"]) for test in request["assertions"]] == [
        ("a", False),
        ("status == 201", False),
    ]
    assert request["notes"] == ["log: said"]
    assert (done.report["summary"]["assertions"], done.report["summary"]["error"]) == (2, 1)


def test_the_languages_that_are_meant_can_be_named(run) -> None:
    both = "#+begin_src LANG :expect 200\nGET HOST/json\n#+end_src\n\n"
    text = both.replace("LANG", "http") + both.replace("LANG", "restclient")
    done = run("a.org", "--lang", "http", a_org=text)
    assert (done.status, [request["line"] for request in done.requests]) == (0, [1])
    done = run("a.org", "--lang", "http", "--lang", "restclient", a_org=text)
    assert (done.status, [request["line"] for request in done.requests]) == (0, [1, 5])
