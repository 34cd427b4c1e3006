"""Charts of a campaign over time, as SVG in the colours of the page.

matplotlib (extra `plot`) draws them with placeholder colours, which are replaced by the page's, so
that the chart follows its light or dark theme.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO
from itertools import pairwise
from typing import Any, Final

from scriptschema import extras
from scriptschema.fuzzing.campaign.statistics import Interval
from scriptschema.fuzzing.targets.outcome import OK

_COLOURS: Final = {
    "#010101": "var(--text)",
    "#020202": "var(--line)",
    "#030303": "var(--accent)",
    "#040404": "var(--bad)",
}
_TEXT, _GRID, _LINE, _FINDS = _COLOURS

POINTS: Final = 400
"""The maximum number of points of a line, limited by its width."""

_UNITS: Final = (
    (172_800.0, 86_400.0, "days"),
    (7_200.0, 3_600.0, "hours"),
    (120.0, 60.0, "minutes"),
    (-1.0, 1.0, "seconds"),
)
"""Durations above the first value use the unit named last, which has the second value's seconds."""


def over_time(intervals: Sequence[Interval]) -> str:
    """Return charts of speed, share of normal ends, corpus and finds; empty below two intervals.

    If a target counts what its code reaches, there is a chart of that, too.

    Raises MissingExtra.
    """
    if len(intervals) < 2:
        return ""
    mpl = extras.imported("matplotlib", "plot", "the charts over time need matplotlib")
    from matplotlib.figure import Figure

    points = _thinned(intervals)
    divisor, unit = next((by, name) for over, by, name in _UNITS if points[-1].seconds > over)
    times = [each.seconds / divisor for each in points]
    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "scriptschema",
        "font.family": "sans-serif",
        "text.color": _TEXT,
        "axes.labelcolor": _TEXT,
        "axes.edgecolor": _GRID,
        "xtick.color": _TEXT,
        "ytick.color": _TEXT,
        "grid.color": _GRID,
    }
    with mpl.rc_context(settings):
        covered = [each.covered for each in points]
        count = 5 if any(covered) else 4
        figure = Figure(figsize=(9, 1.8 * count), layout="constrained")
        figure.patch.set_alpha(0)
        upper, second, third, *others, lower = figure.subplots(count, sharex=True)
        rates = [
            (later.runs - before.runs) / max(later.seconds - before.seconds, 1e-9)
            for before, later in pairwise(points)
        ]
        _draw(upper, "runs a second", times[1:], rates, _LINE)
        shares = [
            (at, 100 * (later.ended - before.ended) / (later.programs - before.programs))
            for (before, later), at in zip(pairwise(points), times[1:], strict=True)
            if later.programs > before.programs
        ]
        _draw(
            second, "% ended normally", [at for at, _ in shares], [one for _, one in shares], _LINE
        )
        _draw(third, "corpus", times, [each.corpus for each in points], _LINE)
        for axes in others:
            _draw(axes, "covered", times, covered, _LINE)
        _draw(lower, "finds", times, [each.finds for each in points], _FINDS, steps=True)
        lower.set_xlabel(unit)
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return _as_part_of_a_page(out.getvalue())


def _thinned(intervals: Sequence[Interval]) -> list[Interval]:
    """Return cumulative sums at some of the intervals, including the last."""
    every = -(-len(intervals) // POINTS)
    runs = programs = ended = covered = 0
    points: list[Interval] = []
    for number, each in enumerate(intervals, 1):
        runs += each.runs
        programs += each.programs
        ended += each.ended
        covered = max(covered, each.covered)
        if number == 1 or number % every == 0 or number == len(intervals):
            point = Interval(seconds=each.seconds, runs=runs, programs=programs, covered=covered)
            point.outcomes[OK] = ended
            point.corpus, point.finds = each.corpus, each.finds
            points.append(point)
    return points


def _draw(
    axes: Any, what: str, times: list[float], values: list[Any], colour: str, *, steps: bool = False
) -> None:
    axes.patch.set_alpha(0)
    axes.plot(times, values, color=colour, drawstyle="steps-post" if steps else "default")
    axes.set_ylabel(what)
    axes.set_ylim(0, max([*values, 1]) * 1.1)
    axes.yaxis.get_major_locator().set_params(integer=True, nbins=4)
    axes.grid(axis="y")
    axes.spines[["top", "right"]].set_visible(False)


def _as_part_of_a_page(svg: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    for stand_in, colour in _COLOURS.items():
        svg = svg.replace(stand_in, colour)
    return svg
