"""Names and constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scriptschema.base import Message
from scriptschema.luau.printing.writer import Write, Writer, write_wrapper
from scriptschema.luau.quoting import quote
from scriptschema.messages import (
    ExprConstantBool,
    ExprConstantNil,
    ExprConstantString,
    ExprPrefix,
    ExprVarargs,
    Local,
    LValue,
    Name,
    StatBreak,
    StatContinue,
    TypeBoolean,
    Typename,
    TypeString,
)

_CONSTANTS: Final[Mapping[type, str]] = {
    ExprConstantNil: "nil",
    ExprVarargs: "...",
    StatBreak: "break",
    StatContinue: "continue",
}


def _write_constant(w: Writer, node: Message) -> None:
    w.out.append(_CONSTANTS[node.__class__])


def _write_local(w: Writer, node: Local) -> None:
    w.out.append(w.names.local(node.name))


def _write_typename(w: Writer, node: Typename) -> None:
    w.out.append(w.names.type(node.index))


def _write_name(w: Writer, node: Name) -> None:
    w.out.append(w.names.field(node))


def write_boolean(w: Writer, node: ExprConstantBool | TypeBoolean) -> None:
    """Print a constant: true or false."""
    w.out.append("true" if node.val else "false")


def write_string(w: Writer, node: ExprConstantString | TypeString) -> None:
    """Print a string constant, in double quotes."""
    w.out.append(quote(node.val))


WRITE: Final[Mapping[type[Message], Write]] = {
    **dict.fromkeys(_CONSTANTS, _write_constant),
    **dict.fromkeys((ExprPrefix, LValue), write_wrapper),
    Local: _write_local,
    Typename: _write_typename,
    Name: _write_name,
    ExprConstantBool: write_boolean,
    TypeBoolean: write_boolean,
    ExprConstantString: write_string,
    TypeString: write_string,
}
"""How to print a message of each kind."""
