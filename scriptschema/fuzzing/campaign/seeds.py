"""The seed programs that a campaign has not run yet.

Seeds are trees in the corpus. The file `seeds.txt` in the campaign's folder lists the names of
those that have not been run. The next run of the campaign continues with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from scriptschema import files
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign.folder import SEEDS, Campaign
from scriptschema.fuzzing.corpora.folder import CorpusFolder, name_of
from scriptschema.fuzzing.corpora.reading import read_trees
from scriptschema.fuzzing.restriction import Restriction
from scriptschema.fuzzing.targets.probing import ANNOTATIONS
from scriptschema.luau.repair import repair
from scriptschema.messages import ModuleSet

_ORDER: Final = 20
"""The maximum number of seeds in each `Order`."""


class Seeds:
    """The seed programs that a campaign has not run yet.

    `unsupported` maps the name of each seed that is not run to the features that it uses although
    they are in `Config.missing`. `dropped` are the names of the seeds that are not run because
    workers died with them. Raises FileError.
    """

    def __init__(self, campaign: Campaign, corpus: CorpusFolder) -> None:
        self.unsupported: dict[str, frozenset[str]] = {}
        self.dropped: list[str] = []
        self._folder = campaign.path
        self._corpus = corpus
        self._restriction = Restriction(campaign.config.missing())
        self._left: dict[str, bytes] = {}
        self._given: set[str] = set()
        self._suspected: set[str] = set()
        self._saved = self._listed()
        if self._saved:
            found = {name_of(data): data for data in read_trees(corpus.path)}
            for name in filter(found.__contains__, self._saved):
                # Somebody else's campaign may contain invalid trees.
                self._add(encoding.encode(repair(encoding.decode(ModuleSet, found[name]))))

    def __len__(self) -> int:
        """Return the number of seeds that are yet to be run."""
        return len(self._left) - len(self.unsupported)

    def add(self, trees: Iterable[bytes]) -> None:
        """Add encoded trees to the corpus. Those that are new to it are to be run.

        If `Config.missing` contains annotations, they are removed from the trees.
        """
        usable = dict.fromkeys(map(self._without_annotations, trees))
        new = [data for data in usable if name_of(data) not in self._corpus.names]
        for data in new:
            self._add(data)
        self.save()  # first, so that a kill loses none
        for data in new:
            self._corpus.add(data)

    def take(self) -> list[bytes]:
        """Return the seeds for an `Order`. They are not returned again before they are put back.

        Seeds with which a worker has died are returned one at a time.
        """
        waiting = [
            name for name in self._left if name not in self._given and name not in self.unsupported
        ]
        names = [name for name in waiting if name in self._suspected][:1] or waiting[:_ORDER]
        self._given.update(names)
        return [self._left[name] for name in names]

    def put_back(self, trees: Iterable[bytes]) -> None:
        """Put back the seeds of an `Order` that is over. Those that were run are ignored."""
        self._given.difference_update(map(name_of, trees))

    def lost(self, trees: Iterable[bytes]) -> None:
        """Put back the seeds of an `Order` whose worker has died.

        A seed with which a second worker has died is dropped.
        """
        trees = [*trees]
        self.put_back(trees)
        names = [name for name in map(name_of, trees) if name in self._left]
        if len(names) == 1 and self._suspected.issuperset(names):
            self.dropped += names
            self.ran(names)
        self._suspected.update(names)

    def ran(self, names: Iterable[str]) -> None:
        """Remove the corpus trees with these names, because they have been run."""
        for name in names:
            self._left.pop(name, None)

    def save(self) -> None:
        """Write the names of all seeds that have not been run, if they have changed."""
        if self._saved != [*self._left]:
            self._saved = [*self._left]
            text = "".join(f"{name}\n" for name in self._saved)
            files.write(self._folder / SEEDS, text.encode(), below=self._folder)

    def _without_annotations(self, data: bytes) -> bytes:
        if ANNOTATIONS.isdisjoint(self._restriction.used(data)):
            return data
        tree = encoding.decode(ModuleSet, data)
        return encoding.encode(self._restriction.without_annotations(tree))

    def _add(self, data: bytes) -> None:
        name = name_of(data)
        self._left[name] = data
        if features := self._restriction.used(data):
            self.unsupported[name] = features

    def _listed(self) -> list[str]:
        names = files.content_of(self._folder / SEEDS) or b""
        return names.decode("utf-8", "replace").splitlines()
