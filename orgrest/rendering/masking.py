r"""Masks secrets in responses as `***`.

Servers echo the data that they receive, often in another encoding. `mask` finds the common
spellings of a secret:

- unchanged, in upper case and in lower case; if the secret has several lines, also each line alone;
- percent-encoded, in UTF-8 or Latin-1, also with every character as `%XX`;
- JSON-escaped, also with every character as `\uXXXX`;
- as HTML or XML, with named, decimal or hexadecimal references for special characters, for
  non-ASCII characters, or for all characters;
- in base64, alone or as part of something else (`user:secret`), and in hexadecimal;
- as UTF-8 decoded as Latin-1 or Windows-1252, and as Latin-1 decoded as UTF-8.

A secret of fewer than `LEAST` characters often occurs by chance. It is masked only if it is the
whole text, such as the value of a variable.

A request records which secrets each of its parts contains. `masked` completely hides a part in
which it finds no spelling of such a secret.

This is not a security boundary. A server can always disguise a secret, for example by reversing it,
splitting it or encoding it twice. Send secrets only to servers that you trust with them.
"""

from __future__ import annotations

import contextlib
import re
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, AnyStr, Generic, TypeAlias

from orgrest import classes
from orgrest.model import Request, secrets_in, to_bytes
from orgrest.occurrences import Index, replaced
from orgrest.regular import compiled
from orgrest.rendering.sanitize import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from collections.abc import Set as AbstractSet

MASK = "***"
LEAST = 4
"""The minimum length of a secret that is masked within other text."""

# The characters that percent-encoders leave unchanged: none; those of paths; those of
# `encodeURIComponent`; those of `encodeURI` and of request targets.
_QUOTED_SAFE = (
    "",
    "/",
    "!'()*~",
    "!'()*~;/?:@&=+$,#",
    "!$&'()*+,-./:;=?@_~",
    "!$&'()*+,-./:;=?@_~%",
)
# The same for encoders that write a space as +: Python and Go; `URLSearchParams` and Java; .NET.
_QUOTED_PLUS_SAFE = ("", "*", "!*()")
_PERCENT = compiled(r"%[0-9A-F]{2}")
_JSON_IN_HTML = compiled(r"[<>&']")
_REFERENCES = ("&#{};", "&#x{:x};", "&#x{:X};", "&#X{:X};")
_APOSTROPHES = ("&#39;", "&#x27;", "&apos;")
_BASE64 = compiled(r"[A-Za-z0-9+/_-]*={0,2}")
_BASE64_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")
_LEAST_BASE64 = 5  # characters; shorter words occur by chance


def mask(text: str, secrets: Collection[str]) -> str:
    """Return `text` with every secret, in any of its spellings, replaced by `***`."""
    if not secrets:
        return text
    if len(text) < LEAST:
        return MASK if text.strip() and text in secrets else text
    secrets = frozenset(secrets)
    spans: list[tuple[int, int]] = []
    inside: list[tuple[int, int]] = []
    for start, end, owners in _in_text.of(secrets).occurrences(text):
        if _are_owners(secrets, owners, "whole"):
            spans.append((start, end))
        if _are_owners(secrets, owners, "inside_base64"):
            inside.append((start, end))
    return replaced(text, [*spans, *_base64_words(text, inside)], MASK) if spans or inside else text


def mask_bytes(data: bytes, secrets: Collection[str]) -> bytes:
    """Return `data` with every secret, in any of its spellings, replaced by `***`."""
    if not secrets:
        return data
    secrets = frozenset(secrets)
    occurrences = _in_bytes.of(secrets).occurrences(data)
    spans = [
        (start, end)
        for start, end, owners in occurrences
        if any(_are_owners(secrets, owners, kind) for kind in ("whole", "inside_base64"))
    ]
    return replaced(data, spans, MASK.encode()) if spans else data


def mask_value(value: str, secrets: frozenset[str]) -> str:
    """Return the value of a variable with its secrets masked.

    The whole value is masked if it contains a secret at an unknown position.
    """
    inside = {secret.text for secret in secrets_in(value) if not secret.possible}
    return mask(value, secrets | inside) if _are_spelled(inside, value) else MASK


