"""Templates: pieces of programs, written as Luau with holes, that make trees.

A template is parsed once and compiled to functions that build its messages anew each time. These
names of globals are holes:

    NUMBER, STRING ...      an expression of that kind, any of `luau.library.KINDS`
    some_number ...         a variable of that kind that is in scope; the same one if it says so
                            twice, others with another ending: some_number_2
    RANGE(1, 6)             an integer constant in that range
    ONE_OF(a, b)            one of the expressions; the first is the simplest
    FRESH                   an integer constant that stands nowhere else in the program
    REPEAT(2, 9, a)         an item of a list, so many times, made anew each time
    RESULT                  an expression for the function around to return
    BLOCK()                 statements, none or many
    ALIAS()                 a type alias, where types are wanted
    TYPE                    any type, where a type stands
    TYPE_FUNCTION()         a type function
    LIBRARY()               a call of any library member whose results are printed
    COMBINATION()           operations with operands from anywhere, anywhere, at limits
    if MAYBE then ... end   these statements, or none, in the scope around
    if REPEAT(2, 9) then ... end                        these statements, so many times
    if ONE_OF then ... elseif ONE_OF then ... end       the statements of one branch
    UNTYPED(a)              the expression; no argument, no alternative where types are sound
    if UNTYPED then ... end statements that there are not where types are sound
    if TYPED then ... end   statements that there are only where types are sound
    elseif UNTYPED then     a branch of `if ONE_OF` that there is not where types are sound

Types tell kinds: `local total: number` is a variable that later statements may use, and so are
parameters. A variable without a type, with a type that is no kind (`number | string`), or one that
a `for` declares under a name that is no kind and `_` (`integer_i`), is the template's own. A local
function whose types are kinds may be called by others. Annotations are as the options want them;
where they are sound, those that are no kinds stand as they are written, with the types that the
template declares, and the types of parameters of which none has one are inferred: say `any` where a
type checker could not.

In programs for a version of Luau, functions get attributes and the template's own variables become
constants now and then, where nothing keeps them from it.

Fields and globals that Luau does not know get names of the program's own; `value` and `update` are
the same everywhere: what every object has.
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

    `newer`: it says more than the seed's schema can. Raises parse.ParseError, and ValueError for
    what is not a template.
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
