"""Triage: decides which suspects are new bugs, and the order of reductions.

A suspect is a program whose verdict a second run confirmed. It is stored on disk immediately, so it
survives the campaign's process; this run or a later one reduces it.

A clear signature (stack frames or a message) identifies a bug: its first suspect becomes a find,
and later ones are counted. Other signatures (a difference, a hang) may be shared by several bugs.
Their first suspect becomes a find as well; later ones wait on disk (`suspects/`) until they are
reduced. The reduced program is compared with the finds of the same signature, and is the same bug
if the construct of one is a subset of the other's (`oracles.construct`). Suspects that no find
explains are reduced first. The more reductions in a row led to known bugs, the fewer suspects are
requested: every second time, every fourth, and so on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.finds import Find, FindStore, Reduced, Suspect
from scriptschema.fuzzing.campaign.fuzzer import Enough
from scriptschema.fuzzing.oracles.construct import construct_of, is_same_bug, text_of
from scriptschema.fuzzing.oracles.judging import is_clear
from scriptschema.fuzzing.oracles.known import KnownBugs
from scriptschema.fuzzing.oracles.verdict import Signature
from scriptschema.fuzzing.targets import outcome
from scriptschema.messages import ModuleSet

_MOST_WAITING: Final = 4
"""The number of waiting suspects of one signature at which no more are requested."""

_RAREST: Final = 64

_TRIES: Final = 2
"""The number of attempts at a reduction per run of the campaign if its worker dies."""


@attrs.define(eq=False)
class _Job:
    """A suspect to reduce; `find` is its find, or None if that is not decided.

    `explained` is a find with possibly the same bug, which counts it; `folder` is where the suspect
    is stored while it waits.
    """

    suspect: Suspect
    find: Find | None = None
    explained: Find | None = None
    folder: Path | None = None
    tries: int = 0


@attrs.define
class _Group:
    """The finds and the suspects of one signature without its construct.

    `first` is a find that is not reduced, with the construct of its program; while its reduction
    is pending, the reductions of other suspects are `held` back.
    """

    finds: dict[frozenset[str], Find] = attrs.field(factory=dict)
    first: tuple[Find, frozenset[str]] | None = None
    is_pending: bool = False
    waiting: list[_Job] = attrs.field(factory=list)
    held: list[tuple[_Job, Reduced | None]] = attrs.field(factory=list)
    streak: int = 0
    running: int = 0

    def known(self) -> Iterator[tuple[frozenset[str], Find]]:
        """Yield all finds with their constructs."""
        yield from self.finds.items()
        if self.first is not None:
            yield self.first[1], self.first[0]


@attrs.frozen(order=True)
class _Rank:
    """The priority of a reduction, lowest first: unexplained and cheap suspects come first."""

    explained: bool = False
    costly: bool = False
    is_known: bool = False
    streak: int = 0


def _is_costly(suspect: Suspect) -> bool:
    """Return whether reduction tests are slow: they reach a limit or restart the target."""
    return suspect.verdict.signature.kind in (outcome.HANG, outcome.MEMORY, outcome.CRASH)


class Triage:
    """The suspects of a campaign, and the decisions about them in its `store` of finds.

    All methods may raise FileError.
    """

    def __init__(self, store: FindStore, known: KnownBugs) -> None:
        self.store = store
        self.known = known
        self.seen_known: Counter[str] = Counter()
        self._groups: dict[Signature, _Group] = {}
        self._orders = 0
        self._unreduced: list[_Job] = []
        self._running: dict[int, _Job] = {}
        for find in store.by_name.values():
            self._remember(find, store.folder(find))
        for folder, find in finds.load_all(store.path, finds.SUSPECTS):
            self._take(finds.suspect_of(find, folder), folder)

    def suspect(self, suspect: Suspect) -> None:
        """Add a suspect; when this returns, it is stored on disk or counted as known."""
        pattern = self.known.match(suspect.verdict.signature)
        if pattern is not None:
            self.seen_known[pattern] += 1
            return
        self._take(suspect)

    def again(self, signature: Signature, count: int) -> None:
        """Count verdicts whose programs were not reported as suspects."""
        pattern = self.known.match(signature)
        if pattern is not None:
            self.seen_known[pattern] += count
            return
        group = self._groups.get(signature)
        if group is not None:
            known = [find for _, find in group.known()]
            if len(known) == 1:
                self.store.count(known[0], count)

    def enough(self) -> Enough:
        """Return the signatures whose further verdicts are only to be counted for now.

        For a signature with constructs, suspects that contain none of them in full are still
        wanted.
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
        """The number of suspects to reduce."""
        return len(self._unreduced) + sum(len(group.waiting) for group in self._groups.values())

    def next(self) -> Suspect | None:
        """Return the next suspect to reduce, or None; pass the result to `reduced`."""
        options: list[tuple[_Rank, _Job]] = []
        for job in self._unreduced:
            # Without a clear signature, only the reduction identifies the bug.
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
        """Handle the result for a suspect from `next`; None if it was not reproduced."""
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
        """Requeue a suspect whose worker died during its reduction."""
        job = self._running.pop(id(suspect))
        job.tries += 1
        if job.find is None:
            self._groups[suspect.verdict.signature].running -= 1
        if job.tries >= _TRIES:  # not reduced until the next run
            if job.find is not None:
                self._release(job.find)
        elif job.find is None:
            self._groups[suspect.verdict.signature].waiting.append(job)
        else:
            self._unreduced.append(job)

    def _take(self, suspect: Suspect, folder: Path | None = None) -> None:
        """Make a suspect a find, count it, or queue it in its `folder`, by default a new folder."""
        signature = suspect.verdict.signature
        group = self._groups.setdefault(signature, _Group())
        if not group.finds and group.first is None:
            self._begin(group, suspect)
            finds.remove(folder)
            return
        if is_clear(signature):
            self.store.count(next(iter(group.finds.values())))
            finds.remove(folder)
            return
        explained = self._explanation(group, suspect)
        if folder is None:
            if explained is not None:
                self.store.count(explained)
                if len(group.waiting) >= _MOST_WAITING:
                    return
            find = self.store.find_of(suspect, suspect.verdict, apart=True)
            folder = self.store.path / finds.SUSPECTS / find.name
            if folder.exists():  # the identical program
                return
            tree, requests = encoding.decode(ModuleSet, suspect.data), suspect.requests
            finds.add(self.store.path, find, tree, requests=requests, among=finds.SUSPECTS)
        group.waiting.append(_Job(suspect, explained=explained, folder=folder))

    def _begin(self, group: _Group, suspect: Suspect) -> None:
        """Make the first suspect of a signature a find, to be reduced later."""
        find = self.store.add(suspect, suspect.verdict)
        if is_clear(find.signature):
            group.finds[frozenset()] = find
        else:
            group.first = find, construct_of(encoding.decode(ModuleSet, suspect.data))
            group.is_pending = True
        if find.signature.kind != outcome.ONCE:
            self._unreduced.append(_Job(suspect, find))

    def _decide(self, group: _Group, job: _Job, reduced: Reduced | None) -> None:
        """Assign a suspect to an existing or a new find after its reduction."""
        suspect = job.suspect
        if reduced is None:
            if job.explained is None and suspect.verdict.signature.kind in outcome.BROKEN:
                self._take(suspect.seen_once())  # it did happen once
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
                self.store.count(found)
            if found.reduced is not None and reduced.nodes < found.reduced.nodes:
                self._add_reduced(group, found, reduced)
        elif pattern is not None:
            self.seen_known[pattern] += 1
        else:
            verdict = attrs.evolve(reduced.verdict, signature=signature)
            group.finds[reduced.construct] = self.store.add(suspect, verdict, reduced)
            group.streak = 0
        if job.explained is not None and found is not job.explained:
            self.store.count(job.explained, -1)
        finds.remove(job.folder)

    def _settle(self, find: Find, reduced: Reduced | None) -> None:
        """Handle the reduction of a find; None if it was not reproduced."""
        bare = attrs.evolve(find.signature, construct="")
        group = self._groups[bare]
        if reduced is not None:
            self._add_reduced(group, find, reduced)
        elif bare.kind in outcome.LIMITS and find.reduced is None:  # the machine was busy
            self._drop(group, find)
        self._release(find)

    def _release(self, find: Find) -> None:
        """Handle the reductions that were held back while a find's own was pending."""
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
        """Return a find whose construct the suspect contains, so that the bug may be the same."""
        construct = construct_of(encoding.decode(ModuleSet, suspect.data))
        return next((find for known, find in group.known() if known <= construct), None)

    def _add_reduced(self, group: _Group, find: Find, reduced: Reduced) -> None:
        """Add the reduction of a find; one of an earlier run may turn out to be a duplicate."""
        if not is_clear(find.signature):
            for construct, other in group.finds.items():
                if other is not find and is_same_bug(construct, reduced.construct):
                    self.store.count(other, find.count)
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
        self.store.put_reduced(find, reduced)

    def _drop(self, group: _Group, find: Find) -> None:
        """Remove a find that is a duplicate, a known bug, or not a bug."""
        group.first = None
        group.finds = {known: each for known, each in group.finds.items() if each is not find}
        self.store.drop(find)

    def _remember(self, find: Find, folder: Path) -> None:
        """Group a find of an earlier run; if its reduction was not completed, queue it."""
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
            self._unreduced.append(_Job(finds.suspect_of(find, folder), find))
