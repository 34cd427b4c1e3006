"""The global variables of scripts, `client.global` and `$global`, and the file that stores them.

They are stored only if the user names a file. A document cannot choose this file.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Self

from orgrest import classes
from orgrest.http.script_value import ScriptValue
from orgrest.model import OrgrestError, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@classes.define(eq=False)
class GlobalVariables:
    """The JSON values of global variables by name, and the names of those that contain a secret."""

    values: dict[str, Any] = classes.field(factory=dict)
    secret: set[str] = classes.field(factory=set)
    _unkept: set[str] = classes.field(factory=set)
    _as_read: dict[str, str] = classes.field(factory=dict)

    @classmethod
    def read(cls, data: bytes, file: str) -> Self:
        """Parse the content of a file that stores variables, in the format that `written` returns.

        Raises OrgrestError if the content is malformed.
        """
        try:
            content = json.loads(data)
            values, secret = dict(content["variables"]), set(content["secret"])
        except (ValueError, TypeError, KeyError, RecursionError):
            reason = 'expected global variables in the form {"variables": {...}, "secret": [...]}'
            raise OrgrestError(reason, file=file) from None
        as_read = {name: json.dumps(value) for name, value in values.items()}
        return cls(values, secret & set(values), as_read=as_read)

    def apply_changes(self, stored: GlobalVariables) -> None:
        """Apply to `stored` the changes that were made to these variables since they were read.

        `stored` are the variables that the file contains now.
        """
        kept = self.kept()
        for name in self._as_read.keys() - kept.values.keys():
            stored.values.pop(name, None)
            stored.secret.discard(name)
        for name, value in kept.values.items():
            if json.dumps(value) != self._as_read.get(name):
                stored.values[name] = value
                (stored.secret.add if name in kept.secret else stored.secret.discard)(name)

    def kept(self) -> Self:
        """Return the variables that are kept after the run."""
        values = {name: value for name, value in self.values.items() if name not in self._unkept}
        return type(self)(values, self.secret - self._unkept)

    def written(self) -> bytes:
        """Return the content of the file that stores the variables."""
        kept = self.kept()
        content = {"variables": kept.values, "secret": sorted(kept.secret)}
        return json.dumps(content, ensure_ascii=False, indent=2).encode() + b"\n"

    def replace(
        self, values: Mapping[str, Any], secrets: Iterable[str], *, keep: bool = True
    ) -> None:
        """Replace all variables with `values`, which a script has returned.

        A new or changed variable is secret if its value contains one of `secrets`. If `keep` is
        False, the variable is kept only for this run.
        """
        hidden = [secret for secret in secrets if secret.strip()]
        for name, value in values.items():
            if name not in self.values or self.values[name] != value:
                self.secret.discard(name)
                (self._unkept.discard if keep else self._unkept.add)(name)
                if any(secret in text_of(value) for secret in hidden):
                    self.secret.add(name)
        self.values = dict(values)
        self.secret &= set(values)

    def secrets(self) -> set[str]:
        """Return the values, as strings, of the variables that contain a secret."""
        return {text_of(self.values[name]) for name in self.secret}

    def variable(self, name: str) -> ScriptValue | None:
        """Return the value of a variable, or None if it is undefined."""
        if name not in self.values:
            return None
        return ScriptValue(text_of(self.values[name]), self.values[name])


def text_of(value: Any) -> str:
    """Return the string that is sent for a JSON value: a string unchanged, other values as JSON.

    Numbers are formatted as in JavaScript, so 1.0 becomes 1.
    """
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, float):
        return _number(value)
    return whole(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _number(value: float) -> str:
    """Return a number in the format of JavaScript (ECMAScript, Number::toString)."""
    from decimal import Decimal

    if value == 0:
        return "0"
    if 1e-6 <= abs(value) < 1e21:
        return format(Decimal(repr(value)).normalize(), "f")
    return re.sub(r"e([+-])0", r"e\1", json.dumps(value))