def masked(
    request: Request, known: frozenset[str] = frozenset(), limit: int | None = None
) -> Request:
    """Return a request with its secrets masked, and at most `limit` bytes of its body.

    `known` are additional secrets. A part is completely hidden if it contains a secret but none of
    the secret's known spellings.
    """
    body = None if request.body is None else request.body[:limit]
    if not (request.secrets or request.held or known):
        return request if body == request.body else classes.evolve(request, body=body)
    whole = {"method": request.method, "url": request.url}
    for name, value in request.headers:
        whole[name.lower()] = f"{whole.get(name.lower(), '')}\n{value}"
    inside: dict[str, set[str]] = {part: set() for part in (*whole, "body")}
    for part, secret in request.held:
        if part in inside and not secret.possible:
            inside[part].add(secret.text)
    if body and inside["body"]:
        whole["body"] = (request.body or b"").decode("utf-8", "surrogateescape")
    hidden = {part for part, text in whole.items() if not _are_spelled(inside[part], text)}
    secrets = request.secrets.union(known, *inside.values())

    def shown(part: str, text: str) -> str:
        return MASK if part in hidden else mask(text, secrets)

    if body:
        body = MASK.encode() if "body" in hidden else mask_bytes(body, secrets)
    return classes.evolve(
        request,
        method=shown("method", request.method),
        url=shown("url", request.url),
        headers=tuple((mask(n, secrets), shown(n.lower(), v)) for n, v in request.headers),
        body=body,
    )


def displayed(
    request: Request,
    known: frozenset[str] = frozenset(),
    limit: int | None = None,
    *,
    placeholders: bool = False,
) -> Request:
    """Return a request as `masked` does, with its URL as it is sent.

    If `placeholders` is true, the angle brackets in which a dry run puts names are kept.
    """
    from orgrest.http.transport.wire import quoted_url

    shown = masked(request, known, limit)
    return classes.evolve(shown, url=quoted_url(shown.url, "<>" if placeholders else ""))


def spelled_in(request: Request, secret: str) -> Iterator[str]:
    """Yield the names of the request's parts in which `mask` would find the secret.

    A name is `method`, `url`, `body` or the lower-case name of a header.
    """
    secrets = frozenset({secret})
    parts = [("method", request.method), ("url", request.url)]
    parts += ((name.lower(), f"{name} {value}") for name, value in request.headers)
    yield from (part for part, text in parts if mask(text, secrets) != text)
    if request.body is not None and mask_bytes(request.body, secrets) != request.body:
        yield "body"


def _are_spelled(secrets: Iterable[str], text: str) -> bool:
    """Return whether `text` contains each of `secrets` in full, in one of its spellings.

    Secrets that are too short to be masked are ignored. A secret of only blanks must occur
    unchanged. An empty secret counts as missing. An empty `text` counts as containing all secrets.
    """
    missing = {secret for secret in secrets if not 0 < len(secret.strip()) < LEAST}
    if not text or not missing:
        return True
    blank = {secret for secret in missing if not secret.strip()}
    if any(not secret or secret not in text for secret in blank):
        return False
    missing -= blank
    for _, _, owners in _in_text.of(frozenset(missing)).occurrences(text):
        missing -= owners.get("complete", set())
    return not missing


def _lined(secret: str) -> set[str]:
    unix = secret.replace("\r\n", "\n")
    return {secret, secret.strip(), unix, unix.replace("\n", "\r\n")}


def mask_cut(text: str, secrets: Collection[str]) -> str:
    """Return `text`, which has been truncated, with any cut-off secret at its end masked."""
    spelled = [_spelled(secret) for secret in secrets if len(secret.strip()) >= LEAST]
    start = _cut_at(text, set().union(*(each.whole for each in spelled)))
    inside = _cut_at(text, set().union(*(each.inside_base64 for each in spelled)))
    for word_start, _ in _base64_words(text, [(inside, len(text))] if inside < len(text) else []):
        start = min(start, word_start)
    return text[:start] + MASK if start < len(text) else text


def mask_message(text: str, secrets: Collection[str]) -> str:
    """Return an error message with its secrets masked, including those cut off before `...`."""
    if not secrets:
        return text
    *cut, rest = text.split("...")
    return mask("...".join([*(mask_cut(part, secrets) for part in cut), rest]), secrets)


