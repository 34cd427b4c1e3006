"""Prints names and constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.luau.literals import integer_text, number_text
from scriptschema.luau.names import TYPE_FUNCTIONS
from scriptschema.luau.printing.writer import UNSET, Write, Writer, write_wrapper
from scriptschema.luau.quoting import quote

_CONSTANTS: Final[Mapping[type, str]] = {
    m.ExprConstantNil: "nil",
    m.ExprVarargs: "...",
    m.StatBreak: "break",
    m.StatContinue: "continue",
}


def _write_constant(w: Writer, node: Message) -> None:
    w.out.append(_CONSTANTS[node.__class__])


def _write_typename(w: Writer, node: m.Typename) -> None:
    if node.kind == m.Typename.Kind.Builtin:
        w.out.append(TYPE_FUNCTIONS[node.index % len(TYPE_FUNCTIONS)])
    else:
        w.out.append(w.names.type(node.index))


def write_boolean(w: Writer, node: m.ExprConstantBool | m.TypeBoolean) -> None:
    """Print the constant `true` or `false`."""
    w.out.append("true" if node.val else "false")


def write_number(w: Writer, node: m.ExprConstantNumber) -> None:
    """Print a number constant in decimal digits."""
    w.out.append(str(node.val) if node.double is None else number_text(node.double))


def write_string(w: Writer, node: m.ExprConstantString | m.TypeString) -> None:
    """Print a string constant in double quotes."""
    w.out.append(quote(node.val))


WRITE: Final[Mapping[type[Message], Write]] = {
    **dict.fromkeys(_CONSTANTS, _write_constant),
    **dict.fromkeys((m.ExprPrefix, m.LValue, m.ExprLiteral), write_wrapper),
    m.Local: lambda w, node: w.out.append(w.names.local(node.name)),
    m.Typename: _write_typename,
    m.Name: lambda w, node: w.out.append(w.names.field(node)),
    m.ExprConstantBool: write_boolean,
    m.TypeBoolean: write_boolean,
    m.ExprConstantNumber: write_number,
    m.ExprConstantInteger: lambda w, node: w.out.append(integer_text(node.val)),
    m.ExprConstantString: write_string,
    m.TypeOmitted: lambda w, _: w.out.append(UNSET),  # a type is required here
    m.TypeString: write_string,
}
"""Maps each kind of message to the function that prints it."""
