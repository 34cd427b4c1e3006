"""Reads the content of the report from a campaign's folder. `page` converts it to HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from scriptschema.files import FileError
from scriptschema.fuzzing.campaign import config, finds, statistics
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Find
from scriptschema.fuzzing.campaign.statistics import Interval
from scriptschema.fuzzing.corpora import features
from scriptschema.fuzzing.oracles.severity import rank_of
from scriptschema.fuzzing.oracles.verdict import Signature
from scriptschema.fuzzing.targets import outcome, probing
from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.luau.names import DEFAULT


@attrs.frozen
class Row:
    """A bar of a chart: its label, its count, and its length as a percentage of the longest bar."""

    name: str
    count: int
    percent: float


@attrs.frozen
class Members:
    """The members of a library that programs used, with counts, and those that no program used."""

    library: str
    used: Mapping[str, int]
    unused: list[str]


@attrs.frozen
class ReportedFind:
    """A find with its sources.

    `source` is the reduced source, or the original if the find is not reduced. `found_source` is
    the original source of a reduced find, otherwise None. `like` is the name of a more severe or
    earlier find that is probably the same bug. `members` are other programs that probably show the
    find's bug.
    """

    find: Find
    folder: Path
    source: str
    found_source: str | None
    like: str = ""
    members: Sequence[ReportedFind] = ()

    @property
    def command(self) -> str:
        """The command that reproduces the find."""
        return finds.command_of(self.folder, self.find)


@attrs.frozen
class Content:
    """All data that the page shows. `problems` contains a message for each unreadable file."""

    folder: str
    config: Config
    intervals: list[Interval]
    total: Interval
    finds: list[ReportedFind]
    problems: list[str]

    @property
    def ended(self) -> list[float | None]:
        """The share of programs that ended normally in each fifth of the campaign's time.

        The share is None for a fifth without programs. With fewer than five intervals, the list is
        empty.
        """
        return statistics.shares_ended(self.intervals) if len(self.intervals) >= 5 else []

    @property
    def libraries(self) -> list[Members]:
        """How often programs used each global and each library member."""
        counts = self.total.features
        tables = [("globals", "", DEFAULT.globals)]
        tables += [(name, f"{name}.", table) for name, table in DEFAULT.libraries.items()]
        libraries = []
        for title, prefix, table in tables:
            named = {member: counts[prefix + member] for member in table}
            used = {name: count for name, count in named.items() if count}
            libraries.append(Members(title, used, [name for name in table if not named[name]]))
        return libraries

    @property
    def features(self) -> Members:
        """How often programs used each feature that is part of the grammar.

        These are the features in `corpora.features`, except globals and library members.
        """
        counts = self.total.features
        members = {"", *probing.names()}
        parts = [n for n in features.names(self.config.version) if n not in members]
        used = {name: counts[name] for name in parts if counts[name]}
        return Members("grammar", used, sorted(name for name in parts if not counts[name]))

    @property
    def operators(self) -> list[tuple[str, list[int]]]:
        """The mutation operators, each with its counts: tried, changed, useful.

        The most useful operator comes first.
        """
        return sorted(self.total.operators.items(), key=lambda item: [-n for n in item[1][::-1]])


def rows(counts: Mapping[str, int]) -> list[Row]:
    """Return the counts as bars, the longest first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    longest = max([count for _, count in ordered], default=0) or 1
    return [Row(name, count, round(100 * count / longest, 1)) for name, count in ordered]


def gather_all(folders: Sequence[Path]) -> Content:
    """Return the combined content of the campaigns in `folders`.

    For several campaigns, each signature is listed once, and the charts over time are omitted.
    Raises FileError if a folder is not a campaign.
    """
    contents = [gather(folder) for folder in folders]
    if len(contents) == 1:
        return contents[0]
    by_signature: dict[Signature, ReportedFind] = {}
    for shown in (shown for content in contents for shown in content.finds):
        first = by_signature.setdefault(shown.find.signature, shown)
        if first is not shown:
            by_signature[shown.find.signature] = _joined(first, shown)
    targets = dict.fromkeys(target for content in contents for target in content.config.targets)
    return Content(
        ", ".join(content.folder for content in contents),
        attrs.evolve(contents[0].config, targets=tuple(targets)),
        [],
        _sum(contents),
        _ordered(by_signature.values()),
        [problem for content in contents for problem in content.problems],
    )


