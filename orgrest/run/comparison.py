"""Compares responses: two from the history, one with the result in its document, or two results.

Responses from the history are compared by structure if they are JSON, and line by line otherwise. A
body that was only kept in part never counts as equal by its text: its digest decides.

Results are compared as written in the document, except for volatile parts. Dates and durations may
always differ; `:volatile` lists more: headers, jq paths such as `.id`, and patterns between
slashes. Outcomes of assertions are reported separately and not compared.
"""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.http import patterns
from orgrest.http.assertions.judging import unified
from orgrest.http.responses import json_of
from orgrest.model import OrgrestError
from orgrest.org.text import unescape

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from orgrest.org.arguments import Arguments

VOLATILE = frozenset({"date"})
"""Headers that differ in every response, in lower case."""
_NONE = object()
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*")
_MOST = 1000
_WHICH = re.compile(
    r"(?://|<!--|/\*|#|;;|)[ \t]*(?:(?P<request>[A-Z]+) \S+|HTTP/[\d.]+ (?P<status>\d{3})\b.*)$"
)

_WORD = re.compile(r"/((?:\\.|[^/\\])+)/(?=\s|$)|(\S+)")
_BLOCK = re.compile(
    r"[ \t]*#\+begin_[^\n]*\n(.*)^[ \t]*#\+end_[^\n]*\n?",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_FIXED = re.compile(r"^: ?", re.MULTILINE)
_TESTS = re.compile(
    r"(?:^[ \t]*+(?:[:,|-] ?)?(?:(?://|<!--|/\*|#|;;) )?(?:ok|FAILED)  [^\n]*(?:\n|\Z))+"
    r"(?=[ \t]*#\+end_|\s*\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_REPLACED = "..."


@attrs.frozen
class Difference:
    """A place where two responses differ, with both values as JSON; None for a missing value.

    `lines` are the unified diff of two texts.
    """

    place: str
    old: str | None = None
    new: str | None = None
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.lines:
            return "\n".join((f"{self.place}:", *(f"  {line}" for line in self.lines)))
        if self.old is None:
            return f"{self.place}: added {self.new}"
        if self.new is None:
            return f"{self.place}: removed {self.old}"
        return f"{self.place}: {self.old} -> {self.new}"


def compare(
    old: Mapping[str, Any], new: Mapping[str, Any], volatile: Collection[str] = ()
) -> list[Difference]:
    """Return the differences of the responses of two records, leaving out `volatile` headers."""
    before, after = old["exchanges"], new["exchanges"]
    ignored = VOLATILE | {name.lower() for name in volatile}
    found: list[Difference] = []
    for number in range(max(len(before), len(after))):
        prefix = f"request {number + 1}, " if len(before) > 1 or len(after) > 1 else ""
        if number >= len(before) or number >= len(after):
            one = (before if number < len(before) else after)[number]["request"]
            what = json.dumps(f"{one['method']} {one['url']}")
            gone = number >= len(after)
            found.append(Difference(f"{prefix}request", *((what, None) if gone else (None, what))))
            continue
        for one in _of_exchanges(before[number], after[number], ignored):
            found.append(attrs.evolve(one, place=prefix + one.place))
    return found


def compare_stored(text: str, record: Mapping[str, Any]) -> list[Difference]:
    """Return how the last response of a record differs from a document's result `text`.

    The body is compared, and the status if the result shows it. Raises OrgrestError if the request
    was not answered, or if the body is binary or was only kept in part.
    """
    response = record["exchanges"][-1]["response"] if record["exchanges"] else None
    if response is None:
        raise OrgrestError("the last kept request was not answered")
    if "text" not in response["body"]:
        raise OrgrestError("the body is binary: its file is the result, which cmp compares")
    lines = text.strip("\n").split("\n")
    at = next((n for n, one in enumerate(lines) if (m := _WHICH.match(one)) and m["request"]), None)
    stored = "\n".join(lines[:at]).rstrip()
    heads = [] if at is None else lines[at:]
    statuses = [int(match["status"]) for one in heads if (match := _WHICH.match(one)) and match[2]]
    found = list(_of_values("status", statuses[-1], response["status"])) if statuses else []
    body = response["body"]
    if body["cut"]:
        raise OrgrestError("only the beginning of the body was kept: there is nothing to compare")
    try:
        found += _limited(_of_values("body", _json(stored), _json(body["text"])))
    except ValueError:
        found += _of_texts("body", stored, body["text"].rstrip())
    return found


def _of_exchanges(
    old: Mapping[str, Any], new: Mapping[str, Any], ignored: Collection[str]
) -> Iterator[Difference]:
    before, after = old["response"], new["response"]
    if before is None or after is None:
        yield from _of_values(
            "answer",
            *(one["error"] if one["response"] is None else "answered" for one in (old, new)),
        )
        return
    yield from _of_values("status", before["status"], after["status"])
    headers = [_by_name(one["headers"], ignored) for one in (before, after)]
    for name in dict.fromkeys([*headers[0], *headers[1]]):
        yield from _of_values(f"header {name}", *(one.get(name, _NONE) for one in headers))
    yield from _of_bodies(before["body"], after["body"])


def _by_name(headers: list[list[str]], ignored: Collection[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if key not in ignored:
            found[key] = f"{found[key]}, {value}" if key in found else value
    return found


def _of_bodies(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    if "text" not in old or "text" not in new:
        shown = [
            json.dumps(one["text"][:60])
            if "text" in one
            else f"{one['size']} bytes, sha256 {one['sha256']}"
            for one in (old, new)
        ]
        if shown[0] != shown[1]:
            yield Difference("body", shown[0], shown[1])
        return
    if old["text"] == new["text"]:
        if (old["size"], old.get("sha256")) != (new["size"], new.get("sha256")):
            sizes = [f"{one['size']} bytes" for one in (old, new)]
            yield Difference("body, behind what was kept of it", sizes[0], sizes[1])
        return
    if not (old["cut"] or new["cut"]):
        try:
            yield from _limited(_of_values("body", _json(old["text"]), _json(new["text"])))
        except ValueError:
            pass
        else:
            return
    yield from _of_texts("body", old["text"], new["text"])


def _of_texts(place: str, old: str, new: str) -> Iterator[Difference]:
    if old != new:
        lines = unified(old, new)
        yield Difference(place, lines=lines or ("they differ far behind their beginnings",))


def _json(text: str) -> Any:
    """Parse JSON. Raises ValueError."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _limited(found: Iterator[Difference]) -> list[Difference]:
    """Return the first differences. Raises ValueError for values nested too deep."""
    kept: list[Difference] = []
    try:
        for one in found:
            if len(kept) == _MOST:
                kept.append(Difference("body", lines=("... and more",)))
                break
            kept.append(one)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    return kept


def _of_values(place: str, old: Any, new: Any) -> Iterator[Difference]:
    """Yield the differences of two JSON values at a place, in time linear in their size."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            inner = f".{key}" if _PLAIN_KEY.fullmatch(key) else f"[{json.dumps(key)}]"
            yield from _of_values(place + inner, old.get(key, _NONE), new.get(key, _NONE))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _of_lists(place, old, new)
    elif type(old) is not type(new) or old != new:
        yield Difference(place, _shown(old), _shown(new))


def _of_lists(place: str, old: list[Any], new: list[Any]) -> Iterator[Difference]:
    """Yield the differences of two lists, ignoring their common beginning and end.

    If an item was inserted or removed, the items after it are thus compared with their old values.
    """
    texts = [[json.dumps(item, sort_keys=True) for item in one] for one in (old, new)]
    shorter = min(len(old), len(new))
    start = next((n for n in range(shorter) if texts[0][n] != texts[1][n]), shorter)
    most = shorter - start
    end = next((n for n in range(most) if texts[0][-1 - n] != texts[1][-1 - n]), most)
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    for number in range(max(len(before), len(after))):
        one = before[number] if number < len(before) else _NONE
        other = after[number] if number < len(after) else _NONE
        yield from _of_values(f"{place}[{start + number}]", one, other)


def _shown(value: Any) -> str | None:
    return None if value is _NONE else json.dumps(value, ensure_ascii=False)


@attrs.frozen
class Volatile:
    """The parts in which two results may differ: headers by name, jq paths, patterns."""

    headers: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, arguments: Arguments) -> Volatile:
        """Parse the header argument `:volatile`."""
        headers: list[str] = []
        paths: list[str] = []
        found: list[str] = []
        for match in _WORD.finditer(arguments.get("volatile")):
            if match[1]:
                found.append(match[1].replace("\\/", "/"))
            else:
                (paths if match[2].startswith(".") else headers).append(match[2])
        return cls(tuple(headers), tuple(paths), tuple(found))


def difference(old: str, new: str, volatile: Volatile) -> tuple[str, ...]:
    """Return the differences of two results as lines; () if they are equal.

    `old` and `new` are results as written in a document. Raises OrgrestError if a jq path or a
    pattern is invalid.
    """
    if old == new:
        return ()
    before, after = (_TESTS.sub("", inside(text)) for text in (old, new))
    if volatile.paths:
        before, after = _without_paths(before, after, volatile.paths)
    headers = volatile.headers
    if volatile.paths or volatile.patterns:
        headers = (*headers, "Content-Length")  # which depends on these
    before, after = (without_volatile(text, headers).strip() for text in (before, after))
    for pattern in volatile.patterns:
        before, after = (patterns.replaced(pattern, one, _REPLACED) for one in (before, after))
    if before == after:
        return ()
    return unified(before, after) or ("the result differs in its end",)


def without_volatile(text: str, names: Iterable[str]) -> str:
    """Remove the volatile lines of a result: dates, durations, named headers."""
    headers = "|".join(re.escape(name) for name in (*VOLATILE, *names))
    return re.sub(
        rf"^([ \t]*+(?:[:,|-] ?)?(?://|<!--|/\*|#|;;)?[ \t]*+)"
        rf"(?:(?:{headers}): .*|Request duration: [0-9.]+s(?: -->| \*/)?)$",
        r"\1",
        text,
        flags=re.IGNORECASE | re.MULTILINE,
    )


def inside(text: str) -> str:
    """Return a result without Org's block or colons, if they enclose all of it."""
    text = textwrap.dedent(text).strip("\n")
    while (block := _BLOCK.fullmatch(text)) is not None:  # :wrap puts a block around a block
        text = unescape(block[1]).strip("\n")
    lines = text.split("\n")
    return _FIXED.sub("", text) if all(line.startswith(":") for line in lines) else text


def _without_paths(before: str, after: str, paths: tuple[str, ...]) -> tuple[str, str]:
    """Remove the values at jq paths from two results, if both begin with JSON."""
    try:
        (one, rest), (other, others) = _begun(before), _begun(after)
    except (ValueError, RecursionError):
        return before, after
    from orgrest.rendering import jq

    both = json.dumps([one, other])
    made = jq.run(f"map(del({', '.join(paths)}))", both, "-c")
    first, second = json_of(made)
    return f"{_pretty(first)}\n{rest}", f"{_pretty(second)}\n{others}"


def _begun(text: str) -> tuple[Any, str]:
    """Return the JSON value that a text begins with, and the rest."""
    start = len(text) - len(text.lstrip())
    value, end = json.JSONDecoder().raw_decode(text, start)
    return value, text[end:].lstrip("\n")


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
