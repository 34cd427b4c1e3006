"""The patterns for the lines of restclient's language."""

from __future__ import annotations

import re

from orgrest.http.syntax import TCHARS

# Each pattern matches a line without surrounding blanks. Those for lines that begin something use
# named groups, so that they can be combined into one pattern.
REQUEST = re.compile(
    rf"(?={TCHARS}[ \t])(?=(?i:GET|POST|DELETE|PUT|HEAD|OPTIONS|PATCH|TRACE|CONNECT)[ \t]|"
    rf"{TCHARS}[ \t]+(?:[A-Za-z][A-Za-z0-9+.-]*://|/|:[^\s:=/]|\{{\{{))"
    rf"(?P<method>{TCHARS})[ \t]+(?P<target>\S.*)"
)
DEFINITION = re.compile(r":(?P<name>[^\s:={}]+)[ \t]*(?P<operator>:?=)[ \t]*(?P<value>.*)")
HERE = re.compile(r"<<[ \t]*([A-Za-z_][A-Za-z0-9_]*)?")
BODY_HERE = re.compile(r"<<(?P<word>[A-Za-z_][A-Za-z0-9_]*)")
HOOK = re.compile(r"->[ \t]*(?P<hook>\S+)(?:[ \t]+(?P<rest>.*))?")
SET_VAR = re.compile(r":([^\s:=]+)[ \t]+(\S.*)")
VERSION = re.compile(r"(?<![ \t])[ \t]+HTTP/(\d(?:\.\d)?)$")
HEADER = re.compile(rf"((?:{TCHARS}|\{{\{{[^\s{{}}]+\}}\}})+|:[^\s:=]+(?=:[ \t])):[ \t]?(.*)")
HEADER_VARIABLE = re.compile(r":([^\s:=]+)|\{\{[ \t]*([^\s{}]+)[ \t]*\}\}")
FILE = re.compile(r"<(?:[ \t]++([^<>]++)|(?=[^<>\s=\"'./]*+[./])([^<>\s=\"']++))")
# An assertion: in a comment, which Emacs never sends, or on a separate line, as in request files.
ASSERTION = re.compile(r"(?:#+[ \t]*)?\?\?(?!\?)[ \t]*(?P<text>.*)")
# Lines of other tools' request files: a variable, a URL without a method.
FOREIGN = re.compile(r"@([\w.-]+)[ \t]*=[ \t]*(.*)|(https?://\S+)")


def is_request_line(text: str) -> bool:
    """Matches a line that begins a request: a method, blanks, and a possible URL."""
    return REQUEST.fullmatch(text.lstrip(" \t")) is not None
