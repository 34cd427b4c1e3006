r"""Tags, `{{...}}`: constants, variables, and values of stored responses; no code is run.

    {{"text"}}  {{25}}  {{}}                       constants
    {{(verb-var token)}}                           a variable
    {{(verb-var page "1")}}                        with a default, which is its value from then on
    {{(verb-json-get (oref (verb-stored-response "book") body) "items" 0 "id")}}
    {{(verb-headers-get (verb-stored-response "book") "Location")}}
    {{(getenv "TOKEN")}}                           the environment; a secret
    {{(concat "a" (verb-var b))}}                  concatenation

A variable's value is the first of: `--var`, `:var` of the block, an earlier answer or default,
preludes (the context keeps both), the chosen environments, the default, the user's answer. All
else is an error that suggests a replacement. As in verb, tags are searched in each line, but
never in the value of another tag.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from orgrest.http.responses import Reference
from orgrest.http.values.context import Captured
from orgrest.http.values.sources import key_of
from orgrest.http.values.sources import part as part_of
from orgrest.model import ExpansionError, OrgrestError
from orgrest.org.lisp import ArgumentError, Number, Symbol, forms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from orgrest.http.syntax import ParsedRequest, Template
    from orgrest.http.values import Context
    from orgrest.model import Source
    from orgrest.org.lisp import Form

TAG = re.compile(r"\{\{(.*?)\}\}")
MAX_SIZE = 64 * 2**20
"""The maximum total length of a request's tag values."""

_ASK = "(verb-var NAME), which asks, or takes --var NAME=VALUE"
_OUTSIDE = "(verb-var NAME), with --var NAME=VALUE from outside"
_FILE = "a block in http, whose body may be the line `< FILE`"
_INSTEAD = {
    **dict.fromkeys(("read-string", "read-number", "read-passwd", "completing-read"), _ASK),
    **dict.fromkeys(("verb-read-file", "read-file-name", "insert-file-contents"), _FILE),
    **dict.fromkeys(("verb-part", "verb-boundary"), "the boundary and the parts themselves"),
    **dict.fromkeys(("user-login-name", "user-full-name"), '(getenv "USER")'),
    **dict.fromkeys(("verb-shell", "shell-command-to-string", "verb-unix-epoch"), _OUTSIDE),
}


class _Placeholder(str):
    """The placeholder, in angle brackets, for a part of a response that a dry run lacks."""

    __slots__ = ()


