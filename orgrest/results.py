r"""From a response to the text that stands under the request.

What ob-restclient shows, in its order: the body, laid out by its type, then as comments of that
type the request line, the status line, the header lines as the server sent them and the duration.
`Rendered` has these apart, and together as the block `#+BEGIN_SRC js`.

Nothing that a server sends is trusted. Rules:

- Secrets (`Request.secrets`) are shown as `***`: as they are, and as they look %-encoded, in JSON,
  in HTML and in base64. They are masked before anything is laid out, and again afterwards.
- Control characters, and characters that turn the direction of text, are shown as `\x1b` or
  `\u202e`; line ends are LF; bytes that are not of the charset are shown as `\xe9`.
- `Rendered.block` puts Org's comma where a line would be structure. Texts for other places are
  plain: `is_structure` says whether one would be taken for structure there.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import attrs

from orgrest import org
from orgrest.model import (
    CaptureError,
    Request,
    Response,
    to_bytes,
)
from orgrest.pretty import json_text, xml_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


MASK = "***"

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
# GNU Emacs manual, "Specifying File Variables".
_LOCAL_VARIABLES = re.compile(r"(local variables):", re.IGNORECASE)
_STRUCTURE = re.compile(
    r"^(?:\*+[ \t]|[ \t]*(?:#\+\S|:[\w-]+:[ \t]*$|\[fn:|\\begin\{)|%%\()"
    r"|<%%\(|(?:src|call)_[^\s\[({]{1,99}[\[({]|\{\{\{",
    re.MULTILINE,
)
_PARAMETER = re.compile(r';\s*charset\s*=\s*(?:"([^"]*)"|([^\s;"]+))', re.IGNORECASE)
_XML_ENCODING = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([\w.-]+)["']""")
_HTML_CHARSET = re.compile(rb"""<meta[^>]*?\bcharset\s*=\s*["']?([\w.-]+)""", re.IGNORECASE)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Python codecs that are no charsets of the web; some take quadratic time.
_NO_CHARSETS = frozenset(
    "idna punycode unicode_escape raw_unicode_escape undefined mbcs oem".replace("_", "-").split()
)

