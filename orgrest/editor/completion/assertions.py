"""Completion in assertions: subjects after `??`, fields of a certificate, and operators."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest.editor.assertions import content_of
from orgrest.editor.completion import openapi
from orgrest.editor.completion.model import Context, Offer
from orgrest.http.assertions import OPERATORS, SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.editor.completion.cursor import Cursor

_LINE = re.compile(
    r"[ \t]*(?:(?:#+|//+)[ \t]*)?\?\?[ \t]*(?:eventually[ \t]+\S+[ \t]+)?(?P<text>.*)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\s]*\Z")
_LOWER = {name.lower(): name for name in OPERATORS}


def is_assertion(cursor: Cursor) -> bool:
    """Return whether the line is an assertion, which may be in a comment."""
    return _LINE.fullmatch(cursor.before) is not None


def contexts(cursor: Cursor) -> Iterator[Context]:
    """Yield the possible completion contexts in an assertion."""
    match = _LINE.fullmatch(cursor.before)
    text = match["text"] if match is not None else ""
    word = _WORD.search(text)
    prefix = word[0] if word is not None else ""
    words = text[: len(text) - len(prefix)].split()
    if not words:
        yield cursor.here("subject", prefix, rest=r"\w*")
        return
    subject = SUBJECTS.get(words[0].lower())
    path = words[1:-1] if words[-1].lower() == "not" else words[1:]
    operator = next((n for n, word in enumerate(words) if n and word.lower() in _LOWER), None)
    described = openapi.operation(cursor) is not None
    if described and subject is not None and operator == len(words) - 1:
        about = " ".join(words[1:operator]).removesuffix(" not").removesuffix("not").strip()
        yield cursor.here("expected", prefix, f"{subject.name} {about}".strip(), r"[^\s]*")
    if subject is None or any(word.lower() in _LOWER for word in path):
        if OPERATORS[_LOWER.get(words[-1].lower(), "==")].expected == "FILE":
            folder, slash, name = prefix.rpartition("/")
            yield cursor.here("file", name, folder + slash, r"[^\s/]*")
        return
    if subject.parts and not path:
        yield cursor.here("subject", prefix, subject.name, r"\w*")
        return
    if subject.path and not path and words[-1].lower() != "not":
        yield cursor.here("path", prefix, subject.name, r"[^\s]*")
    if path or not subject.required:
        yield cursor.here("operator", prefix, subject.name, r"[\w=!<>]*")


def subjects(_: Cursor, here: Context) -> Iterator[Offer]:
    """Yield the subjects of assertions, or the fields of the subject before the offset."""
    if here.subject:
        for name, about in SUBJECTS[here.subject].parts.items():
            yield Offer(name, about, f"{name} ")
        return
    for subject in SUBJECTS.values():
        yield Offer(
            subject.name,
            f"{subject.name} {subject.path}".rstrip() + f"\n\n{subject.description}",
            f"{subject.name} ",
        )


def paths(cursor: Cursor, here: Context) -> Iterator[Offer]:
    """Yield paths from the OpenAPI description, and those into the last response."""
    yield from openapi.paths(cursor, here)
    sent = cursor.imported().sent
    request = cursor.request() if sent else None
    known = sent.get(content_of(request), {}) if request else {}
    for path, about in known.items():
        part, _, rest = path.partition(".")
        if part == "headers" and here.subject == "header":
            yield Offer(rest, about, f"{rest} ")
        elif part == "body" and here.subject in ("body", "jsonpath"):
            is_rooted = here.prefix[:1] in ("", "$")
            yield Offer(rest if is_rooted else rest.removeprefix("$."), about)


def operators(_: Cursor, __: Context) -> Iterator[Offer]:
    """Yield the operators of assertions."""
    for rank, operator in enumerate(OPERATORS.values()):
        insert = f"{operator.name} " if operator.expected else operator.name
        yield Offer(
            operator.name,
            f"{operator.name} {operator.expected}".rstrip() + f"\n\n{operator.description}",
            insert,
            rank,
        )
    yield Offer("not", "not OPERATOR\n\nNegates the assertion.", "not ", len(OPERATORS))
