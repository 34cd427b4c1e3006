"""Determines the media type and language of a response body, and whether it is binary."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from orgrest.charsets import marked_codec
from orgrest.regular import compiled
from orgrest.rendering.sanitize import visible

if TYPE_CHECKING:
    from orgrest.model import Response

LANGUAGES = {
    "text/html": "html",
    "text/plain": "text",
    "text/css": "css",
    "text/markdown": "markdown",
    "application/json": "js",
    "text/json": "js",
    "application/javascript": "js",
    "text/javascript": "js",
    "text/xml": "nxml",
    "application/xml": "nxml",
    "application/yaml": "yaml",
    "application/x-yaml": "yaml",
    "text/yaml": "yaml",
    "application/x-www-form-urlencoded": "text",
}
_PIECE = 2**16
_FEW = 4  # a text may contain fewer control characters than this by accident
_STRANGE = compiled("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_CONTROL = compiled(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_EXTENSIONS = {
    "application/json": ".json",
    "application/xml": ".xml",
    "application/gzip": ".gz",
    "application/octet-stream": ".bin",
    "application/pdf": ".pdf",
    "application/zip": ".zip",
    "image/gif": ".gif",
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/svg+xml": ".svg",
    "image/webp": ".webp",
}

PLAIN_ENDINGS = frozenset({
    ".csv", ".tsv", ".pdf", ".ics", ".vcf", ".xlsx", ".docx", ".pptx", ".odt", ".ods", ".parquet",
    ".avro", ".cbor", ".pb", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".ico", ".tif",
    ".tiff", ".avif", ".mp3", ".mp4", ".wav", ".ogg", ".webm", ".flac", ".bin", ".dat",
})  # fmt: skip
"""The suffixes of files that every tool treats as plain data, regardless of the base name."""
DATA_ENDINGS = PLAIN_ENDINGS | {
    ".json", ".jsonl", ".ndjson", ".geojson", ".har", ".xml", ".rss", ".atom", ".html", ".htm",
    ".txt", ".text", ".log", ".svg", ".zip", ".gz", ".tar", ".bz2", ".xz", ".zst", ".7z",
}  # fmt: skip
"""The suffixes of data files, including formats that tools use for configuration or packages."""


def media_type(response: Response) -> str:
    """Return the media type of a response in lower case without parameters, or ""."""
    return (response.header("Content-Type") or "").partition(";")[0].strip().lower()


def language(kind: str, text: str) -> str:
    """Return the source block language for a text with the media type `kind`."""
    if kind in LANGUAGES:
        return LANGUAGES[kind]
    if kind.endswith("+json"):
        return "js"
    if kind.endswith("+xml"):
        return "nxml"
    if kind.endswith("+yaml"):
        return "yaml"
    if kind.startswith("text/"):
        return "text"
    start = text[:64].lstrip().lower()
    if start.startswith("<?xml "):
        return "nxml"
    if not kind and start.startswith(("<!doctype html", "<html")):
        return "html"
    return "js"


def is_binary(response: Response, kind: str) -> bool:
    """Return whether a body with the media type `kind` is binary.

    A body with a text media type is binary if its beginning contains several NULs, or if more than
    three in ten of its characters never occur in text. Any other body is binary if it contains even
    one such character or is not UTF-8, unless it starts with a byte order mark. Images are binary.
    """
    body = response.body
    if kind.startswith("image/") or not body:
        return bool(body)
    if kind.startswith("text/") or kind in LANGUAGES or kind.endswith(("+json", "+xml")):
        decoder = codecs.getincrementaldecoder(response.codec[0])("replace")
        sample = decoder.decode(body[:_PIECE])
        strange = len(_STRANGE.findall(sample))
        return strange >= _FEW and (strange > 0.3 * len(sample) or sample.count("\0") >= _FEW)
    if marked_codec(body) is not None:
        return False
    decoder = codecs.getincrementaldecoder("utf-8")("strict")
    try:
        # The size limit may have cut a character in two, which does not make the body binary.
        pieces = (decoder.decode(body[at : at + _PIECE]) for at in range(0, len(body), _PIECE))
        return any(_CONTROL.search(piece) for piece in pieces)
    except UnicodeDecodeError:
        return True


def decode(response: Response, size: int | None = None) -> tuple[str, list[str]]:
    """Return the body as text with LF line endings, and notes about the decoding.

    With `size`, only about the first `size` bytes are decoded.
    """
    body = response.body if size is None else response.body[:size]
    codec, unknown = response.codec
    notes: list[str] = []
    if unknown is not None:
        notes.append(f"unknown charset {visible(unknown, one_line=True)}: read as UTF-8")
    whole = len(body) == len(response.body)
    try:
        text = codecs.getincrementaldecoder(codec)("strict").decode(body, final=whole)
    except UnicodeDecodeError:
        text = codecs.getincrementaldecoder(codec)("backslashreplace").decode(body, final=whole)
        notes.append(f"bytes that are not valid {codec} are shown as \\xNN")
    return text.replace("\r\n", "\n"), notes


def extension(kind: str) -> str:
    """Return the file suffix for a media type, with its dot."""
    if kind in _EXTENSIONS:
        return _EXTENSIONS[kind]
    import mimetypes

    suffix = mimetypes.guess_extension(kind)
    return suffix if suffix in DATA_ENDINGS else ".bin"
