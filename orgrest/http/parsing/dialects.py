"""Selects the parser for the text of a request file or block.

Blocks in the languages `restclient` and `verb` have their own parsers. Request files, and blocks in
the languages `http` and `rest`, are in the common language of VS Code REST Client, JetBrains' HTTP
Client and httpyac, unless their syntax is restclient's.
"""

from __future__ import annotations

import itertools
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from orgrest import classes
from orgrest.http.syntax import Definitions, Document, Import, ParsedRequest
from orgrest.model import RequestSyntaxError, Source, Span
from orgrest.org.blocks import VERB
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable


MOST_DEFINITIONS: Final = 100_000
"""The maximum number of variable definitions in a request file or block."""
_DEFINITIONS = compiled(r"^[ \t]*[@:][^\s=:]+[ \t]*:?=", re.MULTILINE)
_SHORT = 2**19  # characters: a shorter text cannot contain more than MOST_DEFINITIONS definitions


def _definition_over_limit(text: str) -> re.Match[str] | None:
    if len(text) < _SHORT:
        return None
    return next(itertools.islice(_DEFINITIONS.finditer(text), MOST_DEFINITIONS, None), None)


@lru_cache(4)
def is_restclient_around(document: str) -> bool:
    """Return whether the ambiguous blocks of an Org document are in restclient's language.

    They are if the document contains restclient's syntax, but no syntax of the other tools.
    """
    from orgrest.http.parsing.request_file.grammar import is_restclient

    return bool(is_restclient(document))


def read(
    source: Source, language: str | None = None, names: Iterable[str] = (), around: str = ""
) -> Document:
    """Parse the text of a request file or block. Never raises: errors are in `problems`.

    `language` is the language of the block, or None for a request file. `names` are the variables
    that the document defines outside the text (`:var`). A text that contains one as `:name` is in
    restclient's language. `around` is the text of the block's Org document, which determines the
    language of an ambiguous block.
    """
    if language == VERB:
        from orgrest.http.parsing import verb

        return verb.parse(source)
    text = source.text
    if (first := _definition_over_limit(text)) is not None:
        reason = f"more than {MOST_DEFINITIONS:,} variables are defined here: nothing was sent"
        problem = RequestSyntaxError.at(source, first.start(), reason, "too-many-variables")
        return Document(source, (), (problem,), ())
    if language == "restclient" or _is_restclient(text, names, around):
        from orgrest.http.parsing import restclient

        document = restclient.parse(source)
    else:
        from orgrest.http.parsing import request_file

        document = request_file.parse(source, in_org=language is not None)
    has_request = any(isinstance(item, ParsedRequest | Import) for item in document.items)
    if has_request or document.problems:
        return document
    reason = "no request found: requests start with a line such as GET https://example.org/"
    problem = RequestSyntaxError.at(source, 0, reason, "no-request")
    return classes.evolve(document, problems=(problem,))


def _is_restclient(text: str, names: Iterable[str], around: str) -> bool:
    from orgrest.http.parsing.request_file.grammar import is_restclient

    by_syntax = is_restclient(text)
    if by_syntax is not None:
        return by_syntax
    used = "|".join(re.escape(name) for name in names)
    if used and re.search(rf":(?:{used})(?![\w-])", text):
        return True
    return bool(around) and is_restclient_around(around)


def parts(text: str) -> tuple[bool, list[int]]:
    """Return whether a request file is in restclient's language, and where its parts start.

    Each part ends before the next one starts, and can be parsed separately with `read_part`. The
    first offset is 0.
    """
    if _definition_over_limit(text) is not None:
        return False, [0]
    from orgrest.http.parsing import request_file, restclient

    if request_file.is_restclient(text):
        return True, restclient.parts(text)
    return False, request_file.parts(text)


def read_part(
    source: Source, part: Span, known: Definitions | None = None, *, is_restclients: bool
) -> Document:
    """Parse one part of a request file, given the definitions of the whole file (`known`).

    A part without a request is not an error.
    """
    from orgrest.http.parsing import request_file, restclient

    if is_restclients:
        return restclient.parse(source, part, known)
    return request_file.parse(source, part, known)
