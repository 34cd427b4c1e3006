"""The global variables of scripts, `client.global` and `$global`, and the file that keeps them.

They are kept only in a file that the user names: a document cannot choose it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

import attrs

from orgrest.http.script_value import ScriptValue
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@attrs.define(eq=False)
class GlobalVariables:
    """The values, as JSON by name, and the names of the variables that hold a secret."""

    values: dict[str, Any] = attrs.field(factory=dict)
    secret: set[str] = attrs.field(factory=set)
    _unkept: set[str] = attrs.field(factory=set)

    @classmethod
    def read(cls, data: bytes, file: str) -> Self:
        """Parse the output of `written`. Raises OrgrestError."""
        try:
            found = json.loads(data)
            values, secret = dict(found["variables"]), set(found["secret"])
        except (ValueError, TypeError, KeyError, RecursionError):
            reason = 'no global variables: {"variables": {...}, "secret": [...]} is expected'
            raise OrgrestError(reason, file=file) from None
        return cls(values, secret & set(values))

    def kept(self) -> Self:
        """Return the variables that outlast the run."""
        values = {name: one for name, one in self.values.items() if name not in self._unkept}
        return type(self)(values, self.secret - self._unkept)

    def written(self) -> bytes:
        """Return the content of the file that keeps the variables."""
        kept = self.kept()
        content = {"variables": kept.values, "secret": sorted(kept.secret)}
        return json.dumps(content, ensure_ascii=False, indent=2).encode() + b"\n"

    def replace(
        self, values: Mapping[str, Any], secrets: Iterable[str], *, keep: bool = True
    ) -> None:
        """Replace the values by a script's, and note which of them hold one of the `secrets`.

        Without `keep`, the values that it changed are for this run only.
        """
        hidden = [one for one in secrets if one.strip()]
        for name, value in values.items():
            if name not in self.values or self.values[name] != value:
                self.secret.discard(name)
                (self._unkept.discard if keep else self._unkept.add)(name)
                if any(one in text_of(value) for one in hidden):
                    self.secret.add(name)
        self.values = dict(values)
        self.secret &= set(values)

    def secrets(self) -> set[str]:
        """Return the texts of the variables that hold a secret."""
        return {text_of(self.values[name]) for name in self.secret}

    def variable(self, name: str) -> ScriptValue | None:
        """Return a variable as if a script had set it, or None."""
        if name not in self.values:
            return None
        return ScriptValue(text_of(self.values[name]), self.values[name])


def text_of(value: Any) -> str:
    """Return the text to send for a JSON value; a string is unchanged."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
