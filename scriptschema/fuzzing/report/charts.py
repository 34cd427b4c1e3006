"""SVG charts for a page or for a file: lines over time, histograms and bars.

Shapes have classes (`line`, `bar`, `second` ...) instead of colours. A page's style sheet colours
them for its light or dark theme. `document` adds fixed colours for a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10
from typing import Final

import attrs

from scriptschema.fuzzing.campaign.statistics import Interval
from scriptschema.fuzzing.corpora.statistics import percentile
from scriptschema.fuzzing.targets.outcome import visible

POINTS: Final = 400
"""The approximate maximum number of points in a line. More would not be visible at the width of a
chart."""

BINS: Final = 40
"""The maximum number of bins in a histogram."""

ROW: Final = 16
"""The height of a bar in a list of bars, including the gap below it."""

_UNITS: Final = (
    (172_800.0, 86_400.0, "days"),
    (7_200.0, 3_600.0, "hours"),
    (120.0, 60.0, "minutes"),
    (-1.0, 1.0, "seconds"),
)
"""Units of time. Each tuple contains the duration in seconds above which the unit is used, the
length of the unit in seconds, and the name of the unit."""

_LEFT, _BOTTOM = 60, 34  # space for ticks and labels beside and below a plot
_STYLE: Final = (
    "svg{background:#fff}text{font:11px sans-serif;fill:#1c2024}.title{font-weight:bold}"
    ".grid{stroke:#d5d8de}.line{fill:none;stroke:#2b5fc7;stroke-width:1.5}.bad{stroke:#c0262d}"
    ".bar{fill:#2b5fc7}.second{fill:#c77d2b}"
)


@attrs.frozen
class Axis:
    """A scale that maps values to positions in pixels.

    The value `least` is at the position `start`, and `most` is at `end`.
    """

    least: float
    most: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Return the position of a value in pixels."""
        if self.logarithmic:
            part = log10(value / self.least) / log10(self.most / self.least)
        else:
            part = (value - self.least) / (self.most - self.least)
        return round(self.start + part * (self.end - self.start), 1)

    def ticks(self) -> list[float]:
        """Return at most seven round numbers from `least` to `most` as labels for the axis.

        They are powers of 10 on a logarithmic axis, otherwise integers.
        """
        if self.logarithmic:
            powers = range(ceil(log10(self.least)), floor(log10(self.most)) + 1)
            return [10.0**power for power in powers][:: 1 + len(powers) // 7]
        rough = max(1.0, (self.most - self.least) / 5)
        power = 10.0 ** floor(log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)
        first, last = ceil(self.least / step), floor(self.most / step)
        return [number * step for number in range(first, last + 1)]


def document(width: float, height: float, shapes: str) -> bytes:
    """Return an SVG file with the shapes in fixed colours."""
    size = f'width="{width:g}" height="{height:g}"'
    return f"{_svg(width, height, size, f'<style>{_STYLE}</style>{shapes}')}\n".encode()


def _svg(width: float, height: float, attributes: str, content: str) -> str:
    namespace = 'xmlns="http://www.w3.org/2000/svg"'
    return f'<svg {namespace} viewBox="0 0 {width:g} {height:g}" {attributes}>{content}</svg>'


def text(x: float, y: float, content: str, anchor: str = "start", kind: str = "") -> str:
    """Return a text element. `anchor` is `start`, `middle` or `end`, and `kind` is its class.

    Control characters are escaped.
    """
    of_kind = f' class="{kind}"' if kind else ""
    shown = escape(visible(content.replace("\n", " ").replace("\t", " ")))
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{of_kind}>{shown}</text>'


def placed(x: float, y: float, shapes: str) -> str:
    """Return the shapes as an SVG group whose origin is at (`x`, `y`)."""
    return f'<g transform="translate({x:g} {y:g})">{shapes}</g>'


def _frame(across: Axis, up: Axis, label: str, *, below: str = "") -> str:
    """Return a plot's ticks and labels. `below`, if not empty, labels the horizontal axis."""
    shapes = [text(across.start, up.end - 6, label)]
    for value in up.ticks():
        y = up.at(value)
        shapes.append(
            f'<line class="grid" x1="{across.start:g}" x2="{across.end:g}" y1="{y}" y2="{y}"/>'
            + text(across.start - 6, y + 4, f"{value:,.6g}", "end")
        )
    if below:
        shapes += [
            text(across.at(value), up.start + 14, f"{value:,.6g}", "middle")
            for value in across.ticks()
        ]
        shapes.append(text((across.start + across.end) / 2, up.start + 28, below, "middle"))
    return "".join(shapes)


def histogram(
    width: float, height: float, what: str, counts: Sequence[tuple[str, Counter[int]]]
) -> str:
    """Return a histogram of one or two distributions, side by side, with their medians.

    `what` names the measured property. For each distribution, `counts` contains its name and the
    number of trees with each value.
    """
    edges, logarithmic = _bins([values for _, values in counts])
    across = Axis(edges[0], edges[-1], _LEFT, width - 10, logarithmic)
    shares = [_shares(values, edges) for _, values in counts]
    up = Axis(0, max([max(each) for each in shares] + [0.01]) * 1.1, height - _BOTTOM, 36)
    shapes = [_frame(across, up, "% of the trees", below=what)]
    for number, (name, values) in enumerate(counts):
        kind = ("bar", "second")[number]
        for (left, right), share in zip(
            pairwise(map(across.at, edges)), shares[number], strict=True
        ):
            part = (right - left) / len(counts)
            y = up.at(share)
            shapes.append(
                f'<rect class="{kind}" x="{left + number * part:.1f}" y="{y}" '
                f'width="{max(part - 0.5, 0.5):.1f}" height="{up.start - y:.1f}"/>'
                if share
                else ""
            )
        label = f"{name}: median {percentile(values, 50):,}" if values else f"{name}: no trees"
        x = _LEFT + number * (width - _LEFT) / 2
        shapes.append(f'<rect class="{kind}" x="{x:g}" y="3" width="9" height="9"/>')
        shapes.append(text(x + 14, 12, label))
    return "".join(shapes)


def _bins(counts: Sequence[Counter[int]]) -> tuple[list[float], bool]:
    """Return the edges of bins for the values, and whether the axis is logarithmic."""
    values = {value for each in counts for value in each}
    least, most = min(values, default=0), max(values, default=0)
    if least > 0 and most / least > 100:
        edges = [least * (most / least) ** (i / BINS) for i in range(BINS)]
        return [*edges, most * 1.000001], True
    width = ceil((most - least + 1) / BINS)  # each bin has the same number of integers
    return [start - 0.5 for start in range(least, most + width + 1, width)], False


def _shares(counts: Counter[int], edges: Sequence[float]) -> list[float]:
    whole = counts.total() or 1
    return [
        100 * sum(count for value, count in counts.items() if left <= value < right) / whole
        for left, right in pairwise(edges)
    ]


def bars(width: float, rows: Sequence[tuple[str, float | None]], unit: str) -> str:
    """Return a chart of horizontal bars, one for each row. A row without a value is a heading."""
    start = 12 + 6.5 * max([len(label) for label, value in rows if value is not None], default=0)
    start = min(start, width / 2)
    most = max([value for _, value in rows if value is not None], default=0) or 1
    shapes = []
    for number, (label, value) in enumerate(rows):
        y = number * ROW
        if value is None:
            shapes.append(text(0, y + 12, label, kind="title"))
            continue
        length = round((width - start - 60) * value / most, 1)
        shapes.append(text(start - 6, y + 12, label, "end"))
        shapes.append(f'<rect class="bar" x="{start:g}" y="{y + 2}" width="{length}" height="12"/>')
        shapes.append(text(start + length + 4, y + 12, f"{value:,.3g}{unit}"))
    return "".join(shapes)


def over_time(intervals: Sequence[Interval]) -> str:
    """Return charts of a campaign over time, or an empty string for fewer than two intervals.

    They show the runs per second, the percentage of programs that ended normally, the size of the
    corpus, the coverage if a target reports it, and the number of finds.
    """
    if len(intervals) < 2:
        return ""
    points = _thinned(intervals)
    divisor, unit = next((by, name) for over, by, name in _UNITS if points[-1].seconds > over)
    times = [each.seconds / divisor for each in points]
    steps = list(zip(pairwise(points), times[1:], strict=True))
    lines: list[tuple[str, list[tuple[float, float]]]] = [
        (
            "runs a second",
            [
                (at, (later.runs - before.runs) / max(later.seconds - before.seconds, 1e-9))
                for (before, later), at in steps
            ],
        ),
        (
            "% ended normally",
            [
                (at, 100 * (later.ended - before.ended) / (later.programs - before.programs))
                for (before, later), at in steps
                if later.programs > before.programs
            ],
        ),
        ("corpus", [(at, each.corpus) for at, each in zip(times, points, strict=True)]),
    ]
    if any(each.covered for each in points):
        lines.append(
            ("covered", [(a, each.covered) for a, each in zip(times, points, strict=True)])
        )
    lines.append(("finds", [(at, each.finds) for at, each in zip(times, points, strict=True)]))
    width, height = 900, 130
    shapes = []
    for number, (label, line) in enumerate(lines):
        last = number == len(lines) - 1
        top = number * height
        across = Axis(0, max(times[-1], 1e-9), _LEFT, width - 10)
        up = Axis(0, max([value for _, value in line] + [1]) * 1.1, top + height - 12, top + 24)
        shapes.append(_frame(across, up, label, below=unit if last else ""))
        shapes.append(_line(across, up, line, steps=last))
    return _svg(width, len(lines) * height + 24, "", "".join(shapes))


def _line(across: Axis, up: Axis, points: Sequence[tuple[float, float]], *, steps: bool) -> str:
    """Return a line through the points or, if `steps` is true, a red staircase."""
    path = ""
    for x, y in points:
        at = across.at(x)
        if path and steps:
            path += f"H{at}V{up.at(y)}"
        else:
            path += f"{'L' if path else 'M'}{at} {up.at(y)}"
    return f'<path class="line{" bad" if steps else ""}" d="{path}"/>' if path else ""


def _thinned(intervals: Sequence[Interval]) -> list[Interval]:
    """Return the running totals after about `POINTS` intervals, including the last."""
    step = -(-len(intervals) // POINTS)
    total = Interval()
    points: list[Interval] = []
    for number, each in enumerate(intervals, 1):
        total.add(each)
        if number == 1 or number % step == 0 or number == len(intervals):
            points.append(attrs.evolve(total))
    return points
