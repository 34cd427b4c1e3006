r"""Evaluates tags, `{{...}}`: constants, variables and stored responses. No code is run.

    {{"text"}}  {{25}}  {{}}                       constants
    {{(verb-var token)}}                           a variable
    {{(verb-var page "1")}}                        a variable, set to "1" if it has no value
    {{(verb-json-get (oref (verb-stored-response "book") body) "items" 0 "id")}}
    {{(verb-headers-get (verb-stored-response "book") "Location")}}
    {{(getenv "TOKEN")}}                           an environment variable, which is a secret
    {{(concat "a" (verb-var b))}}                  concatenation

The value of a variable comes from the first of these:

- `--var`, the block's `:var`, or a prelude, in this order;
- the context's captures, which include defaults and the user's answers from earlier tags;
- the selected environments;
- the default in the tag or, if it has none, the user's answer to a prompt.

Any other expression is an error, with a suggested replacement. As in verb, a tag must be on a
single line, and a tag in the value of another tag is not evaluated.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from orgrest.http.responses import ResponseReference
from orgrest.http.values.context import Captured
from orgrest.http.values.sources import key_of
from orgrest.http.values.sources import part as part_of
from orgrest.model import ExpansionError, OrgrestError
from orgrest.org.blocks import ArgumentError
from orgrest.org.lisp import Number, Symbol, forms
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from orgrest.http.syntax import ParsedRequest, Template
    from orgrest.http.values import Context
    from orgrest.model import Source
    from orgrest.org.lisp import Form

TAG = compiled(r"\{\{(.*?)\}\}")
MAX_SIZE = 64 * 2**20
"""The maximum total length of the values of a request's tags, in characters."""

_ASK = "(verb-var NAME), which asks for a value or takes it from --var NAME=VALUE"
_OUTSIDE = "(verb-var NAME), and pass --var NAME=VALUE"
_FILE = "an http block, whose body can be the line `< FILE`"
_INSTEAD = {
    **dict.fromkeys(("read-string", "read-number", "read-passwd", "completing-read"), _ASK),
    **dict.fromkeys(("verb-read-file", "read-file-name", "insert-file-contents"), _FILE),
    **dict.fromkeys(("verb-part", "verb-boundary"), "the boundary and the parts as text"),
    **dict.fromkeys(("user-login-name", "user-full-name"), '(getenv "USER")'),
    **dict.fromkeys(("verb-shell", "shell-command-to-string", "verb-unix-epoch"), _OUTSIDE),
}


class _Placeholder(str):
    """Text in angle brackets that replaces a part of a response in a dry run."""

    __slots__ = ()


