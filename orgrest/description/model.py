"""The model of an OpenAPI description (3.0 to 3.2): its operations, and how requests match them.

A description is not trusted. It can refer only to files near it (see `nodes`), and the time to
match a URL grows linearly with the URL's length. Source: the OpenAPI specification, 3.0.4, 3.1.1
and 3.2.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from orgrest import classes, structured
from orgrest.description.nodes import Documents, Node
from orgrest.structured import StructureError

if TYPE_CHECKING:
    from pathlib import Path

    from orgrest.description.nodes import Read

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
"""The HTTP methods of operations, as spelled in the fields of a Path Item Object."""
_MOST_OPERATIONS = 20_000
_LINE = re.compile(r"^[ \t]*(?:#+|//+)[ \t]*@openapi[ \t:=]+(\S.*?)[ \t]*$", re.MULTILINE)
_PARAMETER = re.compile(r"\{[^{}]*\}")
_LOCAL = re.compile(
    r"(?:localhost|127(?:\.\d{1,3}){3}|::1|0\.0\.0\.0)|.*\.localhost", re.IGNORECASE
)
_STYLES = {"query": "form", "cookie": "form", "path": "simple", "header": "simple"}


@classes.frozen(eq=False)
class Parameter:
    """A parameter: its name, its location (`path`, `query` ...), and how its value is serialized.

    `style` and `explode` have the same meaning as in OpenAPI. They are ignored if `media` is not
    None: the value is then serialized as this media type, and `content` is the Media Type Object.
    """

    name: str
    where: str
    required: bool
    description: str
    schema: Node
    style: str = "form"
    explode: bool = True
    media: str | None = None
    may_be_empty: bool = False
    content: Node | None = None

    @classmethod
    def of(cls, node: Node, name: str, where: str) -> Parameter:
        """Return the parameter that a Parameter Object or Header Object describes."""
        object_ = node.object
        style = str(object_.get("style") or _STYLES.get(where, "form"))
        content = node.child("content")
        media, inner = next(content.children(), (None, node))
        return cls(
            name,
            where,
            object_.get("required") is True or where == "path",
            node.first_line("description"),
            inner.child("schema"),
            style,
            bool(object_.get("explode", style in ("form", "cookie"))),
            media,
            object_.get("allowEmptyValue") is True,
            inner if media is not None else None,
        )


@classes.frozen(eq=False)
class Operation:
    """An OpenAPI operation, such as `GET /users/{id}`.

    `node` is the Operation Object, and `item` is the Path Item Object.
    """

    method: str
    path: str
    node: Node = classes.field(repr=False)
    item: Node = classes.field(repr=False)

    @property
    def name(self) -> str:
        """The method and path of the operation."""
        return f"{self.method} {self.path}"

    @property
    def summary(self) -> str:
        """The summary of the operation, or else the first line of its description."""
        return self.node.first_line("summary", "description")

    def parameters(self) -> list[Parameter]:
        """Return the operation's parameters, and those of its path that it does not override."""
        parameters: dict[tuple[str, str], Parameter] = {}
        for listed in (self.item.child("parameters"), self.node.child("parameters")):
            for _, node in listed.children() if listed.is_list else ():
                name, where = str(node.object.get("name") or ""), str(node.object.get("in") or "")
                if name:
                    key = name if where != "header" else name.lower()
                    parameters[key, where] = Parameter.of(node, name, where)
        return list(parameters.values())

    def unreadable(self) -> Iterator[str]:
        """Yield the reasons why parameters, or lists of parameters, cannot be read."""
        for listed in (self.item.child("parameters"), self.node.child("parameters")):
            for node in (listed, *(child for _, child in listed.children())):
                if node.why:
                    yield node.why

    def query_keys(self) -> set[str]:
        """Return the names of the query parameters that contain the operation's API keys."""
        documents = self.node.documents
        required = self.node.child("security")
        if not required.is_list:
            required = documents.at("/security")
        schemes = documents.at("/components/securitySchemes")
        return {
            str(scheme.get("name"))
            for _, requirement in required.children()
            for scheme in (schemes.child(str(name)).object for name in requirement.object)
            if scheme.get("type") == "apiKey" and scheme.get("in") == "query"
        }

    @property
    def body(self) -> Node:
        """The Request Body Object. Its value is None if the operation has no body."""
        return self.node.child("requestBody")

    def response(self, status: int) -> Node | None:
        """Return the Response Object for a status, or None if the status is not described."""
        names = {name.upper(): node for name, node in self.node.child("responses").children()}
        text = str(status)
        return next((names[key] for key in (text, f"{text[0]}XX", "DEFAULT") if key in names), None)

    @property
    def statuses(self) -> list[str]:
        """The described response statuses, spelled as in the description."""
        return [name for name, _ in self.node.child("responses").children()]


