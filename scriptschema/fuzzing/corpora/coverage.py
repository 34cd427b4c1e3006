"""A tree's coverage, as reported by a command: each line that the command prints is a feature.

The command is run like the test of a reduction (`command_test`). For example, afl-showmap prints a
line for each edge with its number of hits. The results are stored in a hidden file of the output
corpus, because they may have taken hours to compute.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Final

from scriptschema.files import FileError
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.command_test import CommandTest
from scriptschema.fuzzing.corpora.folder import Journal, line_of, name_of
from scriptschema.fuzzing.corpora.reading import Report
from scriptschema.messages import ModuleSet

JOURNAL: Final = ".covered"
"""The file in a corpus that keeps the command's results until all trees have been processed."""

LIMIT: Final = 64 << 20
"""The maximum number of bytes read from a command's output."""


class CommandCoverage:
    """A `Judge` (see `distill`) that runs the command once for each tree to get its features.

    If the command takes too long or prints nothing, `report` is called with an error, and the tree
    has no features.
    """

    def __init__(self, command: CommandTest, journal: Journal, report: Report) -> None:
        self.command = command
        self.journal = journal
        self.report = report
        self._bits: dict[str, int] = {}
        self._known: dict[str, int] = {}
        for line in journal.lines():
            self._remember(line)

    def __call__(self, data: bytes) -> int:
        """Return the features of a tree as bits. Raises CommandError and FileError."""
        name = name_of(data)
        if name in self._known:
            return self._known[name]
        printed = self.command.output(encoding.decode(ModuleSet, data), LIMIT)
        if not printed:
            how = "took too long" if printed is None else "printed nothing"
            self.report(FileError(f"{name}: {self.command.words[0]} {how}"))
            return 0
        before = len(self._bits)
        new = []
        mask = 0
        for line in {line.strip() for line in printed.decode("utf-8", "replace").splitlines()}:
            if line and line not in self._bits:
                self._bits[line] = len(self._bits)
                new.append(line)
            if line:
                mask |= 1 << self._bits[line]
        packed = zlib.compress(mask.to_bytes(mask.bit_length() // 8 + 1, "little"), 1)
        text = base64.b64encode(packed).decode()
        self.journal.add(line_of([self.command.words, name, before, new, text]))
        return mask

    def _remember(self, line: bytes) -> None:
        try:
            words, name, before, new, text = json.loads(line)
            if words != self.command.words or before != len(self._bits):
                return  # from another command, or after a lost line
            mask = int.from_bytes(zlib.decompress(base64.b64decode(text)), "little")
            self._bits.update({feature: before + number for number, feature in enumerate(new)})
            self._known[name] = mask
        except (ValueError, TypeError, zlib.error):
            return
