"""The table of options: the command line, pytest and editors do what each row says."""

from __future__ import annotations

import inspect
from pathlib import Path

import click
import pytest

from orgrest.commands.main import program
from orgrest.commands.options import KINDS, client_of, inputs_of, parts_of, settings_of
from orgrest.editor.server.environments import Choices
from orgrest.http.transport.client import Client
from orgrest.http.transport.limits import MAX_TIMEOUT, Budget
from orgrest.http.values import Inputs
from orgrest.http.values.context import overrides_of
from orgrest.options import EXPORT, OPTIONS, REPORT, RUN, TEST, Option, options_of
from orgrest.run.plan import Choice
from orgrest.run.settings import RetryPolicy, Settings

PARTS = {
    "": {*Settings.__annotations__},
    "inputs": {*Inputs.__annotations__},
    "overrides": set(inspect.signature(overrides_of).parameters),
    "choice": {*Choice.__annotations__},
    "retry_policy": {*RetryPolicy.__annotations__},
    "client": set(inspect.signature(Client).parameters),
    "budget": set(inspect.signature(Budget).parameters),
}


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: f"{row.flags} {row.commands[0]}")
def test_an_option_sets_a_field_that_there_is(row: Option) -> None:
    for field in row.field.split():
        part, _, name = field.rpartition(".")
        assert name in PARTS[part]
    assert row.kind == "flag" or row.kind in KINDS
    assert row.help.endswith(".")


@pytest.mark.parametrize("command", [RUN, TEST, EXPORT, REPORT])
def test_a_command_has_each_of_its_options_once_with_its_help(command: str) -> None:
    context = click.Context(program)
    found = program if command == RUN else program.get_command(context, command)
    assert found is not None
    shown = {
        flag: param.help
        for param in found.params
        if isinstance(param, click.Option)
        for flag in param.opts
    }
    rows = options_of(command)
    flags = [flag for row in rows for flag in row.flags.split()]
    assert len({row.name for row in rows}) == len(rows)
    assert len(set(flags)) == len(flags)
    assert {flag: shown[flag] for flag in flags} == {
        flag: row.help for row in rows for flag in row.flags.split()
    }


def test_what_is_given_becomes_the_settings(tmp_path: Path) -> None:
    given = {row.name: () if row.many else row.default for row in options_of(TEST)}
    given |= {"names": ("a*",), "tags": ("slow",), "variables": (("x", "1"), ("x", "2"))}
    given |= {"env_file": (), "retries": 3, "timeout": 5.0, "proxy": "http://p", "ca": tmp_path}
    parts = parts_of(TEST, given)
    settings = settings_of(parts, inputs_of(parts, tmp_path), alone=False)
    assert settings.inputs.overrides == {"x": "2"}
    assert settings.inputs.directory == tmp_path
    assert settings.choice == Choice(("a*",), frozenset({"slow"}))
    assert settings.retry_policy == RetryPolicy(3, 1.0)
    assert settings.timeout == 5.0
    assert settings.proxies == ("http://p",)  # who chooses a proxy lets documents choose it, too
    client, _ = client_of(parts)
    assert client.keywords["ca"] == tmp_path


@pytest.mark.parametrize("value", ["nan", "inf", "1e300", "-1"])
@pytest.mark.parametrize("kind", [k for k, t in KINDS.items() if isinstance(t, click.FloatRange)])
def test_a_time_that_nothing_can_wait_for_is_refused_before_anything_is_sent(
    kind: str, value: str
) -> None:
    with pytest.raises(click.BadParameter):
        KINDS[kind].convert(value, None, None)
    assert KINDS[kind].convert("0.5", None, None) == 0.5


def test_a_timeout_that_every_request_would_refuse_is_a_usage_error() -> None:
    assert KINDS["seconds"].convert(str(MAX_TIMEOUT), None, None) == MAX_TIMEOUT
    with pytest.raises(click.BadParameter):
        KINDS["seconds"].convert(str(MAX_TIMEOUT + 1), None, None)


def test_an_editor_can_set_what_the_table_says() -> None:
    names = {row.setting for row in OPTIONS if row.setting}
    assert names == {"environments", "variables", "openapi", "allowWrite"}
    choices = Choices()
    given = {"environments": ["dev"], "variables": {"a": "1"}, "openapi": False}
    choices.configure(given | {"allowWrite": ["/out"]})
    expected = given | {"environments": ("dev",), "allowWrite": (Path("/out"),)}
    assert choices.settings == expected
