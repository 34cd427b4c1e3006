"""Triage: which suspects are new bugs, and what is reduced when.

A suspect is a program whose verdict a second run confirmed. From then on it is on disk, whatever
happens to the campaign; reduction makes it smaller later, in this run or in another.

A clear signature, of stack frames or a message, tells a bug from others: its first suspect is a
find, and the others are counted. Others (a difference, a hang) tell little. Their first suspect is
a find as well; those that follow wait on disk (`suspects/`) until they are reduced, and the reduced
program is compared with the finds that have the same signature: it is of one of these if one of
both uses no more than the other (`oracles.construct`). Those that use what no find uses up are
reduced first. The more reductions in a row have brought what is known, the fewer suspects are asked
for: every second time, every fourth, and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import attrs

from scriptschema import wire
from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.finds import Find, Shown
from scriptschema.fuzzing.campaign.folder import Campaign, now
from scriptschema.fuzzing.campaign.fuzzer import Enough, Suspect
from scriptschema.fuzzing.campaign.reduction import Reduced
from scriptschema.fuzzing.corpora.folder import name_of
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.oracles.construct import construct_of, is_same_bug, text_of
from scriptschema.fuzzing.oracles.judging import is_clear
from scriptschema.fuzzing.oracles.known import KnownBugs
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.messages import ModuleSet

_MOST_WAITING: Final = 4
"""Where so many suspects of one signature wait, no more are asked for."""

_RAREST: Final = 64

_TRIES: Final = 2
"""So often a reduction is tried in a run of the campaign if its worker dies of it."""

FindHandler = Callable[[str, Find], None]
"""Gets a find, with `find` when it is new, `reduced` when it was reduced, and `retracted` when it
turned out to be another's or a known bug, or a hang that does not come again."""


@attrs.define(eq=False)
class _Job:
    """A suspect that is to be reduced, of `find`, or of none yet.

    `explained` is a find that it may be of, in which it is counted; `folder` where it waits.
    """

    suspect: Suspect
    find: Find | None = None
    explained: Find | None = None
    folder: Path | None = None
    tries: int = 0


@attrs.define
class _Group:
    """The finds and the suspects of one signature, the construct left out.

    `first` is a find that is not reduced, and what its program uses; while it may be, what others
    were reduced to is `held` until one knows what it is.
    """

    finds: dict[frozenset[str], Find] = attrs.field(factory=dict)
    first: tuple[Find, frozenset[str]] | None = None
    is_pending: bool = False
    waiting: list[_Job] = attrs.field(factory=list)
    held: list[tuple[_Job, Reduced | None]] = attrs.field(factory=list)
    streak: int = 0
    running: int = 0

    def known(self) -> Iterator[tuple[frozenset[str], Find]]:
        """All finds, and what each uses."""
        yield from self.finds.items()
        if self.first is not None:
            yield self.first[1], self.first[0]


@attrs.frozen(order=True)
class _Rank:
    """Which suspect is reduced first: one that no find explains, that costs little, and so on."""

    explained: bool = False
    costly: bool = False
    is_known: bool = False
    streak: int = 0


def _is_costly(suspect: Suspect) -> bool:
    """Whether a test of the reduction takes long: up to a limit, or to start the target again."""
    return suspect.verdict.signature.kind in (outcome.HANG, outcome.MEMORY, outcome.CRASH)


