"""Converts Swagger 2.0 descriptions to OpenAPI 3.0.

Only the parts that define requests are converted. Schemas and references to them stay unchanged.
Sources: the OpenAPI specification 2.0, and the guide for upgrading to 3.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from orgrest.convert.shared.fields import as_object

_SCHEMA: Final = ("type", "format", "items", "enum", "default", "minimum", "maximum", "pattern")
_FLOWS: Final = {"application": "clientCredentials", "accessCode": "authorizationCode"}
_STYLES: Final = {"ssv": "spaceDelimited", "pipes": "pipeDelimited"}
_FORM: Final = "application/x-www-form-urlencoded"
_OPERATIONS: Final = ("get", "put", "post", "delete", "options", "head", "patch")
KEPT: Final = ("definitions", "parameters", "responses")
"""The fields of a description that are copied unchanged, because references point into them."""


def upgraded(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Swagger 2.0 description converted to OpenAPI 3.0."""
    left = ("swagger", "host", "basePath", "schemes", "consumes", "produces", "paths",
            "securityDefinitions")  # fmt: skip
    description = {key: value for key, value in document.items() if key not in left}
    paths = as_object(document.get("paths"))
    definitions = as_object(document.get("securityDefinitions"))
    return {
        **description,
        "openapi": "3.0.4",
        "servers": _servers(document),
        "paths": {path: _path(as_object(item), document) for path, item in paths.items()},
        "components": {
            "securitySchemes": {k: _scheme(as_object(v)) for k, v in definitions.items()}
        },
    }


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _servers(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    base = "/" + str(document.get("basePath") or "").strip("/")
    if not document.get("host"):
        return [{"url": base}]
    schemes = [str(scheme) for scheme in _list(document.get("schemes"))] or ["https"]
    scheme = "https" if "https" in schemes else schemes[0]
    return [{"url": f"{scheme}://{document['host']}{base.rstrip('/')}"}]


def _scheme(scheme: Mapping[str, Any]) -> dict[str, Any]:
    if scheme.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    if scheme.get("type") != "oauth2":
        return dict(scheme)
    flow = str(scheme.get("flow"))
    kept = ("authorizationUrl", "tokenUrl", "scopes")
    details = {key: scheme[key] for key in kept if key in scheme}
    return {"type": "oauth2", "flows": {_FLOWS.get(flow, flow): details}}


def _path(item: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    shared = _parameters(item.get("parameters"), whole)
    path_item: dict[str, Any] = {
        "parameters": [_parameter(parameter) for parameter in shared if _is_outside_body(parameter)]
    }
    for key, value in item.items():
        if key in _OPERATIONS and isinstance(value, Mapping):
            path_item[key] = _operation(
                value, [parameter for parameter in shared if not _is_outside_body(parameter)], whole
            )
        elif key != "parameters":
            path_item[key] = value
    return path_item


def _operation(
    given: Mapping[str, Any], bodies: list[Mapping[str, Any]], whole: Mapping[str, Any]
) -> dict[str, Any]:
    left = ("parameters", "consumes", "produces", "responses", "schemes")
    operation = {key: value for key, value in given.items() if key not in left}
    own = _parameters(given.get("parameters"), whole)
    operation["parameters"] = [
        _parameter(parameter) for parameter in own if _is_outside_body(parameter)
    ]
    named = {parameter.get("name") for parameter in own}
    bodies = [body for body in bodies if body.get("name") not in named]
    bodies += [parameter for parameter in own if not _is_outside_body(parameter)]
    kinds = [str(media_type) for media_type in _list(given.get("consumes", whole.get("consumes")))]
    if bodies:
        operation["requestBody"] = _body(bodies, kinds)
    produced = [
        str(media_type) for media_type in _list(given.get("produces", whole.get("produces")))
    ]
    responses = as_object(given.get("responses"))
    operation["responses"] = {
        str(code): {"content": {kind: {} for kind in produced}}
        for code, response in responses.items()
        if {"schema", "examples", "$ref"} & as_object(response).keys()
    }
    return operation


def _parameters(given: Any, whole: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parameters, with references into the description `whole` resolved."""
    parameters = []
    for parameter in _list(given):
        reference = str(as_object(parameter).get("$ref", ""))
        if reference.startswith("#/parameters/"):
            name = reference.removeprefix("#/parameters/").replace("~1", "/").replace("~0", "~")
            parameter = as_object(whole.get("parameters")).get(name)
        if isinstance(parameter, Mapping):
            parameters.append(parameter)
    return parameters


def _is_outside_body(parameter: Mapping[str, Any]) -> bool:
    return parameter.get("in") not in ("body", "formData")


def _parameter(given: Mapping[str, Any]) -> dict[str, Any]:
    left = (*_SCHEMA, "collectionFormat", "uniqueItems", "maxItems", "minItems", "maxLength",
            "minLength", "multipleOf", "exclusiveMaximum", "exclusiveMinimum")  # fmt: skip
    parameter = {key: value for key, value in given.items() if key not in left}
    if "x-example" in given:
        parameter["example"] = given["x-example"]
    return {**parameter, **_layout(given), "schema": _schema(given)}


def _layout(given: Mapping[str, Any]) -> dict[str, Any]:
    """Translate the layout of an array to fields of OpenAPI 3.0."""
    layout = given.get("collectionFormat", "csv")
    style = {"style": _STYLES[layout]} if layout in _STYLES else {}
    return {"explode": layout == "multi", **style}


def _schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema = {key: parameter[key] for key in _SCHEMA if key in parameter}
    return (
        {**schema, "type": "string", "format": "binary"} if schema.get("type") == "file" else schema
    )


def _body(given: Iterable[Mapping[str, Any]], kinds: list[str]) -> dict[str, Any]:
    """Return the Request Body Object for a body parameter or for form parameters."""
    for parameter in given:
        if parameter.get("in") == "body":
            media = {key: parameter[key] for key in ("schema", "example") if key in parameter}
            media |= {"example": parameter["x-example"]} if "x-example" in parameter else {}
            return {"content": dict.fromkeys(kinds or ["application/json"], media)}
    given = list(given)
    fields = {str(parameter.get("name")): _schema(parameter) for parameter in given}
    layouts = {str(parameter.get("name")): _layout(parameter) for parameter in given}
    files = any(field.get("format") == "binary" for field in fields.values())
    multi = files or (_FORM not in kinds and "multipart/form-data" in kinds)
    kind = "multipart/form-data" if multi else _FORM
    schema = {"type": "object", "properties": fields}
    return {"content": {kind: {"schema": schema, "encoding": layouts}}}
