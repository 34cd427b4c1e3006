"""Reads statements and blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import INT32_MAX, INT32_MIN
from scriptschema.luau.parsing.assignments import (
    COMPOUNDS,
    as_assignable,
    as_lvalue,
    read_compound_assignment,
)
from scriptschema.luau.parsing.classes import read_class
from scriptschema.luau.parsing.expressions import (
    SUFFIXES,
    as_prefix,
    read_attributes,
    read_expression,
    read_expressions,
    read_primary,
)
from scriptschema.luau.parsing.functions import by_position, read_function_body
from scriptschema.luau.parsing.reader import Reader, Reading
from scriptschema.luau.parsing.type_annotations import (
    read_generics,
    read_type,
    shut_generics,
    typename,
)

_BLOCK_ENDS: Final = frozenset({"end", "else", "elseif", "until", "eof"})
_GO_ON_FROM_NAME: Final = SUFFIXES | {"=", ","} | COMPOUNDS.keys()
_MODULE: Final = re.compile(r"""["']\./module(0|-?[1-9][0-9]{0,9})["']""")


def read_block(r: Reader) -> Reading:
    """Read statements up to the end of a block. The caller opens and closes the scope."""
    body: list[m.Stat] = []
    while r.kind not in _BLOCK_ENDS:
        start = r.index
        if r.skip("break"):
            stat = m.Stat(break_=m.StatBreak())
        else:
            stat = yield _STATEMENTS.get(r.kind, _read_other_statement)(r)
        r.skip(";")
        if stat is None:
            continue
        body.append(stat)
        r.place(stat, start)
        if stat.which in ("return_", "break_", "continue_"):
            break
    return m.StatBlock(body=body)


def _read_scoped_block(r: Reader) -> Reading:
    r.open()
    block = yield read_block(r)
    r.shut()
    return block


def _read_do_statement(r: Reader) -> Reading:
    opening = r.advance()
    block = yield _read_scoped_block(r)
    r.close("end", opening)
    return m.Stat(block=block)


def _read_if_statement(r: Reader) -> Reading:
    clauses = []
    otherwise = None
    while True:
        opening = r.advance()  # past `if` or `elseif`
        cond = yield read_expression(r)
        r.expect("then", "after the condition")
        clauses.append((cond, (yield _read_scoped_block(r))))
        if r.kind != "elseif":
            break
    if r.kind == "else":
        opening = r.advance()
        otherwise = yield _read_scoped_block(r)
    r.close("end", opening)
    cond, then = clauses.pop()
    node = m.StatIf(cond=cond, then=then, else_=otherwise)
    while clauses:
        cond, then = clauses.pop()
        node = m.StatIf(cond=cond, then=then, elseif=node)
    return m.Stat(if_=node)


def _read_while_statement(r: Reader) -> Reading:
    opening = r.advance()
    cond = yield read_expression(r)
    r.expect("do", "after the condition")
    body = yield _read_scoped_block(r)
    r.close("end", opening)
    return m.Stat(while_=m.StatWhile(cond=cond, body=body))


def _read_repeat_statement(r: Reader) -> Reading:
    opening = r.advance()
    r.open()
    body = yield read_block(r)
    r.close("until", opening)
    cond = yield read_expression(r)
    r.shut()
    return m.Stat(repeat=m.StatRepeat(body=body, cond=cond))


def _read_return_statement(r: Reader) -> Reading:
    r.advance()
    values: list[m.Expr] = []
    if r.kind not in _BLOCK_ENDS and r.kind != ";":
        values = yield read_expressions(r)
    return m.Stat(return_=m.StatReturn(list=values))


def _read_for_statement(r: Reader) -> Reading:
    opening = r.advance()
    names, bindings = yield _read_bindings(r, "of the loop's variable")
    if not r.extended:
        for index, type_ in bindings:
            if type_ is not None:
                r.lose(index, "type of a loop's variable", "dropped")
        bindings = []
    types = by_position(r, bindings)
    if len(names) == 1 and r.skip("="):
        from_ = yield read_expression(r)
        r.expect(",", "and the loop's last value")
        to = yield read_expression(r)
        step = (yield read_expression(r)) if r.skip(",") else None
        r.expect("do", "after the loop's range")
        r.open()
        var = r.declare(names[0])
        body = yield read_block(r)
        type_ = types[0] if types else None
        loop = m.StatFor(var=var, from_=from_, to=to, step=step, body=body, type=type_)
        stat = m.Stat(for_=loop)
    else:
        r.expect("in", "or another name" if len(names) > 1 else "or `=`")
        values = yield read_expressions(r)
        r.expect("do", "after the values to iterate over")
        r.open()
        variables = [r.declare(name) for name in names]
        body = yield read_block(r)
        stat = m.Stat(for_in=m.StatForIn(vars=variables, values=values, body=body, types=types))
    r.shut()
    r.close("end", opening)
    return stat


def _read_declaration(r: Reader, attributes: Sequence[m.ExprAttr] = ()) -> Reading:
    """Read a declaration that begins with `local`, `const` or `export`."""
    exported = r.texts[r.index] == "export"
    if exported:
        r.require(m.StatLocal, "is_exported", "an exported value", r.index)
        r.advance()
    constant = r.texts[r.index] == "const"
    if constant:
        if not r.extended:
            r.lose(r.index, "`const`", "`local`")
        r.require(m.StatLocal, "is_const", "`const`", r.index)
    if r.kind != "function":
        r.advance()
        if exported and r.kind != "name":
            r.fail("the name of a variable, after `export local` or `export const`")
    if r.kind == "function":
        opening = r.advance()
        var = r.declare(r.name("for the function"))
        func = yield read_function_body(r, opening, [*attributes])
        stat = m.Stat(local_function=m.StatLocalFunction(var=var, func=func))
    else:
        stat = yield _read_local_variables(r, constant=constant, exported=exported)
    declared: Any = stat.alternative
    if exported:
        declared.is_exported = True
    if constant and r.extended:
        declared.is_const = True
    return stat


def _read_local_variables(r: Reader, *, constant: bool, exported: bool) -> Reading:
    names, bindings = yield _read_bindings(r, "of a variable")
    types = by_position(r, bindings)
    if constant and r.kind != "=":
        r.fail("`=` and the values of the constants")
    start = r.index + 1
    values = (yield read_expressions(r)) if r.skip("=") else []
    plain = len(names) == 1 and not (types or exported or (constant and r.extended))
    number = _required_module(r, start) if plain else None
    variables = [r.declare(name) for name in names]
    if number is not None:
        helper = m.StatRequireIntoLocalHelper(var=variables[0], modulenum=number)
        return m.Stat(require_into_local=helper)
    return m.Stat(local=m.StatLocal(vars=variables, values=values, types=types))


def _required_module(r: Reader, start: int) -> int | None:
    """Return N if the tokens from `start` on are `require("./moduleN")`, otherwise None."""
    if (
        r.index - start != 4
        or r.kinds[start : r.index] != ["name", "(", "string", ")"]
        or r.texts[start] != "require"
        or r.in_scope.get("require")
    ):
        return None
    match = _MODULE.fullmatch(r.texts[start + 2])
    if match is None or not INT32_MIN <= int(match[1]) <= INT32_MAX:
        return None
    return int(match[1])


def _read_bindings(r: Reader, purpose: str) -> Reading:
    names = []
    types = []
    while True:
        index = r.index
        names.append(r.name(purpose))
        types.append((index, (yield read_type(r)) if r.skip(":") else None))
        if not r.skip(","):
            return names, types


def _read_function_statement(r: Reader, attributes: Sequence[m.ExprAttr] = ()) -> Reading:
    opening = r.advance()
    name = r.name("for the function")
    node: Any = r.variable(name)
    owner = name if type(node) is m.ExprGlobal else None
    method = False
    while not method and r.kind in (".", ":"):
        method = r.take() == ":"
        field = r.names.field(r.name("of a method" if method else "of a field"), owner)
        node = m.ExprIndexName(expr=as_prefix(node), index=field)
        owner = None
    func = yield read_function_body(r, opening, [*attributes], method=method)
    var = as_lvalue(node)
    return m.Stat(function=m.StatFunction(var=var, func=func, self_=method))


def _read_attributed_statement(r: Reader) -> Reading:
    attributes = yield read_attributes(r)
    following = r.kinds[r.index + 1]
    if r.kind == "function":
        return (yield _read_function_statement(r, attributes))
    words = ("const", "export") if r.extended else ("const",)
    if following != "function" or (r.kind == "name" and r.texts[r.index] not in words):
        r.fail("`function` after an attribute")
    return (yield _read_declaration(r, attributes))


def _read_type_statement(r: Reader, *, export: bool) -> Reading:
    """Read a type alias or a type function."""
    start = r.advance()
    if r.kind == "function":
        opening = r.index
        if not r.extended:
            r.lose(start, "type function", "dropped")
        r.advance()
        text = r.name("for the type function")
        if not r.extended:
            yield read_function_body(r, opening, [])
            return None
        name = typename(r, text)
        r.declare_type(text)
        func = yield read_function_body(r, opening, [])
        return m.Stat(type_function=m.StatTypeFunction(export=export, name=name, func=func))
    text = r.name("for the type")
    name = typename(r, text)
    r.declare_type(text)
    generic, generics, packs, defaults = yield read_generics(r, defaults=True)
    r.expect("=", "and the type that the name stands for")
    type_ = yield read_type(r)
    shut_generics(r, generic)
    alias = m.StatTypeAlias(
        export=export,
        name=name,
        type=type_,
        generics=generics,
        genericpacks=packs,
        defaults=defaults,
    )
    return m.Stat(type_alias=alias)


def _read_other_statement(r: Reader) -> Reading:
    """Read a call, an assignment, or a statement that begins with a contextual keyword."""
    start = r.index
    if r.kind == "name":
        text = r.texts[start]
        following = r.kinds[start + 1]
        if text == "continue" and following not in _GO_ON_FROM_NAME:
            r.advance()
            return m.Stat(continue_=m.StatContinue())
        if text == "type" and following in ("name", "function"):
            return (yield _read_type_statement(r, export=False))
        if text == "export" and r.texts[start + 1] == "type":
            r.advance()
            return (yield _read_type_statement(r, export=True))
        if text == "const" and following in ("name", "function"):
            return (yield _read_declaration(r))
        if text in _NEWER and (reading := _newer(r)) is not None:
            r.check_extended("a class" if reading is read_class else "an exported value", start)
            return (yield reading(r))
    elif r.kind != "(":
        r.fail("a statement")
    node = yield read_primary(r)
    if type(node) is m.ExprCall:
        return m.Stat(call=m.StatCall(expr=node))
    if r.kind not in COMPOUNDS and r.kind not in ("=", ","):
        # If the next token begins another statement, the error is where this one begins.
        before, here = (r.source.position(r.starts[r.index + by])[0] for by in (-1, 0))
        is_next = r.kind == "eof" or (r.kind != "error" and before < here)
        r.fail("a call or an assignment", start if is_next else None)
    target = as_assignable(r, node, start)
    if r.kind in COMPOUNDS:
        return (yield read_compound_assignment(r, target, start))
    targets = [target]
    while r.skip(","):
        start = r.index
        targets.append(as_assignable(r, (yield read_primary(r)), start))
    r.expect("=", "and the values to assign")
    return m.Stat(assign=m.StatAssign(vars=targets, values=(yield read_expressions(r))))


def _newer(r: Reader) -> Callable[[Reader], Reading] | None:
    """Return the function that reads the export statement or class that begins here, if any."""
    span = slice(r.index, r.index + 4)
    tokens = zip(r.texts[span], r.kinds[span], strict=True)
    words = [text if text in _NEWER else kind for text, kind in tokens]
    match words:
        case ["export", "local" | "function", *_] | ["export", "const", "name", *_]:
            return _read_declaration
        case (
            ["class", "name", *_]
            | ["open", "class", "name", *_]
            | ["export", "class", "name", *_]
            | ["export", "open", "class", "name"]
        ):
            return read_class
    return None


_NEWER: Final = frozenset({"export", "const", "class", "open"})


_STATEMENTS: Final[dict[str, Callable[[Reader], Reading]]] = {
    "do": _read_do_statement,
    "if": _read_if_statement,
    "while": _read_while_statement,
    "repeat": _read_repeat_statement,
    "return": _read_return_statement,
    "for": _read_for_statement,
    "local": _read_declaration,
    "function": _read_function_statement,
    "@": _read_attributed_statement,
}
