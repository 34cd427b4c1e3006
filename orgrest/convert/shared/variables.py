"""Names of variables and dynamic values in tools that write them as `{{name}}`."""

from __future__ import annotations

import re
from typing import Final

from orgrest.convert.shared import texts
from orgrest.convert.shared.texts import Variable
from orgrest.http.values.dynamic import find
from orgrest.http.values.references import RESERVED

DYNAMIC: Final = {
    "$guid": "$guid",
    "$randomUUID": "$uuid",
    "$timestamp": "$timestamp",
    "$isoTimestamp": "$isoTimestamp",
    "$randomInt": "$randomInt",
    "$randomEmail": "$random.email",
    "$randomExampleEmail": "$random.email",
}
"""Postman's dynamic values that orgrest also has, mapped to their names in orgrest."""

UNUSABLE: Final = re.compile(f"{RESERVED.pattern}|encodeURIComponent|JSON|String")
"""Matches the names that have another meaning in expressions."""
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Names:
    """Unique names, valid in request files, for the variables of a source."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self.unknown: dict[str, None] = {}
        """Dynamic values that the other tool has but orgrest lacks, in order of first use."""
        self.aliases: dict[str, Variable] = {}
        """Maps aliases, which are names that expressions can use, to their variables."""
        self._alias_of: dict[str, str] = {}
        self.computed: set[str] = set()
        """The variables that expressions contain, directly or by an alias."""

    def name(self, original: str) -> str:
        """Return the new name of a variable, which the source calls `original`."""
        original = original.strip()
        if original not in self._names:
            self._names[original] = self.free(texts.name_of(original))
        return self._names[original]

    def free(self, base: str) -> str:
        """Reserve an unused name and return it: `base`, or `base` with a number appended."""
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

    def variable(self, original: str) -> Variable:
        """Return the variable that the text between double braces refers to."""
        original = original.strip()
        if original in DYNAMIC:
            return Variable(DYNAMIC[original])
        if not original.startswith("$"):
            return Variable(self.name(original))
        if isinstance(find(original), str):
            self.unknown[f"{{{{{original}}}}}"] = None
        return Variable(original)

    def encoded(self, variable: Variable) -> Variable:
        """Return an expression that percent-encodes a variable's value for a form or a query."""
        return self._computed("encodeURIComponent({})", variable)

    def escaped(self, variable: Variable) -> Variable:
        """Return an expression that escapes a variable's value for a string in JSON."""
        return self._computed("JSON.stringify(String({})).slice(1, -1)", variable)

    def as_json(self, variable: Variable) -> Variable:
        """Return an expression for a variable's value as a string in JSON, with its quotes."""
        return self._computed("JSON.stringify(String({}))", variable)

    def _computed(self, code: str, variable: Variable) -> Variable:
        """Return an expression: `code` with the name of a variable in place of `{}`.

        If an expression cannot contain the variable's name, it contains an alias (see `aliases`).
        """
        name = variable.name
        if name in DYNAMIC.values():  # needs no encoding
            return variable
        self.computed.add(name)
        if not _IDENTIFIER.fullmatch(name) or UNUSABLE.fullmatch(name):
            base = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
            if name not in self._alias_of:
                self._alias_of[name] = self.free(f"text_{base}")
            name = self._alias_of[name]
            self.aliases[name] = variable
        return Variable(code.format(name))

    def definitions(self) -> tuple[tuple[str, str], ...]:
        """Return the definitions of the aliases as (name, value) pairs."""
        return tuple((name, texts.written([of])) for name, of in self.aliases.items())

    def text(self, text: str) -> str:
        """Return a string from the other tool, converted to the notation of request files."""
        return texts.translated(text, self.variable)
