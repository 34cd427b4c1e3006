r"""Masks secrets in responses as `***`.

Servers echo received data, often in another encoding. `mask` finds the common spellings:

- unchanged, in upper case and in lower case, and each line of a multi-line secret;
- percent-encoded, in UTF-8 or Latin-1; JSON-escaped, also with every character as `\uXXXX`; as HTML
  with named, decimal or hexadecimal references for the special, the non-ASCII, or all characters;
- in base64, alone or as a part of something else (`user:secret`), and in hexadecimal;
- as UTF-8 decoded as Latin-1 or Windows-1252, and as Latin-1 decoded as UTF-8.

A secret of fewer than `LEAST` characters often occurs by chance, so it is masked only if it is the
whole text, such as the value of a variable.

A request records the secrets in each of its parts: `masked` also hides a part in which a secret
has none of these spellings.

This is not a security boundary: a server can always disguise a secret (reversed, encoded twice, in
pieces). Send secrets only to servers that may know them.
"""

from __future__ import annotations

import contextlib
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import attrs

from orgrest.model import Request, secrets_in, to_bytes
from orgrest.rendering.sanitize import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

MASK = "***"
LEAST = 4
"""The minimum length of a secret that is masked within other text."""

# Sets of characters that percent-encoders leave unchanged: none; those of paths; those of
# `encodeURIComponent`; those of `encodeURI` and of request targets.
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
_REFERENCES = ("&#{};", "&#x{:x};", "&#x{:X};", "&#X{:X};")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_BASE64_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_LEAST_BASE64 = 5  # characters; shorter words occur by chance


def mask(text: str, secrets: Collection[str]) -> str:
    """Return `text` with every secret, in any of its spellings, replaced by `***`."""
    if not secrets:
        return text
    if len(text) < LEAST:
        return MASK if text.strip() and text in secrets else text
    found = _spellings(frozenset(secrets))
    for inside in found.inside_base64:
        if inside in text:
            text = _mask_base64(text, inside)
    for spelling in found.whole:
        if spelling in text:
            text = text.replace(spelling, MASK)
    return text


def mask_bytes(data: bytes, secrets: Collection[str]) -> bytes:
    """Return `data` with every secret, in any of its spellings, replaced by `***`."""
    if not secrets:
        return data
    found = _spellings(frozenset(secrets))
    for spelling in (*found.whole, *found.inside_base64):
        given = to_bytes(spelling)
        if given in data:
            data = data.replace(given, MASK.encode())
    return data


def mask_value(value: str, secrets: frozenset[str]) -> str:
    """Return a variable's value masked; `***` if the position of a secret in it is unknown."""
    inside = {one.text for one in secrets_in(value) if not one.possible}
    return mask(value, secrets | inside) if _are_spelled(inside, value) else MASK


def masked(
    request: Request, known: frozenset[str] = frozenset(), limit: int | None = None
) -> Request:
    """Return a request with its secrets masked, and at most `limit` bytes of its body.

    `known` are additional secrets. A part that holds a secret, but none of its known spellings, is
    hidden completely.
    """
    body = None if request.body is None else request.body[:limit]
    if not (request.secrets or request.held or known):
        return request if body == request.body else attrs.evolve(request, body=body)
    whole = {"method": request.method, "url": request.url}
    for name, value in request.headers:
        whole[name.lower()] = f"{whole.get(name.lower(), '')}\n{value}"
    inside = {part: {x.text for of, x in request.held if of == part and not x.possible}
              for part in (*whole, "body")}  # fmt: skip
    if body and inside["body"]:
        whole["body"] = (request.body or b"").decode("utf-8", "surrogateescape")
    hidden = {part for part, text in whole.items() if not _are_spelled(inside[part], text)}
    secrets = {part: request.secrets.union(known, own) for part, own in inside.items()}

    def shown(part: str, text: str) -> str:
        return MASK if part in hidden else mask(text, secrets[part])

    if body:
        body = MASK.encode() if "body" in hidden else mask_bytes(body, secrets["body"])
    return attrs.evolve(
        request,
        method=shown("method", request.method),
        url=shown("url", request.url),
        headers=tuple((mask(n, secrets["url"]), shown(n.lower(), v)) for n, v in request.headers),
        body=body,
    )


