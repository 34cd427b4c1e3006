"""Triage: which suspects are new bugs, which are reduced to tell that, and which are counted only.

A clear signature, of stack frames or a message, tells a bug from others: its first suspect is a
find at once, and is reduced later. Others (a difference, a hang) tell little. Their suspects are
reduced first, and the reduced program is compared with the finds that have the same signature: it
is of one of these if one of both uses no more than the other (`oracles.construct`). Those that use
what no find uses up are reduced first. The more reductions in a row have brought what is known,
the fewer suspects are asked for: every second time, every fourth, and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs

from scriptschema import wire
from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.finds import Find, Shown
from scriptschema.fuzzing.campaign.folder import Campaign, now
from scriptschema.fuzzing.campaign.fuzzer import Enough, Suspect
from scriptschema.fuzzing.campaign.reduction import Reduced
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.oracles.construct import construct_of, is_same_bug, text_of
from scriptschema.fuzzing.oracles.judging import is_clear
from scriptschema.fuzzing.oracles.known import KnownBugs
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.messages import ModuleSet

_MOST_WAITING: Final = 4
"""So many suspects of one signature wait at most."""

_RAREST: Final = 64

FindHandler = Callable[[str, Find], None]
"""Gets a find, with `find` when it is new and `reduced` when it was reduced."""


@attrs.define
class _Group:
    """The finds and the suspects of one signature, the construct left out."""

    finds: dict[frozenset[str], Find] = attrs.field(factory=dict)
    waiting: list[tuple[bool, Suspect]] = attrs.field(factory=list)
    streak: int = 0
    running: int = 0


@attrs.frozen(order=True)
class _Rank:
    """Which suspect is reduced first: one that no find explains, that costs little, and so on."""

    explained: bool = False
    costly: bool = False
    unreduced: bool = False
    streak: int = 0


def _is_costly(suspect: Suspect) -> bool:
    """Whether a test of the reduction takes long: up to a limit, or to start the target again."""
    return suspect.verdict.signature.kind in (outcome.HANG, outcome.MEMORY, outcome.CRASH)


class Triage:
    """The finds of a campaign, and the suspects that may become some. `new` counts new finds.

    `seconds` tells how long the campaign has run. Raises FileError, here and everywhere.
    """

    def __init__(
        self,
        campaign: Campaign,
        known: KnownBugs,
        versions: dict[str, str],
        seconds: Callable[[], float],
        on_find: FindHandler,
    ) -> None:
        self.campaign = campaign
        self.known = known
        self.versions = versions
        self.seconds = seconds
        self.on_find = on_find
        self.new = 0
        self.seen_known: Counter[str] = Counter()
        self.finds: dict[str, Find] = {}
        self._groups: dict[Signature, _Group] = {}
        self._orders = 0
        self._unreduced: list[tuple[Find, Suspect]] = []
        self._running: dict[int, Find] = {}
        self._changed: set[str] = set()
        for folder, find in finds.load_all(campaign.path):
            self._remember(find, folder)

    def suspect(self, suspect: Suspect) -> None:
        """Take a suspect."""
        signature = suspect.verdict.signature
        pattern = self.known.match(signature)
        if pattern is not None:
            self.seen_known[pattern] += 1
            return
        group = self._groups.setdefault(signature, _Group())
        if is_clear(signature):
            if group.finds:
                self._again(next(iter(group.finds.values())))
            else:
                find = self._add(suspect, suspect.verdict, None)
                group.finds[frozenset()] = find
                self._unreduced.append((find, suspect))
            return
        explained = self._explanation(group, suspect)
        if explained is not None:
            self._again(explained)
        if len(group.waiting) < _MOST_WAITING:
            group.waiting.append((explained is not None, suspect))
        elif explained is None:
            group.waiting = [w for w in group.waiting if not w[0]][-_MOST_WAITING + 1 :]
            group.waiting.append((False, suspect))

    def again(self, signature: Signature, count: int) -> None:
        """Count verdicts whose programs were not handed over."""
        pattern = self.known.match(signature)
        if pattern is not None:
            self.seen_known[pattern] += count
            return
        group = self._groups.get(signature)
        if group is not None and len(group.finds) == 1:
            self._again(next(iter(group.finds.values())), count)

    def enough(self) -> Enough:
        """The signatures of which no more suspects are wanted for now: they are to be counted.

        Where constructs stand beside one, suspects that use all of none of these are wanted.
        """
        self._orders += 1
        found: dict[Signature, tuple[frozenset[str], ...]] = {}
        for signature, group in self._groups.items():
            if is_clear(signature) and group.finds:
                found[signature] = ()
            elif len(group.waiting) + group.running >= _MOST_WAITING or self._orders % min(
                _RAREST, 1 << group.streak
            ):
                found[signature] = tuple(group.finds)
        return found

    @property
    def waiting(self) -> int:
        """How many suspects there are to reduce."""
        return len(self._unreduced) + sum(len(group.waiting) for group in self._groups.values())

    def next(self) -> Suspect | None:
        """The suspect that is to be reduced next; what becomes of it, `reduced` takes."""
        options: list[tuple[_Rank, Suspect]] = []
        for _, suspect in self._unreduced:
            options.append((_Rank(costly=_is_costly(suspect), unreduced=True), suspect))
        for group in self._groups.values():
            for explained, suspect in group.waiting:
                rank = _Rank(explained, _is_costly(suspect), False, group.streak + group.running)
                options.append((rank, suspect))
        if not options:
            return None
        _, suspect = min(options, key=lambda option: (option[0], len(option[1].data)))
        for number, (find, each) in enumerate(self._unreduced):
            if each is suspect:
                del self._unreduced[number]
                self._running[id(suspect)] = find
                return suspect
        group = self._groups[suspect.verdict.signature]
        group.waiting = [waiting for waiting in group.waiting if waiting[1] is not suspect]
        group.running += 1
        return suspect

    def reduced(self, suspect: Suspect, reduced: Reduced | None) -> None:
        """Take what became of a suspect that `next` gave; None if it did not show again."""
        found = self._running.pop(id(suspect), None)
        if found is not None:
            if reduced is not None:
                self._add_reduced(found, reduced)
            return
        signature = suspect.verdict.signature
        group = self._groups[signature]
        group.running -= 1
        if reduced is None:
            if signature.kind == outcome.CRASH:  # it happened, even where it does not happen again
                self._keep(group, suspect)
            return
        for construct, find in group.finds.items():
            if is_same_bug(construct, reduced.construct):
                self._again(find)
                group.streak += 1
                return
        final = attrs.evolve(signature, construct=text_of(reduced.construct))
        pattern = self.known.match(final)
        if pattern is not None:
            self.seen_known[pattern] += 1
            return
        verdict = attrs.evolve(reduced.verdict, signature=final)
        group.finds[reduced.construct] = self._add(suspect, verdict, reduced)
        group.streak = 0

    def save(self) -> None:
        """Write what has changed of finds that are there."""
        for name in self._changed:
            finds.save(self.campaign.path, self.finds[name])
        self._changed.clear()

    def give_up(self) -> None:
        """Save what was not reduced in time, if nothing else is known of its signature."""
        for group in self._groups.values():
            if group.waiting:
                self._keep(group, group.waiting[0][1])
            group.waiting.clear()
        self.save()

    def _keep(self, group: _Group, suspect: Suspect) -> None:
        """Make a find of a suspect that was not reduced, if nothing else is known of it."""
        known = self.finds.get(suspect.verdict.signature.name)
        if known is not None:
            self._again(known)
        elif not group.finds:
            self._add(suspect, suspect.verdict, None)

    def _explanation(self, group: _Group, suspect: Suspect) -> Find | None:
        """A find that uses no more than the suspect: maybe it is the same bug."""
        if not group.finds:
            return None
        construct = construct_of(wire.decode(ModuleSet, suspect.data))
        for known, find in group.finds.items():
            if known <= construct:
                return find
        return None

    def _add(self, suspect: Suspect, verdict: Verdict, reduced: Reduced | None) -> Find:
        tree = wire.decode(ModuleSet, suspect.data)
        time = now()
        name = verdict.signature.name
        find = Find(
            name=name,
            verdict=verdict,
            program=Shown(len(Index(tree)), suspect.runs),
            first_seen=time,
            last_seen=time,
            seconds=round(self.seconds(), 1),
            origin=suspect.origin,
            command=f"scriptschema reproduce {self.campaign.path / finds.FOLDER / name}",
            versions=self.versions,
            config=self.campaign.config.as_json(),
        )
        smaller = None
        if reduced is not None:
            smaller = wire.decode(ModuleSet, reduced.data)
            find.reduced = Shown(reduced.nodes, reduced.runs)
            find.reduction_tests = reduced.tests
        finds.add(self.campaign.path, find, tree, smaller)
        self.finds[name] = find
        self.new += 1
        self.on_find("find", find)
        return find

    def _add_reduced(self, find: Find, reduced: Reduced) -> None:
        """Add what a find was reduced to; a find that was given up may be another's bug."""
        group = self._groups[find.signature]
        if not is_clear(find.signature):
            for construct, other in group.finds.items():
                if is_same_bug(construct, reduced.construct):
                    self._again(other, find.count)
                    del self.finds[find.name]
                    self._changed.discard(find.name)
                    finds.remove(self.campaign.path, find)
                    return
            group.finds[reduced.construct] = find
            signature = attrs.evolve(find.signature, construct=text_of(reduced.construct))
            reduced = attrs.evolve(
                reduced, verdict=attrs.evolve(reduced.verdict, signature=signature)
            )
        find.reduced = Shown(reduced.nodes, reduced.runs)
        find.reduction_tests = reduced.tests
        find.verdict = reduced.verdict
        finds.add_reduced(self.campaign.path, find, wire.decode(ModuleSet, reduced.data))
        self.on_find("reduced", find)

    def _again(self, find: Find, count: int = 1) -> None:
        find.count += count
        find.last_seen = now()
        self._changed.add(find.name)

    def _remember(self, find: Find, folder: Path) -> None:
        """Take a find of an earlier run; one that was not reduced will be."""
        self.finds[find.name] = find
        bare = attrs.evolve(find.signature, construct="")
        group = self._groups.setdefault(bare, _Group())
        if find.reduced is not None and not is_clear(bare):
            group.finds[construct_of(finds.tree_of(folder, finds.REDUCED))] = find
            return
        if is_clear(bare):
            group.finds[frozenset()] = find
        if find.reduced is None:
            data = wire.encode(finds.tree_of(folder))
            suspect = Suspect(data, find.verdict, find.program.runs, find.origin)
            self._unreduced.append((find, suspect))
