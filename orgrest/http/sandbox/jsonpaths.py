"""Evaluates JSONPaths (RFC 9535) from documents. Regular expressions in them take linear time."""

from __future__ import annotations

import re
from typing import Any, Final

import jsonpath
from jsonpath.function_extensions import ExpressionType, FilterFunction

from orgrest.http import patterns
from orgrest.model import OrgrestError

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


def find(path: str, value: Any) -> list[Any]:
    """Return all matches of a JSONPath in a value, in order.

    Raises OrgrestError if the path is malformed or contains a pattern that RE2 does not support.
    Also raises it if the path or the value is nested too deeply.
    """
    try:
        return list(_ENVIRONMENT.findall(path, value))
    except jsonpath.JSONPathError as error:
        reason = str(error).partition("\n")[0]
        raise OrgrestError(f"{path} is not a valid JSONPath: {reason}") from None
    except RecursionError:
        raise OrgrestError(f"{path}: the path or the data is nested too deeply") from None
    except re.error as error:
        raise OrgrestError(f"{path} is not a valid JSONPath: {error}") from None
