"""Patterns for the lines of request files, and patterns that distinguish the dialects."""

from __future__ import annotations

import re

from orgrest.http.syntax import TCHARS

METHODS = (
    "GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS|CONNECT|TRACE|PROPFIND|PROPPATCH|MKCOL|COPY|MOVE|LOCK|"
    "UNLOCK|CHECKOUT|CHECKIN|REPORT|MERGE|MKACTIVITY|MKWORKSPACE|VERSION-CONTROL|BASELINE-CONTROL|"
    "MKCALENDAR|ACL|SEARCH|QUERY|GRAPHQL|WEBSOCKET|WSS|WS|SSE|EVENTSOURCE"
)
# IANA's other methods: accepted only where a request may begin anyway. `Link https://...` is prose.
RARE_METHODS = (
    "BIND|LABEL|LINK|MKREDIRECTREF|ORDERPATCH|PRI|REBIND|UNBIND|UNCHECKOUT|UNLINK|UPDATE|"
    "UPDATEREDIRECTREF"
)
CURL = "a curl command is not read here: 'orgrest import FILE' makes a request of one"
"""The reason why a line that begins with `curl` is not a request."""
# Custom methods must be in capitals: any other word before a URL is prose.
_CUSTOM = r"[A-Z][A-Z0-9_-]*"
FOREIGN_METHODS = {
    "GRPC": "gRPC is not supported: httpyac and JetBrains' HTTP Client send such requests",
    "MQTT": "MQTT is not supported: httpyac sends such requests",
    "AMQP": "AMQP is not supported: httpyac sends such requests",
    "RSOCKET": "RSocket is not supported: JetBrains' HTTP Client sends such requests",
}
# What can be a URL: with a scheme, a path, from a variable, or a host without a scheme.
URL = (
    r"(?:[A-Za-z][A-Za-z0-9+.-]*://|/|\{\{|\*$|localhost\b|\[[0-9A-Fa-f:.]+\]|"
    r"[A-Za-z0-9_](?:[A-Za-z0-9_-]|\{\{[^{}]*\}\})*(?:\.[A-Za-z0-9_-]+|:(?:\d|\{\{)|\{\{|/))"
)
REQUEST = re.compile(
    rf"(?P<method>(?i:{METHODS})|curl|{'|'.join(FOREIGN_METHODS)}|"
    rf"(?:{RARE_METHODS.lower()}|{_CUSTOM})(?=[ \t]+{URL}))"
    r"[ \t]+(?P<target>\S.*)"
)
# Within a request, only these begin the next one, lest words of a body do.
NEXT_REQUEST = re.compile(
    rf"(?P<method>{METHODS}|{'|'.join(FOREIGN_METHODS)})[ \t]+(?P<target>{URL}.*)"
)
BARE = re.compile(rf"(?P<target>(?={URL})(?:\{{\{{[^{{}}]*\}}\}}|\S)*(?:[ \t]+HTTP/\d(?:\.\d)?)?)")
SEPARATOR = re.compile(r"#{3,}(?P<name>.*)")
SEPARATORS = re.compile(rf"^[ \t]*{SEPARATOR.pattern}", re.MULTILINE)
# A multi-line comment, which may contain separators.
LONG_COMMENT = re.compile(r"^[ \t]*/\*(?!.*\*/[ \t\r]*$)", re.MULTILINE)
DIRECTIVE = re.compile(r"(?:#+|//+)[ \t]*@(?P<name>[A-Za-z][\w-]*)(?:[ \t:=]+(?P<value>.*))?")
DEFINITION = re.compile(
    r"@(?:global\.)?(?P<name>[^\s=:{}\"']+)[ \t]*(?P<operator>:?=)[ \t]*(?P<value>.*)"
)
COLON_DEFINITION = re.compile(r":(?P<name>[^\s:={}]+)[ \t]*(?P<operator>:?=)[ \t]*(?P<value>.*)")
VERSION = re.compile(r"(?<![ \t])[ \t]+HTTP/(\d(?:\.\d)?)$", re.IGNORECASE)
HEADER = re.compile(rf"(?P<name>(?:{TCHARS}|\{{\{{[^{{}}]+\}}\}})+)[ \t]*:(?:[ \t]*)(?P<value>.*)")
HEADER_VARIABLE = re.compile(r"\{\{[ \t]*([^\s{}]+)[ \t]*\}\}")
HEADER_SPREAD = re.compile(r"\.\.\.[ \t]*([^\s{}].*)")
CONTINUED = re.compile(r"[?&/#]|\{\{[^{}]*\}\}[^\s:]*$")
RESPONSE = re.compile(r"HTTP/\d(?:\.\d)?[ \t]+\d{3}\b.*")
SCRIPT_LINE = re.compile(r"(?P<mark>[<>])[ \t]*\{%(?P<text>.*?)(?P<end>%\})?")
SCRIPT_FILE = re.compile(r"(?P<mark>[<>])[ \t]+(?P<path>[^\s{%}]+(?:\.js|\.mjs|\.ts))")
HANDLER_FILE = re.compile(r">[ \t]+(?P<path>[^\s{%}>][^{%}]*)")
HTTPYAC = re.compile(
    r"\{\{(?:@js(?:[ \t]+|$))?(?P<every>[+@]?)(?P<event>request|streaming|response|after|"
    r"responseLogging)?",
    re.IGNORECASE,
)
SAVING = re.compile(r">>(?P<force>!?)[ \t]+(?P<path>\S.*)")
HISTORY = re.compile(r"<>[ \t]*(?P<path>\S.*)")
ASSERTION = re.compile(r"\?\?[ \t]*(?P<text>.*)")
ASSERTION_COMMENT = re.compile(r"(?:#+|//+)[ \t]*\?\?(?!\?)[ \t]*(?P<text>.*)")
INCLUSION = re.compile(r"<(?:(?P<expand>@)(?P<encoding>[\w-]+)?)?[ \t]+(?P<path>(?!\{%)\S.*)")
GRAPHQL_FILE = re.compile(
    r"gql(?:[ \t]+(?P<operation>[^\s(<]+))?[ \t]+<[ \t]+(?P<path>(?!\{%)\S.*)"
)
GRAPHQL_FRAGMENT = re.compile(r"fragment[ \t]+\S+[ \t]+on\b.*")
# The beginning of a body in GraphQL, and in no other language with such keywords.
GRAPHQL = re.compile(
    r"\s*(?:query|mutation)(?:\s+\w+)?\s*(?:\([^(){}]*\)\s*)?(?:@\w+[^{}]*)?\{", re.ASCII
)
GRAPHQL_TYPE = re.compile(r"(?i:application/graphql\b)")
IMPORT = re.compile(r"(?P<word>import|run)[ \t]+(?P<what>\S.*)")
RUN = re.compile(
    r"(?P<path>[^#\s][^#]*?)?(?:[ \t]*#[ \t]*(?P<request>[^(\s][^(]*?))?[ \t]*"
    r"(?P<values>\([ \t]*@.*)?"
)
GIVEN = re.compile(r"@(?P<name>[^\s=:{}\"']+)[ \t]*=[ \t]*(?P<value>.*?)[ \t]*")
MULTIPART = re.compile(r"(?i:multipart/(?!form-data)|message/|application/http\b)")
MARKDOWN = re.compile(r"(?i:text/(?:x-)?markdown)")

