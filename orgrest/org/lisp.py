"""Reads the subset of Emacs Lisp found in header arguments, without running it.

Numbers, strings and quoted lists are read and written. `understand` computes the value of code that
only joins strings (``concat``, ``identity``). `forms` parses code for callers that interpret a few
known functions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from orgrest import classes
from orgrest.org.blocks import ArgumentError
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

STRING = compiled(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
NUMBER = compiled(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")

MAX_DEPTH = 50

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "e": "\x1b", "s": " ", " ": "", "\n": ""}
_TOKEN = compiled(r'\s*(?:(\()|(\))|("(?:[^"\\]|\\.)*")|([^\s()"]+))', re.DOTALL)
_FUNCTIONS = frozenset({"concat", "identity"})


@classes.frozen
class Number:
    """A Lisp number that keeps its spelling in the source."""

    text: str


@classes.frozen
class Symbol:
    """A symbol in Lisp code."""

    text: str


Form: TypeAlias = "str | Number | Symbol | list[Form]"
Literal: TypeAlias = "str | Number | list[Literal] | None"


def unquote(text: str) -> str:
    """Return the value of a Lisp string literal, given with its quotes."""
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1], flags=re.DOTALL)


def forms(text: str) -> list[Form]:
    """Parse Lisp code into forms. Raises ArgumentError if it is malformed.

    Calls are lists. Other forms are strings, numbers and symbols.
    """
    parsed: list[Form] = []
    stack = [parsed]
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or (match[2] and len(stack) == 1):
            raise ArgumentError(f"invalid Lisp: {text}")
        if len(stack) > MAX_DEPTH:
            raise ArgumentError(f"the Lisp is nested more than {MAX_DEPTH} levels deep")
        at = match.end()
        opened, closed, quoted, word = match.groups()
        if opened:
            inner: list[Form] = []
            stack[-1].append(inner)
            stack.append(inner)
        elif closed:
            stack.pop()
        elif quoted:
            stack[-1].append(unquote(quoted))
        else:
            stack[-1].append(Number(word) if NUMBER.fullmatch(word) else Symbol(word))
    if len(stack) > 1:
        raise ArgumentError(f"unclosed Lisp expression: {text}")
    return parsed


def literal(form: Form) -> Literal:
    """Return the value of quoted data: `nil` is None, and any other symbol is its name."""
    if isinstance(form, list):
        return [literal(item) for item in form]
    if isinstance(form, Symbol):
        return None if form.text == "nil" else form.text
    return form


def understand(lisp: str, variables: Mapping[str, str]) -> str:
    """Return the value of Emacs Lisp code that only joins strings.

    The code is a constant, one of the `variables`, or a call to ``concat`` or ``identity``. Any
    other code is not run and raises ArgumentError.
    """
    refusal = ArgumentError(f"Emacs Lisp is not run: {' '.join(lisp.split())}")
    strings: list[str] = []
    depth = 0
    done = False
    at, end = 0, len(lisp.rstrip())
    while at < end:
        match = _TOKEN.match(lisp, at)
        if match is None or done:
            raise refusal
        at = match.end()
        opened, closed, text, word = match.groups()
        if opened:
            function = _TOKEN.match(lisp, at)
            if function is None or function[4] not in _FUNCTIONS:
                raise refusal
            at = function.end()
            depth += 1
        elif closed:
            depth -= 1
        elif text:
            strings.append(unquote(text))
        elif word in variables:
            strings.append(variables[word])
        elif re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", word) and not depth:
            strings.append(word)
        else:
            raise refusal
        if depth < 0:
            raise refusal
        done = depth == 0
    if not done:
        raise refusal
    return "".join(strings)


def write_string(text: str) -> str:
    """Return `text` as a Lisp string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_number(text: str) -> str:
    """Return a number as Lisp would print it."""
    if not re.fullmatch(r"[-+]?[0-9]+\.?", text):
        number = float(text)
        written = (f"{number:.{digits}g}" for digits in (15, 16, 17))
        shortest = next(each for each in written if float(each) == number)
        is_whole = re.fullmatch(r"-?[0-9]+", shortest)
        return f"{shortest}.0" if is_whole else shortest.replace("inf", "1.0e+INF")
    digits = text.strip("+-.").lstrip("0") or "0"  # int() would refuse thousands of digits
    return f"-{digits}" if text[0] == "-" and digits != "0" else digits


def write(value: object, string: Callable[[str], str] = write_string) -> str:
    """Return a value as Lisp data. `string` writes the strings in it."""
    if isinstance(value, Number):
        return write_number(value.text)
    if isinstance(value, list):
        return "(" + " ".join(write(item, string) for item in value) + ")" if value else "nil"
    return "nil" if value is None else string(str(value))


def write_pair(name: str, value: object) -> str:
    """Return the pair of a symbol and a value as Lisp data."""
    if value is None or isinstance(value, list):
        return f"({' '.join([name, *map(write, value or ())])})"
    return f"({name} . {write(value)})"
