"""What can be put in at a place of a document, and what stands there: completion and its context.

`complete` gives the candidates for a place in an Org document or a request file, `context` says
what is written there. Both work on text that is being typed: the readers that a run has, too, tell
from the lines above what a line belongs to; the line itself need not be finished.

In Org the block around the place is cut out, and the rest of the document is searched for what the
place needs, if it needs any: URLs, names, header arguments.

A kind of context is a row of `model.Kind`, a line of `contexts` or `org_lines` that finds it, and a
row of `offers.OFFERS` that says what can be put in.

Offsets are those of the text that was given, whatever its line ends are. What comes from the
environment or netrc, or is computed from it, is shown as `***`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.editor.completion.contexts import contexts
from orgrest.editor.completion.model import Candidate, Context, Imported, fits
from orgrest.editor.completion.offers import OFFERS
from orgrest.editor.completion.place import Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from orgrest.editor import regions

__all__ = ["Candidate", "Context", "complete", "context"]


def complete(
    text: str,
    offset: int,
    *,
    document: regions.Kind = "org",
    files: Callable[[str], Iterable[str]] | None = None,
    environ: Iterable[str] = (),
    settings: Callable[[], Mapping[str, tuple[str, str]]] = dict,
    imported: Callable[[], Imported] = Imported,
) -> list[Candidate]:
    """Return what can be put in at `offset` of `text`, the likeliest first.

    `files` lists the names in a folder, which it is given as the document writes it; names of
    folders end in a slash. `environ` are the names of environment variables. `settings` gives the
    variables of the chosen environments: value, and where it comes from; `imported` what other
    files bring. Raises ValueError for an offset outside of the text.
    """
    place = Place(text, offset, document, files or (lambda _: ()), environ, settings, imported)
    found: list[Candidate] = []
    for here in contexts(place):
        if found and found[0].kind == "variable" and here.kind not in ("url", "query"):
            break
        offers = OFFERS[here.kind](place, here)
        chosen = [offer for offer in offers if fits(offer.text, here.prefix)]
        chosen.sort(
            key=lambda offer: (
                not offer.text.startswith(here.prefix),
                offer.rank,
                offer.text.lower(),
                offer.text,
            )
        )
        found += [place.candidate(here, offer) for offer in chosen]
    return found


def context(text: str, offset: int, *, document: regions.Kind = "org") -> Context | None:
    """Return what is written at `offset` of `text`, None in comments, prose and the like.

    After a colon that is a ``variable``, whether one of that name is defined or not. Raises
    ValueError for an offset outside of the text.
    """
    return next(contexts(Place(text, offset, document)), None)
