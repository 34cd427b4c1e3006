"""The output of a running `fuzz`: a live display on a terminal, otherwise lines or JSON events.

Each form of output is a callable that receives the events of `fuzzing.campaign.session`.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import click

from scriptschema.commands.console import counted

EVERY = 10.0
"""Seconds between progress lines."""

FINDS = ("find", "reduced", "retracted")
"""The kinds of events that concern a find."""

_SHOWN = 8
_FEATURES = 5


def as_json(event: dict[str, Any]) -> None:
    """Print an event as a line of JSON."""
    import json

    click.echo(json.dumps(event))


def line_of(event: dict[str, Any]) -> str:
    """Return a find event or a progress event as one line."""
    from scriptschema.fuzzing.targets.outcome import visible

    if event["event"] in FINDS:
        what = "new" if event["event"] == "find" else event["event"]
        return visible(f"{what}: {event['signature']}, {event['size']}: {event['name']}")
    kinds = _kinds(event)
    if not kinds:
        return f"{_time(event['seconds'])}: no program has finished yet"
    return (
        f"{_time(event['seconds'])}: {counted(event['programs'], 'program')} ({kinds}), "
        f"{event['runs_per_second']:,.0f} runs/s, {_with_compiled(event, 'corpus')}, "
        + (_executions(event) + ", " if "executions" in event else "")
        + (f"covered {event['covered']:,}, " if event["covered"] else "")
        + f"{_with_compiled(event, 'finds')}, last new {_time(event['since_new'])} ago"
        + (f", {event['unconfirmed']:,} not confirmed" if event["unconfirmed"] else "")
        + (f", {event['exempt']:,} exempt" if event["exempt"] else "")
    )


def _kinds(event: dict[str, Any]) -> str:
    both = []
    for name, label in (("outcomes", ""), ("compiled", "only compiled: ")):
        outcomes = sorted(event[name].items(), key=lambda item: -item[1])
        if outcomes:
            both.append(label + ", ".join(f"{kind} {count:,}" for kind, count in outcomes))
    return "; ".join(both)


def _with_compiled(event: dict[str, Any], name: str) -> str:
    """Return a count as text, such as `corpus 120 (30 only compiled)`."""
    compiled = event[f"{name}_compiled"]
    return f"{name} {event[name]:,}" + (f" ({compiled:,} only compiled)" if compiled else "")


def unreadable(event: dict[str, Any]) -> str:
    """Return a line about an input that AFL++ saved as a crash or hang, but that is not Luau.

    Such an input is not judged.
    """
    from scriptschema.fuzzing.targets.outcome import visible

    return visible(f"not judged, because scriptschema cannot parse it as Luau: {event['path']}")


def _executions(event: dict[str, Any]) -> str:
    return f"AFL++ {event['executions']:,} executions ({_rate(event)})"


def _rate(event: dict[str, Any]) -> str:
    rate = event["executions_per_second"]
    return "rate unknown" if rate is None else f"{rate:,.0f} a second"


def print_start(event: dict[str, Any]) -> None:
    """Print each target with its version and missing features, and what will not be run.

    These are the unreadable files of the corpus, and seeds with features that a target lacks.
    """
    from scriptschema.fuzzing.targets.outcome import visible

    for target in event.get("targets", ()):
        click.echo(visible(f"target: {target}"), err=True)
    for problem in event.get("unreadable", ()):
        click.echo(visible(f"skipped: {problem}"), err=True)
    unsupported = event.get("unsupported")
    if unsupported and unsupported["programs"]:
        features = unsupported["features"]
        left = len(features) - _FEATURES
        more = f" and {counted(left, 'other')}" if left > 0 else ""
        click.echo(
            f"seeds: will mutate but not run {counted(unsupported['programs'], 'program')} with "
            "features that a target lacks or the campaign excludes: "
            f"{', '.join(features[:_FEATURES])}{more}",
            err=True,
        )


class Lines:
    """Prints finds to standard output, and progress at intervals to standard error."""

    def __init__(self) -> None:
        self._shown = time.monotonic()

    def __call__(self, event: dict[str, Any]) -> None:
        """Print an event. Progress is printed at most once every `EVERY` seconds."""
        if event["event"] == "start":
            print_start(event)
        elif event["event"] in FINDS:
            click.echo(line_of(event))
        elif event["event"] == "unreadable":
            click.echo(unreadable(event))
        elif event["event"] == "end" or (
            event["event"] == "progress" and time.monotonic() - self._shown >= EVERY
        ):
            self._shown = time.monotonic()
            click.echo(line_of(event), err=True)


class Display:
    """A live display on standard error, with the latest finds."""

    def __init__(self) -> None:
        self._live: Any = None
        self._finds: deque[str] = deque(maxlen=_SHOWN)

    def __call__(self, event: dict[str, Any]) -> None:
        """Update the display for an event."""
        if event["event"] == "start":
            from rich.console import Console
            from rich.live import Live

            print_start(event)
            self._live = Live(console=Console(stderr=True), refresh_per_second=4)
            self._live.start()
        elif event["event"] in FINDS:
            self._finds.append(line_of(event))
        elif event["event"] == "unreadable":
            self._finds.append(unreadable(event))
        elif self._live is not None:
            self._live.update(self._table(event), refresh=True)
        if event["event"] == "end" and self._live is not None:
            self._live.stop()
            self._live = None

    def _table(self, event: dict[str, Any]) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        rows = [
            ("time", _time(event["seconds"]), "programs", f"{event['programs']:,}"),
            ("runs/s", f"{event['runs_per_second']:,.0f}", "runs", f"{event['runs']:,}"),
            ("corpus", f"{event['corpus']:,}", "finds", f"{event['finds']:,}"),
            (
                "new finds",
                f"{event['new_finds']:,}",
                "last new",
                f"{_time(event['since_new'])} ago",
            ),
            (
                "to reduce",
                f"{event['unreduced']:,}",
                "not confirmed",
                f"{event['unconfirmed']:,}",
            ),
        ]
        if "executions" in event:
            rows.append(("executions", f"{event['executions']:,}", "rate", _rate(event)))
        if event["covered"]:
            rows.append(("covered", f"{event['covered']:,}", "", ""))
        for left_name, left, right_name, right in rows:
            table.add_row(Text(left_name, "dim"), left, Text(right_name, "dim"), right)
        finds = [Text(line, "bold", overflow="ellipsis", no_wrap=True) for line in self._finds]
        return Group(table, Text(_kinds(event)), *finds)


def _time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
