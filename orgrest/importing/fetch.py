"""Calls of `fetch`, as a browser's network tab copies them, and as documentation shows them.

The arguments are literals; nothing is run. Source: the Fetch standard, "Request class"; ECMAScript,
"Literals".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import attrs

from orgrest.http.syntax import is_token
from orgrest.importing import texts
from orgrest.importing.errors import ImportingError
from orgrest.importing.fields import DEEPEST, Fields
from orgrest.importing.messages import kept
from orgrest.importing.model import Collection, Folder, Note, Request

BEGINS: Final = re.compile(r"\s*(?://[^\n]*\n\s*)*(?:await\s+)?(?:window\.)?fetch\s*\(")
"""A text that begins with a call of fetch."""
_CALL: Final = re.compile(r"(?<![\w.])fetch\s*\(")
_TOKEN: Final = re.compile(
    r"""(?:\s|//[^\n]*|/\*(?:(?!\*/).)*\*/)*
    (?:(?P<mark>[{}\[\]:,()])
    | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\$]|\\.|\$(?!\{))*`)
    | (?P<number>-?\d[\w.+-]*)
    | (?P<word>[A-Za-z_$][\w$.]*))""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(
    r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(\r?\n)|(.))",
    re.DOTALL,
)
_LETTERS: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_WORDS: Final = {"true": True, "false": False, "null": None, "undefined": None}


@attrs.define
class _Reader:
    """A cursor over the tokens of literals."""

    text: str
    name: str
    at: int = 0

    def next(self, expected: str = "") -> tuple[str, str]:
        """Take a token: its kind and text."""
        match = _TOKEN.match(self.text, self.at)
        if match is None or (expected and match["mark"] != expected):
            raise self.error(f"{expected} is expected here" if expected else "not a literal")
        self.at = match.end()
        kind = match.lastgroup or ""
        return kind, match[kind]

    def is_next(self, mark: str) -> bool:
        """Take a mark if it is the next token, and tell so."""
        match = _TOKEN.match(self.text, self.at)
        if match is None or match["mark"] != mark:
            return False
        self.at = match.end()
        return True

    def value(self, depth: int = 0) -> Any:
        """Take a literal. Raises ImportingError."""
        if depth > DEEPEST:
            raise self.error("nested too deep")
        kind, text = self.next()
        if kind == "string":
            return _string(text)
        if kind == "number":
            try:
                return json.loads(text)
            except ValueError:
                raise self.error("not a number") from None
        if text == "JSON.stringify":
            self.next("(")
            value = self.value(depth + 1)
            self.next(")")
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if text in _WORDS and kind == "word":
            return _WORDS[text]
        if text == "[":
            return list(self._list(depth))
        if text == "{":
            return dict(self._object(depth))
        raise self.error(f"{text} is not a literal, and nothing runs here: write the value out")

    def _list(self, depth: int) -> Iterator[Any]:
        while not self.is_next("]"):
            yield self.value(depth + 1)
            if not self.is_next(","):
                self.next("]")
                return

    def _object(self, depth: int) -> Iterator[tuple[str, Any]]:
        while not self.is_next("}"):
            kind, key = self.next()
            if kind == "mark":
                raise self.error("the name of a property is expected here")
            self.next(":")
            yield (_string(key) if kind == "string" else key), self.value(depth + 1)
            if not self.is_next(","):
                self.next("}")
                return

    def error(self, reason: str) -> ImportingError:
        """Return an error at the cursor."""
        line = self.text.count("\n", 0, self.at) + 1
        return ImportingError(reason, file=self.name, line=line)


def read(text: str, name: str) -> Collection:
    """Return the requests of calls of fetch. Raises ImportingError."""
    requests: list[Request] = []
    reader = _Reader(text, name)
    while match := _CALL.search(text, reader.at):
        reader.at = match.end()
        place = f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
        url = reader.value()
        options = reader.value() if reader.is_next(",") and not reader.is_next(")") else {}
        reader.is_next(",")
        reader.is_next(")")
        if not isinstance(url, str) or not isinstance(options, dict):
            raise reader.error("fetch is given a URL and an object")
        requests.append(_request(url, Fields(options, place)))
    return Collection(Folder("", tuple(requests)))


def _request(url: str, given: Fields) -> Request:
    given.ignore("mode", "credentials", "referrerPolicy", "cache", "integrity", "keepalive",
                 "priority", "duplex")  # fmt: skip
    url = url.partition("#")[0]
    notes: list[Note] = []
    headers = given.object("headers")
    pairs = list(headers.texts())
    referrer = given.text("referrer")
    if referrer.startswith(("http://", "https://")):
        pairs.append(("Referer", referrer))
    elif referrer:
        notes.append(Note(given.place, f"referrer: {referrer} is not sent"))
    if given.text("redirect") in ("manual", "error"):
        directives: tuple[str, ...] = ("no-redirect",)
    else:
        directives = ()
    method = given.text("method") or "GET"
    if not is_token(method):
        raise ImportingError(f"not a method: {method[:40]!r}", file=given.place)
    body = given.text("body") if given.given.get("body") is not None else None
    standard = ("delete", "get", "head", "options", "post", "put")
    kept_headers = list(kept(pairs, url, given.place, notes))
    if body is not None and not any(key.lower() == "content-type" for key, _ in kept_headers):
        kept_headers.append(("Content-Type", "text/plain;charset=UTF-8"))
    return Request(
        method.upper() if method.lower() in standard else method,
        texts.literal(url),
        headers=tuple(kept_headers),
        body=None if body is None else (texts.body_of(body),),
        directives=directives,
        notes=(*notes, *given.unread()),
        place=given.place,
    )  # fmt: skip


def _string(quoted: str) -> str:
    """Return the value of a string literal."""

    def replaced(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code:
            return chr(min(int(code, 16), 0x10FFFF))
        return "" if match[4] else _LETTERS.get(match[5], match[5])

    text = _ESCAPE.sub(replaced, quoted[1:-1])
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
