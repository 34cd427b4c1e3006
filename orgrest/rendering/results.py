r"""Renders a response as the text below its request.

As in ob-restclient, the text begins with the body, pretty-printed by its media type. The request
line, the status line, the header lines as the server sent them, and the duration follow as comments
in the body's language. `Rendered` has the separate parts and the complete block (`#+BEGIN_SRC js`).

Servers are not trusted. Rules:

- Secrets (`Request.secrets`) are replaced by `***`, in every spelling that `masking` knows. They
  are masked before the text is pretty-printed, and again afterwards.
- Characters that `sanitize` considers harmful are made visible. Line endings are LF.
- `Rendered.block` puts Org's escaping comma before lines that Org would read as structure.
  `layout` makes the other parts safe where they are inserted.
- A binary body is not shown. If a body is longer than a limit, only its beginning is decoded,
  pretty-printed and shown. In both cases, the complete body may be written to a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.model import OrgrestError, Request, Response, Verdict, size_text, to_bytes
from orgrest.org.blocks import ArgumentError
from orgrest.org.text import escape
from orgrest.regular import compiled
from orgrest.rendering.content import LANGUAGES, decode, extension, is_binary, language, media_type
from orgrest.rendering.masking import displayed, mask, mask_bytes, mask_cut
from orgrest.rendering.pretty import json_text, xml_text
from orgrest.rendering.sanitize import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from orgrest.org.blocks import Arguments

SHOWN = 2**20
"""The default number of bytes of a body that a document shows."""

_SIZE = compiled(r"(\d{1,15})[ \t]*([kKmM]?)(?:i?[bB])?")
_UNITS = {"": 1, "k": 2**10, "m": 2**20}

_SLACK = 2**16  # bytes read beyond the limit, because pretty-printing may shorten them
_XML_COMMENT = ("<!-- ", " -->")
_COMMENTS = {
    "js": ("// ", ""),
    "css": ("/* ", " */"),
    "yaml": ("# ", ""),
    "html": _XML_COMMENT,
    "nxml": _XML_COMMENT,
    "markdown": _XML_COMMENT,
    "text": ("", ""),
}


@classes.frozen
class Rendered:
    """The parts of a response in a document, with secrets masked and control characters visible.

    `body` is the text of the body, or "" if there is no text to show. `head` contains the request
    line, redirects, status line, headers and duration without comment characters. `language` is the
    language of the source block. `notes` are messages for the user. `tests` contains a line for
    each assertion and test of the request.

    `data` is the complete body if it is binary or longer than the limit, and otherwise None. If the
    body is longer than the limit, `body` is the beginning of `data`. `extension` is the suffix of a
    file for `data`, and `link` is a link to that file, set once the file has a name. `unread` says
    after how many bytes reading the body ended, or is "" if all of it was read.
    """

    body: str
    head: tuple[str, ...]
    language: str
    data: bytes | None = None
    extension: str = ""
    notes: tuple[str, ...] = ()
    link: str = ""
    tests: tuple[str, ...] = ()
    unread: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether `body` is only the beginning of `data`."""
        return self.data is not None and self.body != ""

    def uncut(self) -> str:
        """Return the complete body. Raises OrgrestError if `body` is truncated."""
        if self.unread:
            reason = "only the beginning of the body was read, but all of it is needed here"
            raise OrgrestError(reason)
        if self.is_cut:
            size = len(self.data or b"")
            reason = (
                "only the beginning of the body is shown, but all of it is needed here: "
                f"use :limit {size}"
            )
            raise OrgrestError(reason)
        return self.body

    @property
    def value(self) -> str:
        """The body only, as `:results value` shows it."""
        return "".join(f"{line}\n" for line in (self.body, self._rest) if line)

    @property
    def _rest(self) -> str:
        """A line about the rest of a truncated body, or ""."""
        return f"{self.unread or 'The whole body'}: {self.link}" if self.link else self.unread

    @property
    def text(self) -> str:
        """The body and, as comments, the head and the outcomes of the assertions."""
        opening, closing = _COMMENTS[self.language]
        rest = (self._rest,) if self._rest and self._rest not in self.head else ()
        told = (*rest, *self.head, *self.tests)
        lines = [f"{opening}{_inside(line, closing)}{closing}\n" for line in told]
        return (f"{self.body}\n" if self.body else "") + "".join(lines)

    def as_verb(self, part: str) -> str:
        """Return the response as ob-verb writes it: status line, headers, an empty line, the body.

        If `part` is `get-headers` or `get-body`, return only that part. If it is "", return
        everything.
        """
        if part == "get-body":
            return self.value
        lines = [line for line in self.head[:-1] if line != self.unread]
        start = next((at for at, line in enumerate(lines) if line.startswith("HTTP/")), 0)
        headers = "".join(f"{line}\n" for line in lines[start + 1 :])
        if part:
            return headers
        return f"{lines[start]}\n{headers}" + (f"\n{self.value}" if self.value else "")

    def block(self) -> str:
        """Return the source block that ob-restclient writes by default, escaped for Org."""
        return f"#+BEGIN_SRC {self.language}\n{escape(self.text)}#+END_SRC\n"


