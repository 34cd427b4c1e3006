"""Compares two responses, two results, or a response and a result in a document.

Responses from the history are compared by structure if they are JSON, otherwise line by line.
Binary bodies are compared by size and digest. So are the remainders of bodies of which only the
beginning was saved.

Results are compared as text, without their volatile parts. Dates and durations are always volatile.
The header argument `:volatile` lists other parts: headers, jq paths such as `.id`, and patterns
between slashes. Outcomes of assertions are ignored.
"""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.http import patterns
from orgrest.http.assertions.judging import MOST_COMPARED, unified
from orgrest.http.responses import json_of
from orgrest.model import BROKEN_OFF, OrgrestError
from orgrest.org.text import unescape
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from orgrest.org.blocks import Arguments

VOLATILE = frozenset({"date"})
"""Headers that differ in every response, in lower case."""
_NONE = object()
_PLAIN_KEY = compiled(r"[A-Za-z_]\w*")
_MOST = 1000
_WORD = compiled(r"/((?:\\.|[^/\\])+)/(?=\s|$)|(\S+)")
_BLOCK = compiled(
    r"[ \t]*(?:#\+begin_[^\n]*|:results:)\n(.*)^[ \t]*(?:#\+end_[^\n]*|:end:)\n?",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_FIXED = compiled(r"^: ?", re.MULTILINE)
_TESTS = compiled(
    r"(?:^[ \t]*+(?:[:,|-] ?)?(?:(?://|<!--|/\*|#|;;) )?(?:ok|FAILED)  [^\n]*(?:\n|\Z))+"
    r"(?=[ \t]*#\+end_|\s*\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_CACHED = compiled(r"(?i)\A[ \t]*#\+results\[[^\]\n]*\]:[^\n]*\n")
"""A results keyword with the hash of the block (``:cache yes``)."""

_STEP = compiled(r'"(?:[^"\\]|\\.)*"|(?P<step>\."(?:[^"\\]|\\.)*+"|\.[A-Za-z_]\w*+|\])(?!\?)')
"""A string, or a step of a jq path: `.name`, `."name"` or the end of `[...]`, without a `?`."""
_REPLACED = "..."


@classes.frozen
class Difference:
    """A difference between two responses, at `place`.

    `old` and `new` are the values, usually as JSON. A missing value is None. If text was compared,
    `lines` contains a unified diff instead.
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
    """Return the differences between the responses in two records.

    Headers named in `volatile` are ignored. Raises OrgrestError if neither record has a response.
    """
    before, after = old["exchanges"], new["exchanges"]
    if all(exchange["response"] is None for exchange in (*before, *after)):
        errors = dict.fromkeys(exchange["error"] for exchange in (*before, *after))
        reasons = "; ".join(filter(None, errors)) or "nothing was sent"
        raise OrgrestError(f"nothing to compare: neither run got a response ({reasons})")
    ignored = VOLATILE | {name.lower() for name in volatile}
    differences: list[Difference] = []
    for number in range(max(len(before), len(after))):
        prefix = f"request {number + 1}, " if len(before) > 1 or len(after) > 1 else ""
        if number >= len(before) or number >= len(after):
            request = (before if number < len(before) else after)[number]["request"]
            title = json.dumps(f"{request['method']} {request['url']}")
            gone = number >= len(after)
            differences.append(
                Difference(f"{prefix}request", *((title, None) if gone else (None, title)))
            )
            continue
        for change in _of_exchanges(before[number], after[number], ignored):
            differences.append(classes.evolve(change, place=prefix + change.place))
    return differences


@classes.frozen
class ShownResponse:
    """The body and status of a response, as shown in a result.

    `status` is None if the result does not show it.
    """

    body: str
    status: int | None


def compare_shown(old: ShownResponse, new: ShownResponse) -> list[Difference]:
    """Return the differences between the response in a block's result and a new response.

    Both must be in the form that the block's header arguments specify. Statuses are compared only
    if `old.status` is not None.
    """
    status = list(_of_values("status", old.status, new.status)) if old.status is not None else []
    try:
        return status + _limited(_of_values("body", _json(old.body), _json(new.body)))
    except ValueError:
        return status + list(_of_texts("body", old.body.rstrip(), new.body.rstrip()))


def _of_exchanges(
    old: Mapping[str, Any], new: Mapping[str, Any], ignored: Collection[str]
) -> Iterator[Difference]:
    before, after = old["response"], new["response"]
    answers = [
        exchange["error"] or (None if exchange["response"] is None else "answered")
        for exchange in (old, new)
    ]
    if before is None or after is None or answers[0] != answers[1]:
        yield from _of_values("answer", *answers)
        return
    yield from _of_values("status", before["status"], after["status"])
    headers = [_by_name(response["headers"], ignored) for response in (before, after)]
    for name in dict.fromkeys([*headers[0], *headers[1]]):
        yield from _of_values(f"header {name}", *(by_name.get(name, _NONE) for by_name in headers))
    yield from _of_bodies(before["body"], after["body"])


def _by_name(headers: list[list[str]], ignored: Collection[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        if key not in ignored:
            values[key] = f"{values[key]}, {value}" if key in values else value
    return values


def _of_bodies(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    if "text" not in old or "text" not in new:
        shown = [
            json.dumps(body["text"][:60])
            if "text" in body
            else f"{body['size']} bytes, sha256 {body['sha256']}"
            for body in (old, new)
        ]
        if shown[0] != shown[1]:
            yield Difference("body", shown[0], shown[1])
        return
    if old["text"] == new["text"]:
        if (old["size"], old.get("sha256")) != (new["size"], new.get("sha256")):
            sizes = [f"{body['size']} bytes" for body in (old, new)]
            yield Difference("body, after the part that was saved", sizes[0], sizes[1])
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
        late = f"they differ only after the first {MOST_COMPARED:,} lines"
        yield Difference(place, lines=lines or (late,))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _limited(differences: Iterator[Difference]) -> list[Difference]:
    kept: list[Difference] = []
    try:
        for item in differences:
            if len(kept) == _MOST:
                kept.append(Difference("body", lines=("... and more",)))
                break
            kept.append(item)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return kept


def _of_values(place: str, old: Any, new: Any) -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            inner = f".{key}" if _PLAIN_KEY.fullmatch(key) else f"[{json.dumps(key)}]"
            yield from _of_values(place + inner, old.get(key, _NONE), new.get(key, _NONE))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _of_lists(place, old, new)
    elif type(old) is not type(new) or old != new:
        yield Difference(place, _shown(old), _shown(new))


def _of_lists(place: str, old: list[Any], new: list[Any]) -> Iterator[Difference]:
    """Yield the differences after skipping the common start and end of both lists.

    Thus, an inserted or removed item does not make all later items differ.
    """
    texts = [[json.dumps(item, sort_keys=True) for item in values] for values in (old, new)]
    shorter = min(len(old), len(new))
    start = next((n for n in range(shorter) if texts[0][n] != texts[1][n]), shorter)
    most = shorter - start
    end = next((n for n in range(most) if texts[0][-1 - n] != texts[1][-1 - n]), most)
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    for number in range(max(len(before), len(after))):
        old_item = before[number] if number < len(before) else _NONE
        new_item = after[number] if number < len(after) else _NONE
        yield from _of_values(f"{place}[{start + number}]", old_item, new_item)


def _shown(value: Any) -> str | None:
    return None if value is _NONE else json.dumps(value, ensure_ascii=False)


@classes.frozen
class Volatile:
    """The parts of a result that may differ between runs: headers, jq paths and patterns."""

    headers: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, arguments: Arguments) -> Volatile:
        """Return the volatile parts that the header argument `:volatile` lists."""
        headers: list[str] = []
        paths: list[str] = []
        expressions: list[str] = []
        for match in _WORD.finditer(arguments.get("volatile")):
            if match[1]:
                expressions.append(match[1].replace("\\/", "/"))
            else:
                (paths if match[2].startswith(".") else headers).append(match[2])
        return cls(tuple(headers), tuple(paths), tuple(expressions))


def difference(old: str, new: str, volatile: Volatile) -> tuple[str, ...]:
    """Return a diff of two results in a document as lines, or () if only volatile parts differ.

    Raises OrgrestError if a jq path or pattern in `volatile` is invalid.
    """
    if old == new:
        return ()
    before, after = (content(_CACHED.sub("", text)) for text in (old, new))
    headers = volatile.headers
    if volatile.paths or volatile.patterns:
        headers = (*headers, "Content-Length")  # ignored parts change the length
    before, after = (without_volatile(text, headers).strip() for text in (before, after))
    before, after = without_parts(before, after, volatile)
    if before == after:
        return ()
    lines = unified(before, after)
    return lines or (f"the result differs only after its first {MOST_COMPARED:,} lines",)


def without_parts(before: str, after: str, volatile: Volatile) -> tuple[str, str]:
    """Return two texts without what the jq paths and patterns in `volatile` select.

    Raises OrgrestError if one of them is invalid.
    """
    if volatile.paths:
        before, after = _without_paths(before, after, volatile.paths)
    for pattern in volatile.patterns:
        before, after = (patterns.replaced(pattern, text, _REPLACED) for text in (before, after))
    return before, after


def without_volatile(text: str, names: Iterable[str]) -> str:
    """Return a result without its volatile lines: dates, durations and the headers in `names`."""
    headers = "|".join(re.escape(name) for name in (*VOLATILE, *names))
    return re.sub(
        rf"^([ \t]*+(?:[:,|-] ?)?(?://|<!--|/\*|#|;;)?[ \t]*+)"
        rf"(?:(?:{headers}): .*|Request duration: [0-9.]+s(?: -->| \*/)?)$",
        r"\1",
        text,
        flags=re.IGNORECASE | re.MULTILINE,
    )


def content(text: str) -> str:
    """Return the content of a result, without the outcomes of assertions.

    Enclosing blocks and drawers, and the colons of fixed-width lines, are also left out.
    """
    text = textwrap.dedent(text).strip("\n")
    while (block := _BLOCK.fullmatch(text)) is not None:  # :wrap puts a block around a block
        text = unescape(block[1]).strip("\n")
    lines = text.split("\n")
    text = _FIXED.sub("", text) if all(line.startswith(":") for line in lines) else text
    return _TESTS.sub("", text)


def _without_paths(before: str, after: str, paths: tuple[str, ...]) -> tuple[str, str]:
    """Delete the values at the jq paths if both results begin with JSON."""
    try:
        (old_value, old_rest), (new_value, new_rest) = _leading_json(before), _leading_json(after)
    except (ValueError, RecursionError):
        return before, after
    first, second = json_of(_reduced(json.dumps([old_value, new_value]), paths))
    return f"{_pretty(first)}\n{old_rest}", f"{_pretty(second)}\n{new_rest}"


def _reduced(values: str, paths: tuple[str, ...]) -> str:
    """Return a JSON list without the values at the jq paths in each of its items.

    A path that an item lacks has no effect. Raises OrgrestError for an invalid path.
    """
    from orgrest.rendering import jq

    lenient = ", ".join(_STEP.sub(_with_question_mark, path) for path in paths)
    try:
        return jq.run(f"map(del({lenient}))", values, "-c")
    except OrgrestError as error:
        if len(paths) > 1 and error.code != BROKEN_OFF:
            for path in paths:  # find the one that is invalid
                _reduced(values, (path,))
        error.reason = f"{', '.join(paths)}: {error.reason}"
        raise


def _with_question_mark(match: re.Match[str]) -> str:
    return f"{match[0]}? " if match["step"] else match[0]


def _leading_json(text: str) -> tuple[Any, str]:
    start = len(text) - len(text.lstrip())
    value, end = json.JSONDecoder().raw_decode(text, start)
    return value, text[end:].lstrip("\n")


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
