"""Determines which references to variables an exported request can keep.

A request is expanded twice: once with the variables' values, and once with markers in place of
values. A part of the request keeps its references if replacing the markers with the values gives
the same text as the first expansion. Otherwise, for example because a value was encoded, the part
contains values, and that is reported. A reference to a secret is always kept.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import chain, zip_longest
from typing import Any, Final

from orgrest import classes
from orgrest.convert.shared.exports import Basic, Variable
from orgrest.convert.shared.variables import Names
from orgrest.http.transport.wire import wire_url
from orgrest.model import OrgrestError, Request, secrets_in, to_bytes
from orgrest.rendering.masking import MASK, masked

PLAIN: Final = re.compile(r"[A-Za-z_][\w.-]*")
"""Matches names of variables, as opposed to expressions."""
_NUMBER: Final = re.compile(r"\d{1,5}")
_UNCHANGED: Final = re.compile(r"[\w.~!$&'()*+,;=:@/?-]*", re.ASCII)
"""Matches values that need no encoding in a URL."""
_ENCODED: Final = (
    "a secret that is encoded or otherwise changed before it is sent: store it in the form in "
    "which it is sent"
)
_CHANGING: Final = "\0"
"""Stands for a dynamic value, which is different at each use."""
_DYNAMIC_VALUE: Final = re.compile(r"[\w.:@-]+", re.ASCII)
_SCHEME: Final = re.compile(r"https?://")


def markers(values: Mapping[str, str | None], begins: set[str], around: str) -> dict[str, str]:
    """Return a marker for each variable. No marker occurs in the string `around`.

    For a value of one to five digits, the marker is a number. If a value begins with `http://` or
    `https://`, so does its marker. `begins` contains the names of variables at the beginning of
    URLs. If such a variable has no known value (None), its marker begins with `http://`.
    """
    marked: dict[str, str] = {}
    number, serial = 20_000, 0
    for name, value in values.items():
        if value is not None and _NUMBER.fullmatch(value):
            number += 1
            while str(number) in around:
                number += 1
            marked[name] = str(number)
            continue
        serial += 1
        while f"zq{serial:04}kv" in around:
            serial += 1
        scheme = _SCHEME.match(value or "")
        begin = scheme[0] if scheme else "http://" if value is None and name in begins else ""
        marked[name] = f"{begin}zq{serial:04}kv"
    return marked


@classes.define
class Merged:
    """A request that keeps references to variables where possible, and notes for the user."""

    request: Request
    notes: list[str] = classes.field(factory=list)

    def change(self, **changes: Any) -> None:
        """Change fields of the request."""
        self.request = classes.evolve(self.request, **changes)

    def fix(self, part: str) -> None:
        """Add a note that a part of the request contains values instead of references."""
        self.notes.append(f"the variables in {part}: they were replaced with their values, because "
                        "one of them is encoded or computed when the request is sent")  # fmt: skip

    def texts(self) -> Iterator[str]:
        """Yield all strings in the request."""
        yield self.request.url
        for name, value in self.request.headers:
            yield f"{name}: {value}"
        yield (self.request.body or b"").decode("utf-8", "surrogateescape")
        yield from _texts(self.request.credentials)


def merged(
    resolved: Request | None,
    marked: Request,
    values: Mapping[str, str | None],
    secrets: Container[str],
    changing: Iterable[str] = (),
) -> Merged:
    """Return the request `marked`, with values in the parts that cannot keep their markers.

    `resolved` is the same request with values instead of markers, or None if a value is unknown. If
    it is None, all markers are kept. `values` maps each marker to its value, or to None if unknown.
    A part always keeps its markers if it contains an unknown value or a marker in `secrets`. The
    markers in `changing` represent dynamic values, which the export also computes at each use.
    """
    if resolved is None:
        resolved, values = marked, dict.fromkeys(values)
    resolved = classes.evolve(resolved, url=wire_url(resolved))
    hidden = masked(classes.evolve(resolved, secrets=frozenset()))
    merged_request = Merged(classes.evolve(hidden, secrets=resolved.secrets))

    def fits(first: str, other: str) -> bool:
        replaced = _replaced(first, {**values, **dict.fromkeys(changing, _CHANGING)})
        return replaced is None or _fits(replaced, other)

    def same(first: str, other: str) -> bool:
        if fits(first, other):
            return True
        if not any(marker in secrets and marker in first for marker in values):
            return False
        merged_request.notes.append(_ENCODED)
        return True

    def keep(part: str, first: str, other: str, shown: str) -> str:
        """Return a part's text with markers where they fit, otherwise with masked values."""
        if fits(first, other):
            return shown if first == other else first
        # If each secret is sent as it is, only other values are encoded.
        hidden = [each for each in re.findall("|".join(values), first) if each in secrets]
        pieces = shown.split(MASK)
        if _woven(pieces, [values[each] or "" for each in hidden]) == other:
            merged_request.fix(part)
            return _woven(pieces, hidden)
        if hidden:
            merged_request.notes.append(_ENCODED)
            return first
        merged_request.fix(part)
        return shown

    encoded = {
        name: value
        for name, value in values.items()
        if value is not None and name not in secrets and not _UNCHANGED.fullmatch(value)
    }
    raw = _replaced(marked.url, encoded) or marked.url
    try:
        url = wire_url(classes.evolve(marked, url=raw))
    except OrgrestError:
        url = raw
    is_kept = same(url, resolved.url)
    if is_kept and url != resolved.url:
        merged_request.change(url=url)
    if raw != marked.url or not is_kept:
        merged_request.fix("the URL")
    _merge_headers(merged_request, resolved, marked, same, keep)
    _merge_body(merged_request, resolved, marked, keep)
    if marked.credentials is not None and resolved.credentials != marked.credentials:
        texts = [_texts(request.credentials) for request in (marked, resolved)]
        if len(texts[0]) == len(texts[1]) and all(map(same, *texts)):
            merged_request.change(credentials=marked.credentials)
        else:
            merged_request.fix("Authorization")
    if any(
        part not in _parts(resolved) for part in _parts(merged_request.request) & _parts(hidden)
    ):
        merged_request.notes.append(_ENCODED)
    return merged_request