def mask_cut_bytes(data: bytes, secrets: Collection[str]) -> bytes:
    """Return `data`, which has been truncated, with any cut-off secret at its end masked."""
    spelled = [_spelled(secret) for secret in secrets if len(secret.strip()) >= LEAST]
    spellings = set().union(*(each.whole | each.inside_base64 for each in spelled))
    start = _cut_at(data, set(map(to_bytes, spellings)))
    return data[:start] + MASK.encode() if start < len(data) else data


def _cut_at(text: AnyStr, spellings: AbstractSet[AnyStr]) -> int:
    """Return the offset of the longest incomplete spelling at the end of `text`, else its length.

    Only prefixes of at least `LEAST` characters count.
    """
    start = len(text)
    for spelling in spellings:
        at = text.find(spelling[:LEAST], max(len(text) - len(spelling) + 1, 0), start + LEAST - 1)
        while at >= 0 and not spelling.startswith(text[at:]):
            at = text.find(spelling[:LEAST], at + 1, start + LEAST - 1)
        start = at if at >= 0 else start
    return start


def _base64_words(text: str, inside: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the span of each run of base64 characters around an encoded secret in `inside`."""
    done = 0
    for at, end in sorted(inside):
        if at < done:
            continue
        start = at
        while start > done and text[start - 1] in _BASE64_CHARACTERS:
            start -= 1
        match = _BASE64.match(text, at)
        done = max(end, match.end() if match else end)
        yield start, done


@classes.frozen
class _Spelled:
    """The spellings of a secret.

    `whole` contains the spellings of the secret and of its lines. `inside_base64` contains
    spellings within the base64 encoding of longer data. `complete` contains all spellings of the
    complete secret, but not those of single lines.
    """

    whole: frozenset[str]
    inside_base64: frozenset[str]
    complete: frozenset[str]


_Owners: TypeAlias = "dict[str, set[str]]"
"""The secrets that share one spelling, by the field of `_Spelled` that contains it."""


def _are_owners(secrets: frozenset[str], owners: _Owners, kind: str) -> bool:
    return not secrets.isdisjoint(owners.get(kind, ()))


@lru_cache(maxsize=4096)
def _spelled(secret: str) -> _Spelled:
    lines = [line for line in secret.splitlines() if len(line.strip()) >= 8]
    texts = {spelling for text in _lined(secret) for spelling in _texts(text)}
    inside: set[str] = set()
    for data in _encoded(secret):
        texts |= {*_base64(data), data.hex(), data.hex().upper()}
        inside.update(_inside_base64(data))
    whole = texts.union(*map(_texts, lines))
    return _Spelled(
        frozenset(text for text in whole if text.strip() and text.strip("*")),
        frozenset(inside),
        frozenset(spelling for spelling in texts | inside if spelling),
    )


class _Spellings(Generic[AnyStr]):
    """Indexes of the spellings of secrets, for searching strings or bytes.

    Each request of a run may add a secret, so many secrets share one growing index.
    """

    def __init__(self, encode: Callable[[str], AnyStr]) -> None:
        self._encode: Callable[[str], AnyStr] = encode
        self._lock = threading.Lock()
        self._many: Index[AnyStr, _Owners] = Index()
        self._known: set[str] = set()  # the secrets in `_many`
        self.of: Callable[[frozenset[str]], Index[AnyStr, _Owners]] = lru_cache(64)(self._of)

    def _of(self, secrets: frozenset[str]) -> Index[AnyStr, _Owners]:
        """Return an index with the spellings of `secrets`, and maybe of other secrets."""
        if len(secrets) <= _FEW:
            return self._added(Index(), secrets)
        with self._lock:
            if len(self._known) > _MOST:
                self._many, self._known = Index(), set()
            self._added(self._many, secrets - self._known)
            self._known |= secrets
            return self._many

    def _added(
        self, index: Index[AnyStr, _Owners], secrets: Iterable[str]
    ) -> Index[AnyStr, _Owners]:
        for secret in secrets:
            if len(secret.strip()) < LEAST:
                continue
            spelled = _spelled(secret)
            for kind in ("whole", "inside_base64", "complete"):
                for text in map(self._encode, getattr(spelled, kind)):
                    owners = index.get(text)
                    if owners is None:
                        index.put(text, owners := {})
                    owners.setdefault(kind, set()).add(secret)
        return index


_FEW = 20  # secrets; making a new index for more of them would take too long
_MOST = 100_000  # secrets in one index
_in_text, _in_bytes = _Spellings(str), _Spellings(to_bytes)


def _encoded(text: str) -> set[bytes]:
    encoded = {to_bytes(text)}
    with contextlib.suppress(UnicodeEncodeError):
        encoded.add(text.encode("latin-1"))
    return encoded


def _texts(text: str) -> Iterator[str]:
    """Yield the spellings of `text` that encode each character separately, if at all."""
    for spelling in (text, text.upper(), text.lower(), *_misread(text)):
        yield from (spelling, visible(spelling), visible(spelling, one_line=True))
    for data in _encoded(text):
        yield from _quoted(data)
    yield from _json(text)
    yield from _html(text)


def _misread(text: str) -> Iterator[str]:
    """Yield `text` as decoded with a wrong charset."""
    if text.isascii():
        return
    for data in _encoded(text):
        for charset in ("latin-1", "cp1252", "utf-8"):
            for errors in ("replace", "backslashreplace", "surrogateescape"):
                yield data.decode(charset, errors)


def _quoted(data: bytes) -> Iterator[str]:
    from urllib.parse import quote, quote_plus

    spellings = {quote(data, safe=safe) for safe in _QUOTED_SAFE}
    spellings |= {quote_plus(data, safe=safe) for safe in _QUOTED_PLUS_SAFE}
    spellings |= {spelling.replace("~", "%7E") for spelling in spellings}  # Python never does this
    spellings.add("".join(f"%{byte:02X}" for byte in data))
    for spelling in spellings:
        yield spelling
        yield _PERCENT.sub(lambda match: match[0].lower(), spelling)


def _json(text: str) -> Iterator[str]:
    import json

    dumped = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    dumped |= {spelling.replace("/", "\\/") for spelling in dumped}
    dumped |= {_JSON_IN_HTML.sub(lambda m: f"\\u{ord(m[0]):04x}", spelling) for spelling in dumped}
    units = text.encode("utf-16-be", "surrogatepass").hex()
    dumped.add("".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)))
    yield from dumped
    for spelling in dumped:
        yield re.sub(r"\\u[0-9a-f]{4}", lambda match: f"\\u{match[0][2:].upper()}", spelling)


def _html(text: str) -> Iterator[str]:
    from html import escape
    from html.entities import codepoint2name

    def named(character: str) -> str:
        name = codepoint2name.get(ord(character))
        return character if name is None else f"&{name};"

    def numbered(text: str, form: str, characters: str) -> str:
        return re.sub(characters, lambda match: form.format(ord(match[0])), text, flags=re.DOTALL)

    escaped = {text, escape(text), escape(text, quote=False)}
    escaped |= {spelling.replace("&#x27;", "'") for spelling in escaped}
    escaped |= {spelling.replace("'", form) for spelling in escaped for form in _APOSTROPHES}
    escaped |= {spelling.replace("&quot;", "&#34;") for spelling in escaped}
    for spelling in escaped:
        yield spelling
        yield "".join(c if c.isascii() else named(c) for c in spelling)
        for form in _REFERENCES:
            yield numbered(spelling, form, r"[^\x00-\x7f]")
    for form in _REFERENCES:
        yield numbered(text, form, """[<>&"']""")
        yield numbered(text, form, """[<>&"']|[^\\x00-\\x7f]""")
        yield numbered(text, form, ".")


def _base64(data: bytes) -> set[str]:
    from base64 import b64encode, urlsafe_b64encode

    encoded = {b64encode(data).decode(), urlsafe_b64encode(data).decode()}
    encoded |= {spelling.rstrip("=") for spelling in encoded}
    for width in (64, 76):  # the line lengths of PEM and MIME
        for end in ("\n", "\r\n"):
            encoded |= {
                end.join(spelling[i : i + width] for i in range(0, len(spelling), width))
                for spelling in encoded
                if end not in spelling
            }
    return encoded


def _inside_base64(data: bytes) -> Iterator[str]:
    """Yield the base64 of `data` within longer data, for each alignment."""
    from base64 import b64encode, urlsafe_b64encode

    for before in range(3):
        padded = bytes(before) + data
        first = -(-before * 8 // 6)  # the first character that depends only on `data`
        last = len(padded) * 8 // 6
        for encode in (b64encode, urlsafe_b64encode):
            inside = encode(padded)[first:last].decode()
            if len(inside) >= _LEAST_BASE64:
                yield inside
