"""Creates readable titles for finds. A title says how runs differ, but omits the targets' paths."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scriptschema.fuzzing.campaign.finds import Find
from scriptschema.fuzzing.oracles.differential import short_names
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.outcome import Run

_LONGEST: Final = 60


def title_of(find: Find) -> str:
    """Return a title for a find, such as `-O1 prints 0, -O0 prints -0: math.round`."""
    signature, difference = find.signature, find.verdict.difference
    runs = find.smallest.runs
    names = names_of(runs)
    if difference is not None:
        left, right = (_printed(names.get(target, ""), line) for target, line in difference.sides)
        text = f"{right}, {left}"
    elif signature.kind in outcome.LIMITS:
        what = "hangs" if signature.kind == outcome.HANG else "runs out of memory"
        bad = [
            name
            for run in runs
            if run.outcome.kind in outcome.LIMITS
            for name in [names[run.target]]
        ]
        text = f"{', '.join(bad)} {what}" if bad else signature.kind
    elif signature.kind == "difference":
        cut = [names[run.target] for run in runs if not run.outcome.output.endswith("\n")]
        if len({run.outcome.kind for run in runs}) == 1 and 0 < len(cut) < len(runs):
            text = f"{', '.join(cut)} prints no line feed at the end"
        else:
            ends = dict.fromkeys(f"{names[run.target]} ends with {_end(run)}" for run in runs)
            text = ", ".join(ends)
    else:
        text = f"{signature.kind}: {signature.detail}" if signature.detail else signature.kind
    return f"{text}: {signature.construct}" if signature.construct else text


def names_of(runs: Iterable[Run]) -> dict[str, str]:
    """Return a mapping from run names to short names: variants, or commands without folders."""
    runs = [*runs]
    return dict(zip((run.target for run in runs), short_names(runs), strict=True))


def _printed(name: str, line: str | None) -> str:
    if line is None:
        return f"{name} prints fewer lines"
    short = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
    return f"{name} prints {short}"


def _end(run: Run) -> str:
    error = next(iter(run.outcome.error.splitlines()), "")[:_LONGEST]
    return f"{run.outcome.kind} ({error})" if error else run.outcome.kind