class Tags:
    """Evaluates the tags of one request, in a context."""

    def __init__(self, context: Context, parsed: ParsedRequest) -> None:
        """Use the variables of `context`, and the stored responses for `parsed`."""
        self._context = context
        self._parsed = parsed
        self._size = 0

    def text(self, template: Template, source: Source) -> str:
        """Return a text of `source` with its tags replaced. Raises ExpansionError."""

        def value(match: re.Match[str]) -> str:
            try:
                found = self._tag(match[1])
            except OrgrestError as error:
                reason = error.reason if isinstance(error, OrgrestError) else str(error)
                code = getattr(error, "code", "") or "lisp"
                at = template.offset(match.start())
                raise ExpansionError.at(source, at, reason, code) from error
            self._size += len(found)
            if self._size > MAX_SIZE:
                reason = f"the values of tags grow beyond {MAX_SIZE // 2**20} MiB here"
                at = template.offset(match.start())
                raise ExpansionError.at(source, at, reason, "too-large")
            return found

        return TAG.sub(value, template.text) if "{{" in template.text else template.text

    def _tag(self, code: str) -> str:
        if not code:
            return ""
        found = forms(code)
        if len(found) != 1:
            raise ArgumentError(f"one expression stands in a tag, not {{{{{code}}}}}")
        return self._value(found[0])

    def _value(self, form: Form) -> str:
        """Return the text of an expression's value. Raises OrgrestError."""
        if isinstance(form, str):
            return form
        if isinstance(form, Number):
            return form.text
        if isinstance(form, Symbol):
            raise ArgumentError(f"Emacs Lisp is not run: {form.text}; write (verb-var {form.text})")
        name = form[0].text if form and isinstance(form[0], Symbol) else ""
        if name not in _FUNCTIONS:
            instead = _INSTEAD.get(name, f"a constant or {_ASK}")
            raise ArgumentError(f"Emacs Lisp is not run: ({name or '...'} ...); write {instead}")
        return _FUNCTIONS[name](self, form[1:])

    # the functions: each gets its arguments unevaluated

    def _variable(self, arguments: Sequence[Form]) -> str:
        if not 1 <= len(arguments) <= 2 or not isinstance(arguments[0], Symbol):
            raise ArgumentError('it is (verb-var NAME) or (verb-var NAME "DEFAULT"), with a symbol')
        name, context = arguments[0].text, self._context
        given = context.inputs.overrides.get(name)
        if given is None:
            given = context.values.get(name, context.literal.get(name))
        if given is None and (captured := context.captures.get(name)) is not None:
            given = captured.value
        if given is None:
            given = context.environment.value(name)
        if given is None:
            if len(arguments) > 1:
                given = self._value(arguments[1])
            else:
                given = context.ask(name, name, hidden=False)
            context.captures[name] = Captured(given)
        return given

    def _concat(self, arguments: Sequence[Form]) -> str:
        return "".join(map(self._value, arguments))

    def _environment(self, arguments: Sequence[Form]) -> str:
        name = self._one_text("getenv", arguments)
        found = self._context.env(name)
        if found is None:
            raise ArgumentError(f"there is no {name} in the environment or in an env file")
        return found

    def _slot(self, arguments: Sequence[Form]) -> str:
        if len(arguments) != 2 or arguments[1] != Symbol("body"):
            raise ArgumentError('it is (oref (verb-stored-response "KEY") body)')
        return self._stored(arguments[0], "body", "")

    def _header(self, arguments: Sequence[Form]) -> str:
        if len(arguments) != 2:
            raise ArgumentError('it is (verb-headers-get (verb-stored-response "KEY") "HEADER")')
        return self._stored(arguments[0], "headers", self._value(arguments[1]))

    def _stored(self, form: Form, part: str, path: str) -> str:
        """Return a part of a stored response; its request is sent now if it was not before."""
        call = Symbol("verb-stored-response")
        if not isinstance(form, list) or form[:1] != [call]:
            raise ArgumentError('a response is (verb-stored-response "KEY")')
        name = self._one_text(call.text, form[1:])
        key = key_of(name, self._parsed, self._context)
        if key is None:
            raise ArgumentError(f"no heading here has the property Verb-Store: {name}")
        wanted = Reference(name, "response", part, path)
        found = part_of(wanted, key, self._context)
        if found is not None:
            return found
        return _Placeholder(f"<{name}.{path}>" if path else f"<{name}>")

    def _in_json(self, arguments: Sequence[Form]) -> str:
        if len(arguments) < 2:
            raise ArgumentError("it is (verb-json-get TEXT PATH...)")
        text = self._value(arguments[0])
        keys = [self._key(one) for one in arguments[1:]]
        if isinstance(text, _Placeholder):
            return _Placeholder(f"{text[:-1]}.{'.'.join(map(str, keys))}>")
        try:
            found: Any = json.loads(text, parse_int=str, parse_float=str)
        except (ValueError, RecursionError):
            raise ArgumentError("verb-json-get: the text is not JSON") from None
        for key in keys:
            try:
                found = found[key]
            except (LookupError, TypeError):
                raise ArgumentError(f"verb-json-get: there is nothing at {key}") from None
        if not isinstance(found, str):
            raise ArgumentError("verb-json-get: there is neither a text nor a number")
        return found

    def _key(self, form: Form) -> str | int:
        """Return a step of a path: a member's name, which may be a symbol, or an index."""
        if isinstance(form, Number) and re.fullmatch(r"[-+]?[0-9]{1,9}", form.text):
            return int(form.text)
        return form.text if isinstance(form, Symbol) else self._value(form)

    def _one_text(self, name: str, arguments: Sequence[Form]) -> str:
        if len(arguments) != 1:
            raise ArgumentError(f'it is ({name} "...")')
        return self._value(arguments[0])


_FUNCTIONS: Mapping[str, Callable[[Tags, Sequence[Form]], str]] = {
    "concat": Tags._concat,
    "getenv": Tags._environment,
    "identity": Tags._concat,
    "oref": Tags._slot,
    "verb-headers-get": Tags._header,
    "verb-json-get": Tags._in_json,
    "verb-var": Tags._variable,
}
