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
from orgrest.editor.completion.model import fits
from orgrest.editor.completion.offers import OFFERS

if TYPE_CHECKING:
    from orgrest.editor.completion.cursor import Cursor
    from orgrest.editor.completion.model import Candidate


def complete(cursor: Cursor) -> list[Candidate]:
    """Return the candidates for completion at a cursor, most likely first."""
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
