"""YAML as data: the values of JSON, and nothing else (the core schema of YAML 1.2, section 10.3).

A date or `no` stays a text, as the tools that write these files mean it. Nothing is constructed but
texts, numbers, lists and mappings.
"""

from __future__ import annotations

import re
from typing import Any, Final

from orgrest.importing.errors import ImportingError
from orgrest.importing.fields import check

LARGEST: Final = 16 * 2**20
"""The maximum length of a text, in characters."""
_SCALARS: Final = (
    ("null", re.compile(r"~|null|Null|NULL|"), ["~", "n", "N", ""]),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE"), list("tTfF")),
    ("int", re.compile(r"[-+]?(?:0|[1-9][0-9]{0,30})"), list("-+0123456789")),
    (
        "float",
        re.compile(r"[-+]?[0-9]+(?:\.[0-9]*(?:[eE][-+]?[0-9]{1,3})?|[eE][-+]?[0-9]{1,3})"),
        list("-+0123456789"),
    ),
)


def load(text: str, name: str) -> Any:
    """Return the value of a YAML text. Raises ImportingError."""
    import yaml

    if len(text) > LARGEST:
        raise ImportingError(f"larger than {LARGEST // 2**20} MiB", file=name)
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]  # which of the two it is
        yaml_implicit_resolvers: Final[dict[str, Any]] = {}

    for kind, pattern, first in _SCALARS:
        exact = re.compile(rf"(?:{pattern.pattern})\Z")
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", exact, first)
    try:
        value = yaml.load(text, Loader)  # noqa: S506 - a safe loader, with fewer types
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = None if mark is None else mark.line + 1
        reason = f"this is not YAML: {error.problem}"
        raise ImportingError(reason, file=name, line=line) from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        reason = f"this YAML cannot be read: {type(error).__name__}"
        raise ImportingError(reason, file=name) from None
    check(value, name)
    return value
