"""Triage: decides which suspects are new bugs, and the order of reductions.

A suspect is a program whose verdict a second run confirmed (for a crash, one run is enough). It is
stored on disk immediately, so that this run or a later run can reduce it.

A clear signature (stack frames or a message) identifies a bug: its first suspect becomes a find,
and later suspects are only counted, except that a suspect with another exception message becomes a
member of the find. Several bugs may share any other signature (a difference, a
hang). Its first suspect becomes a find as well, but later suspects wait in `suspects/` until they
are reduced.

A reduced program is then compared with the finds of the same signature. The program and a find show
the same bug if the construct of one (see `oracles.construct`) is a subset of the other's. If one
shows another output and the other another ending, they must also share an operation. Programs with
the same cause (`oracles.causes`) show the same bug even if their signatures differ. A program
whose construct or signature differs from its find's becomes a member of the find, for users to
examine. So does the find's own program if a smaller program with another construct replaces it.

Reductions that an earlier run did not finish come first, then suspects that no find explains. While
reductions for a signature lead only to existing finds, workers are asked for its suspects less and
less often: in every second `Order`, then in every fourth, and so on up to every 64th.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from operator import eq
from pathlib import Path
from typing import Final

import attrs

from scriptschema.fuzzing.campaign import finds, members
from scriptschema.fuzzing.campaign.finds import Find, FindStore, Reduced, Suspect
from scriptschema.fuzzing.campaign.fuzzer import EXCEPTIONS, Enough
from scriptschema.fuzzing.oracles import differential
from scriptschema.fuzzing.oracles.causes import Causes, compared
from scriptschema.fuzzing.oracles.construct import (
    VARARGS,
    construct_of,
    contains,
    from_text,
    is_same_bug,
    operations_of,
    text_of,
)
from scriptschema.fuzzing.oracles.judging import exception_of, is_clear
from scriptschema.fuzzing.oracles.known import KnownBugs
from scriptschema.fuzzing.oracles.verdict import Signature
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.messages import ModuleSet

_MOST_WAITING: Final = 4
"""When this many suspects of a signature are waiting, no more are requested."""

_RAREST: Final = 64

_TRIES: Final = 2
"""The maximum number of attempts to reduce a suspect, in each run of the campaign, if the worker
dies each time."""


@attrs.define(eq=False)
class _Job:
    """A suspect to reduce.

    `find` is the suspect's find, or None if that is not decided yet. `explained` is a find that
    probably shows the same bug, or None. Its count includes the suspect, unless the reduction shows
    that the bugs differ. `folder` contains the suspect while it waits. `is_old` is true if an
    earlier run left the suspect.
    """

    suspect: Suspect
    find: Find | None = None
    explained: Find | None = None
    folder: Path | None = None
    tries: int = 0
    is_old: bool = False


@attrs.frozen
class _Shown:
    """The properties that decide whether two reduced programs show the same bug.

    `ends` is how its runs end if they end differently, otherwise empty.
    """

    construct: frozenset[str] = frozenset()
    ends: tuple[str, ...] = ()
    operations: frozenset[str] = attrs.field(default=frozenset(), eq=False)

    def is_alike(self, other: _Shown) -> bool:
        """Return whether programs with comparable constructs may show the same bug."""
        return self.ends == other.ends or not self.operations.isdisjoint(other.operations)


@attrs.define
class _Group:
    """The finds and suspects that share a signature, regardless of their constructs.

    `finds` maps what is compared of programs to their finds. `first` is an unreduced find and its
    program's construct. While its reduction is pending (`is_pending`), the results of other
    reductions wait in `held`.
    """

    finds: dict[_Shown, Find] = attrs.field(factory=dict)
    first: tuple[Find, frozenset[str]] | None = None
    is_pending: bool = False
    waiting: list[_Job] = attrs.field(factory=list)
    held: list[tuple[_Job, Reduced | None]] = attrs.field(factory=list)
    streak: int = 0
    running: int = 0

    def find_in(self, construct: frozenset[str]) -> Find | None:
        """Return the first find whose construct is contained in `construct`, or None."""
        for known, find in self.finds.items():
            if contains(construct, known.construct):
                return find
        if self.first is not None and contains(construct, self.first[1]):
            return self.first[0]
        return None

    def forget(self, find: Find, is_forgotten: Callable[[frozenset[str]], bool]) -> None:
        """Forget the constructs of a find for which `is_forgotten` returns true."""
        self.finds = {
            known: each
            for known, each in self.finds.items()
            if each is not find or not is_forgotten(known.construct)
        }


class Triage:
    """Decides which suspects of a campaign become finds in its `store`.

    `known` contains the known bugs, which are only counted. All methods may raise FileError.
    """

    def __init__(self, store: FindStore, known: KnownBugs) -> None:
        self.store = store
        self.known = known
        self.seen_known: Counter[str] = Counter()
        self._groups: dict[Signature, _Group] = {}
        self._orders = 0
        self._unreduced: list[_Job] = []
        self._running: dict[int, _Job] = {}
        self._causes = Causes()
        self._exceptions: dict[str, set[str]] = {}
        for find in store.by_name.values():
            self._remember(find, store.folder(find))
        for folder, find in finds.load_all(store.path, finds.SUSPECTS):
            self._take(finds.suspect_of(find, folder), folder)
        for group in self._groups.values():
            for job in group.waiting:
                job.is_old = True

    def suspect(self, suspect: Suspect) -> None:
        """Add a suspect. It is stored on disk, or only counted, before this method returns."""
        if not self._counted_as_known(suspect.verdict.signature):
            self._take(suspect)

    def again(self, signature: Signature, count: int) -> None:
        """Count verdicts whose programs were not reported as suspects.

        They count for the find whose construct the programs' construct contains. If the signature's
        only find has not been reduced yet, all of them count for it.
        """
        bare = signature.bare
        if self._counted_as_known(bare, count):
            return
        group = self._groups.get(self._believed(bare), _Group())
        find = group.find_in(from_text(signature.construct))
        if find is None and group.first is not None and not group.finds:
            find = group.first[0]
        if find is not None:
            self.store.count(find, count)

    def enough(self) -> Enough:
        """Return the signatures for which no more suspects are needed for now.

        Each signature is mapped to constructs. If it has any constructs, only programs that use all
        features of one of them are not needed.
        """
        self._orders += 1
        signatures: dict[Signature, tuple[frozenset[str], ...]] = {}
        for signature, group in self._groups.items():
            if is_clear(signature) and group.finds:
                signatures[signature] = ()
            elif len(group.waiting) + group.running >= _MOST_WAITING or self._orders % min(
                _RAREST, 1 << group.streak
            ):
                signatures[signature] = tuple({known.construct for known in group.finds})
        return signatures

    @property
    def waiting(self) -> int:
        """The number of suspects for `next`."""
        return len(self._unreduced) + sum(len(group.waiting) for group in self._groups.values())

    @property
    def unreduced(self) -> int:
        """The number of programs that the next run would reduce, if this run ended now.

        Unlike `waiting`, it includes those whose reduction is in progress or was given up.
        """
        suspects = sum(1 for _ in finds.folders_in(self.store.path, finds.SUSPECTS))
        return suspects + sum(find.is_unreduced for find in self.store.by_name.values())

    def next(self) -> Suspect | None:
        """Return the next suspect to reduce, or None if no suspect is waiting.

        After the reduction, the caller must call `reduced`, or `lost` if the worker died.
        """
        waiting = (job for group in self._groups.values() for job in group.waiting)
        job = min([*self._unreduced, *waiting], key=self._rank, default=None)
        if job is None:
            return None
        if job.find is None:
            group = self._groups[job.suspect.verdict.signature]
            group.waiting.remove(job)
            group.running += 1
        else:
            self._unreduced.remove(job)
        self._running[id(job.suspect)] = job
        return job.suspect

    def _rank(self, job: _Job) -> tuple[int, ...]:
        """Return a job's priority. The lowest rank comes first."""
        kind = job.suspect.verdict.signature.kind
        is_known, streak = False, 0
        if job.find is not None:
            # Without a clear signature, only the reduction identifies the bug.
            is_known = job.find.reduced is not None or is_clear(job.find.signature)
        else:
            group = self._groups[job.suspect.verdict.signature]
            streak = group.streak + group.running
        return (
            not job.is_old,
            job.explained is not None,
            # Each test that shows the bug reaches a limit or restarts the target.
            kind in {outcome.CRASH, *outcome.LIMITS},
            is_known,
            streak,
            len(job.suspect.data),
        )

    def reduced(self, suspect: Suspect, reduced: Reduced | None) -> None:
        """Record the result of reducing a suspect that `next` returned.

        `reduced` is None if the suspect's bug was not reproduced.
        """
        job = self._running.pop(id(suspect))
        if job.find is not None:
            self._settle(job.find, reduced)
            if reduced is not None and job.find.name in self.store.by_name:
                self._exceptions.pop(job.find.name, None)
                self._keep_exception(job.find, suspect)  # the reduced program may have another
            return
        group = self._groups[suspect.verdict.signature]
        group.running -= 1
        if group.is_pending:
            group.held.append((job, reduced))
        else:
            self._decide(group, job, reduced)

    def lost(self, suspect: Suspect) -> None:
        """Queue a suspect again after the worker that was reducing it died."""
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

    def _counted_as_known(self, signature: Signature, count: int = 1) -> bool:
        """Return whether a signature is that of a known bug. If so, count `count` programs."""
        pattern = self.known.match(signature)
        if pattern is not None:
            self.seen_known[pattern] += count
        return pattern is not None

    def _take(self, suspect: Suspect, folder: Path | None = None) -> None:
        """Store a suspect as a new find, count it for an existing find, or queue it.

        `folder` is the suspect's folder, if it has one. It is removed unless the suspect is queued.
        """
        signature = self._believed(suspect.verdict.signature)
        group = self._groups.setdefault(signature, _Group())
        if not group.finds and group.first is None:
            self._add_first(group, suspect)
            finds.remove(folder)
            return
        if is_clear(signature):
            find = next(iter(group.finds.values()))
            if not self._keep_exception(find, suspect, folder):
                finds.remove(folder)
            if folder is None:
                self.store.count(find)
            return
        explained = self._explanation(group, suspect)
        if folder is None:
            if explained is not None:
                self.store.count(explained)
                if len(group.waiting) >= _MOST_WAITING:
                    return
            folder = self._stored(suspect)
            if folder is None:
                return
        group.waiting.append(_Job(suspect, explained=explained, folder=folder))

    def _stored(self, suspect: Suspect) -> Path | None:
        """Store a suspect that waits, and return its folder, or None if it is already waiting."""
        find = self.store.find_of(suspect, suspect.verdict, apart=True)
        folder = self.store.path / finds.SUSPECTS / find.name
        if folder.exists():  # the identical program
            return None
        path, requests = self.store.path, suspect.requests
        return finds.add(path, find, suspect.tree, requests=requests, among=finds.SUSPECTS)

    def _keep_exception(self, find: Find, suspect: Suspect, folder: Path | None = None) -> bool:
        """Queue a suspect as a member of `find`, and return whether its exception's message is new.

        `folder` is the suspect's folder, if it has one.
        """
        exception = exception_of(suspect.verdict)
        if not exception:
            return False
        group = self._groups[suspect.verdict.signature]
        if find.name not in self._exceptions:
            kept = finds.load_all(self.store.folder(find), finds.MEMBERS)
            programs = [find, *(member for _, member in kept)]
            jobs = [*group.waiting, *self._running.values()]
            self._exceptions[find.name] = {
                *(exception_of(each.verdict) for each in programs),
                *(job.suspect.exception for job in jobs if job.explained is find),
            }
        known = self._exceptions[find.name]
        if exception in known or len(known) >= EXCEPTIONS:
            return False
        folder = folder or self._stored(suspect)
        if folder is None:
            return False
        known.add(exception)
        suspect = attrs.evolve(suspect, exception=exception)
        group.waiting.append(_Job(suspect, explained=find, folder=folder))
        return True

    def _believed(self, signature: Signature) -> Signature:
        """Return the signature for which a verdict is counted.

        A verdict "seen once" is counted for the signature that was seen, if that is clear and
        already has a find: the bug then occurs only now and then.
        """
        seen = signature.seen
        return seen if is_clear(seen) and self._groups.get(seen, _Group()).finds else signature

    def _add_first(self, group: _Group, suspect: Suspect) -> None:
        """Turn the first suspect with a given signature into a find, and queue its reduction.

        If the same bug has a find marked as seen once, the new find replaces it.
        """
        find = self.store.add(suspect, suspect.verdict)
        if is_clear(find.signature):
            group.finds[_Shown()] = find
            once = self._groups.get(suspect.seen_once().verdict.signature, _Group())
            for earlier in [*once.finds.values()]:
                self.store.count(find, earlier.count)
                self._drop(once, earlier)
        else:
            group.first = find, construct_of(suspect.tree, suspect.style)
            group.is_pending = True
        if find.signature.kind != outcome.ONCE:
            self._unreduced.append(_Job(suspect, find))

    def _decide(self, group: _Group, job: _Job, reduced: Reduced | None) -> None:
        """Assign a reduced suspect to an existing or a new find."""
        suspect = job.suspect
        if reduced is None:
            if job.explained is None and suspect.verdict.signature.kind in outcome.BROKEN:
                self._take(suspect.seen_once())  # crashes count even if not reproduced
            finds.remove(job.folder)
            return
        if suspect.exception and job.explained and job.explained.name in self.store.by_name:
            members.add(self.store, job.explained, suspect, reduced.verdict, reduced)
            finds.remove(job.folder)
            return
        bare = suspect.verdict.signature
        matching = self._known(group, bare, reduced)
        signature = attrs.evolve(bare, construct=text_of(reduced.construct))
        verdict = attrs.evolve(reduced.verdict, signature=signature)
        if matching is not None:
            group.streak += 1
            if job.explained is not matching:
                self.store.count(matching)
            smaller = matching.reduced is not None and reduced.nodes < matching.reduced.nodes
            own = matching.signature.bare == bare
            if smaller and own and _is_alike(group, matching, _shown_by(bare, reduced)):
                if text_of(reduced.construct) != matching.signature.construct:
                    members.keep(self.store, matching)
                self._add_reduced(group, matching, reduced)
            else:
                members.add(self.store, matching, suspect, verdict, reduced)
                self._learn(group, matching, bare, reduced)
        elif not self._counted_as_known(signature):
            find = self.store.add(suspect, verdict, reduced)
            self._learn(group, find, bare, reduced)
            group.streak = 0
        if job.explained is not None and matching is not job.explained:
            self.store.count(job.explained, -1)
        finds.remove(job.folder)

    def _settle(self, find: Find, reduced: Reduced | None) -> None:
        """Record a find's reduction. `reduced` is None if the bug was not reproduced."""
        bare = find.signature.bare
        group = self._groups[bare]
        if reduced is not None:
            self._add_reduced(group, find, reduced)
        elif bare.kind in outcome.LIMITS and find.reduced is None:  # the machine was busy
            self._drop(group, find)
        self._release(find)

    def _release(self, find: Find) -> None:
        """Process the reductions that waited for the reduction of `find`."""
        group = self._groups[find.signature.bare]
        group.is_pending = False
        held, group.held = group.held, []
        for job, reduced in held:
            self._decide(group, job, reduced)
        if not group.finds and group.first is None and group.waiting:
            job = group.waiting.pop(0)
            self._add_first(group, job.suspect)
            finds.remove(job.folder)

    def _explanation(self, group: _Group, suspect: Suspect) -> Find | None:
        """Return a find that probably has the suspect's bug, by construct or cause."""
        tree = suspect.tree
        construct = construct_of(tree, suspect.style)
        operations = operations_of(tree) | construct & {VARARGS}
        known = group.find_in(construct)
        return known or self._of_cause(suspect.verdict.signature, operations, is_smallest=False)

    def _of_cause(
        self, bare: Signature, operations: frozenset[str], *, is_smallest: bool
    ) -> Find | None:
        """Return the find whose bug has the same cause as a program's bug, or None.

        `bare` is the program's signature without a construct. The find's signature may differ.
        """
        name = self._causes.find_of(bare, operations, is_smallest=is_smallest)
        return self.store.by_name.get(name) if name is not None else None

    def _known(
        self, group: _Group, bare: Signature, reduced: Reduced, other_than: Find | None = None
    ) -> Find | None:
        """Return a find, except `other_than`, whose bug a reduced program shows, or None."""
        shown = _shown_by(bare, reduced)
        for known, find in group.finds.items():
            if find is other_than:
                continue
            if text_of(known.construct) == find.signature.construct:
                same = is_same_bug(known.construct, reduced.construct)
            else:  # of a member, part of which may show another bug
                same = contains(reduced.construct, known.construct)
            if same and known.is_alike(shown):
                return find
        other = self._of_cause(bare, reduced.operations, is_smallest=reduced.is_smallest)
        return other if other is not other_than else None

    def _learn(self, group: _Group, find: Find, bare: Signature, reduced: Reduced) -> None:
        group.finds.setdefault(_shown_by(bare, reduced), find)
        if reduced.is_smallest:
            self._causes.add(find.name, bare, reduced.operations)

    def _add_reduced(self, group: _Group, find: Find, reduced: Reduced) -> None:
        """Store a find's reduction, or drop the find as a duplicate or a known bug."""
        if not is_clear(find.signature):
            bare = find.signature.bare
            signature = attrs.evolve(bare, construct=text_of(reduced.construct))
            reduced = attrs.evolve(
                reduced, verdict=attrs.evolve(reduced.verdict, signature=signature)
            )
            other = self._known(group, bare, reduced, other_than=find)
            if other is not None:
                self._forget(group, find)
                moved = members.merge(self.store, find, other, reduced)
                self._learn(group, other, bare, reduced)
                for path, member in moved:
                    self._recall(member, path, other)
                return
            if self._counted_as_known(signature, find.count):
                self._drop(group, find)
                return
            group.forget(find, partial(is_same_bug, reduced.construct))
            group.first = None
            self._causes.drop(find.name)
            self._learn(group, find, bare, reduced)
            self._compare_members(find, reduced)
        self.store.put_reduced(find, reduced)

    def _compare_members(self, find: Find, reduced: Reduced) -> None:
        """Turn members that do not fit their find's new, smaller program into suspects again.

        Such a member shares no operation with the program, and its construct or the way in which
        its runs end does not fit. It was assigned to the find because of code that the bug does not
        need.
        """
        released: list[tuple[Path, Suspect]] = []
        for path, member in [*finds.load_all(self.store.folder(find), finds.MEMBERS)]:
            tree = finds.tree_of(path, finds.REDUCED)
            construct = from_text(member.signature.construct)
            operations = compared(member.signature, _operations_of(member, tree))
            shared = compared(member.signature, reduced.operations) & operations
            ends = _ends_of(member.signature, member.smallest.runs)
            same_ends = ends == _ends_of(find.signature, reduced.runs)
            if shared or (same_ends and is_same_bug(construct, reduced.construct)):
                self._recall(member, path, find)
                continue
            suspect = finds.suspect_of(member, path)
            self._groups[suspect.verdict.signature].forget(find, partial(eq, construct))
            self.store.count(find, -member.count)
            released.append((path, suspect))
        for path, suspect in released:  # after the constructs of all these members are forgotten
            self._take(suspect)
            finds.remove(path)

    def _drop(self, group: _Group, find: Find) -> None:
        self._forget(group, find)
        self.store.drop(find)

    def _forget(self, group: _Group, find: Find) -> None:
        """Stop comparing programs with a find, which the caller then removes."""
        if group.first is not None and group.first[0] is find:
            group.first = None
        self._causes.drop(find.name)
        for other in self._groups.values():  # its members may have other signatures
            other.forget(find, lambda _: True)

    def _remember(self, find: Find, folder: Path) -> None:
        """Add an earlier run's find to its group, and queue an incomplete reduction."""
        bare = find.signature.bare
        group = self._groups.setdefault(bare, _Group())
        if is_clear(bare):
            group.finds[_Shown()] = find
        elif find.reduced is not None:
            self._recall(find, folder, find)
            for path, member in finds.load_all(folder, finds.MEMBERS):
                self._recall(member, path, find)
        else:
            group.first = find, construct_of(finds.tree_of(folder), find.program.style)
            group.is_pending = True
        if find.is_unreduced:
            self._unreduced.append(_Job(finds.suspect_of(find, folder), find, is_old=True))

    def _recall(self, stored: Find, folder: Path, find: Find) -> None:
        """Compare later programs with `stored`, which is `find` or one of its members."""
        bare = stored.signature.bare
        tree = finds.tree_of(folder, finds.REDUCED)
        construct = from_text(stored.signature.construct)
        operations = _operations_of(stored, tree)
        shown = _Shown(construct, _ends_of(bare, stored.smallest.runs), operations)
        self._groups.setdefault(bare, _Group()).finds.setdefault(shown, find)
        if stored.is_smallest:
            self._causes.add(find.name, bare, operations)


def _operations_of(find: Find, tree: ModuleSet) -> frozenset[str]:
    return operations_of(tree) if find.operations is None else frozenset(find.operations)


def _ends_of(signature: Signature, runs: Sequence[Run]) -> tuple[str, ...]:
    """Return how the first run and all runs end, or () if they differ only in their output."""
    kinds = [run.outcome.kind for run in runs]
    if signature.kind != differential.KIND or len({*kinds}) < 2:
        return ()
    return (kinds[0], *sorted({*kinds}))


def _shown_by(bare: Signature, reduced: Reduced) -> _Shown:
    return _Shown(reduced.construct, _ends_of(bare, reduced.runs), reduced.operations)


def _is_alike(group: _Group, find: Find, shown: _Shown) -> bool:
    """Return whether the constructs of a program and of `find`'s own program are comparable.

    Their runs must also end alike, or they must share an operation.
    """
    return any(
        each is find
        and find.signature.construct == text_of(known.construct)
        and is_same_bug(known.construct, shown.construct)
        and known.is_alike(shown)
        for known, each in group.finds.items()
    )
