"""The sources of variable values: one function for each, in order of precedence.

Each function takes a name used in a request (a `Use`). It returns a description of the name's
value, such as a `Literal` or a `Definition`, or None if the source does not define the name.
`RESTCLIENT` lists the sources for restclient's dialect, and `COMMON` those for all other requests.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeAlias

from orgrest import classes
from orgrest.http.values.context import RequestNeededError
from orgrest.http.values.references import GLOBALS, OBJECTS, is_computed, root_of
from orgrest.model import OrgrestError, Request, Response, Text, possible, secrets_in
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from pathlib import Path

    from orgrest.http.responses import ResponseReference
    from orgrest.http.script_value import ScriptValue
    from orgrest.http.syntax import Definition, ParsedRequest
    from orgrest.http.values.context import Context
    from orgrest.model import Source

    Found: TypeAlias = "Literal | Given | Definition | Computed | AuthToken | JavaScript | Scripted"

_ASKED = compiled(
    r"\$(?P<kind>input|prompt|password)(?:-askonce)?(?:\s+(?P<what>.*?))?"
    r"(?:\s*\$value:\s*(?P<default>.*))?"
)
_SETTING = compiled(
    r"""(?:client\.global|client\.variables\.\w+|request\.variables"""
    r"""|pm\.(?:environment|globals|collectionVariables|variables))\s*\.set\(\s*["'`]([^"'`]+)["'`]"""
    r"""|postman\.set(?:Environment|Global)Variable\(\s*["'`]([^"'`]+)["'`]"""
    r"""|exports\.(\w+)\s*=(?!=)"""
)
_INDIRECT = compiled(r"(?P<what>\$(?:dotenv|processEnv)\s+)%(?P<name>\S+)")
_PROCESS_ENV = compiled(r"process\.env(?:\.(\w+)|\[([\"'])(\w+)\2\])")
_SAME = ("$processEnv", "$env.", "$dotenv", "$secret", "$projectRoot")
"""Dynamic values that are the same at each use."""
CAPTURED = "a response or a script"
SCRIPT = "a script"
DYNAMIC = "a dynamic value"
# The names for which VS Code REST Client hides the input.
_HIDDEN = frozenset({"password", "passwd", "pass"})


@classes.frozen
class Use:
    """A name that a request uses.

    `offset` is the offset of the definition whose value uses the name, or None if the request
    itself uses the name.
    """

    name: str
    parsed: ParsedRequest
    context: Context
    offset: int | None = None


@classes.frozen
class Literal:
    """A value that is not expanded. `origin` describes its source.

    If `is_text` is set, the value is certainly a string. Otherwise, it may be a number, for
    example.
    """

    text: str
    origin: str
    is_text: bool = False


@classes.frozen
class Scripted:
    """A value that a script has set, in this run or an earlier one.

    `text` is the string to send, or None if the value cannot be sent (for example, a function).
    """

    text: str | None
    made: ScriptValue
    origin: str = CAPTURED


@classes.frozen
class Given:
    """A value from outside the request's text, which may refer to variables.

    `kind` is "text", "object" or "other", the JSON type of a value from an environment. If it is
    "encoded", the value is percent-encoded.
    `definition` is the source and the definition of an imported variable. `file` is the environment
    file that defines the variable.
    """

    text: str
    origin: str
    kind: str = ""
    definition: tuple[Source, Definition] | None = None
    file: Path | None = None


@classes.frozen
class Computed:
    """A value that is computed when it is used.

    If `once` is set, it is computed once per request instead of at each use. If `in_run` is set,
    only a run can compute it. If `varies` is set, its value may be different at each use. `compute`
    returns None for a value that another request provides later. If the name refers to a response
    and may also be an httpyac expression, `code` is this expression.
    """

    compute: Callable[[], str | None] = classes.field(eq=False)
    origin: str
    once: bool = False
    in_run: bool = False
    varies: bool = False
    code: str = ""


@classes.frozen
class JavaScript:
    """A JavaScript expression, which is evaluated at each use with the variables that it names."""

    code: str
    origin: str = "JavaScript"


@classes.frozen
class AuthToken:
    """An OAuth 2.0 token. `kind` is `token` or `idToken`.

    `grant` is the name of the grant in the environment (`Security.Auth`).
    """

    kind: str
    grant: str
    origin: str = "OAuth 2.0"


def _command_line(use: Use) -> Found | None:
    value = use.context.inputs.overrides.get(use.name)
    origin = "--secret" if secrets_in(value) else "--var"
    return None if value is None else Literal(value, origin, is_text=True)


def _capture_in_block(use: Use) -> Found | None:
    """Return a capture in the same block, unless the block defines the name further down."""
    captured = use.context.captures.get(use.name)
    if captured is None or captured.source is not use.parsed.source:
        return None
    definition = use.parsed.definition(use.name)
    if definition is not None and captured.offset < definition.span.start:
        return None
    return Literal(captured.value or "", CAPTURED)


def _definition(use: Use) -> Found | None:
    """Return the definition of a name. In its own value, a name has its previous definition."""
    parsed = use.parsed
    own = parsed.known.at(use.name, use.offset)
    if own is not None:
        return parsed.known.before(use.name, own.span.start)
    definition = parsed.definition(use.name)
    # A definition below the request may be computed only after the response.
    if (
        definition is not None
        and definition.when == "after"
        and definition.span.start > parsed.span.start
        and (parsed.source, definition.span.start) not in use.context.kept.entries
    ):
        return parsed.known.before(use.name, parsed.span.start) or definition
    return definition


def _iteration(use: Use) -> Found | None:
    value = use.context.iteration.get(use.name)
    return None if value is None else Literal(value, "an iteration")


def _header_argument(use: Use) -> Found | None:
    if use.name in use.context.literal:
        return Literal(use.context.literal[use.name], ":var")
    if use.name in use.context.values:
        return Given(use.context.values[use.name], ":var")
    return None


def _capture(use: Use) -> Found | None:
    captured = use.context.own.get(use.name) or use.context.captures.get(use.name)
    if captured is None:
        return None
    if captured.made is not None:
        return Scripted(captured.value, captured.made)
    return Literal(captured.value or "", CAPTURED)


def _run_line(use: Use) -> Found | None:
    value = use.context.replaced.get(use.name)
    return None if value is None else Literal(value, "run", is_text=True)


def _prompt(use: Use) -> Found | None:
    for directive in use.parsed.directives:
        name, _, what = directive.value.text.partition(" ")
        if directive.name == "prompt" and name == use.name:
            hidden = name.lower() in _HIDDEN
            ask = partial(use.context.ask, name, what.strip() or name, hidden=hidden)
            return Computed(ask, "a prompt", once=True, in_run=True)
    return None


def _file(use: Use) -> Found | None:
    for directive in use.parsed.directives:
        name, _, path = directive.value.text.partition(" ")
        if directive.name == "file-to-variable" and name == use.name:
            return Computed(partial(_text_in, path.strip(), use.context), path, once=True)
    return None


def _text_in(path: str, context: Context) -> str:
    try:
        return context.read(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OrgrestError(f"{path} is not valid UTF-8 (byte {error.start})") from None


def _question(use: Use) -> Found | None:
    """Return the prompt of httpyac's `{{$input What?}}` or `{{$password What?}}`."""
    match = _ASKED.fullmatch(use.name)
    if match is None:
        return None
    what = match["what"] or match["kind"]
    hidden = match["kind"] == "password"
    ask = partial(use.context.ask, what, what, hidden=hidden)
    return Computed(ask, "a prompt", once=True, in_run=True)


def _auth_token(use: Use) -> Found | None:
    """Return the token for JetBrains' `{{$auth.token("id")}}`."""
    if not use.name.startswith("$auth"):
        return None
    from orgrest.http.auth import oauth2

    read = oauth2.read_auth(use.name)
    return None if read is None else AuthToken(*read)


def _global(use: Use) -> Found | None:
    """Return httpyac's `{{$global.name}}` as a JavaScript expression."""
    return JavaScript(use.name) if use.name.startswith(("$global.", "$global[")) else None


def _element(use: Use) -> Found | None:
    """Return a source for JetBrains' `{{$.list..name}}`, which has a value only in an iteration."""
    if not use.name.startswith("$."):
        return None
    reason = (
        f"{{{{{use.name}}}}} is an element of a list, so it has a value only in a request that is "
        "sent for each element: the URL, a header or the body must contain this placeholder"
    )
    return Computed(partial(_no_value_yet, use, reason), "an element of a list", in_run=True)


def _no_value_yet(use: Use, reason: str) -> str | None:
    if use.context.placeholders:
        return None
    raise OrgrestError(reason, code="undefined-variable")


def _dynamic(use: Use) -> Found | None:
    if not use.name.startswith("$") or use.name in OBJECTS or is_computed(use.name):
        return None
    in_run = use.name.startswith("$secret")  # an editor's checks request no secrets
    name = use.name
    if match := _INDIRECT.fullmatch(name):  # %NAME may also be a variable of the document
        definition = use.parsed.definition(match["name"])
        if definition is not None and "{{" not in definition.value.text:
            name = match["what"] + definition.value.text
    varies = not name.startswith(_SAME)
    compute = partial(use.context.dynamic, name)
    return Computed(compute, DYNAMIC, in_run=in_run, varies=varies)


def _exchange(use: Use) -> Found | None:
    """Return the part of another request's exchange that a name refers to."""
    if is_computed(use.name):
        return None
    name = use.name
    code = name if root_of(name) is not None else ""
    if any(
        directive.name in ("ref", "force-ref") and directive.value.text == name
        for directive in use.parsed.directives
    ):
        code = name
        name += ".response.body"  # httpyac's variable for the response of that request
    match = _reference(name, use.parsed, use.context)
    if match is None:
        return None
    origin = f"the {match[0].what} of {match[0].name}"
    return Computed(lambda: part(*match, use.context), origin, once=True, in_run=True, code=code)


def _script(use: Use) -> Found | None:
    """Return a variable that only scripts of the document, or of its imports, give a value."""
    definitions = use.parsed.known
    if definitions.set_by_scripts is None:  # once: there may be many scripts, and many names
        scripts = (*use.parsed.shared_scripts, *definitions.scripts)
        names_set = (set_by(script.text.text) for script in scripts if script.text is not None)
        definitions.set_by_scripts = frozenset().union(*names_set)
    if not (use.name in definitions.set_by_scripts or use.name in use.context.names.set_by_scripts):
        return None
    reason = (
        f"the variable {use.name} has no value yet: either the script that sets it has not run, "
        "it set the variable to a function, or it set it only for another request "
        "(request.variables.set; client.global.set sets it for the later requests, too)"
    )
    return Computed(partial(_no_value_yet, use, reason), SCRIPT, in_run=True)


@lru_cache(256)
def set_by(code: str) -> frozenset[str]:
    """Return the names of the variables that a script sets, judging by its text."""
    return frozenset(name for groups in _SETTING.findall(code) for name in groups if name)


def _imported(use: Use) -> Found | None:
    if use.parsed.definition(use.name) is not None:  # the name is used in its definition
        return None
    found = use.context.names.imported_definition(use.name)
    if found is None:
        return None
    return Given(found[1].value.text, "an imported file", definition=found)


def _global_variable(use: Use) -> Found | None:
    # A variable that a JetBrains script set in this run is a capture, which takes precedence.
    variable = use.context.globals.variable(use.name)
    return None if variable is None else Scripted(variable.text, variable, "an earlier run")


def _environment(use: Use) -> Found | None:
    try:
        value = use.context.environment.value(use.name)
    except OrgrestError as error:
        unset = _script(use) if error.code == "null" else None
        if unset is None:
            raise
        return unset
    if value is None:
        return None
    setting = use.context.environment.setting(use.name)
    if setting is None:
        return None
    if setting.kind == "provider":
        return Literal(value, setting.file.name, is_text=True)
    return Given(value, setting.file.name, setting.kind, file=setting.file)


def _encoded(use: Use) -> Found | None:
    """Return the source for VS Code REST Client's `{{%name}}`. No expression begins with a %."""
    if not use.name.startswith("%"):
        return None
    return Given(f"{{{{{use.name[1:]}}}}}", "a percent-encoded variable", "encoded")


def _javascript(use: Use) -> Found | None:
    """Return a name that is a JavaScript expression, such as `a.b` if `a` has a value."""
    if not is_computed(use.name):
        root = root_of(use.name)
        is_known = root is not None and (
            root in GLOBALS
            or is_response(root, use.parsed, use.context)
            or find(classes.evolve(use, name=root)) is not None
        )
        if not is_known:
            return None
    return JavaScript(use.name)


def _process_env(use: Use) -> Found | None:
    """Return the environment variable that `{{process.env.NAME}}` refers to, as in httpyac."""
    match = _PROCESS_ENV.fullmatch(use.name)
    if match is None:
        return None
    return Computed(partial(use.context.dynamic, f"$env.{match[1] or match[3]}"), DYNAMIC)


ValueSource: TypeAlias = "Callable[[Use], Found | None]"

RESTCLIENT: tuple[ValueSource, ...] = (
    _command_line,
    _capture_in_block,
    _definition,
    _header_argument,
    _capture,
)
COMMON: tuple[ValueSource, ...] = (
    _command_line,
    _run_line,
    _prompt,
    _file,
    _capture,
    _definition,
    _iteration,
    _header_argument,
    _question,
    _auth_token,
    _global,
    _element,
    _dynamic,
    _exchange,
    _imported,
    _global_variable,
    _environment,
    _script,
    _encoded,
    _javascript,
    _process_env,
)


def find(use: Use) -> Found | None:
    """Return the source that provides the value of a name in a request, or None."""
    for source in RESTCLIENT if use.parsed.restclient else COMMON:
        result = source(use)
        if result is not None:
            return result
    return None


# exchanges of this run, for requests that refer to them by name


def key_of(name: str, using: ParsedRequest, context: Context) -> Hashable | None:
    """Return the key of the request that a name refers to, or None if there is no such request.

    If several requests have the name, one with a response is preferred. `using` is the request that
    contains the name.
    """
    keys = list(context.names.requests_named(name, using))
    answered = (key for key in keys if key in context.answers.exchanges)
    return next(answered, keys[-1] if keys else None)


def _reference(
    text: str, using: ParsedRequest, context: Context
) -> tuple[ResponseReference, Hashable] | None:
    """Return the part of an exchange that `{{text}}` refers to, and the key of its request."""
    from orgrest.http import responses

    reference = responses.read(text) or responses.read_short(text)
    key = None if reference is None else key_of(reference.name, using, context)
    return None if reference is None or key is None else (reference, key)


def part(reference: ResponseReference, key: Hashable, context: Context) -> str | None:
    """Return the value of a reference to a part of an exchange, or None in a dry run.

    Raises RequestNeededError if the request has not been sent yet. Raises OrgrestError if the
    request failed, or if the path matches nothing.
    """
    exchange = _answer(key, context)
    if exchange is None:
        return None
    from orgrest.http import responses

    value = responses.value(reference, *exchange)
    if reference.what == "request":
        return Text(value, possible(secret for _, secret in exchange[0].held))
    return value


def _answer(key: Hashable, context: Context) -> tuple[Request, Response] | None:
    if context.placeholders:
        return None
    answers = context.answers
    failure = answers.failures.get(key)
    if failure is None and key not in answers.exchanges:
        failure = answers.unmet.get(key)
    if failure is not None:  # even if it has a response
        raise failure.with_traceback(None)
    if key not in answers.exchanges:
        raise RequestNeededError(key)
    return answers.exchanges[key]


# the same exchanges, with the names that httpyac's scripts and expressions use


def is_response(name: str, using: ParsedRequest, context: Context) -> bool:
    """Return whether a name refers to a response: the latest one, or that of a named request."""
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

    Raises RequestNeededError if the named request has not been sent yet. Raises OrgrestError if
    there is no response.
    """
    key = _named_by(name, using, context)
    exchange = context.answers.last if key is None else _answer(key, context)
    if exchange is None and not context.placeholders:
        raise OrgrestError("there is no response in this run yet", code="no-response")
    return None if exchange is None else exchange[1]
