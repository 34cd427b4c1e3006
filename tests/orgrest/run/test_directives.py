"""Directives that act before a request is sent: each has a module, and none acts in a dry run."""

from __future__ import annotations

from importlib import import_module

import pytest
from servers import RawServer, response

from orgrest.http.transport.client import Client
from orgrest.run.directives import ACTING
from orgrest.run.run import Run
from orgrest.run.services import Services
from orgrest.run.settings import Settings


@pytest.mark.parametrize("name", ACTING)
def test_a_directive_that_acts_has_a_module_that_does_it(name: str) -> None:
    module = import_module(f"orgrest.run.directives.{name.replace('-', '_')}")
    assert callable(module.act)
    assert module.__doc__.startswith(f"`# @{name}")


def test_a_request_that_is_declined_is_not_sent_and_the_next_one_is() -> None:
    text = "# @note really?\nGET HOST/a\n###\nGET HOST/b\n"
    with RawServer(response(b"{}")) as server, Client() as client:
        services = Services(client=client, ask=lambda _: False)
        text = text.replace("HOST", server.url)
        run = Run(text, file="a.http", settings=Settings(), services=services, plain=True)
        assert [outcome.state for outcome in run.outcomes()] == ["skipped", "done"]
        dry = Run(text, file="a.http", settings=Settings(dry_run=True), plain=True)
        assert [len(outcome.exchanges) for outcome in dry.outcomes()] == [1, 1]
    assert [request.split(b" ", 2)[1] for request in server.requests] == [b"/b"]
