"""Results in files: the path of each, its link, and its content.

`written` decides where files may be written; a result never overwrites the document itself.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from orgrest.files import resolved
from orgrest.model import to_bytes
from orgrest.org.results import result_of
from orgrest.rendering.content import PLAIN_ENDINGS
from orgrest.rendering.masking import mask_bytes
from orgrest.run import writable_files
from orgrest.run.documents.selection import is_request
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from orgrest.org.arguments import Arguments
    from orgrest.org.blocks import Block
    from orgrest.org.document import Document
    from orgrest.run.documents.document_editor import DocumentEditor
    from orgrest.run.outcomes import Exchange


class FileResults:
    """Creates file results for the blocks of a document editor."""

    def __init__(
        self,
        editor: DocumentEditor,
        folder: Path,
        file: str,
        languages: Container[str],
        allow_write: Sequence[Path] = (),
    ) -> None:
        """`folder` contains the document `file`; `languages` are the languages of its requests.

        Any file below the folders of `allow_write` may be written.
        """
        self._editor = editor
        self._folder = folder
        self._file = file
        self._languages = languages
        self._allow_write = allow_write
        self._numbered: Document | None = None
        self._numbers: dict[Block, int] = {}

    def make(
        self, block: Block, arguments: Arguments, exchange: Exchange, number: int
    ) -> tuple[str, list[tuple[Path, bytes]]]:
        """Return the link to the result of an exchange, and the files to write: one or none.

        `number` is the number of files that the block already has. Raises OrgrestError.
        """
        folder = self._folder
        given = arguments.get("file")
        if given:
            path = folder / _path("dir", arguments.get("dir"))
            path = path / _path("output-dir", arguments.get("output-dir")) / _path("file", given)
            if number:
                path = path.with_stem(f"{path.stem}-{number + 1}")
        else:
            path = folder / _path("output-dir", arguments.get("output-dir"))
            path = self._own_path(block, number, path, _extension(arguments, exchange))
        writes = not {"link", "graphics"} & set(arguments.results)
        name = f":file {given}" if given else path.name
        target = self._target(path, name)
        if writes:
            known = self._is_linked(block, target)
            document = folder.resolve() / PurePosixPath(self._file).name
            writable_files.check(target, name, document, self._allow_write, linked=known)
        shown = str(path.relative_to(folder) if path.is_relative_to(folder) else path)
        description = None
        if "file-desc" in arguments:
            description = arguments.get("file-desc") or shown
        files: list[tuple[Path, bytes]] = []
        if writes:
            files.append((target, _content(exchange, arguments)))
        return f"{_link(shown, description)}\n", files

    def _target(self, path: Path, given: str) -> Path:
        """Resolve a path. Raises EvaluationError if it is the document."""
        try:
            target = resolved(path)
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL
            raise EvaluationError(f"{given}: {error}") from error
        if target == (self._folder / PurePosixPath(self._file).name).resolve():
            raise EvaluationError(f"{given} is the document itself")
        return target

    def _is_linked(self, block: Block, target: Path) -> bool:
        """Return whether the block's present result has a link to a file."""
        document = self._editor.document
        result = result_of(document, self._editor.now(block) or block)
        if result is None or not os.path.exists(target):  # noqa: PTH110 (never raises)
            return False
        links = _LINKED.finditer(document.text, result.start, result.end)
        return any((self._folder / linked(one[0])).resolve() == target for one in links)

    def _own_path(self, block: Block, number: int, folder: Path, suffix: str) -> Path:
        """Return the path of a file that the document does not name."""
        start = writable_files.own_name(self._file)
        given = re.sub(r"[^\w.-]+", "-", block.name or "").strip("-.")
        end = (f"-{number + 1}" if number else "") + suffix
        path = folder / f"{given}{end}"  # only if no tool could mistake it for its configuration
        if given and (suffix in PLAIN_ENDINGS or self._is_linked(block, path.resolve())):
            return path
        return folder / f"{start}-{given or self._number(block)}{end}"

    def _number(self, block: Block) -> int:
        """Return a nameless request block's number among the nameless ones."""
        document = self._editor.document
        if self._numbered is not document:
            nameless = (
                one
                for one in document.evaluated
                if is_request(document, one, self._languages)
                and not one.name
                and one.result is None
            )
            self._numbers = {one: number for number, one in enumerate(nameless, 1)}
            self._numbered = document
        return self._numbers.get(self._editor.now(block) or block, len(self._numbers) + 1)


def linked(link: str) -> str:
    """Return the target path of a link from `FileResults.make`."""
    match = _LINKED.match(link)
    return re.sub(r"\\(.)", r"\1", match[1]) if match else ""


_LINKED = re.compile(r"\[\[file:((?:[^\]\[\\]|\\.)*)")
_EXTENSION = re.compile(r"\.?([\w+-]+(?:\.[\w+-]+)*)")


def _link(path: str, description: str | None) -> str:
    """Write a link as Org's `org-link-make-string` does; lines of a description are joined."""
    target = re.sub(r"(\\*)([][]|$)", lambda m: m[1] * 2 + (m[2] and f"\\{m[2]}"), path)
    if description is None:
        return f"[[file:{target}]]"
    shown = " ".join(description.split("\n"))
    shown = re.sub(r"\](?=\]|$)", "]\u200b", shown)
    return f"[[file:{target}][{shown}]]"


def _path(name: str, given: str) -> Path:
    """Return the path in a header argument; ``~`` is the home folder, as in a link."""
    if any(not character.isprintable() for character in given):
        raise EvaluationError(f":{name} {given}: it holds characters that cannot stand in a link")
    try:
        return Path(given).expanduser()
    except RuntimeError as error:  # a ~user without a home
        raise EvaluationError(f":{name} {given}: {error}") from error


def _extension(arguments: Arguments, exchange: Exchange) -> str:
    found = exchange.rendered.extension if exchange.rendered else ""
    given = arguments.get("file-ext") or found or ".txt"
    match = _EXTENSION.fullmatch(given)
    if match is None:
        raise EvaluationError(f":file-ext is how a file's name ends, such as json, not {given}")
    return f".{match[1]}"


def _content(exchange: Exchange, arguments: Arguments) -> bytes:
    """Return the content of a file result: the body with secrets masked, or the output of jq."""
    rendered = exchange.rendered
    if rendered is not None and rendered.is_cut and rendered.data is not None:
        return rendered.data
    if arguments.get("jq"):
        return to_bytes(rendered.body) if rendered else b""
    body = exchange.response.body if exchange.response else b""
    return mask_bytes(body, exchange.request.secrets)
