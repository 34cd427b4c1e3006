"""An OpenAPI description 3.0 or 3.1: its operations, and which of them a request is.

A description is untrusted: nothing outside of it is read, references are followed a limited number
of times, and matching takes time linear in a URL. Source: the OpenAPI specification, 3.0.4 and
3.1.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urlsplit

import attrs

from orgrest.importing.errors import ImportingError
from orgrest.importing.openapi import METHODS
from orgrest.importing.sources import structure

_MOST_REFERENCES = 50
_MOST_OPERATIONS = 20_000
_LINE = re.compile(r"^[ \t]*(?:#+|//+)[ \t]*@openapi[ \t:=]+(\S.*?)[ \t]*$", re.MULTILINE)
_PARAMETER = re.compile(r"\{[^{}]*\}")


@attrs.frozen(eq=False)
class Parameter:
    """A parameter: its name, where it is (`path`, `query`, `header`, `cookie`), and its schema.

    `pointer` leads to the schema in the description, None if there is none.
    """

    name: str
    where: str
    required: bool
    description: str
    schema: Mapping[str, Any]
    pointer: str | None
    explode: bool = True


@attrs.frozen(eq=False)
class Operation:
    """An operation: its method, its path with `{parameters}`, and its object, at `pointer`."""

    method: str
    path: str
    given: Mapping[str, Any] = attrs.field(repr=False)
    pointer: str
    shared: tuple[tuple[Any, str], ...] = attrs.field(default=(), repr=False)

    @property
    def name(self) -> str:
        """Its method and path."""
        return f"{self.method} {self.path}"

    @property
    def summary(self) -> str:
        """Its summary, or the beginning of its description."""
        text = str(self.given.get("summary") or self.given.get("description") or "")
        return text.strip().split("\n")[0][:200]


@attrs.define(eq=False)
class Description:
    """A description of the file `name`; `version` is 3.0 or 3.1."""

    whole: Mapping[str, Any] = attrs.field(repr=False)
    name: str
    version: str

    @classmethod
    def read(cls, data: bytes, name: str) -> Description:
        """Read a description in JSON or YAML. Raises OrgrestError."""
        value = structure(data, name)
        if not isinstance(value, Mapping) or not ("openapi" in value or "swagger" in value):
            raise ImportingError("this is no OpenAPI description", file=name)
        version = str(value.get("openapi", ""))
        if not re.match(r"3\.[01]\.", f"{version}."):
            given = version or value.get("swagger")
            reason = f"OpenAPI {given} is not read here, but 3.0 and 3.1 are: convert it first"
            raise ImportingError(reason, file=name)
        return cls(value, name, version[:3])

    def resolved(self, value: Any, pointer: str) -> tuple[Any, str]:
        """Return what a value refers to by `$ref`, and its pointer; None if that is not here."""
        for _ in range(_MOST_REFERENCES):
            reference = value.get("$ref") if isinstance(value, Mapping) else None
            if not isinstance(reference, str):
                return value, pointer
            if not reference.startswith("#/"):
                return None, pointer
            pointer = reference[1:]
            value = self.at(pointer)
        return None, pointer

    def at(self, pointer: str) -> Any:
        """Return what a JSON pointer leads to, None if there is nothing."""
        found: Any = self.whole
        for step in steps(pointer):
            if isinstance(found, Mapping):
                found = found.get(step, found.get(int(step)) if _is_number(step) else None)
            elif isinstance(found, list) and _is_number(step) and int(step) < len(found):
                found = found[int(step)]
            else:
                return None
        return found

    def object(self, value: Any, pointer: str) -> tuple[Mapping[str, Any], str]:
        """Return an object, or the one that it refers to, and its pointer; {} if there is none."""
        found, at = self.resolved(value, pointer)
        return (found, at) if isinstance(found, Mapping) else ({}, at)

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """All operations, in their order."""
        paths = self.whole.get("paths")
        found: list[Operation] = []
        for path, value in paths.items() if isinstance(paths, Mapping) else ():
            if not str(path).startswith("/"):
                continue
            item, pointer = self.object(value, f"/paths/{escaped(str(path))}")
            listed = item.get("parameters")
            shared = tuple(
                (one, f"{pointer}/parameters/{number}")
                for number, one in enumerate(listed if isinstance(listed, list) else ())
            )
            for method in METHODS:
                given = item.get(method)
                if isinstance(given, Mapping) and len(found) < _MOST_OPERATIONS:
                    at = f"{pointer}/{method}"
                    found.append(Operation(method.upper(), str(path), given, at, shared))
        return tuple(found)

    @cached_property
    def servers(self) -> tuple[str, ...]:
        """The URLs of its servers, with the defaults of their variables."""
        found = []
        listed = self.whole.get("servers")
        for one in listed if isinstance(listed, list) else ():
            url = str(one.get("url") or "") if isinstance(one, Mapping) else ""
            variables = one.get("variables") if isinstance(one, Mapping) else None
            for name, given in variables.items() if isinstance(variables, Mapping) else ():
                default = given.get("default") if isinstance(given, Mapping) else ""
                url = url.replace(f"{{{name}}}", str(default))
            found.append(url)
        return tuple(found)

    @cached_property
    def bases(self) -> tuple[str, ...]:
        """The paths of its servers, the longest first, and the empty one."""
        found = {""}
        for url in self.servers:
            try:
                found.add(urlsplit(url).path.rstrip("/"))
            except ValueError:
                continue
        return tuple(sorted(found, key=len, reverse=True))

    def is_of_server(self, url: str) -> bool:
        """Tell whether a URL is on one of its servers, or it does not name their hosts."""
        hosts = set()
        for server in self.servers:
            try:
                hosts.add(urlsplit(server).hostname)
            except ValueError:
                continue
        hosts.discard(None)
        try:
            return not hosts or urlsplit(url).hostname in hosts
        except ValueError:
            return False

    def operation(self, method: str, url: str) -> tuple[Operation, dict[str, str]] | None:
        """Return the operation of a request, and its path's parameters; None if there is none.

        A path of its own is preferred to one with parameters.
        """
        try:
            path = urlsplit(url).path or "/"
        except ValueError:
            return None
        for base in self.bases:
            if not path.startswith(base) or path[len(base) :][:1] not in ("/", ""):
                continue
            rest = path[len(base) :] or "/"
            best: tuple[int, Operation, dict[str, str]] | None = None
            for one in self.operations:
                if one.method == method.upper():
                    values = matched(one.path, rest)
                    if values is not None and (best is None or len(values) < best[0]):
                        best = len(values), one, values
            if best is not None:
                return best[1], best[2]
        return None

    def parameters(self, operation: Operation) -> list[Parameter]:
        """Return the parameters of an operation, its own and those of its path."""
        listed = operation.given.get("parameters")
        own = [
            (one, f"{operation.pointer}/parameters/{number}")
            for number, one in enumerate(listed if isinstance(listed, list) else ())
        ]
        found: dict[tuple[str, str], Parameter] = {}
        for value, at in (*operation.shared, *own):
            given, pointer = self.object(value, at)
            name, where = str(given.get("name") or ""), str(given.get("in") or "")
            if not name:
                continue
            inner = f"{pointer}/schema" if isinstance(given.get("schema"), Mapping) else None
            schema = self.object(given["schema"], inner)[0] if inner else {}
            plain = given.get("style") in (None, "form", "simple")
            explode = bool(given.get("explode", where in ("query", "cookie")))
            found[name if where != "header" else name.lower(), where] = Parameter(
                name,
                where,
                given.get("required") is True or where == "path",
                str(given.get("description") or "").strip().split("\n")[0][:200],
                schema,
                inner if plain else None,
                explode,
            )
        return list(found.values())

    def body(self, operation: Operation) -> tuple[Mapping[str, Any], str]:
        """Return the object of an operation's request body, and its pointer; {} for none."""
        return self.object(operation.given.get("requestBody"), f"{operation.pointer}/requestBody")


