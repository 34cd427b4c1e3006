"""The finds of a running campaign: each stands in its folder on disk as soon as it is made.

    store = FindStore(campaign, versions, seconds, on_find)
    find = store.add(suspect, verdict)       a new find
    store.put_reduced(find, reduced)         its program is smaller now
    store.count(find)                        it was seen again
    store.drop(find)                         it was a duplicate, a known bug, or none

Which suspects become finds is decided in `triage.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.finds import Find, Shown
from scriptschema.fuzzing.campaign.folder import Campaign, now
from scriptschema.fuzzing.campaign.fuzzer import Suspect
from scriptschema.fuzzing.campaign.reduction import Reduced
from scriptschema.fuzzing.campaign.writing import size_of
from scriptschema.fuzzing.oracles.verdict import Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.messages import ModuleSet

FindHandler = Callable[[str, Find], None]
"""Called with a find and `find` if it is new, `reduced` once it is reduced, or `retracted` if it
turned out to be a duplicate, a known bug, or a hang that cannot be reproduced."""


class FindStore:
    """The finds by name; `new` are those of this run.

    `versions` are those of the targets; `seconds` returns how long the campaign has run. Methods
    may raise FileError.
    """

    def __init__(
        self,
        campaign: Campaign,
        versions: dict[str, str],
        seconds: Callable[[], float],
        on_find: FindHandler,
    ) -> None:
        self.path = campaign.path
        self.new: list[Find] = []
        self._config = campaign.config
        self._versions = versions
        self._seconds = seconds
        self._on_find = on_find
        self._changed: set[str] = set()
        self.by_name = {find.name: find for _, find in finds.load_all(self.path)}

    def __len__(self) -> int:
        """How many finds the campaign has."""
        return len(self.by_name)

    def folder(self, find: Find) -> Path:
        """Return the folder of a find."""
        return self.path / finds.FOLDER / find.name

    def find_of(self, suspect: Suspect, verdict: Verdict) -> Find:
        """Return a find of a suspect's program, which is not added yet."""
        time = now()
        name = verdict.signature.name
        return Find(
            name=name,
            verdict=verdict,
            program=Shown(
                size_of(encoding.decode(ModuleSet, suspect.data), suspect.style),
                suspect.runs,
                suspect.style,
            ),
            first_seen=time,
            last_seen=time,
            seconds=round(self._seconds(), 1),
            origin=suspect.origin,
            command=f"scriptschema reproduce {self.path / finds.FOLDER / name}",
            versions=self._versions,
            config=self._config.as_json(),
        )

    def add(self, suspect: Suspect, verdict: Verdict, reduced: Reduced | None = None) -> Find:
        """Add a find of a suspect, with its reduction if there is one; return it."""
        tree = encoding.decode(ModuleSet, suspect.data)
        find = self.find_of(suspect, verdict)
        smaller = None
        if reduced is not None:
            smaller = encoding.decode(ModuleSet, reduced.data)
            reduced.put_into(find)
        elif find.signature.kind == outcome.ONCE:
            find.command += " --replay"
        requests = suspect.requests if reduced is None else ()
        finds.add(self.path, find, tree, smaller, requests=requests)
        self.by_name[find.name] = find
        self.new.append(find)
        self._on_find("find", find)
        return find

    def put_reduced(self, find: Find, reduced: Reduced) -> None:
        """Keep a smaller program, and its verdict, as those of a find."""
        reduced.put_into(find)
        find.verdict = reduced.verdict
        finds.add_reduced(self.folder(find), find, encoding.decode(ModuleSet, reduced.data))
        self._on_find("reduced", find)

    def count(self, find: Find, count: int = 1) -> None:
        """Count that a find was seen again, unless it was dropped."""
        if find.name in self.by_name:
            find.count += count
            find.last_seen = now()
            self._changed.add(find.name)

    def drop(self, find: Find) -> None:
        """Remove a find that is a duplicate, a known bug, or not a bug."""
        del self.by_name[find.name]
        self._changed.discard(find.name)
        self.new = [each for each in self.new if each is not find]
        finds.remove(self.folder(find))
        self._on_find("retracted", find)

    def save(self) -> None:
        """Write the finds whose counts have changed."""
        for name in self._changed:
            find = self.by_name[name]
            finds.save(self.folder(find), find)
        self._changed.clear()
