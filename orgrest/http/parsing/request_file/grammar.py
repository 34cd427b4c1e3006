"""Patterns for the lines of request files, and functions that recognize their dialects."""

from __future__ import annotations

import re
from functools import lru_cache

from orgrest.http.syntax import TCHARS
from orgrest.regular import compiled

METHODS = (
    "GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS|CONNECT|TRACE|PROPFIND|PROPPATCH|MKCOL|COPY|MOVE|LOCK|"
    "UNLOCK|CHECKOUT|CHECKIN|REPORT|MERGE|MKACTIVITY|MKWORKSPACE|VERSION-CONTROL|BASELINE-CONTROL|"
    "MKCALENDAR|ACL|SEARCH|QUERY|GRAPHQL|WEBSOCKET|WSS|WS|SSE|EVENTSOURCE"
)
# IANA's other methods. They are accepted only where a request can begin, and only in capitals or in
# lower case, because `Link https://...` is prose.
RARE_METHODS = (
    "BIND|LABEL|LINK|MKREDIRECTREF|ORDERPATCH|PRI|REBIND|UNBIND|UNCHECKOUT|UNLINK|UPDATE|"
    "UPDATEREDIRECTREF"
)
CURL = "curl commands are not supported here: 'orgrest import FILE' converts them to requests"
"""The error message for a line that begins with `curl`."""
# Custom methods must be in capitals: any other word before a URL is prose.
_CUSTOM = r"[A-Z][A-Z0-9_-]*"
FOREIGN_METHODS = {
    "GRPC": "gRPC is not supported; httpyac and JetBrains' HTTP Client can send such requests",
    "MQTT": "MQTT is not supported; httpyac can send such requests",
    "AMQP": "AMQP is not supported; httpyac can send such requests",
    "RSOCKET": "RSocket is not supported; JetBrains' HTTP Client can send such requests",
}
# The beginning of a URL: a scheme, a path, a variable, or a host without a scheme.
URL = (
    r"(?:[A-Za-z][A-Za-z0-9+.-]*://|/|\{\{|\*$|localhost\b|\[[0-9A-Fa-f:.]+\]|"
    r"[A-Za-z0-9_](?:[A-Za-z0-9_-]|\{\{[^{}]*\}\})*(?:\.[A-Za-z0-9_-]+|:(?:\d|\{\{)|\{\{|/))"
)
REQUEST = compiled(
    rf"(?P<method>(?i:{METHODS})|curl|{'|'.join(FOREIGN_METHODS)}|"
    rf"(?:{RARE_METHODS.lower()}|{_CUSTOM})(?=[ \t]+{URL}))"
    r"[ \t]+(?P<target>\S.*)"
)
# Within a request, only these lines begin the next request: other words may belong to a body.
NEXT_REQUEST = compiled(
    rf"(?P<method>{METHODS}|{'|'.join(FOREIGN_METHODS)})[ \t]+(?P<target>{URL}.*)"
)
BARE = compiled(rf"(?P<target>(?={URL})(?:\{{\{{[^{{}}]*\}}\}}|\S)*(?:[ \t]+HTTP/\d(?:\.\d)?)?)")
SEPARATOR = compiled(r"#{3,}(?P<name>.*)")
RULE = compiled(r"[-=*_~+.#\s]*")
# Texts get a newline prepended, because a search for a pattern that begins with it is fast.
SEPARATORS = compiled(rf"\n[ \t]*{SEPARATOR.pattern}")
# A multi-line comment, which may contain separators.
LONG_COMMENT = compiled(r"\n[ \t]*/\*(?!.*\*/[ \t\r]*$)", re.MULTILINE)
DIRECTIVE = compiled(
    r"(?:(?:#+|//+)[ \t]*@|@(?=xpath_ns[ \t]))(?P<name>[A-Za-z][\w-]*)"
    r"(?:(?P<separator>[ \t:=]+)(?P<value>.*))?"
)
DEFINITION = compiled(
    r"@(?:global\.)?(?P<name>[^\s=:{}\"']+)[ \t]*(?P<operator>:?=)[ \t]*(?P<value>.*)"
)
# In the value of a definition: a dynamic value or an expression, but not an environment variable,
# a secret, a token, a prompt, a folder or a part of the response to a named request.
COMPUTED = compiled(
    r"\{\{[ \t]*+(?:\$(?!processEnv|env\.|dotenv|secret|projectRoot|auth|input|prompt|password|\.)|"
    r"(?!\$|[\w-]+\.(?:request|response)\.|process\.env(?:\.|\[[\"'])\w+(?:[\"']\])?[ \t]*\})"
    r"[^{}]*[^\w{} \t$-])"
)
VERSION = compiled(r"(?<![ \t])[ \t]+HTTP/(\d(?:\.\d)?)$", re.IGNORECASE)
HEADER = compiled(rf"(?P<name>(?:{TCHARS}|\{{\{{[^{{}}]+\}}\}})+)[ \t]*:(?:[ \t]*)(?P<value>.*)")
HEADER_VARIABLE = compiled(r"\{\{[ \t]*([^\s{}]+)[ \t]*\}\}")
HEADER_SPREAD = compiled(r"\.\.\.[ \t]*(\S.*)")
CONTINUED = compiled(r"[?&/#]|\{\{[^{}]*\}\}[^\s:]*$")
# A part of a path on a separate line, in JetBrains' HTTP Client.
SEGMENT = compiled(r"[\w%.~{}$+-]+(?:[/?#]\S*)?")
RESPONSE = compiled(r"HTTP/\d(?:\.\d)?[ \t]+\d{3}\b.*")
SCRIPT_LINE = compiled(r"(?P<mark>[<>])[ \t]*\{%(?P<text>.*?)(?P<end>%\})?")
SCRIPT_FILE = compiled(
    r"(?P<mark>[<>])[ \t]+(?P<path>(?:\{\{[^{}]*\}\}|[^\s{%}])+(?:\.js|\.mjs|\.ts))"
)
HANDLER_FILE = compiled(r">[ \t]+(?P<path>[^\s{%}>][^{%}]*)")
HTTPYAC = compiled(
    r"\{\{(?:@js(?:[ \t]+|$))?(?P<every>[+@]?)(?P<event>request|streaming|response|after|"
    r"responseLogging)?",
    re.IGNORECASE,
)
SAVING = compiled(r">>(?P<force>!?)[ \t]+(?P<path>\S.*)")
HISTORY = compiled(r"<>[ \t]*(?P<path>\S.*)")
ASSERTION = compiled(r"\?\?[ \t]*(?P<text>.*)")
ASSERTION_COMMENT = compiled(r"(?:#+|//+)[ \t]*\?\?(?!\?)[ \t]*(?P<text>.*)")
INCLUSION = compiled(r"<(?:(?P<expand>@)(?P<encoding>[\w-]+)?)?[ \t]+(?P<path>(?!\{%)\S.*)")
GRAPHQL_FILE = compiled(r"gql(?:[ \t]+(?P<operation>[^\s(<]+))?[ \t]+<[ \t]+(?P<path>(?!\{%)\S.*)")
GRAPHQL_FRAGMENT = compiled(r"fragment[ \t]+\S+[ \t]+on\b.*")
# The beginning of a GraphQL body; other languages with these keywords do not match.
GRAPHQL = compiled(
    r"\s*(?:query|mutation)(?:\s+\w+)?\s*(?:\([^(){}]*\)\s*)?(?:@\w+[^{}]*)?\{", re.ASCII
)
GRAPHQL_TYPE = compiled(r"(?i:application/graphql)[ \t]*(?:;|\Z)")
JSON_TYPE = compiled(r"(?i:application/json)[ \t]*(?:;|\Z)")
IMPORT = compiled(r"(?P<word>import|run)[ \t]+(?P<what>\S.*)")
# Within a body, only these lines look like instructions: `run` and `import` may also begin prose.
IMPORT_IN_BODY = compiled(
    r"(?:run[ \t]+#\S|(?:import|run)[ \t]+[^\s#]+\.(?:http|rest)(?=[ \t]*(?:[#(]|$))).*"
)
RUN = compiled(
    r"(?P<path>[^#\s][^#]*?)?(?:[ \t]*#[ \t]*(?P<request>[^(\s][^(]*?))?[ \t]*"
    r"(?P<values>\([ \t]*@.*)?"
)
RUN_VALUE = compiled(r"@(?P<name>[^\s=:{}\"']+)[ \t]*=[ \t]*(?P<value>.*?)[ \t]*")
MULTIPART = compiled(r"(?i:multipart/(?!form-data)|message/|application/http\b)")
MARKDOWN = compiled(r"(?i:text/(?:x-)?markdown)")