class Triage:
    """The finds of a campaign, and the suspects that may become some. `new` are the new finds.

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
        self.new: list[Find] = []
        self.seen_known: Counter[str] = Counter()
        self.finds: dict[str, Find] = {}
        self._groups: dict[Signature, _Group] = {}
        self._orders = 0
        self._unreduced: list[_Job] = []
        self._running: dict[int, _Job] = {}
        self._changed: set[str] = set()
        for folder, find in finds.load_all(campaign.path):
            self._remember(find, folder)
        for folder, find in finds.load_all(campaign.path, finds.SUSPECTS):
            self._take(self._suspect_of(find, folder), folder)

    def suspect(self, suspect: Suspect) -> None:
        """Take a suspect: it is on disk, or known, when this returns."""
        pattern = self.known.match(suspect.verdict.signature)
        if pattern is not None:
            self.seen_known[pattern] += 1
            return
        self._take(suspect)

    def again(self, signature: Signature, count: int) -> None:
        """Count verdicts whose programs were not handed over."""
        pattern = self.known.match(signature)
        if pattern is not None:
            self.seen_known[pattern] += count
            return
        group = self._groups.get(signature)
        if group is not None:
            known = [find for _, find in group.known()]
            if len(known) == 1:
                self._again(known[0], count)

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
        options: list[tuple[_Rank, _Job]] = []
        for job in self._unreduced:
            # What the bug is, only the reduction tells if the signature does not.
            is_known = job.find is not None and (job.find.reduced or is_clear(job.find.signature))
            options.append((_Rank(False, _is_costly(job.suspect), bool(is_known)), job))
        for group in self._groups.values():
            for job in group.waiting:
                costly = _is_costly(job.suspect)
                rank = _Rank(job.explained is not None, costly, False, group.streak + group.running)
                options.append((rank, job))
        if not options:
            return None
        _, job = min(options, key=lambda option: (option[0], len(option[1].suspect.data)))
        if job.find is None:
            group = self._groups[job.suspect.verdict.signature]
            group.waiting.remove(job)
            group.running += 1
        else:
            self._unreduced.remove(job)
        self._running[id(job.suspect)] = job
        return job.suspect

    def reduced(self, suspect: Suspect, reduced: Reduced | None) -> None:
        """Take what became of a suspect that `next` gave; None if it did not show again."""
        job = self._running.pop(id(suspect))
        if job.find is not None:
            self._settle(job.find, reduced)
            return
        group = self._groups[suspect.verdict.signature]
        group.running -= 1
        if group.is_pending:
            group.held.append((job, reduced))
        else:
            self._decide(group, job, reduced)

    def lost(self, suspect: Suspect) -> None:
        """Take back a suspect whose reduction ended with its worker."""
        job = self._running.pop(id(suspect))
        job.tries += 1
        if job.find is None:
            self._groups[suspect.verdict.signature].running -= 1
        if job.tries >= _TRIES:  # it stays as it is, until the next run
            if job.find is not None:
                self._release(job.find)
        elif job.find is None:
            self._groups[suspect.verdict.signature].waiting.append(job)
        else:
            self._unreduced.append(job)

    def save(self) -> None:
        """Write what has changed of finds that are there."""
        for name in self._changed:
            finds.save(self.campaign.path / finds.FOLDER / name, self.finds[name])
        self._changed.clear()

    def _take(self, suspect: Suspect, folder: Path | None = None) -> None:
        """Make a find of a suspect, or count it, or have it wait, in the `folder` that it has."""
        signature = suspect.verdict.signature
        group = self._groups.setdefault(signature, _Group())
        if not group.finds and group.first is None:
            self._begin(group, suspect)
            finds.remove(folder)
            return
        if is_clear(signature):
            self._again(next(iter(group.finds.values())))
            finds.remove(folder)
            return
        explained = self._explanation(group, suspect)
        if folder is None:
            if explained is not None:
                self._again(explained)
                if len(group.waiting) >= _MOST_WAITING:
                    return
            find = self._find_of(suspect, suspect.verdict)
            find.name = f"{find.name}-{name_of(suspect.data)[:8]}"
            folder = self.campaign.path / finds.SUSPECTS / find.name
            if folder.exists():  # the very same program
                return
            tree, requests = wire.decode(ModuleSet, suspect.data), suspect.requests
            finds.add(self.campaign.path, find, tree, requests=requests, among=finds.SUSPECTS)
        group.waiting.append(_Job(suspect, explained=explained, folder=folder))

    def _begin(self, group: _Group, suspect: Suspect) -> None:
        """Make a find of the first suspect of a signature, which is reduced later."""
        find = self._add(suspect, suspect.verdict, None)
        if is_clear(find.signature):
            group.finds[frozenset()] = find
        else:
            group.first = find, construct_of(wire.decode(ModuleSet, suspect.data))
            group.is_pending = True
        if find.signature.kind != outcome.ONCE:
            self._unreduced.append(_Job(suspect, find))

    def _decide(self, group: _Group, job: _Job, reduced: Reduced | None) -> None:
        """Tell which find a suspect is of, now that it was reduced; maybe of a new one."""
        suspect = job.suspect
        if reduced is None:
            if job.explained is None and suspect.verdict.signature.kind in outcome.BROKEN:
                self._take(suspect.seen_once())  # it happened, even if it does not happen again
            finds.remove(job.folder)
            return
        found = next(
            (f for known, f in group.finds.items() if is_same_bug(known, reduced.construct)), None
        )
        signature = attrs.evolve(suspect.verdict.signature, construct=text_of(reduced.construct))
        pattern = self.known.match(signature)
        if found is not None:
            group.streak += 1
            if job.explained is not found:
                self._again(found)
            if found.reduced is not None and reduced.nodes < found.reduced.nodes:
                self._add_reduced(group, found, reduced)
        elif pattern is not None:
            self.seen_known[pattern] += 1
        else:
            verdict = attrs.evolve(reduced.verdict, signature=signature)
            group.finds[reduced.construct] = self._add(suspect, verdict, reduced)
            group.streak = 0
        if job.explained is not None and found is not job.explained:
            self._again(job.explained, -1)
        finds.remove(job.folder)

    def _settle(self, find: Find, reduced: Reduced | None) -> None:
        """Take what a find was reduced to, or that it does not show again."""
        bare = attrs.evolve(find.signature, construct="")
        group = self._groups[bare]
        if reduced is not None:
            self._add_reduced(group, find, reduced)
        elif bare.kind in outcome.LIMITS and find.reduced is None:  # the machine was busy
            self._drop(group, find)
        self._release(find)

    def _release(self, find: Find) -> None:
        """Go on with what waited until one knew what a find is."""
        group = self._groups[attrs.evolve(find.signature, construct="")]
        group.is_pending = False
        held, group.held = group.held, []
        for job, reduced in held:
            self._decide(group, job, reduced)
        if not group.finds and group.first is None and group.waiting:
            job = group.waiting.pop(0)
            self._begin(group, job.suspect)
            finds.remove(job.folder)

    def _explanation(self, group: _Group, suspect: Suspect) -> Find | None:
        """A find that uses no more than the suspect: maybe it is the same bug."""
        construct = construct_of(wire.decode(ModuleSet, suspect.data))
        return next((find for known, find in group.known() if known <= construct), None)

    def _find_of(self, suspect: Suspect, verdict: Verdict) -> Find:
        time = now()
        name = verdict.signature.name
        return Find(
            name=name,
            verdict=verdict,
            program=Shown(len(Index(wire.decode(ModuleSet, suspect.data))), suspect.runs),
            first_seen=time,
            last_seen=time,
            seconds=round(self.seconds(), 1),
            origin=suspect.origin,
            command=f"scriptschema reproduce {self.campaign.path / finds.FOLDER / name}",
            versions=self.versions,
            config=self.campaign.config.as_json(),
        )

    def _add(self, suspect: Suspect, verdict: Verdict, reduced: Reduced | None) -> Find:
        tree = wire.decode(ModuleSet, suspect.data)
        find = self._find_of(suspect, verdict)
        smaller = None
        if reduced is not None:
            smaller = wire.decode(ModuleSet, reduced.data)
            reduced.put_into(find)
        elif find.signature.kind == outcome.ONCE:
            find.command += " --replay"
        requests = suspect.requests if reduced is None else ()
        finds.add(self.campaign.path, find, tree, smaller, requests=requests)
        self.finds[find.name] = find
        self.new.append(find)
        self.on_find("find", find)
        return find

    def _add_reduced(self, group: _Group, find: Find, reduced: Reduced) -> None:
        """Add what a find was reduced to; one of an earlier run may be another's bug."""
        if not is_clear(find.signature):
            for construct, other in group.finds.items():
                if other is not find and is_same_bug(construct, reduced.construct):
                    self._again(other, find.count)
                    self._drop(group, find)
                    return
            signature = attrs.evolve(find.signature, construct=text_of(reduced.construct))
            pattern = self.known.match(signature)
            if pattern is not None:
                self.seen_known[pattern] += find.count
                self._drop(group, find)
                return
            group.finds = {known: each for known, each in group.finds.items() if each is not find}
            group.finds[reduced.construct] = find
            group.first = None
            reduced = attrs.evolve(
                reduced, verdict=attrs.evolve(reduced.verdict, signature=signature)
            )
        reduced.put_into(find)
        find.verdict = reduced.verdict
        folder = self.campaign.path / finds.FOLDER / find.name
        finds.add_reduced(folder, find, wire.decode(ModuleSet, reduced.data))
        self.on_find("reduced", find)

    def _drop(self, group: _Group, find: Find) -> None:
        """Remove a find that is another's bug, a known one, or none."""
        group.first = None
        group.finds = {known: each for known, each in group.finds.items() if each is not find}
        del self.finds[find.name]
        self._changed.discard(find.name)
        self.new = [each for each in self.new if each is not find]
        finds.remove(self.campaign.path / finds.FOLDER / find.name)
        self.on_find("retracted", find)

    def _again(self, find: Find, count: int = 1) -> None:
        if find.name not in self.finds:
            return  # it was another's bug, or none
        find.count += count
        find.last_seen = now()
        self._changed.add(find.name)

    def _suspect_of(self, find: Find, folder: Path) -> Suspect:
        """The suspect that a folder was made of, as small as it has become."""
        stem = finds.PROGRAM if find.reduced is None else finds.REDUCED
        shown = find.reduced or find.program
        verdict = attrs.evolve(find.verdict, signature=attrs.evolve(find.signature, construct=""))
        data = wire.encode(finds.tree_of(folder, stem))
        return Suspect(data, verdict, shown.runs, find.origin, finds.requests_of(folder))

    def _remember(self, find: Find, folder: Path) -> None:
        """Take a find of an earlier run; one that was not reduced to the end will be."""
        self.finds[find.name] = find
        bare = attrs.evolve(find.signature, construct="")
        group = self._groups.setdefault(bare, _Group())
        if is_clear(bare):
            group.finds[frozenset()] = find
        elif find.reduced is not None:
            group.finds[construct_of(finds.tree_of(folder, finds.REDUCED))] = find
        else:
            group.first = find, construct_of(finds.tree_of(folder))
            group.is_pending = True
        if not (find.reduced and find.is_smallest) and bare.kind != outcome.ONCE:
            self._unreduced.append(_Job(self._suspect_of(find, folder), find))
