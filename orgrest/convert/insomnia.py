"""Insomnia's exports: version 4 (JSON or YAML, a list of resources) and version 5 (YAML, a tree).

Sources: Insomnia's documentation, "Import and export" and "Template tags", and its exports.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from orgrest import classes
from orgrest.convert.shared import texts
from orgrest.convert.shared.authorization import Authorization
from orgrest.convert.shared.fields import Fields, as_object
from orgrest.convert.shared.forms import (
    Part,
    encoded_form,
    file_part,
    file_path,
    multipart,
    pairs_encoded,
    query_encoded,
)
from orgrest.convert.shared.model import (
    Collection,
    ConversionError,
    Environment,
    Folder,
    Inclusion,
    Piece,
    Request,
)
from orgrest.convert.shared.requests import Draft, Inherited, Pairs, Reader
from orgrest.convert.shared.source import Source
from orgrest.convert.shared.texts import Variable
from orgrest.structured import DEEPEST

_TEMPLATE: Final = re.compile(r"\{\{(?P<name>[^{}\n]*)\}\}|\{%(?P<tag>[^%\n]*)%\}")
_NAME: Final = re.compile(
    r"\s*-?\s*(?:_\s*\.\s*)?(?P<plain>[A-Za-z_$][\w$.-]*)\s*-?\s*|"
    r"\s*_\s*\[\s*(?P<quote>['\"])(?P<quoted>[^'\"]+)(?P=quote)\s*\]\s*"
)
_TAGS: Final = (
    (r"uuid(?:\s+['\"]v4['\"])?", "$uuid"),
    (r"timestamp(?:\s+['\"]iso-8601['\"].*)?|now\s+['\"]iso-8601['\"].*", "$isoTimestamp"),
    (r"now\s+['\"]unix['\"].*", "$timestamp"),
)
_PATH_PARAMETER: Final = re.compile(r"(?<=/):(?P<name>[^/?#:]+)")
_RESPONSE: Final = re.compile(
    r"response\s+'(?P<part>\w+)'\s*,\s*'(?P<id>[^']+)'(?:\s*,\s*'(?P<filter>[^']*)')?.*"
)
"""Matches the template tag for a part of the response to another request."""
_OF_APP: Final = (
    "_id", "_type", "parentId", "created", "modified", "metaSortKey", "isPrivate", "meta", "_",
    "settingEncodeUrl", "settingRebuildPath", "settingStoreCookies",
    "settingDisableRenderRequestBody",
    "dataPropertyOrder", "color", "scope", "environmentPropertyOrder", "metaPrivate", "isFavorite",
    "segmentParams", "environmentType", "kvPairData", "schema_version", "data_uri",
)  # fmt: skip
_AUTHENTICATION: Final = {
    "apikey": {"key": "key", "value": "value", "addTo": "in"},
    "iam": {"accessKeyId": "accessKey", "secretAccessKey": "secretKey", "region": "region",
            "sessionToken": "sessionToken", "service": "service"},
}  # fmt: skip


def recognizes(source: Source) -> bool:
    """Return whether a source is an Insomnia export of any version."""
    value = source.value
    return "__export_format" in value or str(value.get("type")).startswith(
        ("collection.insomnia.rest", "environment.insomnia.rest")
    )


def read(source: Source) -> Collection:
    """Return the content of an export. Raises ConversionError if it is invalid."""
    value, whole = source.value, source.fields
    if "__export_format" in value:
        if value["__export_format"] != 4:
            version = value["__export_format"]
            reason = (
                f"Insomnia exports of version {version} are not supported: export again "
                "as version 4 or 5"
            )
            raise ConversionError(reason, file=source.name)
        return _Version4(whole).collection()
    return _Version5(whole).collection()


class _Reader(Reader):
    """Reads what versions 4 and 5 have in common."""

    cookies_sent = "Insomnia also sends the cookies that responses set"

    def __init__(self, whole: Fields) -> None:
        super().__init__()
        self._whole = whole
        self._called: dict[str, str] = {}
        used = {match["id"] for tag in _tags(whole.given) if (match := _RESPONSE.fullmatch(tag))}
        for key, name in _named(whole.given):
            if key in used:
                self._called[key] = self.names.free(texts.name_of(name).replace(".", "_"))

    def _text(self, text: str) -> str:
        """Translate a template to the notation of request files. Unknown tags stay in the text."""
        return texts.replaced(_TEMPLATE, text, self._known)

    def _known(self, match: re.Match[str]) -> Variable | None:
        variable = self._variable(match)
        if variable is None:
            self.names.unknown[match[0]] = None
        return variable

    def _variable(self, match: re.Match[str]) -> Variable | None:
        if match["tag"] is not None:
            tag = match["tag"].strip()
            if response := _RESPONSE.fullmatch(tag):
                return self._of_response(response)
            return next((Variable(to) for form, to in _TAGS if re.fullmatch(form, tag)), None)
        name = _NAME.fullmatch(match["name"])
        return self.names.variable(name["plain"] or name["quoted"]) if name else None

    def _of_response(self, match: re.Match[str]) -> Variable | None:
        """Return a reference to part of another response, or None if there is no equivalent."""
        name, filter_ = self._called.get(match["id"]), match["filter"] or ""
        if coded := re.fullmatch(r"b64::(.*)::46b", filter_):
            try:
                filter_ = base64.b64decode(coded[1], validate=True).decode()
            except ValueError:
                return None
        if name is None or re.search(r"[{}\s]", filter_):
            return None
        if match["part"] == "header":
            return Variable(f"{name}.response.headers.{filter_}") if filter_ else None
        if match["part"] == "raw":
            return Variable(f"{name}.response.body.*")
        is_path = match["part"] == "body" and filter_.startswith(("$", "/"))
        return Variable(f"{name}.response.body.{filter_}") if is_path else None

    def _values(self, data: Any) -> tuple[tuple[str, str], ...]:
        return tuple((self.names.name(key), self._text(value)) for key, value in _flat(data, "", 0))

    def _folder(self, fields: Fields, around: Inherited) -> tuple[Folder, Inherited]:
        """Return a folder without its items, and the settings that the items inherit."""
        fields.ignore(*_OF_APP)
        name, description = fields.text("name"), fields.text("description")
        values = self._values(fields.any("environment"))
        own, variables = self._authorization(fields, inherited=True)
        headers = filter(None, (self._pair(header, []) for header in fields.objects("headers")))
        inner = around.with_own(own, headers, self._scripts(fields))
        return Folder(name, (), (*values, *variables), description), inner

    def draft(self, fields: Fields, _around: Inherited) -> Draft:
        fields.ignore(*_OF_APP, "name")
        disabled: list[str] = []
        url = self._url(fields, disabled)
        headers = filter(
            None, (self._pair(header, disabled) for header in fields.objects("headers"))
        )
        body, kind = self._body(fields.object("body"), disabled)
        own, variables = self._authorization(fields, inherited=False)
        return Draft(
            fields.text("method").strip() or "GET", url, list(headers), body, kind, own, variables,
            scripts=self._scripts(fields), directives=list(self._directives(fields)),
            described=[fields.text("description")], disabled=disabled,
        )  # fmt: skip

    def _url(self, fields: Fields, disabled: list[str]) -> str:
        url = fields.text("url").strip()
        if not url:
            raise ConversionError("the request has no URL")
        values: dict[str, str] = {}
        for parameter in fields.objects("pathParameters"):
            parameter.ignore("id")
            values.setdefault(parameter.text("name"), parameter.text("value"))
        address, at = "", 0
        for match in _PATH_PARAMETER.finditer(url):
            if value := values.get(match["name"]):
                address += self._text(url[at : match.start()])
                address += encoded_form(self._text(value), self.names)
                at = match.end()
        address += self._text(url[at:])
        pairs = (self._pair(parameter, disabled) for parameter in fields.objects("parameters"))
        query = query_encoded(filter(None, pairs), self.names)
        query = re.sub("=[^&]*", lambda value: re.sub("%2[Cc]", ",", value[0]), query)
        return address + (f"{'&' if '?' in address else '?'}{query}" if query else "")

    def _pair(self, fields: Fields, disabled: list[str]) -> tuple[str, str] | None:
        fields.ignore("id", "description", "type", "multiline", "_", "name", "value", "disabled")
        fields.ignore("fileName")
        key, value = str(fields.given.get("name") or ""), fields.given.get("value")
        value = value if isinstance(value, str) else json.dumps(value) if value is not None else ""
        if fields.given.get("disabled") is True or not key.strip():
            if key or value:
                disabled.append(f"{key}: {value}")
            return None
        return self._text(key.strip()), self._text(value)

    def _body(self, given: Fields, disabled: list[str]) -> tuple[tuple[Piece, ...] | None, str]:
        kind, text, file = given.text("mimeType"), given.text("text"), given.text("fileName")
        fields = given.objects("params")
        if kind == "application/x-www-form-urlencoded":
            pairs = (self._pair(field, disabled) for field in fields)
            form = pairs_encoded(filter(None, pairs), self.names)
            return ((form or self._text(text),), kind) if form or text else (None, "")
        if kind.startswith("multipart/"):
            parts = [field for item in fields if (field := self._field(item, disabled))]
            return multipart(parts, kind) if parts else (None, "")
        if file:
            return (Inclusion(file_path(file)),), kind
        if not text:
            return None, ""
        if kind == "application/graphql":
            kind = "application/json"
        return (self._text(text.replace("\r\n", "\n")),), kind

    def _field(self, fields: Fields, disabled: list[str]) -> Part | None:
        pair = self._pair(fields, disabled)
        file = str(fields.given.get("fileName") or "")
        if pair is None:
            return None
        if fields.given.get("type") != "file":
            return (*pair, "", "", False)
        if not file:
            fields.note(f"no file name is given for the field {pair[0]}", blocks=True)
            return None
        return file_part(pair[0], file)

    def _authorization(
        self, fields: Fields, *, inherited: bool
    ) -> tuple[Authorization | None, Pairs]:
        if not fields.given.get("authentication"):
            fields.ignore("authentication")
            return None, ()
        auth = fields.object("authentication")
        kind = auth.text("type")
        auth.ignore(*auth.given)
        if kind == "" or kind == "none" or auth.given.get("disabled") is True:
            return (Authorization() if kind else None), ()
        named = _AUTHENTICATION.get(kind, {})
        parameters = {
            named.get(key, key): self._text(value if isinstance(value, str) else json.dumps(value))
            for key, value in auth.given.items()
        }
        if not parameters.get("tokenPrefix"):  # Insomnia then uses the prefix Bearer
            parameters.pop("tokenPrefix", None)
        if kind == "apikey" and parameters.get("in") == "queryParams":
            parameters["in"] = "query"
        kind = "awsv4" if kind == "iam" else kind
        if kind == "basic" and auth.given.get("useISO88591") is True:
            plain = texts.plain(parameters.get("username", "") + parameters.get("password", ""))
            if plain is None or not plain.isascii():
                reason = "auth: the user name and password are encoded in UTF-8, not in ISO 8859-1"
                fields.note(reason, blocks=plain is not None)
        return self.credentials(fields, kind, parameters, inherited=inherited)

    def _scripts(self, fields: Fields) -> tuple[list[str], list[str]]:
        scripts = (
            fields.object("scripts") if isinstance(fields.given.get("scripts"), dict) else fields
        )
        before = scripts.text("preRequest") or fields.text("preRequestScript")
        after = scripts.text("afterResponse") or fields.text("afterResponseScript")
        return [before], [after]

    def _directives(self, fields: Fields) -> Iterator[str]:
        settings = fields.object("settings")
        key = _id(fields.given)
        if key in self._called:
            yield f"name {self._called[key]}"
        settings.ignore("renderRequestBody", "encodeUrl", "rebuildPath")
        cookies = settings.object("cookies")
        cookies.ignore("store")
        follow = settings.any("followRedirects") or fields.any("settingFollowRedirects")
        if follow in ("off", False):
            yield "no-redirect"
        if False in (cookies.any("send"), fields.any("settingSendCookies")):
            yield "no-cookie-jar"

    def _environments(
        self, base: Fields, below: list[Fields]
    ) -> tuple[tuple[tuple[str, str], ...], tuple[Environment, ...]]:
        """Return the variables of the base environment, and the environments below it."""
        environments = []
        for environment in below:
            environment.ignore(*_OF_APP)
            name, values = (
                environment.text("name") or "imported",
                self._values(environment.any("data")),
            )
            meta = as_object(environment.given.get("meta"))
            private = environment.given.get("isPrivate") is True or meta.get("isPrivate") is True
            keys = frozenset(key for key, _ in values) if private else frozenset()
            environments.append(Environment(name, values, keys))
        base.ignore(*_OF_APP, "name", "subEnvironments")
        return self._values(base.any("data")), tuple(environments)


class _Version5(_Reader):
    """Reads a tree of folders and requests."""

    def collection(self) -> Collection:
        whole = self._whole
        whole.ignore("type", "name", "meta", "cookieJar", "schema_version", "certificates")
        base = whole.object("environments")
        below = base.objects("subEnvironments")
        if str(whole.given.get("type")).startswith("environment."):
            base, below = whole, []
        values, environments = self._environments(base, below)
        items = self._items(whole.objects("collection"), Inherited())
        name = str(whole.given.get("name") or "")
        return Collection(Folder(name, items, values, notes=whole.unread()), environments)

    def _items(self, children: list[Fields], around: Inherited) -> tuple[Folder | Request, ...]:
        members: list[Folder | Request] = []
        for item in children:
            if isinstance(item.given.get("children"), list):
                folder, inner = self._folder(item, around)
                items = self._items(item.objects("children"), inner)
                members.append(classes.evolve(folder, items=items, notes=item.unread()))
            else:
                members.append(self.item(item, item.text("name"), around))
        return tuple(members)


class _Version4(_Reader):
    """Reads a list of resources, each of which names its parent."""

    def collection(self) -> Collection:
        whole = self._whole
        whole.ignore("_type", "__export_format", "__export_date", "__export_source")
        by_parent: dict[str, list[Fields]] = {}
        workspaces = []
        for resource in whole.objects("resources"):
            kind = str(resource.given.get("_type"))
            by_parent.setdefault(str(resource.given.get("parentId")), []).append(resource)
            if kind == "workspace":
                workspaces.append(resource)
            elif kind == "cookie_jar":
                resource.ignore(*resource.given)
            elif kind not in ("request", "request_group", "environment"):
                resource.ignore(*resource.given)
                resource.note(f"{kind} {str(resource.given.get('name') or '')[:60]}".rstrip())
        self._by_parent = by_parent
        items: list[Folder | Request] = []
        values: tuple[tuple[str, str], ...] = ()
        environments: tuple[Environment, ...] = ()
        for resource in workspaces:
            resource.ignore(*_OF_APP, "name", "description")
            key = str(resource.given.get("_id"))
            for base in self._below(key, "environment"):
                below = self._below(str(base.given.get("_id")), "environment")
                more, others = self._environments(base, below)
                values, environments = (*values, *more), (*environments, *others)
            members = self._items(key, Inherited(), 0)
            name = str(resource.given.get("name") or "")
            items += [Folder(name, members)] if len(workspaces) > 1 else members
        name = str(workspaces[0].given.get("name") or "") if len(workspaces) == 1 else ""
        description = str(workspaces[0].given.get("description") or "") if name else ""
        folder = Folder(name, tuple(items), values, description, whole.unread())
        return Collection(folder, environments)

    def _below(self, parent: str, *kinds: str) -> list[Fields]:
        resources = [
            resource
            for resource in self._by_parent.get(parent, [])
            if resource.given.get("_type") in kinds
        ]
        return sorted(resources, key=_position)

    def _items(self, parent: str, around: Inherited, depth: int) -> tuple[Folder | Request, ...]:
        if depth > DEEPEST:
            raise ConversionError("folders are nested too deeply, or contain themselves")
        members: list[Folder | Request] = []
        for item in self._below(parent, "request", "request_group"):
            if item.given.get("_type") == "request":
                members.append(self.item(item, item.text("name"), around))
                continue
            folder, inner = self._folder(item, around)
            items = self._items(str(item.given.get("_id")), inner, depth + 1)
            members.append(classes.evolve(folder, items=items, notes=item.unread()))
        return tuple(members)


def _id(resource: Mapping[str, Any]) -> str:
    return str(resource.get("_id") or as_object(resource.get("meta")).get("id", ""))


def _parts(value: Any) -> Iterator[Any]:
    """Yield a value and all values nested in it."""
    left = [value]
    while left:
        part = left.pop()
        yield part
        if isinstance(part, Mapping):
            left += part.values()
        elif isinstance(part, list):
            left += part


def _tags(value: Any) -> Iterator[str]:
    for part in _parts(value):
        if isinstance(part, str):
            yield from (match["tag"].strip() for match in _TEMPLATE.finditer(part) if match["tag"])


def _named(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the ID and name of each request."""
    for part in _parts(value):
        if isinstance(part, Mapping) and "method" in part and _id(part):
            yield _id(part), str(part.get("name") or "request")


def _position(fields: Fields) -> float:
    key = fields.given.get("metaSortKey")
    return key if isinstance(key, int | float) else 0


def _flat(data: Any, before: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield an environment's names and values. Nested names are joined with dots."""
    for key, value in as_object(data).items():
        if isinstance(value, Mapping) and value and depth < DEEPEST:
            yield from _flat(value, f"{before}{key}.", depth + 1)
        else:
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield f"{before}{key}", "" if value is None else shown
