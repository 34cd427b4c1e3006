"""Evaluates JSONPaths (RFC 9535) from documents. Regular expressions in them take linear time."""

from __future__ import annotations

import re
from typing import Any, Final

import jsonpath
from jsonpath.function_extensions import ExpressionType, FilterFunction

from orgrest.http import patterns
from orgrest.model import OrgrestError

# Spellings of jsonpath-plus, which VS Code REST Client uses, that RFC 9535 does not have: `.[`,
# `===`, `!==` and `[(@.length-1)]`. Strings and patterns, which may contain them, match first.
_OF_PLUS: Final = re.compile(
    r"""'(?:[^'\\]|\\.)*+'?|"(?:[^"\\]|\\.)*+"?|/(?:[^/\\]|\\.)++/?|"""
    r"""(?P<dot>(?<!\.)\.(?=\[))|(?P<strict>[=!]=)=|\[\(@\.length ?- ?(?P<last>[1-9]\d*)\)\]"""
)
_JAVASCRIPT: Final = re.compile(r"\[\(|@[\w.]*\.\w+\(")
_FLAGS: Final = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s"}


class _Search(FilterFunction):
    """The filter functions `search` and `match`, with RE2."""

    arg_types: Final = [ExpressionType.VALUE, ExpressionType.VALUE]
    return_type: Final = ExpressionType.LOGICAL

    def __init__(self, form: str) -> None:
        self._form = form

    def __call__(self, value: object, pattern: object) -> bool:
        if not isinstance(value, str) or not isinstance(pattern, str):
            return False
        return patterns.matches(self._form.format(pattern), value)


class _Environment(jsonpath.JSONPathEnvironment):
    """The dialect of python-jsonpath, but with RE2."""

    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions["search"] = _Search("{}")
        self.function_extensions["match"] = _Search(r"\A(?:{})\z")

    def compare(self, left: object, operator: str, right: object) -> bool:
        if operator == "=~" and isinstance(right, re.Pattern) and isinstance(left, str):
            flags = "".join(name for flag, name in _FLAGS.items() if right.flags & flag)
            form = rf"\A(?{flags}:{{}})\z" if flags else r"\A(?:{})\z"
            return patterns.matches(form.format(right.pattern), left)
        return super().compare(left, operator, right)


_ENVIRONMENT: Final = _Environment()


def _in_rfc_9535(match: re.Match[str]) -> str:
    if match["last"]:
        return f"[-{match['last']}]"
    return "" if match["dot"] else match["strict"] or match[0]


def find(path: str, value: Any) -> list[Any]:
    """Return all matches of a JSONPath in a value, in order.

    Some spellings of jsonpath-plus are accepted, too.

    Raises OrgrestError if the path is malformed or contains a pattern that RE2 does not support.
    Also raises it if the path or the value is nested too deeply.
    """
    try:
        return list(_ENVIRONMENT.findall(_OF_PLUS.sub(_in_rfc_9535, path), value))
    except jsonpath.JSONPathError as error:
        reason = str(error).partition("\n")[0]
        if _JAVASCRIPT.search(path):
            reason = (
                "JavaScript is not evaluated in it; write, for example, [-1] or "
                "[?search(@.name, 'pattern')]"
            )
        raise OrgrestError(f"{path} is not a valid JSONPath: {reason}") from None
    except RecursionError:
        raise OrgrestError(f"{path}: the path or the data is nested too deeply") from None
    except re.error as error:
        raise OrgrestError(f"{path} is not a valid JSONPath: {error}") from None
