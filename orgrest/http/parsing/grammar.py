"""Patterns for the lines of restclient's request language."""

from __future__ import annotations

from orgrest.http.syntax import TCHARS
from orgrest.regular import compiled

# Each pattern matches a line without surrounding whitespace. Patterns for lines that begin an item
# use named groups, so that they can be combined into one pattern.
REQUEST = compiled(
    rf"(?={TCHARS}[ \t])(?=(?i:GET|POST|DELETE|PUT|HEAD|OPTIONS|PATCH|TRACE|CONNECT)[ \t]|"
    rf"{TCHARS}[ \t]+(?:[A-Za-z][A-Za-z0-9+.-]*://|/|:[^\s:=/]|\{{\{{))"
    rf"(?P<method>{TCHARS})[ \t]+(?P<target>\S.*)"
)
DEFINITION = compiled(r":(?P<name>[^\s:={}]+)[ \t]*(?P<operator>:?=)[ \t]*(?P<value>.*)")
HERE = compiled(r"<<[ \t]*([A-Za-z_][A-Za-z0-9_]*)?")
BODY_HERE = compiled(r"<<(?P<word>[A-Za-z_][A-Za-z0-9_]*)")
HOOK = compiled(r"->[ \t]*(?P<hook>\S+)(?:[ \t]+(?P<rest>.*))?")
SET_VAR = compiled(r":([^\s:=]+)[ \t]+(\S.*)")
VERSION = compiled(r"(?<![ \t])[ \t]+HTTP/(\d(?:\.\d)?)$")
HEADER = compiled(rf"((?:{TCHARS}|\{{\{{[^\s{{}}]+\}}\}})+|:[^\s:=]+(?=:[ \t])):[ \t]?(.*)")
HEADER_VARIABLE = compiled(r":([^\s:=]+)|\{\{[ \t]*([^\s{}]+)[ \t]*\}\}")
FILE = compiled(r"<(?:[ \t]++([^<>]++)|(?=[^<>\s=\"'./]*+[./])([^<>\s=\"']++))")
# An assertion: in a comment, which Emacs never sends, or on a separate line, as in request files.
ASSERTION = compiled(r"(?:#+[ \t]*)?\?\?(?!\?)[ \t]*(?P<text>.*)")
# An assertion with a wrong marker: too few or too many question marks, a comment of another
# language, or characters that a keyboard's autocorrection inserted.
MISMARKED = compiled(
    r"(?:#+|//+|;+|--|/\*)?[ \t]*[?\uff1f\u2047]+[ \t]*(?P<text>.*?)(?:[ \t]*\*/)?"
)
# How hurl asserts the status of a response.
HURL_STATUS = compiled(r"HTTP[ \t]+(?P<status>[1-5]\d\d)")
# Lines of other tools' request files: a variable, or a URL without a method.
FOREIGN = compiled(r"@([\w.-]+)[ \t]*=[ \t]*(.*)|(https?://\S+)")


def is_request_line(text: str) -> bool:
    """Return whether a line begins a request: a method, whitespace, and text that may be a URL."""
    return REQUEST.fullmatch(text.lstrip(" \t")) is not None
