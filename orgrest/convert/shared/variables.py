"""Variable names and dynamic values from tools with the notation `{{name}}`."""

from __future__ import annotations

import re
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

_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_RESERVED: Final = re.compile(
    "arguments|await|break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|eval|"
    "export|extends|false|finally|for|function|if|implements|import|in|instanceof|interface|let|new|"
    "null|package|private|protected|public|return|static|super|switch|this|throw|true|try|typeof|"
    "undefined|var|void|while|with|yield|encodeURIComponent"
)
"""Matches reserved words (ECMAScript 2025, section 12.7.2), and the function that is called."""


class Names:
    """Unique names for the variables of a source, changed so that request files allow them."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self.unknown: dict[str, None] = {}
        """Dynamic values of the other tool that orgrest lacks, in order of their first use."""
        self.aliases: dict[str, Variable] = {}
        """Names that expressions can use, and the variable of each."""
        self._alias_of: dict[str, str] = {}

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

    def encoded(self, variable: Variable) -> Variable:
        """Return the expression for a variable's value, percent-encoded for a form or a query.

        If an expression cannot use the variable by its name, an alias is added to `aliases`.
        """
        name = variable.name
        if name in _DYNAMIC.values():  # needs no encoding
            return variable
        if not _IDENTIFIER.fullmatch(name) or _RESERVED.fullmatch(name):
            base = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
            if name not in self._alias_of:
                self._alias_of[name] = self.free(f"text_{base}")
            name = self._alias_of[name]
            self.aliases[name] = variable
        return Variable(f"encodeURIComponent({name})")

    def definitions(self) -> tuple[tuple[str, str], ...]:
        """Return the definitions of the aliases."""
        return tuple((name, texts.written([of])) for name, of in self.aliases.items())

    def text(self, text: str) -> str:
        """Return a string from the other tool in the notation of request files."""
        return texts.translated(text, self.variable)