def spelled_in(request: Request, secret: str) -> Iterator[str]:
    """Yield the parts of a request that contain a secret, in any spelling."""
    secrets = frozenset({secret})
    parts = [("method", request.method), ("url", request.url)]
    parts += ((name.lower(), f"{name} {value}") for name, value in request.headers)
    yield from (part for part, text in parts if mask(text, secrets) != text)
    if request.body is not None and mask_bytes(request.body, secrets) != request.body:
        yield "body"


def _are_spelled(secrets: Iterable[str], text: str) -> bool:
    """Return whether a text has a spelling of each of these secrets, as a whole.

    An empty secret has no spelling; secrets that are too short to be masked are ignored.
    """
    if not text:
        return True
    return all(
        any(one in text for one in _complete(secret)) if secret else False
        for secret in secrets
        if not 0 < len(secret.strip()) < LEAST
    )


@lru_cache(maxsize=64)
def _complete(secret: str) -> frozenset[str]:
    """Return the spellings of a secret as a whole, not of its lines."""
    found = {one for text in _lined(secret) for one in _texts(text)}
    for data in _encoded(secret):
        found |= {*_base64(data), data.hex(), data.hex().upper(), *_inside_base64(data)}
    return frozenset(found)


def _lined(secret: str) -> set[str]:
    """Return a secret with its own line ends, with LF, and with CRLF."""
    unix = secret.replace("\r\n", "\n")
    return {secret, secret.strip(), unix, unix.replace("\n", "\r\n")}


def mask_cut(text: str, secrets: Collection[str]) -> str:
    """Mask the beginning of a secret at the end of a truncated text."""
    for spelling in _spellings(frozenset(secrets)).whole:
        for length in range(min(len(spelling) - 1, len(text)), 3, -1):
            if text.endswith(spelling[:length]):
                return text[:-length] + MASK
    return text


def _mask_base64(text: str, inside: str) -> str:
    """Mask every base64 word that contains characters which encode a secret."""
    out: list[str] = []
    done = 0
    at = text.find(inside)
    while at >= 0:
        start = at
        while start > done and text[start - 1] in _BASE64_CHARACTERS:
            start -= 1
        match = _BASE64.match(text, at)
        out += [text[done:start], MASK]
        done = match.end() if match else at + len(inside)
        at = text.find(inside, done)
    return "".join([*out, text[done:]])


class _Spellings:
    """The spellings of secrets, the longest first."""

    def __init__(self, secrets: Iterable[str]) -> None:
        spelled = [_spelled(secret) for secret in secrets if len(secret.strip()) >= LEAST]
        whole = frozenset().union(*(one for one, _ in spelled))
        self.whole = _ordered(text for text in whole if text.strip() and text.strip("*"))
        self.inside_base64 = _ordered(frozenset().union(*(inside for _, inside in spelled)))


