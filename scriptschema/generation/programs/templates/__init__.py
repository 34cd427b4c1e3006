"""Templates: pieces of programs, written as Luau with holes, from which trees are built.

A template is parsed and compiled once. Globals with these names are holes:

    NUMBER, STRING ...      an expression of that kind (see `luau.library.KINDS`)
    some_number ...         a variable of that kind in scope. The same name means the same
                            variable. A different name of that kind, such as some_number_2,
                            can mean a different variable
    RANGE(1, 6)             an integer constant in that range
    ONE_OF(a, b)            one of the expressions, of which the first is the simplest
    FRESH                   an integer constant that occurs nowhere else in the program
    REPEAT(2, 9, a)         2 to 9 items of a list, each built separately from `a`
    RESULT                  an expression for the enclosing function to return
    BLOCK()                 zero or more statements
    ALIAS()                 a type alias, if types are requested
    TYPE                    any type, where a type is expected
    TYPE_FUNCTION()         a type function
    LIBRARY()               a call to any library member, with its results printed
    COMBINATION()           operations on boundary values (see `combinations.py`)
    ANYTHING()              code that must not run (see `anything.py`)
    if MAYBE then ... end   these statements, or none, in the enclosing scope
    if REPEAT(2, 9) then ... end                        these statements, 2 to 9 times
    if ONE_OF then ... elseif ONE_OF then ... end       the statements of one branch
    UNTYPED(a)              `a`, unless types are sound: an item of a list, such as an argument,
                            or of `ONE_OF`
    if UNTYPED then ... end statements, unless types are sound
    if TYPED then ... end   statements, only if types are sound
    elseif UNTYPED then     a branch of `if ONE_OF`, unless types are sound

Types declare kinds: `local total: number` is a variable that later statements may use as a number.
The same is true of parameters. A variable is private to the template if it has no type, or if its
type is not a kind (`number | string`). In a declaration without types, such as a loop's, a name
that begins with a kind and `_` also declares the kind (`integer_i`). Other statements may call a
local function whose types are kinds.

The option `types` determines the annotations. With sound types, types that are not kinds stay as
written, including types that the template declares. If no parameter has a type, all parameter types
are inferred. Write `any` where a type checker could not infer a type.

In programs for a given Luau version, some functions get attributes, and some private variables
become constants.

Fields and globals that Luau does not have get the program's own names: `x0`, `x1` and so on.
Different templates rarely get the same names. Only `value`, `update` and `text`, which every object
has, become `x0`, `x1` and `x2` in all templates. A string that refers to one of these fields must
therefore be "x0", "x1" or "x2".
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from scriptschema.generation.programs.maker import Template
from scriptschema.generation.programs.templates import expressions as _expressions  # noqa: F401
from scriptschema.generation.programs.templates import statements as _statements
from scriptschema.generation.programs.templates.base import Compiler
from scriptschema.generation.programs.templates.source import Build

__all__ = ["expression", "statements"]


def expression(text: str, *, typed: bool = False, newer: bool = False) -> Template:
    """Return the template for the expression in `text`, from a cache.

    `typed` is true if a type checker must accept the program. `newer` is true if the original
    schema cannot represent the expression. Raises parse.ParseError if `text` is not Luau, and
    ValueError for Luau that is not a template.
    """
    return _template(text, f"return {text}", typed, newer)


def statements(text: str, *, typed: bool = False, newer: bool = False) -> Template:
    """Return the template for the statements in `text`, from a cache.

    The arguments and errors are those of `expression`.
    """
    return _template(text, text, typed, newer)


@cache
def _template(text: str, source: str, typed: bool, newer: bool) -> Template:
    def compile_into(template: Template) -> Build:
        compiler = Compiler(template, source, typed, newer)
        if source == text:
            return _statements.stats(compiler, compiler.program.body, 0)
        returned: Any = compiler.program.body[0].alternative
        [value] = returned.list
        return compiler.compile(value, 0)

    key = blake2b(f"{typed:d}{newer:d}{source}".encode(), digest_size=6).hexdigest()
    row = measures().get(key)
    if row is not None:
        measured = dict(zip(_MEASURED, row, strict=False))
        needs = {*row[len(_MEASURED) :]}
        return Template(text, **measured, needs=needs, compile=lambda: compile_into(Template(text)))
    template = Template(text)
    build = compile_into(template)
    template.compile = lambda: build
    values = (int(getattr(template, name)) for name in _MEASURED)
    measures()[key] = [*values, *sorted(template.needs)]
    return template


MEASURES: Final = Path(__file__).with_name("measures.json")
"""The sizes and requirements of templates, so that few templates are compiled.

A program uses about a tenth of the templates, but needs the sizes and requirements of all templates
to choose among them. A test compares the file with the templates.
"""

_MEASURED: Final = (
    *("fixed", "weight", "levels", "declares", "heavy"),
    *("vararg", "loop", "returns", "repeats"),
)


@cache
def measures() -> dict[str, list[Any]]:
    """Return the content of `MEASURES`, and what was added for templates compiled since."""
    table: dict[str, list[Any]] = json.loads(MEASURES.read_text(encoding="ascii"))
    return table
