"""The custom mutator for AFL++: `AFL_PYTHON_MODULE=scriptschema.fuzzing.afl`.

The queue contains Luau sources, which the target reads directly. Therefore crashes can be replayed
without conversion, other instances can share the queue, and `AFL_AUTORESUME` continues a run. Any
sources can be used as seeds. A source that is not Luau is replaced with a new program.

With `AFL_CUSTOM_MUTATOR_ONLY=1`, all mutants are programs. Each operator's statistics are written
to `scriptschema.txt` in an instance's folder, `OUT/NAME/`, every minute and at the end. A queue
entry's name contains the operators that created the entry and, after `@`, its style.
`SCRIPTSCHEMA_STYLE=plain` turns styles off. `SCRIPTSCHEMA_LUAU` is the target's version of Luau,
such as `0.711`, or `today`. If it is not set, generated code uses no extensions, but extensions in
sources are preserved. `SCRIPTSCHEMA_WITHOUT` lists features that mutants must not use, such as
`buffer,math.floor` (see `source_mutation`).

AFL++ (4.04c or later) calls this module's functions as described in AFL++'s
docs/custom_mutators.md. An error in a function would end the campaign, so no function raises an
exception for any input. `describe` must return bytes, and the other functions a bytearray. AFL++
4.04c does not check this.

Queue entries are trimmed as trees. AFL++ requests one candidate at a time, and reports whether the
candidate behaves like the entry. Trimming must be faster than reduction, so only the edits that
remove the most are tried.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

from scriptschema import files
from scriptschema.choices import RandomChoices
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.passes import PHASES, edits_of
from scriptschema.fuzzing.source_mutation import SourceMutator, features_left_out, version_asked
from scriptschema.luau import sources
from scriptschema.luau.render import render
from scriptschema.luau.repair import repair
from scriptschema.messages import ModuleSet

LOG: Final = "scriptschema.txt"
STYLE: Final = "SCRIPTSCHEMA_STYLE"
"""The environment variable that turns styles off if its value is `plain`."""

EVERY: Final = 60.0
"""The interval in seconds at which the log is written."""


class _Engine:
    """The state of the mutator between AFL++'s calls."""

    def __init__(self, seed: int) -> None:
        self.choices = RandomChoices(seed)
        styles = os.environ.get(STYLE) != "plain"
        self.sources = SourceMutator(
            styles=styles, luau=version_asked(), without=features_left_out()
        )
        self.mutant = b""
        self.trimmer: Trimmer | None = None
        self.folder: Path | None = None
        self.log_at = 0.0

    def write_log(self) -> None:
        if self.folder is not None:
            try:
                files.write(self.folder / LOG, self.sources.table().encode())
            except files.FileError:
                self.folder = None  # AFL++ itself reports disk errors
        self.log_at = time.monotonic() + EVERY


_engine = _Engine(0)


def init(seed: int) -> None:
    """Start a run with AFL++'s seed, which the afl-fuzz option `-s` determines."""
    global _engine  # because AFL++ calls functions of a module
    _engine = _Engine(seed)


def fuzz(buf: bytearray, add_buf: bytearray, max_size: int) -> bytearray:
    """Return a mutant of the queue entry `buf`, possibly with parts of another entry, `add_buf`."""
    engine = _engine
    engine.mutant = engine.sources.mutate(
        bytes(buf), engine.choices, donor=bytes(add_buf or b""), max_size=max_size
    )
    if time.monotonic() >= engine.log_at:
        engine.write_log()
    return bytearray(engine.mutant)


def describe(max_description_length: int) -> bytes:
    """Return the operators and the style of the last mutant, for the name of the queue entry."""
    text = "+".join(mutant.operator for mutant in _engine.sources.mutants) or "new"
    if _engine.sources.style is not None:
        text += f"@{_engine.sources.style}"
    return text.encode()[: max(0, max_description_length)]


def queue_new_entry(filename_new_queue: str, filename_orig_queue: str | None) -> bool:
    """Count the operators of a new queue entry as useful. Return False: the file is unchanged."""
    engine = _engine
    path = Path(filename_new_queue)
    if engine.folder is None and path.parent.name == "queue":
        engine.folder = path.parent.parent
    if filename_orig_queue is not None and engine.mutant:
        try:
            same = path.read_bytes() == engine.mutant
        except OSError:
            same = False
        if same:
            engine.sources.useful()
    return False


def init_trim(buf: bytearray) -> int:
    """Return the maximum number of steps to trim a queue entry, or 0 if nothing can be removed."""
    engine = _engine
    source = bytes(buf)
    index = engine.sources.tree_of(source)
    engine.trimmer = None if index is None else Trimmer(source, index)
    return MOST if engine.trimmer is not None and engine.trimmer.candidate is not None else 0


def trim() -> bytearray:
    """Return a shorter source, which AFL++ compares with the queue entry."""
    trimmer = _engine.trimmer
    return bytearray(b"" if trimmer is None else trimmer.candidate or trimmer.source)


def post_trim(success: bool) -> int:
    """Accept or reject the last candidate, and return the number of the next step.

    At the end, the number is the maximum that `init_trim` returned.
    """
    trimmer = _engine.trimmer
    if trimmer is None:
        return MOST
    trimmer.answer(success)
    return MOST - 1 - trimmer.left if trimmer.candidate is not None else MOST


def introspection() -> bytearray:
    """Return the last mutant's operators, which AFL++ logs if it was built with INTROSPECTION."""
    return bytearray(describe(255))


def deinit() -> None:
    """End a run by writing the log."""
    _engine.write_log()


MOST: Final = 64
"""The maximum number of trimming candidates. Trying one takes about as long as trying a mutant."""


class Trimmer:
    """Offers versions of a source one at a time, each shorter than the last accepted version.

    `candidate` is the current version, or None at the end. At most `MOST` versions are offered.
    """

    def __init__(self, source: bytes, index: Index[ModuleSet]) -> None:
        self.source = source
        """The shortest accepted source."""
        self.left = MOST
        self.candidate: bytes | None = None
        self._tried: set[bytes] = set()
        self._tree = index.tree
        self._offered = index.tree
        self._rank: int | None = None
        self._edits = self._trees(index)
        self._advance()

    def answer(self, accepted: bool) -> None:
        """Accept the candidate if `accepted`, otherwise reject it. Then offer the next one."""
        if self.candidate is None:
            return
        if accepted:
            self.source, self._tree = self.candidate, self._offered
            self._edits = self._trees(Index(self._tree))
        self._advance()

    def _trees(self, index: Index[ModuleSet]) -> Iterator[tuple[int, ModuleSet]]:
        """Yield (rank, edited tree) pairs, the largest removals (the lowest ranks) first."""
        for rank, make in edits_of(PHASES[0], index, self._rank)[: 4 * MOST]:
            yield rank, cast(ModuleSet, make())

    def _advance(self) -> None:
        self.candidate = None
        while self.left and (offer := next(self._edits, None)) is not None:
            self._rank, edited = offer
            tree = repair(edited)
            source = sources.encode(render(tree.program))
            if 0 < len(source) < len(self.source) and source not in self._tried:
                self._tried.add(source)
                self.left -= 1
                self._offered, self.candidate = tree, source
                return
