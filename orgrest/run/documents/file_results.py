"""Results in files: the path and content of each file, and the link to it.

The module `writable_files` decides where files may be written. A result never overwrites the
document itself.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from orgrest.files import resolved
from orgrest.model import to_bytes
from orgrest.org.results import result_of
from orgrest.regular import compiled
from orgrest.rendering.content import PLAIN_ENDINGS
from orgrest.rendering.masking import mask_bytes
from orgrest.run import writable_files
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from orgrest.org.blocks import Arguments, Block
    from orgrest.run.documents.edited_document import EditedDocument
    from orgrest.run.outcomes import Exchange


_LINKED = compiled(r"\[\[file:((?:[^\]\[\\]|\\.)*)")
_EXTENSION = compiled(r"\.?([\w+-]+(?:\.[\w+-]+)*)")


def make(
    edited: EditedDocument, block: Block, arguments: Arguments, exchange: Exchange, number: int
) -> tuple[str, list[tuple[Path, bytes]]]:
    """Return a link to an exchange's result file, and the file to write, if any.

    `number` is how many files the block already has. Raises OrgrestError if the file may not be
    written.
    """
    folder = edited.settings.inputs.directory
    if arguments.get("file"):
        path = _named(folder, arguments)
        if number:
            path = path.with_stem(f"{path.stem}-{number + 1}")
    else:
        path = folder / _path("output-dir", arguments.get("output-dir"))
        path = _default_path(edited, block, number, path, _extension(arguments, exchange))
    target = _checked(edited, block, arguments, path)
    shown = str(path.relative_to(folder) if path.is_relative_to(folder) else path)
    description = None
    if "file-desc" in arguments and arguments.get("file-desc") != "[]":  # as in Org
        description = arguments.get("file-desc") or shown
    files: list[tuple[Path, bytes]] = []
    if _writes(arguments):
        files.append((target, _content(exchange, arguments)))
    return f"{_link(shown, description)}\n", files


def check(edited: EditedDocument, block: Block, arguments: Arguments) -> None:
    """Raise OrgrestError if `:file` names a file that may not be written."""
    if arguments.get("file"):
        path = _named(edited.settings.inputs.directory, arguments)
        _checked(edited, block, arguments, path)


def _named(folder: Path, arguments: Arguments) -> Path:
    folder /= _path("dir", arguments.get("dir"))
    folder /= _path("output-dir", arguments.get("output-dir"))
    return folder / _path("file", arguments.get("file"))


def _checked(edited: EditedDocument, block: Block, arguments: Arguments, path: Path) -> Path:
    """Return a result file's path without links. Raises EvaluationError if it is refused."""
    file_argument = arguments.get("file")
    name = f":file {file_argument}" if file_argument else path.name
    try:
        target = resolved(path)
    except (OSError, RuntimeError, ValueError) as error:  # circular links, or a NUL character
        raise EvaluationError(f"{name}: {error}") from error
    if _writes(arguments):
        is_linked = _is_linked(edited, block, target)
        settings = edited.settings
        document = settings.inputs.directory.resolve() / PurePosixPath(edited.file).name
        writable_files.check(target, name, document, settings.allow_write, linked=is_linked)
    return target


def _is_linked(edited: EditedDocument, block: Block, target: Path) -> bool:
    document, folder = edited.document, edited.settings.inputs.directory
    result = result_of(document, edited.now(block) or block)
    if result is None or not os.path.exists(target):  # noqa: PTH110  # Path.exists may raise
        return False
    links = _LINKED.finditer(document.text, result.start, result.end)
    return any((folder / linked(match[0])).resolve() == target for match in links)


def _default_path(
    edited: EditedDocument, block: Block, number: int, folder: Path, suffix: str
) -> Path:
    start = writable_files.own_name(edited.file)
    block_name = re.sub(r"[^\w.-]+", "-", block.name or "").strip("-.")
    end = (f"-{number + 1}" if number else "") + suffix
    path = folder / f"{block_name}{end}"  # safe only if no tool could read it as its configuration
    if block_name and (suffix in PLAIN_ENDINGS or _is_linked(edited, block, path.resolve())):
        return path
    return folder / f"{start}-{block_name or edited.number(block)}{end}"


def linked(link: str) -> str:
    """Return the target path of a link that `make` returned."""
    match = _LINKED.match(link)
    return re.sub(r"\\(.)", r"\1", match[1]) if match else ""


def _writes(arguments: Arguments) -> bool:
    return not {"link", "graphics"} & set(arguments.results)


def _link(path: str, description: str | None) -> str:
    """Return a link in the form of Org's `org-link-make-string`."""
    target = re.sub(r"(\\*)([][]|$)", lambda m: m[1] * 2 + (m[2] and f"\\{m[2]}"), path)
    if description is None:
        return f"[[file:{target}]]"
    shown = " ".join(description.split("\n"))
    shown = re.sub(r"\](?=\]|$)", "]\u200b", shown)
    return f"[[file:{target}][{shown}]]"


def _path(name: str, value: str) -> Path:
    if any(not character.isprintable() for character in value):
        raise EvaluationError(
            f":{name} {value}: the name contains characters that are not allowed in a link"
        )
    try:
        return Path(value).expanduser()
    except RuntimeError as error:  # the home folder of this ~user does not exist
        raise EvaluationError(f":{name} {value}: {error}") from error


def _extension(arguments: Arguments, exchange: Exchange) -> str:
    extension = exchange.rendered.extension if exchange.rendered else ""
    suffix = arguments.get("file-ext") or extension or ".txt"
    match = _EXTENSION.fullmatch(suffix)
    if match is None:
        raise EvaluationError(f":file-ext must be a file name suffix, such as json; found {suffix}")
    return f".{match[1]}"


def _content(exchange: Exchange, arguments: Arguments) -> bytes:
    rendered = exchange.rendered
    if rendered is not None and rendered.data is not None:
        return rendered.data
    if arguments.get("jq"):
        return to_bytes(rendered.body) if rendered else b""
    body = exchange.response.body if exchange.response else b""
    return mask_bytes(body, exchange.request.secrets)
