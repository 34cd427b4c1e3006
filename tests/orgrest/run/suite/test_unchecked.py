"""What was meant to be checked and is not never passes."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.http", "GET HOST/404\n"),
        ("a.http", "GET HOST/404\n\n?? body exists\n"),
        ("a.http", "GET HOST/404\n\n?? body.status not exists\n"),
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
    assert done.requests[0]["reason"] == "the status is 404, and no assertion expects it"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.http", "GET HOST/404\n\n?? status == 404\n"),
        ("a.http", "GET HOST/404\n\n# ?? status == 4xx\n"),
        ("a.http", "GET HOST/404\n\n?? js response.statusCode == 404\n"),
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


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (
            "#+begin_src restclient :exepct 200\nGET HOST/json\n#+end_src\n",
            6,
            ":exepct is known (is it :expect?)",
        ),
        ("#+begin_src restlcient\nGET HOST/json\n#+end_src\n", 6, "restlcient (is it restclient?)"),
        ("#+begin_src http\nGET HOST/json\n#+end_src\n", 6, "1 block in http left alone"),
        ("#+begin_src restclient\nGET HOST/json\n", 6, "this block has no #+end_src"),
        ("#+call: nobody()\n", 6, "no source block here is named nobody"),
    ],
)
def test_a_block_that_is_not_run_as_it_was_meant_is_an_error(
    run, text: str, line: int, why: str
) -> None:
    first = "#+begin_src restclient :expect 200\nGET HOST/json\n#+end_src\n"
    done = run("a.org", a_org=f"{first}\n\n{text}")
    [error] = [one for one in done.requests if one["outcome"] == "error"]
    assert error["line"] == line
    assert why in error["reason"]
    assert done.status == 1


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


def test_the_summary_says_how_much_was_checked(run) -> None:
    done = run(
        "a.http", a_http="GET HOST/json\n\n?? status == 200\n?? body exists\n\n###\nGET HOST/json\n"
    )
    summary = done.report["summary"]
    assert (summary["assertions"], summary["unasserted"]) == (2, 1)
    assert "2 assertions checked, 1 of 2 requests had none" in done.err


def test_the_languages_that_are_meant_can_be_named(run) -> None:
    both = "#+begin_src LANG :expect 200\nGET HOST/json\n#+end_src\n\n"
    text = both.replace("LANG", "http") + both.replace("LANG", "restclient")
    done = run("a.org", "--lang", "http", a_org=text)
    assert (done.status, [one["line"] for one in done.requests]) == (0, [1])
    done = run("a.org", "--lang", "http", "--lang", "restclient", a_org=text)
    assert (done.status, [one["line"] for one in done.requests]) == (0, [1, 5])