def named_above(text: str, end: int) -> tuple[str, tuple[int, int]] | None:
    """Return the file that the last line `# @openapi FILE` above `end` names, and its span."""
    lines = list(_LINE.finditer(text, 0, end))
    return (lines[-1][1], lines[-1].span(1)) if lines else None


def matched(template: str, path: str) -> dict[str, str] | None:
    """Return the parameters of a path by a template such as `/users/{id}`; None if it is another.

    A parameter is never empty and holds no slash.
    """
    wanted, given = template.split("/"), path.split("/")
    if len(wanted) != len(given):
        return None
    values: dict[str, str] = {}
    for pattern, text in zip(wanted, given, strict=True):
        found = _segment(pattern, text)
        if found is None:
            return None
        values.update(found)
    return values


def _segment(pattern: str, text: str) -> dict[str, str] | None:
    if "{" not in pattern:
        return {} if unquote(text) == unquote(pattern) else None
    texts = _PARAMETER.split(pattern)
    names = [one[1:-1] for one in _PARAMETER.findall(pattern)]
    first, *between, last = texts if len(texts) > 1 else (*texts, "")
    if len(texts) == 1:  # an opening brace alone
        return {} if text == pattern else None
    if not (text.startswith(first) and text.endswith(last)):
        return None
    at, end = len(first), len(text) - len(last)
    values: dict[str, str] = {}
    for name, behind in zip(names, [*between, None], strict=True):
        stop = end if behind is None else text.find(behind, at + 1, end)
        if stop <= at:
            return None
        values[name] = unquote(text[at:stop])
        at = stop + len(behind or "")
    return values


def steps(pointer: str) -> Iterator[str]:
    """Yield the steps of a JSON pointer (RFC 6901) in a URI's fragment."""
    for step in pointer.split("/")[1:]:
        yield unquote(step).replace("~1", "/").replace("~0", "~")


def escaped(step: str) -> str:
    """Return a step for a pointer in a URI's fragment."""
    return step.replace("%", "%25").replace("~", "~0").replace("/", "~1")


def _is_number(step: str) -> bool:
    return step.isascii() and step.isdigit() and len(step) < 10
