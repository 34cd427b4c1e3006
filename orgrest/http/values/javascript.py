"""Evaluates JavaScript expressions in double braces, as httpyac does: `{{token.slice(1)}}`.

Variables are strings in orgrest. In httpyac, a variable from an environment, a response or a script
may be a number. If the type is unknown, the expression is evaluated with both types. It is an error
if the results differ.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn

from orgrest.http.responses import body_text, text_of
from orgrest.http.syntax import Definition
from orgrest.http.values import sources
from orgrest.http.values.global_variables import text_of as json_text
from orgrest.http.values.references import UNKNOWN, is_computed, names_in, names_of, references_in
from orgrest.http.values.sources import Computed, Given, JavaScript, Literal, Scripted
from orgrest.model import ExpansionError, OrgrestError
from orgrest.regular import compiled
from orgrest.structured import json_or

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orgrest.http.values.context import Context
    from orgrest.http.values.expressions import Variables
    from orgrest.http.values.sources import Found
    from orgrest.model import Response, Secret


_VARIES = (
    "{{{{{name}}}}} has a new value at each use, so the script would not see the value that is "
    "sent: write @value = {{{{{name}}}}} above the request, and {{{{value}}}} in the request"
)
_TEXTS = ("$processEnv", "$env.", "$dotenv", "process.env")
"""Prefixes of references to environment variables, whose values are always strings."""

_WORD = compiled(r"[A-Za-z_$][\w$]*")
_PROCESS_ENV = compiled(
    r"(?<![\w$.])process\.env(?:(?:\?\.|\.)(\w+)|(?:\?\.)?\[\s*[\"'](\w+)[\"']\s*\])"
    r"|\{([^{}]*)\}\s*=\s*process\.env(?![\w$])"
)


class Expressions:
    """Evaluates the expressions of one request. `values` looks up the request's variables.

    `results` maps each earlier result, as a string, to its JSON value. New results are added.
    `Values` creates a new instance for each expression, to avoid reference cycles.
    """

    def __init__(self, values: Variables, results: dict[str, Any]) -> None:
        self._values = values
        self._made = results

    def value(self, code: str, offset: int, view: int | None) -> str:
        """Return the value of an expression at `offset` as a string. Raises `ExpansionError`.

        `view` is the offset of the definition that contains the expression, or None.
        """
        values = self._values
        if values.checks:
            return UNKNOWN
        try:
            return self._value(code, offset, view)
        except ExpansionError:
            raise
        except OrgrestError as error:
            raise values.error(offset, error.reason, error.code or "bad-expression") from error

    def _value(self, code: str, offset: int, view: int | None) -> str:
        values, parsed = self._values, self._values.parsed
        context, blanks = values.context, values.blanks
        texts: dict[str, Any] = {}
        others: dict[str, Any] = {}
        responses: dict[str, Response] = {}
        secrets = context.secrets
        read = set(secrets.within_all(map(json_text, context.globals.values.values())))
        for name in dict.fromkeys(name for name, _ in names_of(code)):
            source = values.find(name, view)
            if isinstance(source, Computed) and source.code == name:
                source = None  # the body of a response, which is not text in JavaScript
            if isinstance(source, Scripted):
                texts[name] = others[name] = source.made
                read |= secrets.within(source.text or "")
            elif source is not None or values.is_itself(name, view):
                text = values.value(name, offset, view)
                read |= secrets.within(text)
                if values.context.placeholders and text == f"<{name}>":  # a variable of @loop
                    return values.blank(code)
                texts[name], others[name] = self._as_javascript(name, text, view)
            elif sources.is_response(name, parsed, context):
                response = sources.response(name, parsed, context)
                if response is None:
                    return values.blank(code)
                if name != "response" and sources.key_of(name, parsed, context) is not None:
                    body = body_text(response)
                    texts[name] = others[name] = parsed_or(body)
                    read |= secrets.within(body)
                else:
                    responses[name] = response
                    read |= secrets.within(text_of(response.body, response.headers))
            elif name == "process" and "process.env" in code:
                environ = _environ(code, context)
                texts[name] = others[name] = {"env": environ}
                read |= secrets.within_all(environ.values())
        held = secrets.show_to_scripts(read)
        if values.blanks > blanks:
            return values.blank(code)
        try:
            result = values.logged(lambda: self._either(code, texts, others, responses)) or ""
        except OrgrestError:
            if values.context.placeholders and "$global" in code:  # set by scripts that did not run
                return values.blank(code)
            raise
        return secrets.computed(result, held)

    def _either(
        self,
        code: str,
        texts: dict[str, Any],
        others: dict[str, Any],
        responses: dict[str, Response],
    ) -> str:
        """Evaluate an expression with each set of variables, and return the common result.

        A variable of unknown type is a string in `texts` and a JSON value in `others`.
        """
        results: dict[str, Any] = {}
        failure: OrgrestError | None = None
        for variables in [texts] if texts == others else [texts, others]:
            try:
                text, value = self._compute(code, variables, responses)
                results[text] = value
            except OrgrestError as error:
                failure = failure or error
        if len(results) > 1:
            names = [name for name in texts if texts[name] != others[name]]
            raise OrgrestError(
                f"the result of {code} depends on the type (text or number) of "
                f"{' and '.join(names)}: write String({names[0]}) or Number({names[0]})",
                code="bad-expression",
            )
        if not results:
            raise failure or OrgrestError(f"{code} returns nothing")
        ((text, value),) = results.items()
        if "{{" in text:
            raise OrgrestError(
                f"the result of {code} contains {{{{, but placeholders in results are not expanded"
            )
        self._made[text] = value
        return text

    def _compute(
        self, code: str, variables: Mapping[str, Any], responses: Mapping[str, Response]
    ) -> tuple[str, Any]:
        from orgrest.http.scripts import ScriptInput

        context = self._values.context
        seed = context.inputs.seed
        script_input = ScriptInput(
            variables, context.globals.values, responses=responses, seed=seed
        )
        return context.engine.evaluate(code, script_input)

    def _as_javascript(self, name: str, text: str, view: int | None) -> tuple[Any, Any]:
        """Return a variable as a string and as JSON, or one value twice if its type is known."""
        source = self._values.find(name, view)
        if name == "$index":
            return parsed_or(text), parsed_or(text)
        if isinstance(source, Definition):
            whole = source.value.text
            first = next(references_in(whole), None)
            if first is None or (first.start, first.end) != (0, len(whole)):
                return text, text
            if first.name.startswith(_TEXTS):
                return text, text
            return self._as_javascript(first.name, text, source.span.start)
        if isinstance(source, JavaScript):
            result = self._made.get(text, text)
            return result, result
        if (isinstance(source, Literal) and source.is_text) or (
            isinstance(source, Given) and (source.origin == ":var" or source.kind == "text")
        ):
            return text, text
        return text, parsed_or(text)


def for_script(
    code: str, values: Variables, offset: int
) -> tuple[dict[str, Any], dict[str, Response], frozenset[Secret]]:
    """Return the variables and responses that a script names, and the secrets in both.

    Variables without a value are left out, because the script may set them itself.
    """
    variables: dict[str, Any] = {}
    responses: dict[str, Response] = {}
    texts: list[str] = []
    context, parsed = values.context, values.parsed
    for word in dict.fromkeys(_WORD.findall(code)):
        kebab = re.sub("[A-Z]", lambda match: f"-{match[0].lower()}", word)
        for name in (word, kebab) if kebab != word else (word,):  # as in httpyac: apiKey is api-key
            try:
                source = values.find(name)
                if isinstance(source, Scripted):
                    variables[word] = source.made
                    texts.append(source.text or "")
                elif source is not None and not isinstance(source, JavaScript):
                    texts.append(values.value(name, offset))
                    variables[word] = _for_script(source, texts[-1])
                else:
                    response = sources.answered(name, parsed, context)
                    if response is None:
                        if name == "process" and "process.env" in code:
                            environ = _environ(code, context)
                            variables[name] = {"env": environ}
                            texts += environ.values()
                        continue
                    if name == "response" or sources.key_of(name, parsed, context) is None:
                        responses[word] = response
                    else:
                        texts.append(body_text(response))
                        variables[word] = parsed_or(texts[-1])
            except OrgrestError:
                continue
            break
    return variables, responses, context.secrets.within_all(texts)


def _environ(code: str, context: Context) -> dict[str, str]:
    """Return the environment variables that a script names in `process.env`, as in Node."""
    names = {
        name for match in _PROCESS_ENV.findall(code) for name in _WORD.findall(" ".join(match))
    }
    values = {name: context.env(name) for name in sorted(names)}
    return {name: value for name, value in values.items() if value is not None}


def placeholders_for(values: Variables, offset: int) -> dict[str, dict[str, Any]]:
    """Return what JetBrains' `tryGetSubstituted()` needs for each placeholder of the request.

    This is a `text`, or an `error`. Names without a value are left out. If `opens` is set, the text
    contains placeholders, whose values the script may set. If `fixed` is set, the script cannot
    set the value of the name itself.
    """
    placeholders: dict[str, dict[str, Any]] = {}
    context = values.context
    waiting = list(names_in(values.parsed))
    while waiting:
        name = waiting.pop()
        if name in placeholders:
            continue
        if name.startswith("%"):  # `{{%name}}` is computed from the value of `name`
            waiting.append(name[1:])
            continue
        fixed = name in context.inputs.overrides or name in context.replaced
        try:
            source = values.find(name)
            if isinstance(source, Computed) and source.varies:
                placeholders[name] = {"error": _VARIES.format(name=name)}
                continue
            if isinstance(source, Definition):
                text = source.value.text
                names = [reference.name for reference in references_in(text)]
                if names and not any(one == name or _is_special(one) for one in names):
                    placeholders[name] = {"text": text, "opens": True}
                    waiting += names
                    continue
            placeholders[name] = {"text": values.value(name, offset), "fixed": fixed}
        except OrgrestError:
            continue
    return placeholders


def _is_special(name: str) -> bool:
    return name.startswith("$") or is_computed(name)


def _for_script(source: Found, text: str) -> Any:
    if (
        (isinstance(source, Literal) and source.is_text)
        or isinstance(source, Definition)
        or (isinstance(source, Given) and source.kind == "text")
    ):
        return text
    value = parsed_or(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    # A string becomes a number only if JavaScript would format that number as the same string.
    exact = isinstance(value, float) or abs(value) < 2**53
    return value if exact and json_text(value) == text else text


def parsed_or(text: str) -> Any:
    """Return the parsed value of `text` if it is a JSON object, array, number, boolean or null.

    Any other text is returned unchanged, including JSON strings and JSON after white space.
    """
    if text[:1] not in set("{[-0123456789tfn"):
        return text
    return json_or(text, text, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")  # NaN or Infinity, which Python accepts
