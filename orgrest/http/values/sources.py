"""The sources of variables' values: a function for each, in the order of precedence.

A source gets the use of a name and returns a `Literal`, a `Given`, a `Computed` or the request's
own `Definition`, or None if it does not know the name. `RESTCLIENT` are the sources of restclient's
language, `COMMON` those of request files.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeAlias

import attrs

from orgrest.http.values.context import RequestNeededError
from orgrest.http.values.references import GLOBALS, OBJECTS, is_computed, root_of
from orgrest.model import OrgrestError, Request, Response, Text, possible

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from orgrest.http.responses import Reference
    from orgrest.http.script_value import ScriptValue
    from orgrest.http.syntax import Definition, ParsedRequest
    from orgrest.http.values.context import Context

    Found: TypeAlias = "Literal | Given | Definition | Computed | AuthToken | JavaScript | Scripted"

_ASKED = re.compile(
    r"\$(?P<kind>input|prompt|password)(?:-askonce)?(?:\s+(?P<what>.*?))?"
    r"(?:\s*\$value:\s*(?P<default>.*))?"
)
_SETTING = re.compile(
    r"""(?:client\.global|client\.variables\.\w+|request\.variables"""
    r"""|pm\.(?:environment|globals|collectionVariables|variables))\s*\.set\(\s*["'`]([^"'`]+)["'`]"""
    r"""|postman\.set(?:Environment|Global)Variable\(\s*["'`]([^"'`]+)["'`]"""
    r"""|exports\.(\w+)\s*=(?!=)"""
)
_INDIRECT = re.compile(r"(?P<what>\$(?:dotenv|processEnv)\s+)%(?P<name>\S+)")
CAPTURED = "a response or a script"
# The names for which VS Code REST Client hides the input.
_HIDDEN = frozenset({"password", "passwd", "pass"})


@attrs.frozen
class Use:
    """A name that a request uses.

    `offset` is that of the definition whose value uses it, None for the request itself.
    """

    name: str
    parsed: ParsedRequest
    context: Context
    offset: int | None = None


@attrs.frozen
class Literal:
    """A value from outside the document, which is not expanded. `origin` describes its source."""

    text: str
    origin: str


@attrs.frozen
class Scripted:
    """A value that a script of this run made, which may have no text."""

    text: str | None
    made: ScriptValue
    origin: str = CAPTURED


@attrs.frozen
class Given:
    """A value that may refer to variables, and is not in the request's text.

    `kind` is known for values of environments: a text, an object, or another value in JSON.
    """

    text: str
    origin: str
    kind: str = ""


@attrs.frozen
class Computed:
    """A value computed when it is used: `once` per request, else at each use.

    With `in_run` only a run provides it; None then means that another request has yet to provide
    it.
    """

    compute: Callable[[], str | None] = attrs.field(eq=False)
    origin: str
    once: bool = False
    in_run: bool = False


@attrs.frozen
class JavaScript:
    """An expression, which is evaluated at each use with the variables that it names."""

    code: str
    origin: str = "JavaScript"


@attrs.frozen
class AuthToken:
    """A token of OAuth 2.0, of the `kind` token or idToken, for a grant of the environment."""

    kind: str
    grant: str
    origin: str = "OAuth 2.0"


def _command_line(use: Use) -> Found | None:
    value = use.context.inputs.overrides.get(use.name)
    return None if value is None else Literal(value, "--var")


def _capture_in_block(use: Use) -> Found | None:
    """A capture of the same block, unless the block defines the variable further down."""
    captured = use.context.captures.get(use.name)
    if captured is None or captured.source is not use.parsed.source:
        return None
    definition = use.parsed.definition(use.name)
    if definition is not None and captured.offset < definition.span.start:
        return None
    return Literal(captured.value or "", CAPTURED)


def _definition(use: Use) -> Found | None:
    """The document's definition; in its value, its name means what it would without it."""
    found = use.parsed.definition(use.name)
    if found is not None and found.span.start == use.offset:
        return use.parsed.known.before(use.name, use.offset)
    return found


def _header_argument(use: Use) -> Found | None:
    if use.name in use.context.literal:
        return Literal(use.context.literal[use.name], ":var")
    if use.name in use.context.values:
        return Given(use.context.values[use.name], ":var")
    return None


def _capture(use: Use) -> Found | None:
    captured = use.context.captures.get(use.name)
    if captured is None:
        return None
    if captured.made is not None:
        return Scripted(captured.value, captured.made)
    return Literal(captured.value or "", CAPTURED)


def _run_line(use: Use) -> Found | None:
    """`run other.http (@name = value)`."""
    value = use.context.replaced.get(use.name)
    return None if value is None else Literal(value, "run")


def _prompt(use: Use) -> Found | None:
    """`# @prompt name description`: asked for once per request."""
    for directive in use.parsed.directives:
        name, _, what = directive.value.text.partition(" ")
        if directive.name == "prompt" and name == use.name:
            hidden = name.lower() in _HIDDEN
            ask = partial(use.context.ask, name, what.strip() or name, hidden=hidden)
            return Computed(ask, "asked for", once=True, in_run=True)
    return None


def _file(use: Use) -> Found | None:
    """`# @file-to-variable name file`, Kulala's: the text of a file."""
    for directive in use.parsed.directives:
        name, _, path = directive.value.text.partition(" ")
        if directive.name == "file-to-variable" and name == use.name:
            return Computed(partial(_text_in, path.strip(), use.context), path, once=True)
    return None


def _text_in(path: str, context: Context) -> str:
    try:
        return context.read(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OrgrestError(f"{path} is not text in UTF-8 (byte {error.start})") from None


def _question(use: Use) -> Found | None:
    """`{{$input What?}}` and `{{$password What?}}`, httpyac's."""
    match = _ASKED.fullmatch(use.name)
    if match is None:
        return None
    what = match["what"] or match["kind"]
    hidden = match["kind"] == "password"
    ask = partial(use.context.ask, what, what, hidden=hidden)
    return Computed(ask, "asked for", once=True, in_run=True)


def _auth_token(use: Use) -> Found | None:
    """`{{$auth.token("id")}}`, JetBrains'."""
    if not use.name.startswith("$auth"):
        return None
    from orgrest.http.auth import oauth2

    read = oauth2.read_auth(use.name)
    return None if read is None else AuthToken(*read)


def _global(use: Use) -> Found | None:
    """`{{$global.name}}`, httpyac's."""
    return JavaScript(use.name) if use.name.startswith(("$global.", "$global[")) else None


def _element(use: Use) -> Found | None:
    """`{{$.list..name}}`, JetBrains': gets its value in each turn before completion."""
    if not use.name.startswith("$."):
        return None
    return Computed(partial(_undone, use), "an element", in_run=True)


def _undone(use: Use) -> str | None:
    """Return None in a dry run, which runs no script; otherwise raise `OrgrestError`."""
    if use.context.placeholders:
        return None
    reason = (
        f"the variable {use.name} is not defined yet: a script sets it, which did not run, or gave "
        "it a function, which no variable holds"
    )
    raise OrgrestError(reason, code="undefined-variable")


def _dynamic(use: Use) -> Found | None:
    if not use.name.startswith("$") or use.name in OBJECTS:
        return None
    in_run = use.name.startswith("$secret")  # an editor's checks request no secrets
    name = use.name
    if match := _INDIRECT.fullmatch(name):  # of the document's own variables, too
        definition = use.parsed.definition(match["name"])
        if definition is not None and "{{" not in definition.value.text:
            name = match["what"] + definition.value.text
    return Computed(lambda: use.context.dynamic(name), "a dynamic value", in_run=in_run)


def _exchange(use: Use) -> Found | None:
    """A part of a named request's exchange."""
    if is_computed(use.name):
        return None
    name = use.name
    if any(
        one.name in ("ref", "force-ref") and one.value.text == name for one in use.parsed.directives
    ):
        name += ".response.body"  # httpyac's variable of that request
    found = _reference(name, use.parsed, use.context)
    if found is None:
        return None
    origin = f"the {found[0].what} of {found[0].name}"
    return Computed(lambda: part(*found, use.context), origin, once=True, in_run=True)


def _script(use: Use) -> Found | None:
    """A variable that a script of the document sets, which is known only in a run."""
    if use.name in use.context.globals.values:
        return None  # an earlier run set it
    known = use.parsed.known
    if known.set_by_scripts is None:  # once: there may be many scripts, and many names
        scripts = (*use.parsed.shared_scripts, *known.scripts)
        found = (set_by(script.text.text) for script in scripts if script.text is not None)
        known.set_by_scripts = frozenset().union(*found)
    if use.name not in known.set_by_scripts:
        return None
    return Computed(partial(_undone, use), "a script", in_run=True)


@lru_cache(256)
def set_by(code: str) -> frozenset[str]:
    """Return the names of the variables that a script sets, as far as its text shows."""
    return frozenset(name for found in _SETTING.findall(code) for name in found if name)


def _imported(use: Use) -> Found | None:
    value = use.context.names.imported_value(use.name)
    return None if value is None else Given(value, "an imported file")


def _global_variable(use: Use) -> Found | None:
    """A global variable of scripts from an earlier run; those of this run are captures."""
    made = use.context.globals.variable(use.name)
    return None if made is None else Scripted(made.text, made, "an earlier run")


def _environment(use: Use) -> Found | None:
    value = use.context.environment.value(use.name)
    if value is None:
        return None
    setting = use.context.environment.setting(use.name)
    if setting is None:
        return None
    if setting.kind == "provider":
        return Literal(value, setting.file.name)
    return Given(value, setting.file.name, setting.kind)


def _javascript(use: Use) -> Found | None:
    """An expression, httpyac's."""
    if not is_computed(use.name):
        root = root_of(use.name)
        known = root is not None and (
            root in GLOBALS
            or is_response(root, use.parsed, use.context)
            or find(attrs.evolve(use, name=root)) is not None
        )
        if not known:
            return None
    return JavaScript(use.name)


Source: TypeAlias = "Callable[[Use], Found | None]"

RESTCLIENT: tuple[Source, ...] = (
    _command_line,
    _capture_in_block,
    _definition,
    _header_argument,
    _capture,
)
COMMON: tuple[Source, ...] = (
    _command_line,
    _run_line,
    _prompt,
    _file,
    _capture,
    _definition,
    _header_argument,
    _question,
    _auth_token,
    _global,
    _element,
    _dynamic,
    _exchange,
    _script,
    _imported,
    _global_variable,
    _environment,
    _javascript,
)


def find(use: Use) -> Found | None:
    """Return the source of a name's value in a request, or None."""
    for source in RESTCLIENT if use.parsed.restclient else COMMON:
        found = source(use)
        if found is not None:
            return found
    return None


# the exchanges of a run so far, for requests that refer to them by name


def key_of(name: str, using: ParsedRequest, context: Context) -> Hashable | None:
    """Return the request that a name in a request refers to, preferring an answered request."""
    keys = list(context.names.requests_named(name, using))
    answered = (key for key in keys if key in context.answers.exchanges)
    return next(answered, keys[-1] if keys else None)


def _reference(
    text: str, using: ParsedRequest, context: Context
) -> tuple[Reference, Hashable] | None:
    """Return the part of another request's exchange that `{{text}}` names, and that request."""
    from orgrest.http import responses

    found = responses.read(text) or responses.read_short(text)
    key = None if found is None else key_of(found.name, using, context)
    return None if found is None or key is None else (found, key)


def part(reference: Reference, key: Hashable, context: Context) -> str | None:
    """Return the value of a reference to a request, or None in a dry run.

    Raises RequestNeededError if it was not sent yet, and OrgrestError if the path matches nothing,
    or the request failed.
    """
    exchange = _answer(key, context)
    if exchange is None:
        return None
    from orgrest.http import responses

    value = responses.value(reference, *exchange)
    if reference.what == "request":
        return Text(value, possible(one for _, one in exchange[0].held))
    return value


def _answer(key: Hashable, context: Context) -> tuple[Request, Response] | None:
    if context.placeholders:
        return None
    answers = context.answers
    failure = answers.failures.get(key)
    if failure is None and key not in answers.exchanges:
        failure = answers.unmet.get(key)
    if failure is not None:  # also after its response
        raise failure.with_traceback(None)
    if key not in answers.exchanges:
        raise RequestNeededError(key)
    return answers.exchanges[key]


# as httpyac's scripts and expressions name them


def is_response(name: str, using: ParsedRequest, context: Context) -> bool:
    """Return whether a name refers to a response: the latest, or that of a named request."""
    return name == "response" or _named_by(name, using, context) is not None


def _named_by(name: str, using: ParsedRequest, context: Context) -> Hashable | None:
    return key_of(name, using, context) or key_of(name.removesuffix("Response"), using, context)


def answered(name: str, using: ParsedRequest, context: Context) -> Response | None:
    """Return the response that a name refers to, or None if it has not arrived yet."""
    key = _named_by(name, using, context)
    if key is None:
        exchange = context.answers.last if name == "response" else None
    else:
        exchange = context.answers.exchanges.get(key)
    return None if exchange is None else exchange[1]


def response(name: str, using: ParsedRequest, context: Context) -> Response | None:
    """Return the response that a name refers to, or None in a dry run.

    Raises RequestNeededError if its request was not sent yet, OrgrestError without a response.
    """
    key = _named_by(name, using, context)
    exchange = context.answers.last if key is None else _answer(key, context)
    if exchange is None and not context.placeholders:
        raise OrgrestError("no response came yet in this run", code="no-response")
    return None if exchange is None else exchange[1]