def _joined(first: ReportedFind, other: ReportedFind) -> ReportedFind:
    """Return `first` with the counts and times of both finds."""
    find = attrs.evolve(
        first.find,
        count=first.find.count + other.find.count,
        first_seen=min(first.find.first_seen, other.find.first_seen),
        last_seen=max(first.find.last_seen, other.find.last_seen),
    )
    return attrs.evolve(first, find=find)


def _sum(contents: Sequence[Content]) -> Interval:
    whole = statistics.total(content.total for content in contents)
    for name in ("seconds", "corpus", "finds"):  # `total` does not add these
        setattr(whole, name, sum(getattr(content.total, name) for content in contents))
    return whole


def _ordered(finds: Iterable[ReportedFind]) -> list[ReportedFind]:
    """Return the finds, most severe first, with `like` set for probable duplicates."""
    ordered = sorted(
        finds, key=lambda each: (rank_of(each.find.signature), each.find.seconds, each.find.name)
    )
    seen: dict[tuple[str, str], str] = {}
    result = []
    for shown in ordered:
        keys = [*_likenesses(shown)]
        like = next((seen[key] for key in keys if key in seen), "")
        result.append(attrs.evolve(shown, like=like))
        for key in keys:
            seen.setdefault(key, like or shown.find.name)
    return result


def _likenesses(shown: ReportedFind) -> Iterator[tuple[str, str]]:
    """Yield keys of a find. Probable duplicates have at least one key in common."""
    find = shown.find
    if find.signature.kind in outcome.BROKEN:
        runs = find.smallest.runs
        frames = next((run.outcome.frames for run in runs if run.outcome.frames), ())
        if frames:  # the column does not matter
            yield "place", re.sub(r"(:\d+):\d+$", r"\1", frames[0])
    if find.reduced is not None:  # values do not matter
        yield find.signature.kind, " ".join(_VALUE.sub("value", shown.source).split())


_VALUE: Final = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|-?\b\d[\w.]*(?:[+-]\d+)?|\b(?:nil|true|false)\b|\{\}"
)


def gather(folder: Path) -> Content:
    """Return the content of the campaign in `folder`, which may still be running.

    Unreadable finds are omitted and reported in `problems`. Raises FileError if `folder` does not
    contain a campaign.
    """
    campaign = config.load(folder)
    intervals = statistics.read(folder)
    shown, problems = [], []
    for path in sorted(finds.folders_in(folder)):
        try:
            programs = [
                _shown(member, find) for member, find in finds.load_all(path, finds.MEMBERS)
            ]
            shown.append(attrs.evolve(_shown(path, finds.load(path)), members=programs))
        except FileError as error:
            problems.append(str(error))
    total = statistics.total(intervals)
    return Content(str(folder), campaign, intervals, total, _ordered(shown), problems)


def _shown(folder: Path, find: Find) -> ReportedFind:
    original = finds.source_of(folder)
    if not find.reduced:
        return ReportedFind(find, folder, original, None)
    return ReportedFind(find, folder, finds.source_of(folder, finds.REDUCED), original)


def runs_of(shown: ReportedFind) -> dict[Outcome, list[str]]:
    """Return the outcomes of the reduced program, or of the original if it is not reduced.

    Each outcome is mapped to the names of the runs that ended in this way.
    """
    grouped: dict[Outcome, list[str]] = {}
    for run in shown.find.smallest.runs:
        grouped.setdefault(run.outcome, []).append(run.target)
    return grouped