@classes.define(eq=False)
class Description:
    """An OpenAPI description, read from the file `name`. `version` is 3.0, 3.1 or 3.2."""

    documents: Documents = classes.field(repr=False)
    name: str
    version: str

    @classmethod
    def read(
        cls,
        data: bytes,
        name: str,
        path: Path | None = None,
        read: Read | None = None,
        **limits: int,
    ) -> Description:
        """Return the OpenAPI description in JSON or YAML data. Error messages call the data `name`.

        Later, `read` reads the files that the description refers to. Raises OrgrestError if the
        data is invalid, or is not an OpenAPI description of a supported version.
        """
        value = structured.read(data, name)
        if not isinstance(value, Mapping) or not ("openapi" in value or "swagger" in value):
            raise StructureError("not an OpenAPI description", file=name)
        version = str(value.get("openapi", ""))
        if not re.match(r"3\.[0-2]\.", f"{version}."):
            declared = version or value.get("swagger")
            reason = (
                f"OpenAPI {declared} is not supported (only 3.0 to 3.2 are): convert the "
                "description first"
            )
            raise StructureError(reason, file=name)
        return cls(Documents(value, name, path, read, **limits), name, version[:3])

    def at(self, pointer: str) -> Node:
        """Return the node at a JSON pointer in the main file."""
        return self.documents.at(pointer)

    @cached_property
    def operations(self) -> tuple[Operation, ...]:
        """All operations, in the order of the description."""
        operations: list[Operation] = []
        for path, item in self.at("").child("paths").children():
            if not path.startswith("/"):
                continue
            if item.why:
                self.unreadable.append(item.why)
            for method in METHODS:
                node = item.child(method)
                if isinstance(node.value, Mapping) and len(operations) < _MOST_OPERATIONS:
                    operations.append(Operation(method.upper(), path, node, item))
            for method, node in item.child("additionalOperations").children():
                if isinstance(node.value, Mapping) and len(operations) < _MOST_OPERATIONS:
                    operations.append(Operation(method, path, node, item))
        return tuple(operations)

    unreadable: list[str] = classes.field(factory=list, init=False, repr=False)
    """Reasons why paths could not be read. The list is complete once `operations` is computed."""

    @cached_property
    def servers(self) -> tuple[str, ...]:
        """The URLs of all servers, with their variables replaced by the default values."""
        urls: dict[str, None] = {}
        for node in self._with_servers():
            for _, server in node.child("servers").children():
                url = str(server.object.get("url") or "")
                for name, variable in server.child("variables").children():
                    url = url.replace(f"{{{name}}}", str(variable.object.get("default", "")))
                urls[url] = None
        return tuple(urls)

    def _with_servers(self) -> Iterator[Node]:
        """Yield the objects that may have `servers`."""
        yield self.at("")
        for operation in self.operations:
            yield from (
                node for node in (operation.item, operation.node) if "servers" in node.object
            )

    @cached_property
    def bases(self) -> tuple[str, ...]:
        """The paths in the URLs of the servers, longest first, followed by the empty path."""
        paths = {""}
        for url in self.servers:
            try:
                paths.add(urlsplit(url).path.rstrip("/"))
            except ValueError:
                continue
        return tuple(sorted(paths, key=len, reverse=True))

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The host names in the URLs of the servers."""
        return frozenset(filter(None, map(_host, self.servers)))

    def is_of_server(self, url: str) -> bool:
        """Return whether a URL's host is that of a server. If no server has a host, any matches."""
        host = _host(url)
        return host is not None and (not self.hosts or host in self.hosts)

    def matches_server_or_localhost(self, url: str) -> bool:
        """Return whether a URL refers to a server (see `is_of_server`) or to this machine.

        During development, an API may run on this machine.
        """
        host = _host(url)
        return host is not None and (self.is_of_server(url) or bool(_LOCAL.fullmatch(host)))

    @cached_property
    def _by_length(self) -> dict[tuple[str, int], list[Operation]]:
        by_length: dict[tuple[str, int], list[Operation]] = {}
        for operation in self.operations:
            key = operation.method.upper(), operation.path.count("/")
            by_length.setdefault(key, []).append(operation)
        return by_length

    def operation(self, method: str, url: str) -> tuple[Operation, dict[str, str]] | None:
        """Return the operation that a request matches, with its path parameters, or None.

        If several paths match, the path with the fewest parameters is chosen. The parameter values
        are not percent-decoded.
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
            for candidate in self._by_length.get((method.upper(), rest.count("/")), ()):
                values = matched(candidate.path, rest)
                if values is not None and (best is None or len(values) < best[0]):
                    best = len(values), candidate, values
            if best is not None:
                return best[1], best[2]
        return None


# ---------------------------------------------------------------------------------------- paths


def named_above(text: str, end: int) -> tuple[str, tuple[int, int]] | None:
    """Return FILE and its span from the last `# @openapi FILE` line above `end`, or None."""
    lines = list(_LINE.finditer(text, 0, end))
    return (lines[-1][1], lines[-1].span(1)) if lines else None


def matched(template: str, path: str) -> dict[str, str] | None:
    """Return the parameters in `path` if it matches a template such as `/users/{id}`, else None.

    The parameter values are not empty, contain no slash, and are not percent-decoded.
    """
    expected, actual = template.split("/"), path.split("/")
    if len(expected) != len(actual):
        return None
    values: dict[str, str] = {}
    for pattern, text in zip(expected, actual, strict=True):
        length = _segment(pattern, text)
        if length is None:
            return None
        values.update(length)
    return values


def _segment(pattern: str, text: str) -> dict[str, str] | None:
    if "{" not in pattern:
        return {} if unquote(text) == unquote(pattern) else None
    texts = _PARAMETER.split(pattern)
    names = [parameter[1:-1] for parameter in _PARAMETER.findall(pattern)]
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
        values[name] = text[at:stop]
        at = stop + len(behind or "")
    return values


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