# RESTCLIENT matches restclient-only syntax, and COMMON matches syntax of the other tools only.
RESTCLIENT = compiled(
    r"\n[ \t]*(?::[^\s:=/{}]+[ \t]*:?=|:[A-Za-z_][\w-]*[ \t]*$|->[ \t]|<<[A-Za-z_]\w*[ \t]*$|"
    r"[A-Z]{3,}[ \t]+:[^\s:=/\d])",
    re.MULTILINE,
)
COMMON = compiled(
    r"\n[ \t]*(?=[@#/<>?{])(?:@[^\s=:{}]+[ \t]*:?=|(?:#|//)+[ \t]*@[A-Za-z]|[<>][ \t]*\{%|"
    r"\?\?[ \t]|>>!?[ \t]|<>[ \t]|<@|\{\{(?:@\w+|\+\w*)?[ \t]*$)",
    re.MULTILINE,
)
DYNAMIC = compiled(r"\{\{[ \t]*\$")
# Patterns for syntax that only JetBrains' HTTP Client supports, and for httpyac-only syntax.
_JETBRAINS = compiled(
    r"^[ \t]*(?:[<>][ \t]*\{%|(?:import|run)[ \t]+\S|"
    r"(?:#|//)+[ \t]*@(?:connection-timeout|no-auto-encoding)\b)",
    re.MULTILINE,
)
_HTTPYAC = compiled(
    r"^[ \t]*(?:\?\?[ \t]|\{\{(?:[@+]\w*)?[ \t]*$|"
    r"(?:#|//)+[ \t]*@(?:ref|force-?ref|loop|import|sleep|rate-?limit)\b)",
    re.MULTILINE | re.IGNORECASE,
)


@lru_cache(maxsize=8)  # each @timeout in a file depends on it
def is_jetbrains(text: str) -> bool:
    """Return whether a file uses JetBrains-only syntax and no httpyac-only syntax."""
    return _JETBRAINS.search(text) is not None and _HTTPYAC.search(text) is None


def is_httpyac(text: str) -> bool:
    """Return whether a file uses httpyac-only syntax and no JetBrains-only syntax."""
    return _HTTPYAC.search(text) is not None and _JETBRAINS.search(text) is None


def is_restclient(text: str) -> bool | None:
    """Return whether `text` is in restclient's language, or None if its syntax is ambiguous.

    Syntax of the other tools, such as `@name = value`, takes precedence. restclient's syntax is `->
    jq-set-var`, `:name = value`, `:name` alone on a line, `<<END`, or a URL that begins with
    `:name`.
    """
    lined = f"\n{text}"
    if COMMON.search(lined) is not None or DYNAMIC.search(text) is not None:
        return False
    return True if RESTCLIENT.search(lined) is not None else None


def begins_request(text: str) -> bool:
    """Return whether a line always begins a request, even if it is within another request."""
    return NEXT_REQUEST.fullmatch(text.strip()) is not None
