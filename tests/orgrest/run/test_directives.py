"""Directives that act before a request is sent: each is listed, and none acts in a dry run."""

from __future__ import annotations

import pytest
from evaluated import Evaluated
from servers import RawServer, response

from orgrest.http.parsing.directives import DIRECTIVES
from orgrest.run.directives import ACTING


@pytest.mark.parametrize("name", ACTING)
def test_a_directive_that_acts_has_a_rule_and_a_function_that_does_it(name: str) -> None:
    assert DIRECTIVES[name].name == name
    assert callable(ACTING[name])


def test_a_request_that_is_declined_is_not_sent_and_the_next_one_is() -> None:
    text = "# @note really?\nGET HOST/a\n###\nGET HOST/b\n"
    with RawServer(response(b"{}")) as server:
        done = Evaluated(text, url=server.url, services={"ask": lambda _: False})
        assert done.states == ["skipped", "done"]
        dry = Evaluated(text, url=server.url, dry_run=True)
        assert [len(outcome.exchanges) for outcome in dry.outcomes] == [1, 1]
    assert [request.split(b" ", 2)[1] for request in server.requests] == [b"/b"]