class Tags:
    """Evaluates the tags of one request."""

    def __init__(self, context: Context, parsed: ParsedRequest) -> None:
        """Use the variables of `context`, and the responses that `parsed` can refer to."""
        self._context = context
        self._parsed = parsed
        self._size = 0

    def text(self, template: Template, source: Source) -> str:
        """Return the text of a template in `source`, with its tags replaced.

        Raises ExpansionError.
        """

        def value(match: re.Match[str]) -> str:
            try:
                content = self._tag(match[1])
            except OrgrestError as error:
                at = template.offset(match.start())
                raise ExpansionError.at(source, at, error.reason, error.code or "lisp") from error
            self._size += len(content)
            if self._size > MAX_SIZE:
                reason = f"the values of the tags exceed {MAX_SIZE // 2**20} MiB in total"
                at = template.offset(match.start())
                raise ExpansionError.at(source, at, reason, "too-large")
            return content

        return TAG.sub(value, template.text) if "{{" in template.text else template.text

    def _tag(self, code: str) -> str:
        if not code:
            return ""
        expressions = forms(code)
        if len(expressions) != 1:
            raise ArgumentError(f"expected one expression in the tag {{{{{code}}}}}")
        return self._value(expressions[0])

    def _value(self, form: Form) -> str:
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

    # the functions that tags can call, which evaluate their own arguments

    def _variable(self, arguments: Sequence[Form]) -> str:
        if not 1 <= len(arguments) <= 2 or not isinstance(arguments[0], Symbol):
            raise ArgumentError(
                'expected (verb-var NAME) or (verb-var NAME "DEFAULT"), where NAME is a symbol'
            )
        name, context = arguments[0].text, self._context
        content = context.inputs.overrides.get(name)
        if content is None:
            content = context.values.get(name, context.literal.get(name))
        if content is None and (captured := context.captures.get(name)) is not None:
            content = captured.value
        if content is None:
            content = context.environment.value(name)
        if content is None:
            if len(arguments) > 1:
                content = self._value(arguments[1])
            else:
                content = context.ask(name, name, hidden=False)
            context.captures[name] = Captured(content)
        return content

    def _concat(self, arguments: Sequence[Form]) -> str:
        return "".join(map(self._value, arguments))

    def _environment(self, arguments: Sequence[Form]) -> str:
        name = self._only_argument("getenv", arguments)
        content = self._context.env(name)
        if content is None:
            reason = f"{name} is not set in the environment or in an env file"
            raise ArgumentError(reason, code="unset-environment")
        return content

    def _slot(self, arguments: Sequence[Form]) -> str:
        if len(arguments) != 2 or arguments[1] != Symbol("body"):
            raise ArgumentError('expected (oref (verb-stored-response "KEY") body)')
        return self._stored(arguments[0], "body", "")

    def _header(self, arguments: Sequence[Form]) -> str:
        if len(arguments) != 2:
            raise ArgumentError('expected (verb-headers-get (verb-stored-response "KEY") "HEADER")')
        return self._stored(arguments[0], "headers", self._value(arguments[1]))

    def _stored(self, form: Form, part: str, path: str) -> str:
        """Return a part of a stored response, or a placeholder in a dry run."""
        call = Symbol("verb-stored-response")
        if not isinstance(form, list) or form[:1] != [call]:
            raise ArgumentError('expected a response, as in (verb-stored-response "KEY")')
        name = self._only_argument(call.text, form[1:])
        key = key_of(name, self._parsed, self._context)
        if key is None:
            raise ArgumentError(f"no heading in this document has the property Verb-Store: {name}")
        reference = ResponseReference(name, "response", part, path)
        content = part_of(reference, key, self._context)
        if content is not None:
            return content
        return _Placeholder(f"<{name}.{path}>" if path else f"<{name}>")

    def _in_json(self, arguments: Sequence[Form]) -> str:
        if len(arguments) < 2:
            raise ArgumentError("expected (verb-json-get TEXT PATH...)")
        text = self._value(arguments[0])
        keys = [self._key(argument) for argument in arguments[1:]]
        if isinstance(text, _Placeholder):
            return _Placeholder(f"{text[:-1]}.{'.'.join(map(str, keys))}>")
        try:
            content: Any = json.loads(text, parse_int=str, parse_float=str)
        except (ValueError, RecursionError):
            raise ArgumentError("verb-json-get: the text is not valid JSON") from None
        for key in keys:
            try:
                content = content[key]
            except (LookupError, TypeError):
                raise ArgumentError(f"verb-json-get: nothing found at {key}") from None
        if not isinstance(content, str):
            raise ArgumentError("verb-json-get: the value is neither text nor a number")
        return content

    def _key(self, form: Form) -> str | int:
        """Return a step of a path: an index, or the name of a member."""
        if isinstance(form, Number) and re.fullmatch(r"[-+]?[0-9]{1,9}", form.text):
            return int(form.text)
        return form.text if isinstance(form, Symbol) else self._value(form)

    def _only_argument(self, name: str, arguments: Sequence[Form]) -> str:
        if len(arguments) != 1:
            raise ArgumentError(f'expected ({name} "...")')
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
