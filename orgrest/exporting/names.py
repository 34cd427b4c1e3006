"""Names of variables as identifiers of other languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from orgrest.exporting.model import Variable


def identifiers(
    variables: Iterable[Variable], spelled: Callable[[str], str], taken: Collection[str]
) -> dict[Variable, str]:
    """Return an identifier for each variable, none of which is `taken`."""
    found: dict[Variable, str] = {}
    used = set(taken)
    for one in variables:
        wanted = spelled(re.sub(r"\W+", "_", one.name, flags=re.ASCII).strip("_")) or "variable"
        wanted = f"v{wanted}" if wanted[0].isdigit() else wanted
        if wanted.endswith("_proxy"):  # of which every HTTP client takes notice
            wanted += "_"
        while wanted in used:
            wanted += "_"
        used.add(wanted)
        found[one] = wanted
    return found
