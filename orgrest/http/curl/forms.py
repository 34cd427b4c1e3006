"""Forms: the values of ``-F`` as the parts of a multipart body."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import attrs

from orgrest.http.curl.errors import CurlError, one_line
from orgrest.http.curl.options import STDIN

if TYPE_CHECKING:
    from collections.abc import Iterable

_FORM_WORD = re.compile(r'\s*"((?:[^"\\]|\\.)*)"[^;]*|[^;]*', re.DOTALL)
_FORM_OPTION = re.compile(r"\s*(type|filename|headers|encoder)=")
_FORM_TYPES = {"gif": "image/gif", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png",
               "svg": "image/svg+xml", "txt": "text/plain", "htm": "text/html",
               "html": "text/html", "pdf": "application/pdf", "xml": "application/xml"}  # fmt: skip


@attrs.frozen
class _Part:
    """A part of a form: its text or file, and its metadata."""

    name: str
    text: str
    kind: str = ""
    filename: str = ""
    file: bool = False

    def lines(self) -> list[str]:
        """Return the part's header and content."""
        names = [("name", self.name), ("filename", self.filename)]
        shown = (f'; {key}="{_escape(text)}"' for key, text in names if text or key == "name")
        lines = ["Content-Disposition: form-data" + "".join(shown)]
        if self.kind:
            lines.append(f"Content-Type: {one_line(self.kind, f'the type of {self.name}')}")
        if self.file:
            return [*lines, "", f"< {one_line(self.text, 'the name of the file')}"]
        if re.search(r"^[ \t]*<[ \t]", self.text, re.MULTILINE):
            raise CurlError(f"a line of {self.name} that begins with < would be read as a file")
        return [*lines, "", self.text]


def _escape(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def form(fields: Iterable[tuple[str, bool]]) -> tuple[str, str]:
    """Return the boundary and the body of a form.

    `fields` are the values of ``-F``, and whether each is literal (``--form-string``). Raises
    CurlError.
    """
    parts = [_part(given, literal) for given, literal in fields]
    boundary = "orgrest-form-boundary"
    while any(boundary in part.text for part in parts):
        boundary += "-x"
    lines = [line for part in parts for line in (f"--{boundary}", *part.lines())]
    return boundary, "\n".join([*lines, f"--{boundary}--"])


def _part(given: str, literal: bool) -> _Part:
    """Parse ``NAME=CONTENT``, ``NAME=@FILE`` or ``NAME=<FILE``, and the attributes behind ``;``."""
    name, equals, value = given.partition("=")
    if not equals:
        raise CurlError(f"-F {given} is not a form field: write NAME=VALUE")
    if literal:
        return _Part(name, value)
    sign = value[:1] if value[:1] in ("@", "<") else ""
    text, at = _form_word(value, len(sign))
    if sign and text == "-":
        raise CurlError(f"-F {given} {STDIN}")
    if sign and "," in text:
        raise CurlError(f"-F {given} holds several files: give each a -F of its own")
    options: dict[str, str] = {"filename": text.rsplit("/", 1)[-1] if sign == "@" else ""}
    last = ""
    while at < len(value):
        option = _FORM_OPTION.match(value, at + 1)
        if option is None and last == "type":
            more, at = _form_word(value, at + 1)
            options["type"] += f"; {more}"
        elif option is None or option[1] not in ("type", "filename"):
            raise CurlError(f"-F {given}: what stands behind ; is not understood: quote the value")
        else:
            last = option[1]
            options[last], at = _form_word(value, option.end())
    kind = options.get("type", "")
    if sign == "@" and not kind:
        suffix = options["filename"].rpartition(".")[2].lower()
        kind = _FORM_TYPES.get(suffix, "application/octet-stream")
    return _Part(name, text, kind, options["filename"], file=bool(sign))


def _form_word(value: str, at: int) -> tuple[str, int]:
    """Read up to the next unquoted ``;``; return the text and its end."""
    match = cast("re.Match[str]", _FORM_WORD.match(value, at))  # it matches anything
    if match[1] is None:
        return match[0].strip(), match.end()
    return re.sub(r'\\(["\\])', r"\1", match[1]), match.end()
