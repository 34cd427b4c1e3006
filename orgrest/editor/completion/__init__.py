"""Completion: the candidates at an offset in an Org document or a request file.

The parsers that a run uses read the lines above the offset. The line itself may be incomplete:
`contexts` and `org_lines` recognize its possible contexts. Each kind of context is a member of
`model.Kind`, and a row of `offers.OFFERS` yields its candidates.

Offsets refer to the given text, with its original line endings. Values from the environment or
netrc, and values computed from them, are shown as `***`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.editor.completion.contexts import contexts
from orgrest.editor.completion.cursor import Cursor
from orgrest.editor.completion.model import Candidate, Imported, fits
from orgrest.editor.completion.offers import OFFERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from orgrest.description.model import Description
    from orgrest.editor import regions

__all__ = ["Candidate", "complete"]


def complete(
    text: str,
    offset: int,
    *,
    document: regions.Kind = "org",
    files: Callable[[str], Iterable[str]] | None = None,
    environ: Iterable[str] = (),
    settings: Callable[[], Mapping[str, tuple[str, str]]] = dict,
    imported: Callable[[], Imported] = Imported,
    described: Callable[[str], Description | None] = lambda _: None,
    beside: Callable[[], Iterable[Description]] = tuple,
) -> list[Candidate]:
    """Return the candidates for completion at `offset` in `text`, most likely first.

    - `files` returns the names in a folder, given the folder's path in the document. Names of
      subfolders end in a slash.
    - `environ` contains the names of environment variables.
    - `settings` returns the variables of the chosen environments, each with its value and source.
    - `imported` returns the names that other files define.
    - `described` returns the OpenAPI description in a file that the document names.
    - `beside` returns the OpenAPI descriptions near the document.

    Raises ValueError if the offset is outside the text.
    """
    cursor = Cursor(
        text,
        offset,
        document,
        files or (lambda _: ()),
        environ,
        settings,
        imported,
        described,
        beside,
    )
    candidates: list[Candidate] = []
    for here in contexts(cursor):
        if (
            candidates
            and candidates[0].kind == "variable"
            and here.kind not in ("url", "query", "query value")
        ):
            break
        offers = OFFERS[here.kind](cursor, here)
        chosen = [offer for offer in offers if fits(offer.text, here.prefix)]
        chosen.sort(
            key=lambda offer: (
                not offer.text.startswith(here.prefix),
                offer.rank,
                offer.text.lower(),
                offer.text,
            )
        )
        different = {offer.text: offer for offer in reversed(chosen)}  # the first per text
        candidates += [cursor.candidate(here, offer) for offer in reversed(different.values())]
    return candidates