def _parts(request: Request) -> set[object]:
    return {request.url, request.body, *request.headers}


def _merge_headers(
    merged_request: Merged,
    resolved: Request,
    marked: Request,
    same: Callable[[str, str], bool],
    keep: Callable[[str, str, str, str], str],
) -> None:
    if len(resolved.headers) != len(marked.headers):
        merged_request.fix("the headers")
        return
    headers: list[tuple[str, str]] = []
    is_only = sum(name.lower() == "authorization" for name, _ in resolved.headers) == 1
    pairs = zip(resolved.headers, marked.headers, merged_request.request.headers, strict=True)
    for (name, value), (other, text), shown in pairs:
        if name.lower() == "authorization" and is_only:
            pair, given = _pair(text), _pair(value)
            if pair and given and all(map(same, pair, given)):
                merged_request.change(credentials=Basic(*pair))
                continue
        if name == other:
            headers.append((shown[0], keep(name, text, value, shown[1])))
        else:
            headers.append(shown)
            merged_request.fix(name)
    merged_request.change(headers=tuple(headers))


def _merge_body(
    merged_request: Merged,
    resolved: Request,
    marked: Request,
    keep: Callable[[str, str, str, str], str],
) -> None:
    if resolved.body == marked.body:
        return
    requests = (marked, resolved, merged_request.request)
    try:
        first, other, shown = ((request.body or b"").decode() for request in requests)
    except UnicodeDecodeError:
        first = other = shown = "\0"
    if "\0" in first:  # it is not text: see `exports`
        merged_request.fix("the body")
        return
    merged_request.change(body=keep("the body", first, other, shown).encode())


def _woven(pieces: Iterable[str], between: Iterable[str]) -> str:
    return "".join(chain.from_iterable(zip_longest(pieces, between, fillvalue="")))


def _replaced(text: str, values: Mapping[str, str | None]) -> str | None:
    """Replace the markers in a string. Return None if a value is unknown."""
    if not values:
        return text
    pieces = re.split(f"({'|'.join(values)})", text)
    replaced = [values.get(piece, piece) for piece in pieces]
    return None if None in replaced else "".join(piece or "" for piece in replaced)


def _fits(template: str, text: str) -> bool:
    """Return whether `text` is `template` with a dynamic value in each place that has one."""
    first, *others = template.split(_CHANGING)
    if not others or not text.startswith(first):
        return text == template
    *inner, last = others
    at = len(first)
    for piece in inner:
        end = text.find(piece, at + 1)
        if _DYNAMIC_VALUE.fullmatch(text, at, end) is None:
            return False
        at = end + len(piece)
    value = _DYNAMIC_VALUE.fullmatch(text, at, len(text) - len(last))
    return value is not None and text.endswith(last)


def _pair(value: str) -> tuple[str, str] | None:
    """Return the user name and password in a Basic `Authorization` header, or None."""
    scheme, _, coded = value.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        user, colon, password = b64decode(to_bytes(coded), validate=True).decode().partition(":")
    except ValueError:
        return None
    return (user, password) if colon else None


def _texts(credentials: Any) -> list[str]:
    return [str(value) for value in classes.astuple(credentials)] if credentials is not None else []


def holds(value: str, secrets: frozenset[str]) -> bool:
    """Return whether a value is or contains a secret."""
    known = any(not secret.possible for secret in secrets_in(value))
    return known or any(secret and secret in value for secret in secrets)


class Variables:
    """The variables of an export, with unique names. Values with one of `secrets` are left out."""

    def __init__(self, secrets: frozenset[str]) -> None:
        self._secrets = secrets
        self._variables: dict[tuple[str, str | None], Variable] = {}
        self._names = Names()

    def all(self) -> tuple[Variable, ...]:
        """Return the variables, in order of first use."""
        return tuple(self._variables.values())

    def of(
        self,
        name: str,
        value: str | None,
        environ: str,
        *,
        late: bool,
        response: tuple[str, str] | None = None,
    ) -> Variable:
        """Return the variable for a name in the document and its value.

        For the other arguments, see `Variable`. The same value of a response is the same variable.
        """
        key = response or (name, value)
        if key not in self._variables:
            shown = None if value is not None and holds(value, self._secrets) else value
            own = environ if name.startswith(("$", "process.env.")) else ""
            if response is not None and "." in name:
                name = f"{response[0]}{response[1][1:]}"  # the short form of the reference
            base = own or re.sub(r"[^\w.-]+", "_", name).strip("_.-") or "variable"
            self._variables[key] = Variable(
                self._names.free(base), shown, environ if shown is None else "", late, response
            )
        return self._variables[key]
