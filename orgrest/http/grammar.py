"""What the lines of restclient's language look like, and which of them begin something."""

from __future__ import annotations

import re

from orgrest.http.syntax import TCHARS

# The lines of the language, from the first character that is no blank to the last. Those that begin
# something carry names for their groups, so that they can be looked for together.
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
# A comment that holds an assertion: Emacs never sends it.
ASSERTION = re.compile(r"#+[ \t]*\?\?[ \t]*(?P<text>.*)")
# What other tools' request files have: a variable, a URL without a method.
FOREIGN = re.compile(r"@([\w.-]+)[ \t]*=[ \t]*(.*)|(https?://\S+)")


def is_request_line(text: str) -> bool:
    """Whether a line begins a request: a method, blanks, and what can be a URL."""
    return REQUEST.fullmatch(text.lstrip(" \t")) is not None
