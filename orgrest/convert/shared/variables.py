"""Names of variables, and dynamic values, of tools that write `{{name}}`."""

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
"""The dynamic values of orgrest that are equivalent to Postman's, by Postman's names."""


class Names:
    """Unique names for a source's variables, in a form that request files allow."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self.unknown: dict[str, None] = {}
        """Dynamic values of the other tool that orgrest does not have, in order."""

    def name(self, given: str) -> str:
        """Return the name for a variable."""
        given = given.strip()
        if given not in self._names:
            self._names[given] = self.free(texts.name_of(given))
        return self._names[given]

    def free(self, wanted: str) -> str:
        """Reserve and return an unused name."""
        name, number = wanted, 1
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name

    def variable(self, given: str) -> Variable:
        """Return the variable for the content of double braces."""
        given = given.strip()
        if given in _DYNAMIC:
            return Variable(_DYNAMIC[given])
        if not given.startswith("$"):
            return Variable(self.name(given))
        if isinstance(find(given), str):
            self.unknown[f"{{{{{given}}}}}"] = None
        return Variable(given)

    def text(self, text: str) -> str:
        """Return a text in the notation of request files."""
        return texts.translated(text, self.variable)