# Syntax that only restclient's files have, and syntax that only the others have.
RESTCLIENT = re.compile(
    r"^[ \t]*(?::[^\s:=/{}]+[ \t]*:?=|:[A-Za-z_][\w-]*[ \t]*$|->[ \t]|<<[A-Za-z_]\w*[ \t]*$|"
    r"[A-Z]{3,}[ \t]+:[^\s:=/\d])",
    re.MULTILINE,
)
COMMON = re.compile(
    r"^[ \t]*(?:@[^\s=:{}]+[ \t]*:?=|(?:#|//)+[ \t]*@[A-Za-z]|[<>][ \t]*\{%|\?\?[ \t]|>>!?[ \t]|"
    r"<>[ \t]|<@|\{\{(?:@\w+|\+\w*)?[ \t]*$)|\{\{[ \t]*\$",
    re.MULTILINE,
)
# Syntax that only JetBrains' HTTP Client has, and syntax that only httpyac has.
_JETBRAINS = re.compile(
    r"^[ \t]*(?:[<>][ \t]*\{%|(?:import|run)[ \t]+\S|"
    r"(?:#|//)+[ \t]*@(?:connection-timeout|no-auto-encoding)\b)",
    re.MULTILINE,
)
_HTTPYAC = re.compile(
    r"^[ \t]*(?:\?\?[ \t]|\{\{(?:[@+]\w*)?[ \t]*$|"
    r"(?:#|//)+[ \t]*@(?:ref|force-?ref|loop|import|sleep|rate-?limit)\b)",
    re.MULTILINE | re.IGNORECASE,
)


def is_jetbrains(text: str) -> bool:
    """Return whether a file has syntax that only JetBrains has, and none that only httpyac has."""
    return _JETBRAINS.search(text) is not None and _HTTPYAC.search(text) is None


def is_httpyac(text: str) -> bool:
    """Return whether a file has syntax that only httpyac has, and none that only JetBrains has."""
    return _HTTPYAC.search(text) is not None and _JETBRAINS.search(text) is None


def is_restclient(text: str) -> bool | None:
    """Return whether a text's syntax is restclient's; None if it is ambiguous.

    Its marks are `:name = value`, `:name` alone on a line, `-> jq-set-var`, a body in `<<END`, and
    a URL that begins with `:name`; a mark of the other tools, such as `@name = value`, takes
    precedence.
    """
    if COMMON.search(text) is not None:
        return False
    return True if RESTCLIENT.search(text) is not None else None


def begins_request(text: str) -> bool:
    """Matches a line that begins a request anywhere."""
    return NEXT_REQUEST.fullmatch(text.strip()) is not None
