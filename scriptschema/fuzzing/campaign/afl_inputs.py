"""The inputs that AFL++'s instances keep, as the programs that a fuzzer runs and judges."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Final

from scriptschema.base import walk
from scriptschema.codec.copying import copy
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import AFL, JUDGED
from scriptschema.fuzzing.campaign.programs import Made, ProgramSource
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.source_mutation import SourceMutator
from scriptschema.fuzzing.targets import outcome
from scriptschema.luau.render import render
from scriptschema.luau.sources import encode
from scriptschema.messages import ExprCall, ModuleSet

_CLAIMS: Final = MappingProxyType({"crashes": outcome.CRASH, "hangs": outcome.HANG, "queue": ""})
"""The outcome that AFL++ claims for the inputs in each of its folders."""


class Inputs(ProgramSource):
    """The inputs of the campaign in `folder` that were not judged, crashes first."""

    def __init__(self, config: Config, seed: int, folder: Path) -> None:
        super().__init__(config, seed)
        self._folder = folder / AFL
        self._sources = SourceMutator(luau=config.version)
        self._done: set[str] = set()
        self._waiting: list[tuple[str, Path]] = []
        self._unreadable: list[str] = []
        self._read = 0

    def next(self) -> Made | None:
        """Return the program of the next input; None if there is none now."""
        self._read_judged()
        self._waiting = self._waiting or [*self._unjudged()]
        while self._waiting:
            name, path = self._waiting.pop()
            if name in self._done:
                continue
            self._done.add(name)
            try:
                source = path.read_bytes()
                index = self._sources.tree_of(source)
            except FileNotFoundError:  # AFL++ removes what it has made smaller
                continue
            kind = _CLAIMS[path.parent.name]
            if index is None:
                self._unreadable += [name] if kind else []
                continue
            claim = None
            if kind:
                text = f"AFL++ saved it among its {path.parent.name}: {path.name}"
                claim = Verdict(Signature(kind), text)
            origin = {"engine": "afl", "input": name}
            tree, style = _styled(name, source, index.tree)
            made = Made(tree, origin, style, claim=claim)
            return made if claim or self.admits(encoding.encode(made.tree)) else self.stripped(made)
        return None

    def put_back(self, made: Made) -> None:
        """Take back a program that was not judged; another worker may judge it before."""
        name = made.origin["input"]
        self._done.discard(name)
        self._waiting.append((name, self._folder / "out" / name))

    def unreadable(self) -> list[str]:
        """Return the names of crashes and hangs since the last call that are no Luau."""
        names, self._unreadable = self._unreadable, []
        return names

    def _read_judged(self) -> None:
        """Read which inputs were judged since the last call, by any worker."""
        with contextlib.suppress(FileNotFoundError), (self._folder / JUDGED).open("rb") as file:
            file.seek(self._read)
            lines = file.read().rpartition(b"\n")[0]
            self._read += len(lines) + bool(lines)
            self._done.update(lines.decode("utf-8", "backslashreplace").split("\n"))

    def _unjudged(self) -> Iterator[tuple[str, Path]]:
        """Yield the inputs that were not judged, crashes last, since the last is taken first."""
        for kind in ("queue", "hangs", "crashes"):
            for path in sorted((self._folder / "out").glob(f"*/{kind}/id:*"), reverse=True):
                name = str(path.relative_to(self._folder / "out"))
                if name not in self._done and ",sync:" not in name:
                    yield name, path


def _styled(name: str, source: bytes, tree: ModuleSet) -> tuple[ModuleSet, int | None]:
    """The tree, and the style that an input's name says it is written in, if that is what it is.

    A call without parentheses may be of the style, and not of the tree.
    """
    found = re.search(r"@([0-9]{1,9})", name)
    if found is not None:
        style = int(found[1])
        for each in (tree, _in_parentheses(tree)):
            if encode(render(each.program, style=style)) == source:
                return each, style
    return tree, None


def _in_parentheses(tree: ModuleSet) -> ModuleSet:
    """Return a copy in which all calls have parentheses."""
    copied = copy(tree)
    for node, _ in walk(copied):
        if isinstance(node, ExprCall):
            node.parenless = None
    return copied
