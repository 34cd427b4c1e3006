"""Variable names and dynamic values from tools with the notation `{{name}}`."""

from __future__ import annotations

from typing import Final

from orgrest.convert.shared import texts
from orgrest.convert.shared.texts import Variable
from orgrest.http.values.dynamic import find

_DYNAMIC: Final = {
    "$guid": "$guid",
    "$randomUUID": "$uuid",
    "$timestamp": "$timestamp",
    "$isoTimestamp": "$isoTimestamp",
    "$randomInt": "$randomInt",
    "$randomEmail": "$random.email",
    "$randomExampleEmail": "$random.email",
}
"""Postman's dynamic values that orgrest also has, with their names in orgrest."""


class Names:
    """Unique names for the variables of a source, changed so that request files allow them."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self.unknown: dict[str, None] = {}
        """Dynamic values of the other tool that orgrest lacks, in order of their first use."""

    def name(self, original: str) -> str:
        """Return the name in the request file for the variable called `original`."""
        original = original.strip()
        if original not in self._names:
            self._names[original] = self.free(texts.name_of(original))
        return self._names[original]

    def free(self, base: str) -> str:
        """Reserve and return an unused name that is `base` or begins with it."""
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def variable(self, original: str) -> Variable:
        """Return the variable for the content of double braces."""
        original = original.strip()
        if original in _DYNAMIC:
            return Variable(_DYNAMIC[original])
        if not original.startswith("$"):
            return Variable(self.name(original))
        if isinstance(find(original), str):
            self.unknown[f"{{{{{original}}}}}"] = None
        return Variable(original)

    def text(self, text: str) -> str:
        """Return a string from the other tool in the notation of request files."""
        return texts.translated(text, self.variable)
