"""Reads JSON and YAML from untrusted sources, with limits on size, depth and number of values.

YAML values have only the types of JSON (section 10.3 of YAML 1.2, the core schema). A date or `no`
is a string, as authors of these files expect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from orgrest.files import decode
from orgrest.model import OrgrestError
from orgrest.regular import compiled

LARGEST: Final = 64 * 2**20
"""The maximum size of a source, in bytes."""
LARGEST_YAML: Final = 16 * 2**20
"""The maximum length of a YAML text, in characters."""
DEEPEST: Final = 200
"""The maximum nesting depth of objects and lists."""
MOST_VALUES: Final = 2_000_000
"""The maximum number of values in a source. A YAML alias counts each time it is used."""
_SCALARS: Final = (
    ("null", compiled(r"~|null|Null|NULL|"), ["~", "n", "N", ""]),
    ("bool", compiled(r"true|True|TRUE|false|False|FALSE"), list("tTfF")),
    ("int", compiled(r"[-+]?(?:0|[1-9][0-9]{0,30})"), list("-+0123456789")),
    (
        "float",
        compiled(r"[-+]?[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]{1,3})?|[eE][-+]?[0-9]{1,3})"),
        list("-+0123456789"),
    ),
)


# An unclosed comment matches up to the end of the text. Otherwise the rest of the text would be
# scanned again for each `/*`.
_STRING = r'"(?:[^"\\]|\\.)*+"?'
_COMMENT = compiled(rf"({_STRING})|//[^\n]*|/\*(?:.*?\*/|.*)", re.DOTALL)
_TRAILING_COMMA = compiled(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)


def without_comments(text: str) -> str:
    """Return a JSON text with its comments and trailing commas replaced by spaces."""
    for pattern in (_COMMENT, _TRAILING_COMMA):
        text = pattern.sub(lambda match: match[1] or re.sub(r"[^\n]", " ", match[0]), text)
    return text


class StructureError(OrgrestError):
    """Raised if data is malformed or exceeds a limit."""


def read(data: bytes, name: str) -> Any:
    """Return the value of JSON or YAML data. `name` is the source's name in error messages.

    Raises StructureError if the data is malformed or exceeds a limit.
    """
    check_size(data, name)
    return load(decode(data)[0], name)


def check_size(data: bytes, name: str) -> None:
    """Raise StructureError if the data of the source `name` exceeds the size limit."""
    if len(data) > LARGEST:
        raise StructureError(f"larger than {LARGEST // 2**20} MiB", file=name)


def load(text: str, name: str) -> Any:
    """Return the value of a JSON or YAML text. `name` is the source's name in error messages.

    A text that begins with `{` or `[` must be JSON if `name` ends in `.json`. Raises StructureError
    if the text is malformed or exceeds a limit.
    """
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return yaml_value(text, name)
    try:
        return json_value(text, name)
    except StructureError:
        if name.endswith(".json"):
            raise
        try:  # YAML in flow style
            return yaml_value(text, name)
        except StructureError:
            pass
        raise


def json_or(text: str | bytes, otherwise: Any = None, **options: Any) -> Any:
    """Return the value of a JSON text, or `otherwise` if it is malformed or nested too deeply.

    `options` are those of `json.loads`.
    """
    try:
        return json.loads(text, **options)
    except (ValueError, RecursionError):
        return otherwise


def json_value(text: str, name: str) -> Any:
    """Return the value of a JSON text. `name` is the source's name in error messages.

    Raises StructureError if the text is malformed or exceeds a limit.
    """
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        reason = f"not valid JSON: {error.msg}"
        raise StructureError(reason, file=name, line=error.lineno, column=error.colno) from None
    except (ValueError, RecursionError):
        reason = "the JSON is nested too deeply, or contains a number with too many digits"
        raise StructureError(reason, file=name) from None
    _check_limits(value, name)
    return value


def yaml_value(text: str, name: str) -> Any:
    """Return the value of a YAML text. `name` is the source's name in error messages.

    Raises StructureError if the text is malformed or exceeds a limit.
    """
    import yaml

    if len(text) > LARGEST_YAML:
        raise StructureError(f"larger than {LARGEST_YAML // 2**20} MiB", file=name)
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]  # one of two classes
        yaml_implicit_resolvers: Final[dict[str, Any]] = {}
        depth = 0

        def descend_resolver(self, *_: object) -> None:
            # libyaml's composer is recursive in C: without a limit, it would crash.
            self.depth += 1
            if self.depth > DEEPEST + 2:
                raise StructureError(f"nested more than {DEEPEST} levels deep", file=name)

        def ascend_resolver(self) -> None:
            self.depth -= 1

    for kind, pattern, first in _SCALARS:
        exact = compiled(rf"(?:{pattern.pattern})\Z")
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", exact, first)
    try:
        value = yaml.load(text, Loader)  # noqa: S506 - a safe loader, with fewer types
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = None if mark is None else mark.line + 1
        reason = f"not valid YAML: {error.problem}"
        raise StructureError(reason, file=name, line=line) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        reason = f"could not read the YAML: {type(error).__name__}"
        raise StructureError(reason, file=name) from None
    _check_limits(value, name)
    return value


def matches(value: object, shape: object) -> bool:
    """Return whether a JSON value matches `shape`.

    A shape is one of the following:

    - a type (`int` excludes booleans);
    - None or a string, which matches only itself;
    - a function that returns whether a value matches;
    - a tuple of alternative shapes;
    - `[shape, ...]` for a list of any length;
    - `[shape, shape]` for a list of exactly two items, and so on;
    - a dict for an object with at least these members (optional if their name ends in `?`).
    """
    try:
        return _matches(value, shape)
    except RecursionError:
        return False


def _matches(value: Any, shape: Any) -> bool:
    if isinstance(shape, type):
        return type(value) is shape
    if callable(shape):
        return bool(shape(value))
    if isinstance(shape, tuple):
        return any(_matches(value, alternative) for alternative in shape)
    if isinstance(shape, list):
        if type(value) is not list:
            return False
        if shape[-1] is ...:
            return all(_matches(item, shape[0]) for item in value)
        return len(value) == len(shape) and all(map(_matches, value, shape))
    if isinstance(shape, dict):
        return type(value) is dict and all(
            _matches(value[name.rstrip("?")], inner)
            if name.rstrip("?") in value
            else name.endswith("?")
            for name, inner in shape.items()
        )
    return bool(value == shape)


def _check_limits(value: object, name: str) -> None:
    level: list[object] = [value]
    count = 0
    for _ in range(DEEPEST):
        level = [
            part
            for parent in level
            if isinstance(parent, Mapping | list)
            for part in (parent.values() if isinstance(parent, Mapping) else parent)
        ]
        count += len(level)
        if count > MOST_VALUES:
            raise StructureError(f"contains more than {MOST_VALUES:,} values", file=name)
        if not level:
            return
    raise StructureError(f"nested more than {DEEPEST} levels deep", file=name)
