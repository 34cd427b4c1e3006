"""What each kind of line of a request file looks like, and what tells the dialects apart."""

from __future__ import annotations

import re

from orgrest.http.syntax import TCHARS

METHODS = (
    "GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS|CONNECT|TRACE|PROPFIND|PROPPATCH|MKCOL|COPY|MOVE|LOCK|"
    "UNLOCK|CHECKOUT|CHECKIN|REPORT|MERGE|MKACTIVITY|MKWORKSPACE|VERSION-CONTROL|BASELINE-CONTROL|"
    "MKCALENDAR|ACL|SEARCH|QUERY|GRAPHQL|WEBSOCKET|WSS|WS|SSE|EVENTSOURCE"
)
# IANA's other methods: before a URL, where a request may begin anyhow. `Link https://...` is prose.
RARE_METHODS = (
    "BIND|LABEL|LINK|MKREDIRECTREF|ORDERPATCH|PRI|REBIND|UNBIND|UNCHECKOUT|UNLINK|UPDATE|"
    "UPDATEREDIRECTREF"
)
CURL = "orgrest curl --from-curl '...' makes a request of a curl command, which is not read here"
"""Why a line that begins with `curl` is no request."""
# Methods of one's own are in capitals: a word before a URL is prose.
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
# Within a request, only these begin the next one: words of a body must not.
NEXT_REQUEST = re.compile(
    rf"(?P<method>{METHODS}|{'|'.join(FOREIGN_METHODS)})[ \t]+(?P<target>{URL}.*)"
)
BARE = re.compile(rf"(?P<target>(?={URL})(?:\{{\{{[^{{}}]*\}}\}}|\S)*(?:[ \t]+HTTP/\d(?:\.\d)?)?)")
SEPARATOR = re.compile(r"#{3,}(?P<name>.*)")
SEPARATORS = re.compile(rf"^[ \t]*{SEPARATOR.pattern}", re.MULTILINE)
DIRECTIVE = re.compile(r"(?:#+|//+)[ \t]*@(?P<name>[A-Za-z][\w-]*)(?:[ \t:=]+(?P<value>.*))?")
DEFINITION = re.compile(
    r"@(?:global\.)?(?P<name>[^\s=:{}\"']+)[ \t]*(?P<operator>:?=)[ \t]*(?P<value>.*)"
)
COLON_DEFINITION = re.compile(r":(?P<name>[^\s:={}]+)[ \t]*(?P<operator>:?=)[ \t]*(?P<value>.*)")
VERSION = re.compile(r"(?<![ \t])[ \t]+HTTP/(\d(?:\.\d)?)$", re.IGNORECASE)
HEADER = re.compile(rf"(?P<name>(?:{TCHARS}|\{{\{{[^{{}}]+\}}\}})+)[ \t]*:(?:[ \t]*)(?P<value>.*)")
HEADER_VARIABLE = re.compile(r"\{\{[ \t]*([^\s{}]+)[ \t]*\}\}")
CONTINUED = re.compile(r"[?&/#]|\{\{[^{}]*\}\}[^\s:]*$")
RESPONSE = re.compile(r"HTTP/\d(?:\.\d)?[ \t]+\d{3}\b.*")
SCRIPT_LINE = re.compile(r"(?P<mark>[<>])[ \t]*\{%(?P<text>.*?)(?P<end>%\})?")
SCRIPT_FILE = re.compile(r"(?P<mark>[<>])[ \t]+(?P<path>[^\s{%}]+(?:\.js|\.mjs|\.ts))")
HANDLER_FILE = re.compile(r">[ \t]+(?P<path>[^\s{%}>][^{%}]*)")
HTTPYAC = re.compile(
    r"\{\{(?:@js[ \t]+)?(?P<every>[+@]?)(?P<event>request|streaming|response|after|"
    r"responseLogging)?",
    re.IGNORECASE,
)
SAVING = re.compile(r">>(?P<force>!?)[ \t]+(?P<path>\S.*)")
HISTORY = re.compile(r"<>[ \t]*(?P<path>\S.*)")
ASSERTION = re.compile(r"\?\?[ \t]*(?P<text>.*)")
INCLUSION = re.compile(r"<(?:(?P<expand>@)(?P<encoding>[\w-]+)?)?[ \t]+(?P<path>(?!\{%)\S.*)")
GRAPHQL_FILE = re.compile(
    r"gql(?:[ \t]+(?P<operation>[^\s(<]+))?[ \t]+<[ \t]+(?P<path>(?!\{%)\S.*)"
)
GRAPHQL_FRAGMENT = re.compile(r"fragment[ \t]+\S+[ \t]+on\b.*")
# How a body begins that is GraphQL, and no other language that has such words.
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

# What restclient's files have and no other tool's, and what the others' have.
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
# What JetBrains' HTTP Client alone has, and what httpyac alone has.
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
    """Tell whether a request file is JetBrains' by its own marks, and has none of httpyac's."""
    return _JETBRAINS.search(text) is not None and _HTTPYAC.search(text) is None


def is_restclient(text: str) -> bool | None:
    """Tell whether a text is in restclient's language, by its own marks; None if it has none.

    Those are `:name = value`, `:name` alone on a line, `-> jq-set-var`, a body in `<<END`, and a
    URL that begins with `:name`; a mark of the other tools, such as `@name = value`, decides.
    """
    if COMMON.search(text) is not None:
        return False
    return True if RESTCLIENT.search(text) is not None else None


def begins_request(text: str) -> bool:
    """Whether a line begins a request wherever it stands."""
    return NEXT_REQUEST.fullmatch(text.strip()) is not None
