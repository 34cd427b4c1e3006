"""Postman collections 2.0 and 2.1, and environments.

Sources: the published schemas of collections (schema.postman.com). The requests that the tests
expect are those that newman sends for the same collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from orgrest import classes
from orgrest.convert.shared import texts
from orgrest.convert.shared.authorization import Authorization
from orgrest.convert.shared.fields import Fields, as_object
from orgrest.convert.shared.forms import (
    Part,
    file_part,
    file_path,
    multipart,
    pairs_encoded,
    wide_form_type,
)
from orgrest.convert.shared.model import (
    POSTMAN_BODILESS,
    Collection,
    ConversionError,
    Environment,
    Folder,
    Inclusion,
    Note,
    Piece,
    Request,
)
from orgrest.convert.shared.requests import Draft, Inherited, Pairs, Reader
from orgrest.convert.shared.source import Source
from orgrest.convert.shared.variables import Names
from orgrest.http.values.environments import SHARED

_LANGUAGES: Final = {
    "html": "text/html",
    "text": "text/plain",
    "json": "application/json",
    "javascript": "application/javascript",
    "xml": "application/xml",
}
_IDS: Final = ("id", "_postman_id", "uid", "_postman_isSubFolder", "_exporter_id",
               "_collection_link", "_postman_previewlanguage", "_postman_previewtype")  # fmt: skip
_OF_APP: Final = ("_postman_variable_scope", "_postman_exported_at", "_postman_exported_using")


def recognizes(source: Source) -> bool:
    """Return whether a source is a Postman collection, an environment or global variables."""
    return _is_environment(source) or _collection_in(source) is not None


def read(source: Source) -> Collection:
    """Return the collection or environment in a source. Raises ConversionError if it is invalid."""
    if _is_environment(source):
        return _environment(source)
    return _Reader().collection(Fields(_collection_in(source) or {}, source.name))


def _is_environment(source: Source) -> bool:
    return isinstance(source.value.get("values"), list) and "name" in source.value


def _collection_in(source: Source) -> Mapping[str, Any] | None:
    inner = source.value.get("collection")  # Postman's API wraps the collection in this field
    value = inner if isinstance(inner, Mapping) else source.value
    is_one = isinstance(value.get("item"), list) and isinstance(value.get("info"), Mapping)
    return value if is_one else None


def _environment(source: Source) -> Collection:
    whole, names = source.fields, Names()
    whole.ignore(*_IDS, *_OF_APP, "timestamp", "synced", "syncedFilename", "color", "isActive")
    title = whole.text("name") or "imported"
    if whole.any("_postman_variable_scope") == "globals":
        title = SHARED
    variables, secrets = _variables(whole, "values", names)
    environment = Environment(title, variables, secrets)
    return Collection(Folder("", notes=whole.unread()), (environment,))


def _variables(
    fields: Fields, field: str, names: Names
) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
    """Return the enabled variables in a field, and the names of the secret ones."""
    values: dict[str, str] = {}
    secrets: set[str] = set()
    for entry in fields.objects(field):
        entry.ignore("id", "description", "system", "name") if "key" in entry else entry.ignore(
            "name"
        )
        key = entry.text("key") or entry.text("id")
        enabled = entry.flag("enabled", True) and not entry.flag("disabled")
        entry.ignore("sessionValue", "sessionIndex")
        value, kind = _value(entry), entry.text("type")
        if not key or not enabled:
            if key:
                entry.note(f"{key} is disabled")
            continue
        name = names.name(key)
        values[name] = names.text(value)
        if kind == "secret":
            secrets.add(name)
    return tuple(values.items()), frozenset(secrets)


def _value(fields: Fields) -> str:
    value = fields.any("value")
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


class _Reader(Reader):
    """Reads one collection."""

    cookies_sent = "Postman also sends the cookies that responses set"

    def collection(self, whole: Fields) -> Collection:
        info = whole.object("info")
        info.ignore(*_IDS, "schema", "version")
        title, description = info.text("name"), _description(info)
        whole.ignore(*_IDS)
        values, secrets = _variables(whole, "variable", self.names)
        folder = self._folder(whole, title, Inherited())
        if description:
            folder = classes.evolve(folder, description=description)
        shown = tuple(pair for pair in (*values, *folder.variables) if pair[0] not in secrets)
        folder = classes.evolve(folder, variables=shown)
        hidden = tuple(pair for pair in values if pair[0] in secrets)
        return Collection(folder, (Environment(SHARED, hidden, secrets),) if hidden else ())

    def _folder(self, fields: Fields, name: str, around: Inherited) -> Folder:
        fields.ignore(*_IDS, "name")
        description = _description(fields)
        own, variables = self._authorization(fields, inherited=True)
        inner = around.with_own(own, (), self._scripts(fields), _behavior(fields))
        items: list[Folder | Request] = []
        for item in fields.objects("item"):
            title = item.text("name")
            if isinstance(item.given.get("item"), list):
                items.append(self._folder(item, title, inner))
            else:
                items.append(self.item(item, title, inner))
        # Postman does not use variables of a folder.
        return Folder(name, tuple(items), variables, description, fields.unread())

    def draft(self, item: Fields, around: Inherited) -> Draft:
        item.ignore(*_IDS, "name")
        described = [_description(item)]
        saved = item.any("response")
        if isinstance(saved, list) and saved:
            what = f"{len(saved)} saved {'response was' if len(saved) == 1 else 'responses were'}"
            described.append(f"({what} left out)")
        if isinstance(url := item.given.get("request"), str):
            item.ignore("request")
            fields = Fields({"method": "GET", "url": url}, f"{item.place}.request")
        else:
            fields = item.object("request")
        described.insert(1, _description(fields))
        method = fields.text("method").strip() or "GET"
        disabled: list[str] = []
        target = self._url(fields, disabled)
        if isinstance(text := fields.given.get("header"), str):
            fields.ignore("header")
            lines = [line.partition(":") for line in text.splitlines() if line.strip()]
            headers = [(self._text(a.strip()), self._text(c.strip())) for a, _, c in lines]
        else:
            pairs = (self._pair(field, disabled, "header") for field in fields.objects("header"))
            headers = [*filter(None, pairs)]
        behavior = {**around.behavior, **_behavior(item)}
        body, kind = self._body(fields.object("body"), disabled)
        pruned = (
            not behavior.pop("disableBodyPruning", False) and method.upper() in POSTMAN_BODILESS
        )
        if body is not None and pruned:
            body, kind = None, ""
            described.append(f"(Postman sends no body with {method}: it was left out)")
        if as_object(behavior.pop("disabledSystemHeaders", None)).get("content-type") is True:
            kind = ""
        own, variables = self._authorization(fields, inherited=False)
        return Draft(
            method, target, headers, body, kind, own, variables,
            scripts=self._scripts(item), directives=_directives(behavior), described=described,
            disabled=disabled, notes=[Note(item.place, text) for text in _notes_of(behavior)],
        )  # fmt: skip

    def _text(self, text: str) -> str:
        return self.names.text(text)

    def _pair(self, fields: Fields, disabled: list[str], what: str) -> tuple[str, str] | None:
        fields.ignore("description", "type", "name", "uuid", "id", "equals", "enabled", "warning")
        key, value = fields.text("key"), _value(fields)
        if fields.flag("disabled") or not key.strip():
            if key or value:
                disabled.append(f"{what} {key}: {value}")
            return None
        return self._text(key.strip()), self._text(value)

    def _url(self, fields: Fields, disabled: list[str]) -> str:
        if isinstance(whole := fields.given.get("url"), str):
            fields.ignore("url")
            if not whole.strip():
                raise ConversionError("the request has no URL")
            return self._text(whole.strip())
        url = fields.object("url")
        url.ignore("raw", "hash", "auth")  # like newman, prefer the other parts to `raw`
        host, path = url.any("host"), url.any("path")
        raw = str(url.given.get("raw") or "").strip()
        if not host and not path:
            if not raw:
                raise ConversionError("the request has no URL")
            url.ignore("protocol", "port", "query", "variable")
            return self._text(raw.partition("#")[0])
        values = {
            variable.text("key") or variable.text("id"): _value(variable)
            for variable in url.objects("variable")
        }
        for variable in url.objects("variable"):
            variable.ignore("description", "type", "id", "name", "disabled", "uuid", "system")
        scheme, port = url.text("protocol"), url.text("port")
        joined = ".".join(map(str, host)) if isinstance(host, list) else str(host or "")
        address = f"{scheme}://{joined}" if scheme else joined
        address += f":{port}" if port else ""
        steps = path if isinstance(path, list) else str(path or "").removeprefix("/").split("/")
        for step in steps if path is not None else ():
            text = str(step.get("value", "") if isinstance(step, Mapping) else step)
            name, dot, suffix = text.partition(".")
            value = values.get(name[1:]) if name[:1] == ":" else None
            address += f"/{value}{dot}{suffix}" if value else f"/{text}"
        query = []
        for parameter in url.objects("query"):
            parameter.ignore("description", "type", "id", "uuid", "equals", "enabled", "name")
            key, value = parameter.text("key"), parameter.any("value")
            pair = _reserved("&#=", key)
            pair += "" if value is None else f"={_reserved('&#', str(value))}"
            if parameter.flag("disabled"):
                disabled.append(f"query {pair}")
            elif pair:
                query.append(pair)
        address += "?" + "&".join(query) if query else ""
        return self._text(address.strip())

    def _body(self, given: Fields, disabled: list[str]) -> tuple[tuple[Piece, ...] | None, str]:
        """Return the body and the media type that Postman would send."""
        mode = given.text("mode")
        options = given.object("options")
        language = options.object("raw").text("language") if "raw" in options else ""
        for other in ("raw", "urlencoded", "formdata", "file", "graphql"):
            options.ignore(*(key for key in options.given if key != mode))
            if other != mode and given.given.get(other) in ("", [], {}, None):
                given.ignore(other)
        given.ignore("disabled")
        if mode in ("", "none") or given.given.get("disabled") is True:
            given.ignore("raw", "urlencoded", "formdata", "file", "graphql")
            return None, ""
        if mode == "raw":
            text = given.text("raw")
            if language == "json":
                text = texts.without_comments(text).replace("\r\n", "\n")
            return (
                ((self._text(text),), _LANGUAGES.get(language, "text/plain"))
                if text
                else (None, "")
            )
        if mode == "urlencoded":
            pairs = [self._pair(field, disabled, "field") for field in given.objects("urlencoded")]
            text = pairs_encoded(filter(None, pairs), self.names)
            return ((text,), "application/x-www-form-urlencoded") if text else (None, "")
        if mode == "formdata":
            fields = [
                field
                for field_data in given.objects("formdata")
                for field in self._field(field_data, disabled)
            ]
            return multipart(fields) if fields else (None, "")
        if mode == "file":
            file = given.object("file")
            file.ignore("content")
            path = file.text("src")
            body = (Inclusion(file_path(path)),)
            return (body, wide_form_type(path)) if path else (None, "")
        if mode == "graphql":
            return self._graphql(given.object("graphql")), "application/json"
        raise ConversionError(f"unknown body mode {mode}")

    def _field(self, fields: Fields, disabled: list[str]) -> list[Part]:
        """Return the form parts for one field."""
        is_file, kind = fields.text("type") == "file", self._text(fields.text("contentType"))
        name = fields.text("fileName")
        source = fields.any("src")
        pair = self._pair(fields, disabled, "field")
        if pair is None:
            return []
        if not is_file:
            return [(*pair, "", kind, False)]
        paths = [str(path) for path in (source if isinstance(source, list) else [source]) if path]
        if not paths:
            fields.note(f"no file name is given for the field {pair[0]}", blocks=True)
        return [
            file_part(
                pair[0], path, kind or wide_form_type(path, wide_form_type(name)), self._text(name)
            )
            for path in paths
        ]

    def _graphql(self, fields: Fields) -> tuple[Piece, ...]:
        query, name = fields.text("query"), fields.text("operationName")
        variables = fields.any("variables") or ""
        if not isinstance(variables, str):
            variables = json.dumps(variables)
        parts = [f'"query":{self._json(query)}']
        if name:
            parts.append(f'"operationName":{self._json(name)}')
        if variables.strip():
            parts.append(f'"variables":{self._text(variables)}')
        return ("{" + ",".join(parts) + "}",)

    def _json(self, text: str) -> str:
        return self._text(json.dumps(text, ensure_ascii=False))

    def _authorization(
        self, fields: Fields, *, inherited: bool
    ) -> tuple[Authorization | None, Pairs]:
        if fields.given.get("auth") is None:
            fields.ignore("auth")
            return None, ()  # the credentials are inherited
        auth = fields.object("auth")
        kind = auth.text("type")
        if kind in ("", "noauth"):
            auth.ignore("noauth")
            return Authorization(), ()
        parameters = {key: self._text(value) for key, value in _parameters(auth, kind).items()}
        auth.ignore(*(key for key in auth.given if key not in ("type", kind)))
        return self.credentials(fields, kind, parameters, inherited=inherited)

    def _scripts(self, fields: Fields) -> tuple[list[str], list[str]]:
        before: list[str] = []
        after: list[str] = []
        for event in fields.objects("event"):
            event.ignore("id", "disabled")
            listen = event.text("listen")
            if isinstance(event.given.get("script"), str | list):
                lines: object = event.any("script")
            else:
                script = event.object("script")
                script.ignore("id", "type", "name", "packages", "requests")
                lines = script.any("exec")
            text = "\n".join(map(str, lines)) if isinstance(lines, list) else str(lines or "")
            text = text.replace("\r\n", "\n").strip("\n")
            if not text.strip() or event.given.get("disabled") is True:
                continue
            if listen not in ("prerequest", "test"):
                event.note(f"a script for the event {listen} was left out")
            (after if listen == "test" else before).append(text)
        return before, after


def _reserved(characters: str, text: str) -> str:
    """Return a part of a query with `characters` encoded, but not in references to variables."""
    form = rf"(\{{\{{[^{{}}]*\}}\}})|[{characters}]"
    return re.sub(form, lambda match: match[1] or quote(match[0]), text)


def _parameters(auth: Fields, kind: str) -> dict[str, str]:
    listed = auth.given.get(kind)
    if isinstance(listed, list):  # format 2.1; in older formats, it is an object
        parameters = {}
        for parameter in auth.objects(kind):
            parameter.ignore("type", "enabled", "system")
            key = parameter.text("key")
            if parameter.any("value") is not None:
                parameters[key] = _value(parameter)
        return parameters
    part = auth.object(kind)
    return {
        key: _value(Fields({"value": value}, ""))
        for key in part.given
        if (value := part.any(key)) is not None
    }


def _description(fields: Fields) -> str:
    value = fields.any("description")
    if isinstance(value, Mapping):
        value = value.get("content")
    return str(value) if isinstance(value, str) else ""


def _directives(behavior: dict[str, Any]) -> list[str]:
    directives = []
    if behavior.get("followRedirects") is False:
        directives.append("no-redirect")
    if behavior.get("disableCookies") is True:
        directives.append("no-cookie-jar")
    return directives


def _notes_of(behavior: Mapping[str, Any]) -> list[str]:
    """Return notes about settings without an equivalent."""
    known = {
        "followRedirects": (True, False),
        "disableCookies": (True, False),
        "disableUrlEncoding": (True,),  # orgrest encodes only characters that a URL cannot contain
    }
    return [
        f"protocolProfileBehavior: {key}: {json.dumps(value)}"
        for key, value in behavior.items()
        if value not in known.get(key, ()) and value not in (None, [], {})
    ]


def _behavior(fields: Fields) -> Mapping[str, Any]:
    return as_object(fields.any("protocolProfileBehavior"))