@lru_cache(maxsize=4096)  # each request of a loop adds a secret
def _spelled(secret: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the spellings of a secret and its lines, and their base64 inside of longer data."""
    lines = [line for line in secret.splitlines() if len(line.strip()) >= 8]
    whole = {one for text in {*_lined(secret), *lines} for one in _texts(text)}
    inside: set[str] = set()
    for data in _encoded(secret):
        whole |= {*_base64(data), data.hex(), data.hex().upper()}
        inside.update(_inside_base64(data))
    return frozenset(whole), frozenset(inside)


@lru_cache(maxsize=64)
def _spellings(secrets: frozenset[str]) -> _Spellings:
    return _Spellings(secrets)


def _ordered(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(sorted(texts), key=len, reverse=True))


def _encoded(text: str) -> set[bytes]:
    """Return a text's bytes in UTF-8 and, if Latin-1 can encode it, in Latin-1."""
    found = {to_bytes(text)}
    with contextlib.suppress(UnicodeEncodeError):
        found.add(text.encode("latin-1"))
    return found


def _texts(text: str) -> Iterator[str]:
    """Yield the spellings of a text that encode each character separately."""
    for one in (text, text.upper(), text.lower(), *_misread(text)):
        yield from (one, visible(one), visible(one, one_line=True))
    for data in _encoded(text):
        yield from _quoted(data)
    yield from _json(text)
    yield from _html(text)


def _misread(text: str) -> Iterator[str]:
    """Yield the texts that result from decoding the text's bytes in a wrong charset."""
    if text.isascii():
        return
    for data in _encoded(text):
        for charset in ("latin-1", "cp1252", "utf-8"):
            for errors in ("replace", "backslashreplace", "surrogateescape"):
                yield data.decode(charset, errors)


def _quoted(data: bytes) -> Iterator[str]:
    from urllib.parse import quote, quote_plus

    for one in {quote_plus(data), *(quote(data, safe=safe) for safe in _QUOTED_SAFE)}:
        yield one
        yield _PERCENT.sub(lambda match: match[0].lower(), one)


def _json(text: str) -> Iterator[str]:
    import json

    dumped = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    dumped |= {one.replace("/", "\\/") for one in dumped}
    dumped |= {_JSON_IN_HTML.sub(lambda m: f"\\u{ord(m[0]):04x}", one) for one in dumped}
    units = text.encode("utf-16-be", "surrogatepass").hex()
    dumped.add("".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)))
    yield from dumped
    for one in dumped:
        yield re.sub(r"\\u[0-9a-f]{4}", lambda match: f"\\u{match[0][2:].upper()}", one)


def _html(text: str) -> Iterator[str]:
    from html import escape
    from html.entities import codepoint2name

    def named(character: str) -> str:
        name = codepoint2name.get(ord(character))
        return character if name is None else f"&{name};"

    def numbered(text: str, form: str, characters: str) -> str:
        return re.sub(characters, lambda match: form.format(ord(match[0])), text, flags=re.DOTALL)

    escaped = {text, escape(text), escape(text, quote=False)}
    escaped |= {one.replace("&#x27;", "&#39;") for one in escaped}
    escaped |= {one.replace("&quot;", "&#34;") for one in escaped}
    for one in escaped:
        yield one
        yield "".join(c if c.isascii() else named(c) for c in one)
        for form in _REFERENCES:
            yield numbered(one, form, r"[^\x00-\x7f]")
    for form in _REFERENCES:
        yield numbered(text, form, """[<>&"']""")
        yield numbered(text, form, """[<>&"']|[^\\x00-\\x7f]""")
        yield numbered(text, form, ".")


def _base64(data: bytes) -> set[str]:
    from base64 import b64encode, urlsafe_b64encode

    encoded = {b64encode(data).decode(), urlsafe_b64encode(data).decode()}
    encoded |= {one.rstrip("=") for one in encoded}
    for width in (64, 76):  # the line lengths of PEM and MIME
        for end in ("\n", "\r\n"):
            encoded |= {
                end.join(one[i : i + width] for i in range(0, len(one), width))
                for one in encoded
                if end not in one
            }
    return encoded


def _inside_base64(data: bytes) -> Iterator[str]:
    """Yield the base64 characters that `data` yields inside longer data, for each alignment."""
    from base64 import b64encode, urlsafe_b64encode

    for before in range(3):
        padded = bytes(before) + data
        first = -(-before * 8 // 6)  # the first character that depends on `data` only
        last = len(padded) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            inside = encode(padded)[first:last].decode()
            if len(inside) >= _LEAST_BASE64:
                yield inside