def _inside(line: str, closing: str) -> str:
    """Return a line for use in a comment, with any end marker of the comment escaped."""
    if closing == " -->":
        return line.replace("--", "-&#45;") if "--" in line else line
    return line.replace("*/", "*\\/") if closing else line


def parse_size(text: str) -> int:
    """Return the number of bytes, at least 1, in a size such as `500`, `64k` or `2 MiB`.

    Raises ValueError for any other text.
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(match[1]) * _UNITS[match[2].lower()] if match else 0
    if not size:
        raise ValueError(f"a size must be a number of bytes such as 500, 64k or 2M, found {text}")
    return size


def options_of(arguments: Arguments, limit: int | None) -> dict[str, Any]:
    """Return the keyword arguments of `render` for the header arguments of a block.

    `limit` applies unless the block sets a limit. Raises ArgumentError if an argument is invalid.
    """
    if size := arguments.get("limit"):
        try:
            limit = parse_size(size)
        except ValueError as error:
            raise ArgumentError(f":limit: {error}") from None
    # Like restclient.el, write no headers for the output of jq.
    jq, bare = arguments.get("jq"), arguments.flag("noheaders")
    heads = arguments.get("headers", "no" if jq or bare else "yes").lower()
    if heads not in ("yes", "no", "only"):
        raise ArgumentError(f":headers must be yes, no or only, found {heads}")
    if heads == "yes" and bare:
        heads = "no"
    return {
        "headers": heads,
        "jq": jq or None,
        "jq_args": arguments.get("jq-args"),
        "limit": limit,
    }


def render(
    request: Request,
    response: Response,
    *,
    headers: str = "yes",
    tests: Sequence[Verdict] = (),
    jq: str | None = None,
    jq_args: str = "",
    limit: int | None = None,
    secrets: frozenset[str] | None = None,
) -> Rendered:
    """Return the response to a request, rendered for a document.

    `headers` is `yes`, `no` (the body only) or `only` (the head only). `tests` are the outcomes of
    the request's assertions. `jq` is a program whose output replaces the body. At most `limit`
    bytes of the body are shown (default: `SHOWN`). `secrets` are masked (default: those of the
    request). Raises OrgrestError if jq fails or cannot have the complete body.
    """
    secrets = request.secrets if secrets is None else secrets
    limit = limit or SHOWN
    kind = media_type(response)
    notes = list(response.warnings)
    text, lang, data = "", LANGUAGES.get(kind, "js") if jq is None else "js", None
    if headers == "only":
        pass
    elif jq is None and is_binary(response, kind):
        data, lang = mask_bytes(response.body, secrets), "js"
        if data != response.body:
            notes.append(
                "the body is binary and contains a secret: results and reports contain *** instead"
            )
    else:
        shown = _read(response, kind, secrets, jq, jq_args, limit)
        text, lang = shown.text, shown.language
        notes += shown.notes
        if shown.is_cut:
            data = mask_bytes(response.body, secrets) if jq is None else to_bytes(shown.whole)
            notes.append(
                f"the body is larger than {size_text(limit)}: at most its beginning is shown"
            )
    if response.unread:
        notes.append(response.unread)
    unread = f"Body cut after {size_text(len(response.body))}" if response.truncated else ""
    return Rendered(
        body=text,
        head=_head(request, response, secrets, unread) if headers != "no" else (),
        language=lang,
        data=data,
        extension=extension(kind if jq is None else "application/json") if data is not None else "",
        notes=tuple(visible(mask(note, secrets), one_line=True) for note in notes),
        tests=tuple(visible(mask(test_line(test), secrets), one_line=True) for test in tests),
        unread=unread,
    )


def is_plain(response: Response, limit: int | None = None) -> bool:
    """Return whether rendering a response is certain to produce neither notes nor files.

    This applies only to rendering without jq.
    """
    kind, body = media_type(response), response.body
    if response.truncated or response.warnings:
        return False
    # No character becomes longer than six, and the nesting cannot exceed the number of brackets.
    nested = sum(map(body.count, (b"[", b"{", b"<"))) + 1
    longest = 6 * len(body) + (2 * nested + body.count(b",")) * 2 * nested
    if 4 * longest > (limit or SHOWN) or is_binary(response, kind):
        return False
    return not decode(response)[1]


def test_line(verdict: Verdict) -> str:
    """Return a line with the outcome of an assertion or test, and the reason if it failed."""
    return f"ok  {verdict.name}" if verdict.held else f"FAILED  {verdict.name}: {verdict.reason}"


@classes.frozen
class _Text:
    """The pretty-printed text of a body.

    `whole` is the text that was read, and `text` is the beginning that is shown. `is_cut` is true
    if `text` is not the complete body.
    """

    text: str
    language: str
    notes: list[str]
    is_cut: bool
    whole: str


def _read(
    response: Response,
    kind: str,
    secrets: Collection[str],
    jq: str | None,
    jq_args: str,
    limit: int,
) -> _Text:
    """Return the pretty-printed body, or the output of jq, and the beginning to show."""
    if jq is not None:
        from orgrest.rendering.jq import run

        response.whole_body()
        text, notes = decode(response)
        text, lang, cut = run(jq, text, jq_args), "js", False
    else:
        size = limit + _SLACK
        text, notes = decode(response, size)
        lang, cut = language(kind, text), len(response.body) > size
        if lang == "js":
            text = json_text(text, lambda value: mask(value, secrets), cut=cut)
        elif lang == "nxml":
            text = xml_text(mask(text, secrets))
    if not text.strip():
        return _Text("", lang if jq is None and kind in LANGUAGES else "js", notes, cut, "")
    text = visible(mask(text, secrets)).lstrip("\n")
    if response.truncated or cut:
        text = mask_cut(text, secrets)
    shown = _beginning(text, limit)
    return _Text(shown, lang, notes, cut or len(shown) < len(text), text)


def _beginning(text: str, limit: int) -> str:
    """Return at most `limit` bytes of text, cut at a line end if one is in the second half."""
    if len(text) * 4 <= limit or len(data := to_bytes(text[: limit + 1])) <= limit:
        return text
    shown = data[:limit].decode("utf-8", "ignore")
    end = shown.rfind("\n")
    return shown[: end + 1].rstrip("\n") if end > len(shown) // 2 else shown


def _head(
    request: Request, response: Response, secrets: Collection[str], unread: str
) -> tuple[str, ...]:
    shown = displayed(request, limit=0)
    lines = [f"{shown.method} {shown.url}"]
    for step in response.redirects:
        lines.append(f"{step.status} {mask(step.reason, secrets)} -> {mask(step.url, secrets)}")
    lines.append(f"HTTP/{response.version} {response.status} {mask(response.reason, secrets)}")
    lines += [f"{mask(n, secrets)}: {mask(v, secrets)}" for n, v in response.headers]
    lines += [unread] if unread else []
    lines.append(f"Request duration: {response.duration:.6f}s")
    return tuple(visible(line, one_line=True) for line in lines)


def captures(request: Request, response: Response) -> Iterator[tuple[str, str]]:
    """Yield (name, value) for each variable that the request's `-> jq-set-var` lines set.

    Raises CaptureError, positioned at the line, if jq fails or finds nothing for a line. The pairs
    for the lines above are yielded first.
    """
    if not request.captures:
        return
    from orgrest.rendering.jq import CaptureError, run

    text, _ = decode(response)
    for capture in request.captures:
        try:
            response.whole_body()
            value = run(capture.expression, text, "-r")
        except OrgrestError as error:
            raise CaptureError.at(capture.source, capture.span.start, error.reason) from error
        if value in ("", "null"):
            what, name = capture.path, capture.name
            if what is None:
                what, name = capture.expression, f":{name}"
            reason = f"{what} matches nothing in the response, so {name} was not set"
            raise CaptureError.at(capture.source, capture.span.start, reason)
        yield capture.name, value
