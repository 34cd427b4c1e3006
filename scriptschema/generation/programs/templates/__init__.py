"""Templates: pieces of programs, written as Luau with holes, from which trees are built.

A template is parsed once and compiled to functions that build its messages for each use. These
names of globals are holes:

    NUMBER, STRING ...      an expression of that kind, any of `luau.library.KINDS`
    some_number ...         a variable of that kind that is in scope; the same variable for the same
                            name, another for another ending: some_number_2
    RANGE(1, 6)             an integer constant in that range
    ONE_OF(a, b)            one of the expressions; the first is the simplest
    FRESH                   an integer constant that occurs nowhere else in the program
    REPEAT(2, 9, a)         an item of a list, so many times, built separately each time
    RESULT                  an expression for the enclosing function to return
    BLOCK()                 statements, none or many
    ALIAS()                 a type alias, if types are requested
    TYPE                    any type, in place of a type
    TYPE_FUNCTION()         a type function
    LIBRARY()               a call of any library member whose results are printed
    COMBINATION()           operations with operands from anywhere, anywhere, at limits
    if MAYBE then ... end   these statements, or none, in the enclosing scope
    if REPEAT(2, 9) then ... end                        these statements, so many times
    if ONE_OF then ... elseif ONE_OF then ... end       the statements of one branch
    UNTYPED(a)              the expression; with sound types, no argument or alternative
    if UNTYPED then ... end statements that are left out with sound types
    if TYPED then ... end   statements that exist only with sound types
    elseif UNTYPED then     a branch of `if ONE_OF` that is left out with sound types

Types declare kinds: `local total: number` is a variable that later statements may use, and so are
parameters. A variable is private to the template if it has no type, a type that is not a kind
(`number | string`), or is declared by a `for` under a name that is not a kind and `_`
(`integer_i`). Other statements may call a local function whose types are kinds. The options
determine the annotations; if they are sound, types that are not kinds are kept as written, with
the types that the template declares, and if no parameter has a type, they are inferred: use `any`
where a type checker could not infer them.

In programs for a version of Luau, functions occasionally get attributes and private variables
become constants, where possible.

Fields and globals that Luau does not know get the program's own names; `value` and `update` are
the same everywhere: every object has them.
"""

from __future__ import annotations

from typing import Any

from scriptschema.generation.programs.maker import Template
from scriptschema.generation.programs.templates import expressions as _expressions  # noqa: F401
from scriptschema.generation.programs.templates import measures as _measures
from scriptschema.generation.programs.templates import statements as _statements
from scriptschema.generation.programs.templates.base import Compiler
from scriptschema.generation.programs.templates.source import Build

__all__ = ["expression", "statements"]


def expression(text: str, *, typed: bool = False, newer: bool = False) -> Template:
    """Return an expression's template, for programs that a type checker accepts if `typed`.

    `newer`: the seed's schema cannot represent it. Raises parse.ParseError, and ValueError for a
    text that is not a template.
    """
    return _template(text, f"return {text}", typed, newer)


def statements(text: str, *, typed: bool = False, newer: bool = False) -> Template:
    """Return the template of statements, see `expression`."""
    return _template(text, "", typed, newer)


def _template(text: str, source: str, typed: bool, newer: bool) -> Template:
    template = Template(text)

    def compile_into(template: Template) -> Build:
        compiler = Compiler(template, source or text, typed, newer)
        if not source:
            return _statements.stats(compiler, compiler.program.body, 0)
        returned: Any = compiler.program.body[0].alternative
        [value] = returned.list
        return compiler.compile(value, 0)

    if _measures.restore(template, source or text, typed, newer):
        template.compile = lambda: compile_into(Template(text))
    else:
        build = compile_into(template)
        template.compile = lambda: build
        _measures.note(template, source or text, typed, newer)
    return template