_LANGUAGES = {
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
_EXTENSIONS = {
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


# ----------------------------------------------------------------------------- texts of strangers


def visible(text: str, *, one_line: bool = False) -> str:
    r"""`text` with control characters as `\x1b`; tabs stay, and newlines unless `one_line`.

    The marks of file-local variables lose their colon: Emacs would obey a document that ends so.
    """
    shown = _LOCAL_VARIABLES.sub(r"\1\\x3a", _INVISIBLE.sub(_show_character, text))
    return shown.replace("\n", "\\x0a") if one_line else shown


def _show_character(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def is_structure(text: str) -> bool:
    """Whether Org would find a heading, keyword, block, drawer or inline code in `text`."""
    return _STRUCTURE.search(text) is not None


def mask(text: str, secrets: Collection[str]) -> str:
    """`text` with every secret, in any of its spellings, as `***`."""
    for spelling in _spellings(frozenset(secrets)):
        if spelling in text:
            text = text.replace(spelling, MASK)
    return text


# What may stay as it is in a percent-encoded text: nothing; paths; `encodeURIComponent`;
# `encodeURI` and what is sent as a request target.
_QUOTED_SAFE = (
    "",
    "/",
    "!'()*~",
    "!'()*~;/?:@&=+$,#",
    "!$&'()*+,-./:;=?@_~",
    "!$&'()*+,-./:;=?@_~%",
)
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_JSON_IN_HTML = re.compile(r"[<>&']")


def _json_unit(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


@lru_cache(maxsize=64)
def _spellings(secrets: frozenset[str]) -> tuple[str, ...]:
    """How secrets may look in what a server sends back, the longest first."""
    import html
    import json
    from base64 import b64encode, urlsafe_b64encode
    from urllib.parse import quote, quote_plus

    found: set[str] = set()
    for secret in secrets:
        data = to_bytes(secret)
        lines = [line for line in secret.splitlines() if len(line.strip()) >= 8]
        for text in {secret, secret.strip(), secret.replace("\r\n", "\n"), *lines}:
            quoted = {quote(to_bytes(text), safe=safe) for safe in _QUOTED_SAFE}
            quoted.add(quote_plus(to_bytes(text)))
            lower = {_PERCENT.sub(lambda match: match[0].lower(), one) for one in quoted}
            escaped = {text, visible(text), visible(text, one_line=True)} | quoted | lower
            dumped = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
            dumped |= {one.replace("/", "\\/") for one in dumped}
            escaped |= dumped | {_JSON_IN_HTML.sub(_json_unit, one) for one in dumped}
            entities = {html.escape(text), html.escape(text, quote=False)}
            entities |= {one.replace("&#x27;", "&#39;") for one in entities}
            entities |= {one.replace("&quot;", "&#34;") for one in entities}
            escaped |= entities | {text.encode("ascii", "xmlcharrefreplace").decode()}
            found |= escaped
        encoded = {b64encode(data).decode(), urlsafe_b64encode(data).decode()}
        encoded |= {one.rstrip("=") for one in encoded}
        for width in (64, 76):  # PEM's and MIME's lines
            for end in ("\n", "\r\n"):
                encoded |= {
                    end.join(one[i : i + width] for i in range(0, len(one), width))
                    for one in encoded
                    if end not in one
                }
        found |= encoded
    spellings = {text for text in found if text.strip() and text.strip("*")}
    return tuple(sorted(spellings, key=lambda text: (-len(text), text)))


# ------------------------------------------------------------------------------------------ bodies


def media_type(response: Response) -> str:
    """Return the response's media type in lower case without parameters, "" when it has none."""
    return (response.header("Content-Type") or "").partition(";")[0].strip().lower()


def _language(kind: str, text: str) -> str:
    """Return the language of the block for a text of media type `kind`."""
    if kind in _LANGUAGES:
        return _LANGUAGES[kind]
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


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind in _LANGUAGES or kind.endswith(("+json", "+xml"))


def _is_binary(kind: str, body: bytes) -> bool:
    if kind.startswith("image/"):
        return bool(body)
    if _is_text(kind) or not body:
        return False
    if any(body.startswith(bom) for bom, _ in _BOMS):
        return False
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        # A multi-byte character that the size limit cut in two is no sign of a binary body.
        if error.reason != "unexpected end of data":
            return True
        text = body[: error.start].decode("utf-8")
    return re.search(r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]", text) is not None


def _decode(response: Response, kind: str) -> tuple[str, list[str]]:
    """Return the body as text with LF line ends, and what is to be said about it."""
    body = response.body
    charset = _charset(response, kind)
    notes = []
    codec = next((name for bom, name in _BOMS if body.startswith(bom)), None)
    if codec is None or (charset and not charset.lower().startswith("utf")):
        codec = _codec(charset)
        if codec is None:
            notes.append(
                f"the charset {visible(charset or '', one_line=True)} is not known: read as UTF-8"
            )
            codec = "utf-8"
    try:
        text = body.decode(codec)
    except UnicodeDecodeError:
        text = body.decode(codec, "backslashreplace")
        notes.append(f"bytes that are not {codec} are shown as \\xNN")
    return text.replace("\r\n", "\n"), notes


def _charset(response: Response, kind: str) -> str | None:
    match = _PARAMETER.search(response.header("Content-Type") or "")
    if match:
        return match[1] if match[1] is not None else match[2]
    beginning = response.body[:1024]
    found = None
    if "xml" in kind or beginning.lstrip().startswith(b"<?xml"):
        found = _XML_ENCODING.search(beginning)
    elif "html" in kind:
        found = _HTML_CHARSET.search(beginning)
    return found[1].decode("ascii", "replace") if found else None


def _codec(charset: str | None) -> str | None:
    """Python's name of a charset, or None when it has none."""
    if not charset:
        return "utf-8"
    try:
        info = codecs.lookup(charset)
        "".encode(info.name)  # a codec that is no charset, like rot13, refuses here
    except (LookupError, ValueError, TypeError):
        return None
    return None if info.name.replace("_", "-") in _NO_CHARSETS else info.name


def _lay_out(text: str, language: str, secrets: Collection[str]) -> str:
    if language == "js":
        return json_text(text, lambda value: mask(value, secrets))
    if language == "nxml":
        return xml_text(mask(text, secrets))
    return text


# ---------------------------------------------------------------------------------------- rendered


@attrs.frozen
class Rendered:
    """What a response looks like in a document, in parts; all of it masked and visible.

    `body` is the text of the body ("" when there is none, or when it is in `data`), `head` the
    request line, redirects, status line, headers and duration, each without comment characters,
    `language` the source block's. `data` is a body that belongs into a file, `extension` the end of
    that file's name. `notes` is what the user should be told.
    """

    body: str
    head: tuple[str, ...]
    language: str
    data: bytes | None = None
    extension: str = ""
    notes: tuple[str, ...] = ()

    @property
    def value(self) -> str:
        """The body alone, as `:results value` shows it."""
        return f"{self.body}\n" if self.body else ""

    @property
    def text(self) -> str:
        """The body and, as comments, the head."""
        opening, closing = _COMMENTS[self.language]
        lines = [f"{opening}{_inside(line, closing)}{closing}\n" for line in self.head]
        return self.value + "".join(lines)

    def block(self) -> str:
        """Return the source block that ob-restclient writes by default, safe in a document."""
        return f"#+BEGIN_SRC {self.language}\n{org.escape(self.text)}#+END_SRC\n"


def _inside(line: str, closing: str) -> str:
    """Return a line of a comment, so that it does not end the comment."""
    if closing == " -->":
        return line.replace("--", "-&#45;") if "--" in line else line
    return line.replace("*/", "*\\/") if closing else line


def render(
    request: Request,
    response: Response,
    *,
    headers: str = "yes",
    jq: str | None = None,
    jq_args: str = "",
) -> Rendered:
    """Make the result of a request out of its response.

    `headers` is `yes`, `no` (the body only) or `only` (the head only). `jq` is a program whose
    output takes the body's place. Raises `CaptureError` when jq fails.
    """
    secrets = request.secrets
    notes = list(response.warnings)
    head = _head(request, response, secrets) if headers != "no" else ()
    kind = media_type(response)
    data = None
    text = ""
    if headers != "only":
        if jq is None and _is_binary(kind, response.body):
            data = response.body
            if any(to_bytes(secret) in data for secret in secrets):
                notes.append("the body, which goes to a file as it is, holds a secret")
        else:
            text, more = _decode(response, kind)
            notes += more
            if jq is not None:
                text = _jq(jq, text, jq_args)
    if response.truncated:
        notes.append(f"the body is longer than {_size(len(response.body))}: the rest was not read")
    language = "js" if data is not None or jq is not None else _language(kind, text)
    if not text.strip():
        text = ""
    if not text and kind not in _LANGUAGES:
        language = "js"
    if text:
        laid_out = text if jq is not None else _lay_out(text, language, secrets)
        text = visible(mask(laid_out, secrets)).lstrip("\n")
        if response.truncated:
            text = _mask_cut(text, secrets)
    return Rendered(
        body=text,
        head=head,
        language=language,
        data=data,
        extension=_extension(kind) if data is not None else "",
        notes=tuple(visible(mask(note, secrets), one_line=True) for note in notes),
    )


def _size(count: int) -> str:
    return f"{count // 2**20} MiB" if count % 2**20 == 0 and count else f"{count} bytes"


def _mask_cut(text: str, secrets: Collection[str]) -> str:
    """Mask the beginning of a secret where the size limit cut the body inside of it."""
    for spelling in _spellings(frozenset(secrets)):
        for length in range(len(spelling) - 1, 3, -1):
            if text.endswith(spelling[:length]):
                return text[:-length] + MASK
    return text


def _head(request: Request, response: Response, secrets: Collection[str]) -> tuple[str, ...]:
    lines = [f"{request.method} {mask(request.url, secrets)}"]
    for step in response.redirects:
        lines.append(f"{step.status} {mask(step.reason, secrets)} -> {mask(step.url, secrets)}")
    lines.append(f"HTTP/{response.version} {response.status} {mask(response.reason, secrets)}")
    lines += [f"{mask(n, secrets)}: {mask(v, secrets)}" for n, v in response.headers]
    if response.truncated:
        lines.append(f"Body cut after {_size(len(response.body))}")
    lines.append(f"Request duration: {response.duration:.6f}s")
    return tuple(visible(line, one_line=True) for line in lines)


def _extension(kind: str) -> str:
    if kind in _EXTENSIONS:
        return _EXTENSIONS[kind]
    import mimetypes

    return mimetypes.guess_extension(kind) or ".bin"


# ---------------------------------------------------------------------------------------------- jq


def _jq(program: str, text: str, args: str) -> str:
    from orgrest.jq import run

    return run(program, text, args)


def captures(request: Request, response: Response) -> Iterator[tuple[str, str]]:
    """Compute, one by one, the variables that the request's `-> jq-set-var` lines name.

    Gives pairs of name and value. Raises `CaptureError` with the line's place when jq fails or
    finds nothing; the pairs above that line have then been given.
    """
    if not request.captures:
        return
    text, _ = _decode(response, media_type(response))
    for capture in request.captures:
        try:
            value = _jq(capture.expression, text, "-r")
        except CaptureError as error:
            raise CaptureError.at(capture.source, capture.span.start, error.reason) from error
        if value in ("", "null"):
            reason = (
                f"{capture.expression} finds nothing in the response: :{capture.name} is not set"
            )
            raise CaptureError.at(capture.source, capture.span.start, reason)
        yield capture.name, value
