"""Noweb references: ``<<name>>`` in a block is replaced with the blocks of that name."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from orgrest.model import Source
from orgrest.org import arguments as header
from orgrest.org.argument_syntax import ValueReference
from orgrest.org.blocks import ArgumentError, Arguments
from orgrest.org.data import to_text
from orgrest.org.lisp import MAX_DEPTH
from orgrest.regular import compiled
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.org.argument_syntax import Value
    from orgrest.org.blocks import Block
    from orgrest.org.data import Data
    from orgrest.org.document import OrgDocument

MAX_SIZE = 4 * 2**20
"""The maximum number of characters that references may add to a block."""

REFERENCE = compiled(r"<<([^ \t\n<>](?:[^\n<>]*[^ \t\n<>])?)>>")
_CALL = compiled(r"([^(\[]+)\((.*)\)$")


class Noweb:
    """Expands the noweb references of one document."""

    def __init__(self, document: OrgDocument, file: str = "") -> None:
        """Prepare to expand references in `document`, which is called `file` in messages."""
        self.document = document
        self._file = file
        self._grown = 0
        self._texts: dict[str, str] = {}
        self._refs: dict[str, list[Block]] | None = None

    def expand(self, body: Source, resolve: Callable[[Value, Arguments], Data]) -> Source:
        """Return `body` with its references replaced by blocks.

        An inserted line gets the position of its reference, and repeats the text before the
        reference. `resolve` returns the value of a call such as ``<<name(a=1)>>``.

        Raises EvaluationError if a block does not exist, if references are circular, or if the text
        becomes too long.
        """
        self._grown = 0
        return self._expand(body, [], resolve)

    def _expand(
        self, body: Source, within: list[str], resolve: Callable[[Value, Arguments], Data]
    ) -> Source:
        lines: list[str] = []
        where: list[tuple[int, int]] = []
        for line, place in zip(body.text.split("\n"), body.places or (), strict=True):
            at = 0
            new = [""]
            for match in REFERENCE.finditer(line):
                new[-1] += line[at : match.start()]
                prefix = line[: match.start()]
                inner = self._text(match[1], place[0], within, resolve)
                self._grow(len(inner) + inner.count("\n") * len(prefix), place[0])
                first, *more = inner.split("\n")
                new[-1] += first
                new += [prefix + added if added else added for added in more]
                at = match.end()
            new[-1] += line[at:]
            lines += new
            where += [place] * len(new)
        return Source("\n".join(lines), body.file, where)

    def _grow(self, length: int, line: int) -> None:
        self._grown += length
        if self._grown > MAX_SIZE:
            raise EvaluationError(
                f"the block is longer than {MAX_SIZE} characters after its <<...>> "
                "references are expanded",
                file=self._file,
                line=line,
            )

    def _text(
        self,
        name: str,
        line: int,
        within: list[str],
        resolve: Callable[[Value, Arguments], Data],
    ) -> str:
        if name.endswith(")"):
            match = _CALL.match(name)
            if match is not None:
                value = ValueReference(match[1].strip(), "", match[2])
                return to_text(resolve(value, Arguments()))
        if name in within:
            raise EvaluationError(f"<<{name}>> contains itself", file=self._file, line=line)
        if len(within) >= MAX_DEPTH:
            raise EvaluationError(f"<<{name}>> is nested too deeply", file=self._file, line=line)
        if name in self._texts:
            return self._texts[name]
        blocks = self.blocks(name)
        if not blocks:
            raise EvaluationError(
                f"<<{name}>>: no source block with this name", file=self._file, line=line
            )
        inner = (
            self._expand(self.document.body(block), [*within, name], resolve) for block in blocks
        )
        return self._texts.setdefault(name, "\n".join(body.text for body in inner))

    def blocks(self, name: str) -> list[Block]:
        """Return the blocks that ``<<name>>`` refers to."""
        named = self.document.block_named(name)
        return [named] if named is not None else self._with_noweb_ref(name)

    def _with_noweb_ref(self, name: str) -> list[Block]:
        if self._refs is None:
            self._refs = {}
            for block in self.document.blocks:
                if block.kind == "block":
                    with contextlib.suppress(ArgumentError):
                        ref = header.of_block(self.document, block).get("noweb-ref")
                        self._refs.setdefault(ref, []).append(block)
        return self._refs.get(name, [])
