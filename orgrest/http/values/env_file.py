"""Env files: `NAME=value` lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest.http.values.strings import unquote
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from pathlib import Path


def read_env_file(path: Path) -> dict[str, str]:
    r"""Return the variables of an env file: `NAME=value` lines.

    `export` before the name, `#` lines, and quotes around a value are understood; in double quotes
    `\n`, `\t`, `\"`, `\\` too. Raises `OrgrestError` with the position of a malformed line.
    """
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise OrgrestError(f"cannot read the env file: {error.strerror}", file=str(path)) from error
    except UnicodeError as error:
        raise OrgrestError("the env file is not UTF-8", file=str(path)) from error
    variables = {}
    for number, line in enumerate(text.split("\n"), 1):
        given = line.strip().removeprefix("export ").lstrip()
        if not given or given.startswith("#"):
            continue
        name, equals, value = given.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name or any(c.isspace() for c in name):
            raise OrgrestError("not a NAME=value line", file=str(path), line=number)
        if value[:1] in ("'", '"'):
            match = re.fullmatch(r"""("(?:[^"\\]|\\.)*"|'[^']*')(?:\s+#.*|\s*)""", value)
            if match is None:
                raise OrgrestError("the quote never ends", file=str(path), line=number)
            value = unquote(match[1]) if value[0] == '"' else match[1][1:-1]
        else:
            value = re.sub(r"(?:^|\s+)#.*", "", value)
        variables[name] = value
    return variables
