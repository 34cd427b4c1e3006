"""Converts OpenAPI descriptions of versions 2.0 and 3.0 to 3.2.

Each operation becomes a request with example values.

Only references inside the document are followed. Responses are only used to choose an `Accept`
header. Source: the OpenAPI specification, 3.0.4 and 3.1.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from orgrest import classes
from orgrest.convert import swagger
from orgrest.convert.samples import Sampler
from orgrest.convert.shared import texts
from orgrest.convert.shared.authorization import Authorization, header_of
from orgrest.convert.shared.fields import Fields, as_object
from orgrest.convert.shared.forms import Part, encoded, multipart, urlencoded
from orgrest.convert.shared.model import (
    Collection,
    ConversionError,
    Folder,
    Inclusion,
    Note,
    Piece,
    Request,
)
from orgrest.convert.shared.source import Source
from orgrest.convert.shared.variables import Names
from orgrest.description.model import METHODS
from orgrest.description.nodes import Documents, Node, steps
from orgrest.description.shapes import kinds
from orgrest.structured import json_or

_PREFERRED: Final = (
    r"application/json\b", r"application/[\w.+-]+\+json\b", r"application/x-www-form-urlencoded\b",
    r"multipart/form-data\b", r"text/", r"",
)  # fmt: skip
_MOST_REFERENCES: Final = 50
_IN_HEADERS: Final = ("accept", "content-type", "authorization")  # described by other fields
_BRACES: Final = re.compile(r"\{([^{}]+)\}")
_MARKS: Final = {"label": ".", "matrix": ";"}
"""Maps a style of path parameters to what precedes and separates the values."""


def recognizes(source: Source) -> bool:
    """Return whether a source is an OpenAPI or a Swagger description."""
    return "openapi" in source.value or "swagger" in source.value


def read(source: Source) -> Collection:
    """Return a request for each operation in a description.

    Raises ConversionError if the description is invalid.
    """
    value: Mapping[str, Any] = source.value
    if str(value.get("swagger", "")) == "2.0":
        value = swagger.upgraded(value)
    version = str(value.get("openapi", ""))
    if not re.match(r"3\.[0-2]\.", f"{version}."):
        reason = (
            f"OpenAPI {version or value.get('swagger')} is not supported (only 2.0 and 3.0 to 3.2 "
            "are): convert the file first, for example with editor.swagger.io"
        )
        raise ConversionError(reason, file=source.name)
    return _Reader(value, source.name).collection()


class _Reader:
    """Reads one description."""

    def __init__(self, value: Mapping[str, Any], name: str) -> None:
        self._whole = Fields(value, name)
        self._names = Names()
        self._base = self._names.free("baseUrl")
        self._notes: list[Note] = []
        self._sampler = Sampler(self._resolved)
        self._documents = Documents(value, name)

    def collection(self) -> Collection:
        whole = self._whole
        whole.ignore("openapi", "components", "externalDocs", "jsonSchemaDialect", "$self",
                     *swagger.KEPT, begins="x-")  # fmt: skip
        info = whole.object("info")
        info.ignore(*info.given)
        title = str(info.given.get("title") or "")
        variables = dict(self._server(whole))
        security = whole.any("security")
        inherited = self._authorization(whole, security) if security else Authorization()
        if inherited.value:
            name = self._names.free("authorization")
            variables[name] = inherited.value
            inherited = classes.evolve(inherited, value=f"{{{{{name}}}}}")
        folders: dict[str, list[Request]] = {}
        for tag in whole.objects("tags"):
            tag.ignore(*tag.given)
            folders[str(tag.given.get("name") or "")] = []
        for path, item in whole.object("paths").items():
            for tag_name, request in self._path(path, self._object(item), inherited):
                folders.setdefault(tag_name, []).append(request)
        untagged = folders.pop("", [])
        items = [Folder(tag, tuple(requests)) for tag, requests in folders.items() if requests]
        description = str(info.given.get("description") or "")
        notes = (*whole.unread(), *self._notes)
        folder = Folder(title, (*untagged, *items), tuple(variables.items()), description, notes)
        return Collection(folder, has_files=False)

    def _resolved(self, value: Any) -> Any:
        """Follow the `$ref` in a value, if any. Return None if the target does not exist."""
        for _ in range(_MOST_REFERENCES):
            reference = value.get("$ref") if isinstance(value, Mapping) else None
            if not isinstance(reference, str):
                return value
            value = self._referred(reference)
        return None

    def _referred(self, reference: str) -> Any:
        if not reference.startswith("#/"):
            note = Note(self._whole.place, f"{reference} was not read: it is outside this document")
            if note not in self._notes:
                self._notes.append(note)
            return None
        node = self._documents.at("")
        for step in steps(reference):
            if node.value is None:
                break
            node = node.plain_child(step)
        if node.value is None:
            self._notes.append(Note(self._whole.place, f"{reference} does not exist"))
        return node.value

    def _object(self, fields: Fields) -> Fields:
        """Follow the `$ref` in an object, if any."""
        if "$ref" not in fields.given:
            return fields
        fields.ignore("$ref", "summary", "description")
        resolved = self._resolved(fields.given)
        return fields.part(as_object(resolved), str(fields.given["$ref"]))

    def _server(self, given: Fields) -> Iterator[tuple[str, str]]:
        """Yield the variables of the first server, and the variable for the server's URL."""
        servers = given.objects("servers")
        url = ""
        for index, server in enumerate(servers):
            server.ignore("description", "name", begins="x-")
            own = dict(server.object("variables").items())
            for variable in own.values():
                variable.ignore("enum", "description")
            address = server.text("url")
            if index:
                given.note(
                    f"servers[{index}].url: {address} was left out: only the first server is used"
                )
                for variable in own.values():
                    variable.ignore("default")
                continue
            url = self._template(address)
            for key, variable in own.items():
                yield self._names.name(key), texts.literal(variable.text("default"))
        if not servers:
            given.note("no servers are described: using http://localhost")
        elif "://" not in url and not url.startswith("{{"):
            given.note(f"servers[0].url: {url} has no host: using http://localhost")
        if "://" not in url and not url.startswith("{{"):
            url = f"http://localhost{'' if url.startswith('/') or not url else '/'}{url}"
        yield self._base, url.removesuffix("/")

    def _template(self, text: str) -> str:
        """Replace each `{name}` with a reference to a variable."""
        return texts.replaced(
            _BRACES, text, lambda match: texts.Variable(self._names.name(match[1]))
        )

    def _path(
        self, path: str, item: Fields, inherited: Authorization
    ) -> Iterator[tuple[str, Request]]:
        """Yield (first tag, request) for each operation of a path."""
        item.ignore("summary", "description", begins="x-")
        shared = [self._object(parameter) for parameter in item.objects("parameters")]
        for method in METHODS:
            if not isinstance(item.given.get(method), Mapping):
                continue
            operation = item.object(method)
            tags = operation.any("tags")
            tag = str(tags[0]) if isinstance(tags, list) and tags else ""
            try:
                request = self._operation(method.upper(), path, operation, shared, inherited)
                if item.given.get("servers") and not operation.given.get("servers"):
                    variables = tuple(self._server(item))
                    request = classes.evolve(
                        request, definitions=(*request.definitions, *variables)
                    )
            except Exception as error:
                notes = (Note.of_error(operation.place, error), *operation.unread())
                request = Request("", "", name=f"{method.upper()} {path}", notes=notes)
            yield tag, classes.evolve(request, notes=(*request.notes, *operation.unread()))

    def _operation(
        self,
        method: str,
        path: str,
        given: Fields,
        shared: list[Fields],
        inherited: Authorization,
    ) -> Request:
        self._names.aliases.clear()
        given.ignore("operationId", "responses", "externalDocs", begins="x-")
        name = given.text("summary") or str(given.given.get("operationId") or f"{method} {path}")
        described = [given.text("description")]
        if given.flag("deprecated"):
            described.append("(deprecated)")
        own = [self._object(parameter) for parameter in given.objects("parameters")]
        keys = {(parameter.text("name"), parameter.text("in")) for parameter in own}
        parameters = own + [
            parameter
            for parameter in shared
            if (parameter.text("name"), parameter.text("in")) not in keys
        ]
        definitions = list(self._server(given)) if given.given.get("servers") else []
        query: list[str] = []
        cookies: list[str] = []
        headers: list[tuple[str, str]] = []
        if accepted := self._accepted(given):
            headers.append(("Accept", accepted))
        for parameter in parameters:
            key, where = parameter.text("name"), parameter.text("in")
            pairs = self._parameter(parameter, key)
            needed = parameter.flag("required") or where == "path"
            if where == "header" and key.lower() in _IN_HEADERS:
                continue
            if not needed:
                shown = ", ".join(f"{a}={b}" if b else a for a, b in pairs)
                described.append(f"(optional: {where} {shown or key})")
            elif where == "path":
                value = pairs[0][1] if pairs else ""
                definitions.append((self._names.name(key), value))
            elif where == "query":
                query += [urlencoded([pair]) for pair in pairs]
            elif where == "cookie":
                cookies += [f"{a}={b}" for a, b in pairs]
            else:
                headers += [(a, b) for a, b in pairs]
        if cookies:
            headers.append(("Cookie", "; ".join(cookies)))
        body, kind = self._body(given, described)
        if kind:
            headers.append(("Content-Type", kind))
        base = texts.written([texts.Variable(self._base)])
        url = base + self._template(path) + ("?" + "&".join(query) if query else "")
        security = given.any("security")
        authorization = inherited
        if isinstance(security, list):
            authorization = self._authorization(given, security) if security else Authorization()
        url, headers = authorization.applied(url, headers, self._names)
        return Request(method, url, name=name, headers=tuple(headers), body=body,
                       definitions=(*definitions, *self._names.definitions()), place=given.place,
                       shorthand=True, description="\n".join(filter(None, described)))  # fmt: skip

    def _accepted(self, given: Fields) -> str:
        """Return the Accept header: the media type of a successful response."""
        for status, response in as_object(given.given.get("responses")).items():
            content = as_object(as_object(self._resolved(response)).get("content"))
            if str(status)[:1] == "2" and content:
                accepted = _preferred([str(media_type) for media_type in content])
                return accepted if re.fullmatch(r"[\w.+/*; =-]+", accepted) else ""
        return ""

    def _parameter(self, given: Fields, name: str) -> list[tuple[str, str]]:
        """Return the (name, value) pairs that represent a parameter."""
        given.ignore("description", "deprecated", "allowEmptyValue", "allowReserved", "schema",
                     "example", "examples", "content", begins="x-")  # fmt: skip
        style, where = given.text("style"), given.given.get("in")
        explode = given.flag("explode", where in ("query", "cookie") and style in ("", "form"))
        value = self._example(given.given)
        pairs = _styled(name, value, style, explode=explode)
        if where == "path":
            pairs = [(encoded(key, ","), encoded(text, ",")) for key, text in pairs]
        if where not in ("path", "header") or not pairs:
            return pairs
        mark = _MARKS.get(style, "")
        is_named = style == "matrix" or (explode and isinstance(value, dict))
        parts = [f"{key}={text}" if is_named else text for key, text in pairs]
        return [(texts.literal(name), mark + (mark or ",").join(parts))]

    def _example(self, given: Mapping[str, Any]) -> Any:
        """Return the example for a parameter or body, or else a sample value for its schema."""
        if "example" in given:
            return given["example"]
        for example in as_object(given.get("examples")).values():
            resolved = as_object(self._resolved(example))
            if "value" in resolved:
                return resolved["value"]
        content = as_object(given.get("content"))
        if content and "schema" not in given:
            inner = next(iter(content.values()))
            return json.dumps(self._example(inner)) if isinstance(inner, Mapping) else None
        return self._sampler.sample(given.get("schema"))

    def _body(self, given: Fields, described: list[str]) -> tuple[tuple[Piece, ...] | None, str]:
        """Return the body and media type of an operation."""
        if "requestBody" not in given:
            return None, ""
        body = self._object(given.object("requestBody"))
        body.ignore("description", "required", "content", begins="x-")
        content = as_object(body.given.get("content"))
        if not content:
            return None, ""
        kind = _preferred([str(media_type) for media_type in content])
        if others := [str(media_type) for media_type in content if media_type != kind]:
            described.append(f"(other types of body: {', '.join(others)})")
        media = as_object(self._resolved(content[kind]))
        value = self._example(media)
        if kind.startswith("multipart/"):
            return multipart(list(self._fields(media, value)), kind)
        if not re.fullmatch(r"[\w.+/; =-]+", kind):
            kind = "application/octet-stream"
        if kind.startswith("application/x-www-form-urlencoded"):
            return (urlencoded(self._form(media, value)),), kind
        schema = as_object(self._resolved(media.get("schema")))
        is_json = re.search(r"[/+]json\b", kind) is not None
        if isinstance(value, str) and is_json:
            types = kinds(Node(media, self._documents, None, "").child("schema"))
            if "string" not in types and isinstance(json_or(value), dict | list):
                is_json = False  # it is the JSON text
        if value == "" and schema.get("format") == "binary":
            return (Inclusion("./body"),), kind
        if isinstance(value, str) and not is_json:
            return (texts.body_of(value),), kind
        if is_json:
            text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
            return (texts.body_of(text),), kind
        if value is not None:
            given.note(f"no example for a body of type {kind}")
        return None, kind

    def _form(self, media: Mapping[str, Any], value: Any) -> Iterator[tuple[str, str]]:
        """Yield the names and values of a form, serialized as its Encoding Objects say."""
        encodings = as_object(media.get("encoding"))
        for key, item in as_object(value).items():
            encoding = as_object(encodings.get(key))
            style = str(encoding.get("style", ""))
            kind = "json" if isinstance(item, dict) else str(encoding.get("contentType", ""))
            if not encoding.keys() & {"style", "explode"} and re.search(r"\bjson\b", kind):
                yield texts.literal(str(key)), texts.literal(_plain(item))
            else:
                explode = encoding.get("explode", style in ("", "form")) is True
                yield from _styled(str(key), item, style, explode=explode)

    def _fields(self, media: Mapping[str, Any], value: Any) -> Iterator[Part]:
        """Yield the parts of a multipart form, with the contents in `value`."""
        properties = as_object(as_object(self._resolved(media.get("schema"))).get("properties"))
        for key, item in as_object(value).items():
            name = texts.literal(str(key))
            schema = as_object(self._resolved(properties.get(key)))
            of_items = as_object(self._resolved(schema.get("items")))
            if "binary" in (schema.get("format"), of_items.get("format")):
                path, kind = f"./{texts.name_of(str(key))}", "application/octet-stream"
                files = item if isinstance(item, list) else [item]
                yield from ((name, path, name, kind, True) for _ in files)
            else:
                for field, text in self._form(media, {key: item}):
                    yield field, text, "", "", False

    def _authorization(self, given: Fields, security: Any) -> Authorization:
        """Return the credentials for the first scheme of the first alternative in `security`."""
        first = as_object(security[0] if isinstance(security, list) and security else {})
        if not first:
            return Authorization()
        if len(first) > 1:
            given.note(f"security: only the first of {', '.join(map(str, first))} was imported")
        key = str(next(iter(first)))
        schemes = as_object(as_object(self._whole.given.get("components")).get("securitySchemes"))
        scheme = self._resolved(schemes.get(key))
        if not isinstance(scheme, Mapping):
            given.note(f"security: {key} is not defined")
            return Authorization()
        variable = f"{{{{{self._names.name(key)}}}}}"
        kind = str(scheme.get("type")).lower()
        if kind == "http":
            kind = str(scheme.get("scheme")).lower()
        parameters = {"token": variable, "accessToken": variable, "value": variable,
                      "username": "{{username}}", "password": "{{password}}"}  # fmt: skip
        if kind == "apikey":
            name = texts.literal(str(scheme.get("name") or ""))
            parameters |= {"key": name, "in": str(scheme.get("in"))}
        header = header_of("oauth2" if kind == "openidconnect" else kind, parameters)
        if header.problem:
            given.note(f"security: {key}: {header.problem}")
        return header


def _preferred(kinds: list[str]) -> str:
    return next(
        media_type for form in _PREFERRED for media_type in kinds if re.match(form, media_type)
    )


def _styled(name: str, value: Any, style: str, *, explode: bool) -> list[tuple[str, str]]:
    """Serialize a parameter or form field in an OpenAPI `style`."""
    if isinstance(value, dict):
        pairs = [(str(key), _plain(item)) for key, item in value.items()]
        if style == "deepObject":
            return [(texts.literal(f"{name}[{key}]"), texts.literal(b)) for key, b in pairs]
        if explode:
            return [(texts.literal(key), texts.literal(b)) for key, b in pairs]
        return [(texts.literal(name), texts.literal(",".join(f"{a},{b}" for a, b in pairs)))]
    if isinstance(value, list):
        parts = [_plain(item) for item in value]
        if explode:
            return [(texts.literal(name), texts.literal(part)) for part in parts]
        mark = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(style, ",")
        return [(texts.literal(name), texts.literal(mark.join(parts)))]
    return [(texts.literal(name), texts.literal(_plain(value)))]


def _plain(value: Any) -> str:
    """Return a value as a single line of text."""
    if isinstance(value, str):
        return " ".join(value.split())
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
