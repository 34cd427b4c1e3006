"""Finds probable spelling mistakes in Org documents, which would otherwise go unnoticed.

It checks the languages of blocks, header arguments, keywords, properties, and lines that begin
blocks.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

from orgrest.http.parsing.grammar import is_request_line
from orgrest.org.argument_syntax import parse
from orgrest.org.arguments import of_block
from orgrest.org.blocks import ALL_LANGUAGES, VERB, ArgumentError
from orgrest.org.known import KNOWN, resembled
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orgrest.org.blocks import Block
    from orgrest.org.document import OrgDocument

_KEYWORD = compiled(  # without the most frequent ones, which are spelt correctly
    r"^[ \t]*#\+(?!(?i:begin_src|headers?|name|results)(?![\w-]))"
    r"(?P<word>[A-Za-z_-]{4,14})(?::|(?=[ \t]))[ \t]*(?P<rest>\S.*)$",
    re.MULTILINE,
)
_QUOTING = compiled(
    r"^[ \t]*#\+(?P<edge>begin|end)_(?P<kind>example|export|comment|verse|src)\b",
    re.MULTILINE | re.IGNORECASE,
)
_WITHIN = compiled(  # lines that are suspicious inside a block
    r"^[ \t]*(?:(?:#+|//)[ \t]*@(?P<directive>[A-Za-z][\w-]*)"
    r"|#\+(?i:begin_src)(?::[ \t]*|[ \t]+)(?P<language>\S+))",
    re.MULTILINE,
)
_ALIKE = 0.75
_ARGUMENTS = "header-args"
_INSTEAD = {
    "disabled": " (to turn a block off, use :eval no)",
    "name": " (to name a block, write #+NAME: above it)",
}


def languages(document: OrgDocument) -> Iterator[tuple[Block, str]]:
    """Yield each block that contains a request but has a misspelt language, with the reason."""
    for block in document.blocks:
        language = block.language
        if block.kind != "block" or language in ALL_LANGUAGES:
            continue
        suggestion = _language(language)
        if suggestion or not language:
            body = document.text[block.start : block.end].splitlines()[1:]
            lines = (line for line in body if line.strip() and line.lstrip()[0] not in "#:")
            if is_request_line(next(lines, "")):
                reason = f"unknown request language {language}; did you mean {suggestion}?"
                yield (
                    block,
                    reason if suggestion else "this block has no language; did you mean http?",
                )


def lines(document: OrgDocument, blocks: Iterable[Block]) -> Iterator[tuple[int, str]]:
    """Yield (offset, reason) for each suspicious line, inside and outside the request `blocks`."""
    yield from _keywords(document)
    sources = sorted((block for block in blocks if block.kind == "block"), key=attrgetter("start"))
    starts = [block.start for block in sources]
    # A single scan of the text is much faster than one for each block.
    for match in _WITHIN.finditer(document.text):
        offset = match.start()
        block = sources[bisect_left(starts, offset) - 1] if sources else None
        if block is None or not block.start < offset < block.end:
            continue
        if match["directive"]:
            if reason := _ineffective(match["directive"], block.language):
                yield offset, reason
        elif match["language"] in ALL_LANGUAGES:
            yield offset, "this block starts inside the one above, which has no #+end_src"


def _ineffective(directive: str, language: str) -> str | None:
    """Return why a directive has no effect in a block of a language, or None if it has one.

    In restclient's and verb's languages, all directives are comments.
    """
    from orgrest.http.parsing.directives import rule_of

    rule = rule_of(directive)
    if rule is None or rule.informs or rule.name == "tag":
        return None
    if rule.in_files:
        hint = _INSTEAD.get(rule.name, "")
        return f"@{rule.name} has an effect only in request files{hint}"
    if language in ("restclient", VERB) and not rule.refused:
        reason = f"@{rule.name} has an effect only in http blocks and request files"
        return f"{reason}; here, it is a comment"
    return None


def header_arguments(document: OrgDocument, blocks: Iterable[Block]) -> Iterator[tuple[int, str]]:
    """Yield (line, reason) for each header argument of `blocks` that is probably misspelt."""
    for block in blocks:
        try:
            names = [f":{name}" for name in of_block(document, block).values]
        except ArgumentError:
            continue  # reported when the block is evaluated
        for name in names:
            if name[1:] not in KNOWN and (
                suggestion := resembled(re.split(r"[^\w-]", name.lstrip(":"))[0])
            ):
                yield block.line + 1, f"unknown header argument {name}; did you mean :{suggestion}?"


def unmarked(block: Block) -> Iterator[str]:
    """Yield a message for each header argument of a block that lacks its colon or is misspelt.

    Also yields a message for each misspelt `header-args` property above the block.
    """
    for text in (block.arguments, *block.headers):
        yield from _unmarked(text)
    yield from _properties(block)


@lru_cache(1024)  # many blocks have the same arguments
def _unmarked(text: str) -> tuple[str, ...]:
    try:
        own = parse(text)
    except ArgumentError:
        return ()  # reported when the block is evaluated
    reasons: list[str] = []
    for name, value in own:
        word = str(value or "").split(" ")[0] if name == ":" else name
        if (name == ":" or name[:1] != ":") and (suggestion := resembled(word.strip("-+=:"))):
            reasons.append(
                f"{name} {value or ''}: not a header argument; did you mean :{suggestion}?"
            )
    return tuple(reasons)


def _properties(block: Block) -> Iterator[str]:
    for heading in block.heading.path():
        for key in heading.properties:
            name, _, language = key.lower().rstrip("+").partition(":")
            wrong = language and language not in ALL_LANGUAGES and name == _ARGUMENTS
            suggestion = _language(language) if wrong else None
            if name != _ARGUMENTS and _resembles_header_args(name):
                yield f"unknown property {key.lower()}; did you mean {_ARGUMENTS}?"
            elif suggestion:
                yield f"unknown property {key.lower()}; did you mean {_ARGUMENTS}:{suggestion}?"


def _resembles_header_args(name: str) -> bool:
    begins = name.startswith("head") or name.endswith("args")  # the comparison is slow
    return begins and _alike(name, [_ARGUMENTS], 0.85) is not None


def _keywords(document: OrgDocument) -> Iterator[tuple[int, str]]:
    """Yield (offset, reason) for each misspelt `#+begin_src`, `#+property:` or `#+header:`."""
    for match in _KEYWORD.finditer(document.text):
        word, rest = match["word"].lower(), match["rest"]
        first, _, second = rest.partition(" ")
        suggestion = None
        if word == "property":
            name, _, language = first.lower().rstrip("+").partition(":")
            near = _resembles_header_args(name)
            if name != _ARGUMENTS and near and ":" in second:
                suggestion = f"#+property: {_ARGUMENTS}"
            elif near and language and language not in ALL_LANGUAGES:
                language = _language(language) or ""
                suggestion = f"#+property: {_ARGUMENTS}:{language}" if language else None
        elif first.lower().startswith(_ARGUMENTS) and _alike(word, ["property"], _ALIKE):
            suggestion = "#+property:"
        elif first in ALL_LANGUAGES:
            suggestion = "#+begin_src" if _alike(word, ["begin_src", "beginsrc"], _ALIKE) else None
        elif first[:1] == ":":
            suggestion = "#+header:" if _alike(word, ["header", "headers"], _ALIKE) else None
        if suggestion and not _is_quoted(document.text, match.start()):
            yield match.start(), f"{match[0].strip()[:60]}: unknown; did you mean {suggestion}?"


def _is_quoted(text: str, offset: int) -> bool:
    kind = None
    for match in _QUOTING.finditer(text, 0, offset):
        opens, here = match["edge"].lower() == "begin", match["kind"].lower()
        if opens and kind is None:
            kind = here
        elif kind == here and not opens:
            kind = None
    return kind is not None


@lru_cache(1024)
def _language(word: str) -> str | None:
    # "rust" is another language, not a misspelling of "rest"
    return _alike(word, ALL_LANGUAGES - {"rest"}, _ALIKE) or _alike(word, ALL_LANGUAGES, 0.8)


def _alike(word: str, candidates: Iterable[str], least: float) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(word.lower(), sorted(candidates), 1, least)), None)
