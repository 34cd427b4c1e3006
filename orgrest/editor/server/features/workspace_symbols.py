"""The symbols of a workspace: the requests and blocks of all its documents."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from orgrest.editor import outline
from orgrest.editor.analysis import Analysis
from orgrest.editor.positions import Text
from orgrest.editor.server.documents import SUFFIXES, to_range
from orgrest.editor.server.fragments import SYMBOLS
from orgrest.files import stamp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.editor.positions import Encoding
    from orgrest.editor.server.documents import OpenDocument
    from orgrest.files import Stamp

_MOST_FILES = 2_000
_MOST_FOUND = 500
_LARGEST = 2**20
_SKIPPED = frozenset({"node_modules", "__pycache__", "venv"})


class WorkspaceSymbols:
    """A cache of the requests and blocks in a workspace's files. Only changed files are reread."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[Stamp, list[types.WorkspaceSymbol]]] = {}

    def find(
        self, query: str, folders: list[Path], opened: list[OpenDocument], encoding: Encoding
    ) -> list[types.WorkspaceSymbol]:
        """Return the symbols whose names contain the letters of `query` in the same order.

        Other letters may be in between. Case, and whitespace in `query`, are ignored.
        """
        symbols = [symbol for document in opened for symbol in _of_text(document)]
        shown = {document.real_path for document in opened}
        known, self._known = self._known, {}
        for path in _files(folders):
            if path in shown:
                continue
            now, kept = stamp(path), known.get(path)
            try:
                if kept is None or kept[0] != now:
                    kept = now, list(_of_file(path, encoding))
            except (OSError, UnicodeDecodeError):
                continue
            self._known[path] = kept
            symbols += kept[1]
        return [symbol for symbol in symbols if _matches(query, symbol.name)][:_MOST_FOUND]


def _of_file(path: Path, encoding: Encoding) -> Iterator[types.WorkspaceSymbol]:
    if path.stat().st_size > _LARGEST:
        return
    text = Text(path.read_bytes().decode("utf-8-sig"), encoding)
    analysis = Analysis(text.text, SUFFIXES[path.suffix.lower()])
    yield from _symbols(analysis, text, path.as_uri())


def _of_text(document: OpenDocument) -> Iterator[types.WorkspaceSymbol]:
    analysis = document.analysis
    if analysis is None or analysis.text != document.text.text:
        analysis = Analysis(document.text.text, document.kind)
    yield from _symbols(analysis, document.text, document.uri)


def _symbols(analysis: Analysis, text: Text, uri: str) -> Iterator[types.WorkspaceSymbol]:
    for symbol in outline.symbols(analysis):
        if symbol.kind != "variable":
            place = types.Location(uri, to_range(text, symbol.selection))
            yield types.WorkspaceSymbol(place, symbol.name, SYMBOLS[symbol.kind])


def _files(folders: list[Path]) -> Iterator[Path]:
    """Yield the documents below `folders`, except in hidden folders and package folders."""
    count = 0
    for folder in folders:
        for place, inner, names in os.walk(folder):
            inner[:] = sorted(x for x in inner if x not in _SKIPPED and not x.startswith("."))
            for name in sorted(names):
                if Path(name).suffix.lower() in SUFFIXES:
                    count += 1
                    if count > _MOST_FILES:
                        return
                    yield Path(place, name).resolve()


def _matches(query: str, name: str) -> bool:
    letters = iter(name.lower())
    return all(letter in letters for letter in query.lower() if not letter.isspace())
