"""Turns the rows of `orgrest.options` into click options, and their values into settings."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from orgrest.commands import program
from orgrest.options import options_of, pair

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orgrest.http.transport.client import Client
    from orgrest.http.transport.limits import Budget
    from orgrest.http.values import Inputs
    from orgrest.run.settings import Settings

_Command = TypeVar("_Command", bound="Callable[..., object]")


if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType  # only generic in newer versions of click


class _Converted(_Type):
    """An option type that reports a ValueError or OrgrestError in `convert` as a usage error."""

    def __init__(self, name: str, convert: Callable[[str], Any]) -> None:
        self.name = name
        self._convert = convert

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from orgrest.model import OrgrestError

        try:
            # click also passes values that have already been converted.
            return self._convert(value) if isinstance(value, str) else value
        except OrgrestError as error:
            self.fail(error.reason, param, ctx)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _Seconds(click.FloatRange):
    """A time in a range. `click.FloatRange` accepts `nan`: all comparisons with it are false."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if seconds != seconds:  # only nan differs from itself
            self.fail(f"{value!r} is not a number of seconds.", param, ctx)
        return seconds


def _size(text: str) -> int:
    from orgrest.rendering.results import parse_size

    return parse_size(text)


def _proxy(text: str) -> str:
    from orgrest.http.transport.pools import read_proxy

    return read_proxy(text)


def _description(text: str) -> Path | str:
    if text != "auto" and not Path(text).is_file():
        raise ValueError(f"file not found: {text}")
    return text if text == "auto" else Path(text)


KINDS: Mapping[str, click.ParamType[Any]] = {
    "text": click.STRING,
    "integer": click.INT,
    "count": click.IntRange(1),
    "jobs": click.IntRange(1, 256),
    "retries": click.IntRange(0, 1000),
    "seconds": _Seconds(0, 86_400, min_open=True),
    "delay": _Seconds(0, 86_400),
    "duration": _Seconds(0, 30 * 86_400, min_open=True),
    "path": click.Path(path_type=Path),
    "file": click.Path(path_type=Path, dir_okay=False),
    "report": click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    "folder": click.Path(path_type=Path, exists=True, file_okay=False),
    "language": click.Choice(["restclient", "http", "rest", "verb"]),
    "moment": click.Choice(["each", "end"]),
    "pairs": _Converted("pair", pair),
    "size": _Converted("size", _size),
    "proxy": _Converted("proxy", _proxy),
    "description": _Converted("description", _description),
}
"""The click types for the kinds of options, except for the kind `flag`."""


def with_options(command: str) -> Callable[[_Command], _Command]:
    """Return a decorator that adds all options of `command` to a function."""

    def decorate(function: _Command) -> _Command:
        for row in reversed(options_of(command)):
            how: dict[str, Any] = {"is_flag": True}
            if row.kind != "flag":
                how = {"type": KINDS[row.kind], "metavar": row.metavar, "multiple": row.many}
                how |= {} if row.default is None else {"default": row.default}
            words = (*row.flags.split(), row.name)
            function = click.option(
                *words, cls=program.Option, section=row.section, help=row.help, **how
            )(function)
        return function

    return decorate


Parts: TypeAlias = "dict[str, dict[str, Any]]"
"""The values of a command's options, grouped by the object that they configure."""


def parts_of(command: str, options: Mapping[str, Any]) -> Parts:
    """Return the options' values, grouped by the object that they configure ("" for Settings)."""
    groups: Parts = defaultdict(dict)
    for row in options_of(command):
        for field in row.field.split():
            part, _, name = field.rpartition(".")
            value = options[row.name]
            groups[part][name] = frozenset(value) if name in ("languages", "tags") else value
    return groups


def inputs_of(parts: Parts, directory: Path, **more: Any) -> Inputs:
    """Return the Inputs that a command's options specify for a document in `directory`.

    `more` contains other fields of the Inputs. Raises OrgrestError if an env file cannot be read.
    """
    from orgrest.http.values import Inputs
    from orgrest.http.values.context import overrides_of
    from orgrest.http.values.files import read_env_file

    values = parts["inputs"]
    env_file: dict[str, str] = {}
    for path in values["env_file"]:  # later files take precedence
        env_file.update(read_env_file(path))
    overrides = overrides_of(**parts["overrides"])
    values = {**values, "env_file": env_file, "overrides": overrides}
    return Inputs.of_user(directory, **values, **more)


def settings_of(parts: Parts, inputs: Inputs, *, alone: bool = True) -> Settings:
    """Return the settings of a run, from the options of a command.

    `alone` says whether only the chosen requests are sent, without setup and teardown.
    """
    from orgrest.run.plan import Choice
    from orgrest.run.settings import RetryPolicy, Settings

    values = dict(parts[""])
    if "proxies" in values:  # documents may use the proxy that the run uses
        values["proxies"] = (*values["proxies"], *filter(None, (parts["client"].get("proxy"),)))
    return Settings(
        inputs,
        choice=Choice(**parts["choice"], alone=alone),
        retry_policy=RetryPolicy(**parts["retry_policy"]),
        **values,
    )


def client_of(parts: Parts) -> tuple[partial[Client], Budget]:
    """Return a factory for clients, and the budget of a run, from the options of a command."""
    from orgrest.http.transport.client import Client
    from orgrest.http.transport.limits import Budget

    return partial(Client, **parts["client"]), Budget(**parts["budget"])
