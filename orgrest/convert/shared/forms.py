"""Builds the bodies of urlencoded and multipart forms (RFC 7578)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from orgrest.convert.shared import texts
from orgrest.convert.shared.model import ConversionError, Inclusion, Piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from orgrest.convert.shared.variables import Names

Part: TypeAlias = "tuple[str, str, str, str, bool]"
"""A form part: (name, text or file path, file name to send, media type, whether it is a file)."""
_BOUNDARY = "orgrest-form-boundary"
_TYPES = {
    "gif": "image/gif", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png",
    "svg": "image/svg+xml", "txt": "text/plain", "htm": "text/html", "html": "text/html",
    "pdf": "application/pdf", "xml": "application/xml",
}  # fmt: skip
_MORE_TYPES = {
    "css": "text/css", "csv": "text/csv", "gz": "application/gzip", "js": "application/javascript",
    "json": "application/json", "md": "text/markdown", "mp3": "audio/mpeg", "mp4": "video/mp4",
    "webp": "image/webp", "yaml": "text/yaml", "yml": "text/yaml", "zip": "application/zip",
}  # fmt: skip
_GIVEN = re.compile(r';\s*boundary=(?:"([^"]*)"|([^;\s]+))', re.IGNORECASE)


def form_type(filename: str, otherwise: str = "application/octet-stream") -> str:
    """Return the media type that curl and hurl use for a file in a form."""
    return _TYPES.get(filename.rpartition(".")[2].lower(), otherwise)


def wide_form_type(filename: str, otherwise: str = "application/octet-stream") -> str:
    """Return the media type that Postman and Bruno use for a file.

    They know more types than curl and hurl.
    """
    return _MORE_TYPES.get(filename.rpartition(".")[2].lower()) or form_type(filename, otherwise)


def encoded(text: str, safe: str = "") -> str:
    """Return a string percent-encoded, except for its references to variables."""
    out = []
    for piece in texts.pieces(text):
        out.append(piece if isinstance(piece, texts.Variable) else quote(piece, safe=safe))
    return texts.written(out)


def encoded_form(text: str, names: Names, *, plus: bool = False) -> str:
    """Return a string encoded for a form. Variables' values are encoded when they are sent.

    If `plus` is true, the string is encoded as by URLSearchParams, with a plus for each space.
    """
    kept = "A-Za-z0-9_.*-" if plus else "A-Za-z0-9_.~*'()!-"
    return texts.written(
        re.sub(f"[^{kept}]", lambda match: _percent(match[0], plus=plus), piece)
        if isinstance(piece, str)
        else names.encoded(piece)
        for piece in texts.pieces(text)
    )


def _percent(text: str, *, plus: bool) -> str:
    if plus and text in " ~":
        return "+" if text == " " else "%7E"
    return quote(text, safe="")


def urlencoded(fields: Iterable[tuple[str, str]]) -> str:
    """Return the body of a urlencoded form. Names and values may contain `{{name}}`."""
    return "&".join(f"{encoded(name)}={encoded(value)}" for name, value in fields)


def pairs_encoded(fields: Iterable[tuple[str, str]], names: Names, *, plus: bool = False) -> str:
    """Return names and values encoded as the body of a form or as a query. See `encoded_form`."""
    return "&".join(
        f"{encoded_form(name, names, plus=plus)}={encoded_form(value, names, plus=plus)}"
        for name, value in fields
    )


def query_encoded(fields: Iterable[tuple[str, str]], names: Names) -> str:
    """Return names and values encoded as a query. Existing percent-encoding is preserved."""
    return re.sub("%25(?=[0-9A-Fa-f]{2})", "%", pairs_encoded(fields, names))


def file_path(path: str) -> str:
    """Return a path in the notation of request files.

    Raises ConversionError if it contains a line break or a NUL character.
    """
    if re.search(r"[\r\n\0]", path):
        raise ConversionError("the file name contains a line break")
    return texts.literal(path)


def file_part(name: str, path: str, kind: str = "", filename: str = "") -> Part:
    """Return a form part that sends a file.

    `kind` is the media type. `filename` is sent instead of the file's own name.
    """
    shown = filename or texts.literal(path.rpartition("/")[2])
    return name, file_path(path), shown, kind, True


def multipart(fields: Sequence[Part], kind: str = "") -> tuple[tuple[Piece, ...], str]:
    """Return the body of a multipart form, and its Content-Type.

    A boundary in `kind` is used. Otherwise, the boundary is a string that occurs in no field. Lines
    end with LF, because a document's line breaks are sent as CRLF. That conversion would change a
    text that mixes line breaks or contains a lone CR. If there is such a text, and no field is a
    file, the body is a single string that must be sent unchanged.
    """
    match = _GIVEN.search(kind)
    boundary = (match[1] or match[2]) if match else _BOUNDARY
    while not match and any(boundary in text for _, text, *_ in fields):
        boundary += "-x"
    is_exact = any("\r" in _with_newlines(text) for _, text, *_ in fields)
    is_exact = is_exact and not any(field[4] for field in fields)
    newline = "\r\n" if is_exact else "\n"
    pieces: list[Piece] = []
    for name, text, filename, content_type, is_file in fields:
        lines = [f"--{boundary}", f'Content-Disposition: form-data; name="{_quoted(name)}"']
        if filename:
            lines[-1] += f'; filename="{_quoted(filename)}"'
        if content_type:
            lines.append(f"Content-Type: {_one_line(content_type)}")
        if is_file:
            pieces += ("\n".join([*lines, ""]), Inclusion(text))
        else:
            shown = text if is_exact else _with_newlines(text)
            pieces.append(newline.join([*lines, "", shown]))
    pieces.append(f"--{boundary}--")
    if is_exact:
        pieces = [newline.join(map(str, pieces))]
    kind = kind if match else f"{kind or 'multipart/form-data'}; boundary={boundary}"
    return tuple(pieces), kind


def with_content_type(headers: Iterable[tuple[str, str]], kind: str) -> list[tuple[str, str]]:
    """Return headers to which the media type of a body was added, unless they already have one.

    A media type with a boundary replaces theirs, because the body contains this boundary.
    """
    has_boundary = _GIVEN.search(kind) is not None
    kept = [
        (name, value)
        for name, value in headers
        if name.lower() != "content-type" or value == kind or not has_boundary
    ]
    has_type = any(name.lower() == "content-type" for name, _ in kept)
    return kept if has_type or not kind else [*kept, ("Content-Type", kind)]


def _with_newlines(text: str) -> str:
    """Replace CRLF with LF, unless the text also contains a lone LF."""
    changed = text.replace("\r\n", "\n")
    return changed if changed.replace("\n", "\r\n") == text else text


def _quoted(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _one_line(text: str) -> str:
    return " ".join(text.split())
