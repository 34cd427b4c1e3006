"""Selects the parser for a request text by the language that it is in.

A block in `restclient` is in restclient's language, one in `verb` in verb's. Request files, and
blocks in `http` and `rest`, are in the common language of VS Code REST Client, JetBrains' HTTP
Client and httpyac, unless their syntax shows that they are in restclient's.
"""

from __future__ import annotations

import itertools
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from orgrest.http.syntax import Definitions, Document
from orgrest.model import OrgrestError, RequestSyntaxError, Source, Span
from orgrest.org.blocks import VERB

if TYPE_CHECKING:
    from collections.abc import Iterable


MOST_DEFINITIONS: Final = 100_000
"""The maximum number of variables that a text may define."""
_DEFINITIONS = re.compile(r"^[ \t]*[@:][^\s=:]+[ \t]*:?=", re.MULTILINE)
_SHORT = 2**19  # characters: a shorter text has no room for so many definitions


def _too_many(source: Source) -> OrgrestError | None:
    """Return the error for a text that defines too many variables, or None."""
    if len(source.text) < _SHORT:
        return None
    found = itertools.islice(_DEFINITIONS.finditer(source.text), MOST_DEFINITIONS, None)
    first = next(found, None)
    if first is None:
        return None
    reason = f"more than {MOST_DEFINITIONS:,} variables are defined here: nothing is sent"
    return RequestSyntaxError.at(source, first.start(), reason, "too-many-variables")


@lru_cache(4)
def is_restclient_around(document: str) -> bool:
    """Return whether an Org document's syntax suggests that ambiguous blocks are restclient's."""
    from orgrest.http.parsing.request_file.grammar import is_restclient

    return bool(is_restclient(document))


def read(
    source: Source, language: str = "http", names: Iterable[str] = (), around: str = ""
) -> Document:
    """Parse a request file or a block's text; like the parsers, never raises.

    `language` is the block's. `names` are variables defined outside of the text (`:var`): a text
    that uses one of them as `:name` is in restclient's language. `around` is the Org document of a
    block, which decides if the block itself is ambiguous.
    """
    if language == VERB:
        from orgrest.http.parsing import verb

        return verb.parse(source)
    text = source.text
    if (problem := _too_many(source)) is not None:
        return Document(source, (), (problem,), ())
    if language == "restclient" or _is_restclient(text, names, around):
        from orgrest.http.parsing import restclient

        return restclient.parse(source)
    from orgrest.http.parsing import request_file

    return request_file.parse(source)


def _is_restclient(text: str, names: Iterable[str], around: str) -> bool:
    """Return whether a text is in restclient's language, by its syntax or the text around it."""
    from orgrest.http.parsing.request_file.grammar import is_restclient

    found = is_restclient(text)
    if found is not None:
        return found
    used = "|".join(re.escape(name) for name in names)
    if used and re.search(rf":(?:{used})(?![\w-])", text):
        return True
    return bool(around) and is_restclient_around(around)


def parts(text: str) -> tuple[bool, list[int]]:
    """Return whether a request file is restclient's, and the offsets of its parts, the first 0.

    Each part, up to the line end above the next part, can be parsed separately with `read_part`.
    """
    if _too_many(Source(text)) is not None:
        return False, [0]
    from orgrest.http.parsing import request_file, restclient

    if request_file.is_restclient(text):
        return True, restclient.parts(text)
    return False, request_file.parts(text)


def read_part(
    source: Source, part: Span, known: Definitions | None = None, *, is_restclients: bool
) -> Document:
    """Parse a part of a request file; `known` holds the definitions of the whole file.

    A part without a request is not an error.
    """
    from orgrest.http.parsing import request_file, restclient

    if is_restclients:
        return restclient.parse(source, part, known)
    return request_file.parse(source, part, known)
