"""The table of directives in request files, `# @name value`.

A row has the purpose of a directive, whether it changes the request, and, if orgrest does not
support it, the reason: the request is then an error, because sending it would not do what its
author intended. An unknown directive causes a notice. Names are compared without hyphens and case,
as in httpyac (`@no-redirect` is `@noRedirect`).

Sources: VS Code REST Client's README; JetBrains' HTTP Client reference; httpyac's guide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs


@attrs.frozen
class Rule:
    """A directive: its spelling, its value, and its purpose.

    `refused` is the reason why a request with it is not sent, or empty. A directive that `informs`
    has no effect here: it concerns the display of another tool. A directive that `names` a request
    must have a value. A directive that `acts` before a request is sent is implemented in the module
    of its name in `orgrest/run/directives`.
    """

    name: str
    value: str
    description: str
    refused: str = ""
    informs: bool = False
    names: bool = False
    acts: bool = False

    @property
    def about(self) -> str:
        """The description that editors show."""
        effect = f"A request with it is not sent: {self.refused}." if self.refused else ""
        effect = "For other tools: nothing changes here." if self.informs else effect
        return "\n\n".join(filter(None, (self.description, effect)))


_TABLE: Final = (
    Rule(
        "name",
        "NAME",
        "Names the request: others refer to its response by this name.",
        names=True,
    ),
    Rule("title", "TEXT", "A title for the request.", informs=True),
    Rule("description", "TEXT", "Describes the request.", informs=True),
    Rule("tag", "TAG, ...", "Tags the request, so that a run can choose it."),
    Rule("prompt", "NAME [DESCRIPTION]", "Asks for the value of a variable before sending."),
    Rule("note", "[QUESTION]", "Asks before the request is sent.", acts=True),
    Rule("disabled", "[EXPRESSION]", "The request is not sent, unless an expression is false."),
    Rule("ref", "NAME", "Sends the named request first, once a run.", names=True),
    Rule("force-ref", "NAME", "Sends the named request first, each time.", names=True),
    Rule(
        "openapi",
        "FILE",
        "An OpenAPI description: this request and those below it are checked against it.",
    ),
    Rule("import", "FILE", "The requests and variables of another file can be named here."),
    Rule("loop", "for N | for NAME of LIST | while EXPRESSION", "Sends the request several times."),
    Rule("file-to-variable", "NAME FILE", "Sets a variable to the text of a file (Kulala's)."),
    Rule(
        "env-json-key",
        "NAME PATH",
        "Sets a variable to a value in the JSON response, such as a.b (Kulala's).",
    ),
    Rule(
        "env-stdin-cmd",
        "NAME COMMAND",
        "Sets a variable to the output of a command.",
        refused="no command is run; a script below the request sets variables",
    ),
    Rule("no-redirect", "", "A redirect is not followed."),
    Rule("no-cookie-jar", "", "Cookies are neither sent nor kept."),
    Rule(
        "timeout",
        "TIME",
        "How long the response may take: 30 s, 500 ms; a bare number is in ms, as in httpyac, "
        "in files with JetBrains' marks in seconds.",
    ),
    Rule("messages", "N", "How many messages of a WebSocket or an event stream are listened to."),
    Rule(
        "connection-timeout",
        "TIME",
        "How long connecting may take; a bare number is in seconds, as in JetBrains' HTTP Client.",
    ),
    Rule("sleep", "MILLISECONDS", "Waits before the request is sent.", acts=True),
    Rule("inject-variables", "", "Variables are replaced in the file of a body, too."),
    Rule("no-log", "", "The request is not logged.", informs=True),
    Rule("no-auto-encoding", "", "The URL is sent as it is written.", informs=True),
    Rule("no-response-view", "", "The response is not shown.", informs=True),
    Rule("no-streaming-log", "", "Messages are not logged.", informs=True),
    Rule("extension", "EXTENSION", "The ending of a saved response's file.", informs=True),
    Rule("language", "LANGUAGE", "The language in which the response is shown.", informs=True),
    Rule("open-with", "VIEW", "What shows the response.", informs=True),
    Rule("save", "", "The response is saved instead of shown.", informs=True),
    Rule("debug", "", "More is logged.", informs=True),
    Rule("verbose", "", "More is logged.", informs=True),
    Rule("jwt", "[FIELD]", "Tokens in the response are shown decoded.", informs=True),
    Rule("response-ref", "FILE", "A stored response of this request.", informs=True),
    Rule("force-region-delimiter", "", "Only ### ends this request."),
    Rule("no-gql-parsing", "", "A body that looks like GraphQL is sent as it is."),
    Rule(
        "no-reject-unauthorized",
        "",
        "Certificates are not verified, if the run is started with --insecure; else this is an "
        "error.",
    ),
    Rule("no-client-cert", "", "The client certificate of the settings is not shown."),
    Rule(
        "no-proxy",
        "",
        "No proxy is used.",
        refused="the environment variable NO_PROXY names hosts without a proxy",
    ),
    Rule(
        "proxy",
        "URL",
        "A proxy for this request, if the run is started with --allow-proxy URL; else this is an "
        "error.",
    ),
    Rule(
        "ratelimit",
        "max N expire MS",
        "No more than N requests are sent in that time; minIdleTime MS is the least time between "
        "two, slot NAME in front are requests that count together.",
        acts=True,
    ),
    Rule(
        "keep-streaming",
        "",
        "The connection stays open.",
        refused="messages are read until a limit of time or number; take @timeout",
    ),
    Rule(
        "grpc-reflection",
        "",
        "gRPC's reflection is used.",
        refused="gRPC is not supported",
    ),
)


def _key(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


DIRECTIVES: Final[Mapping[str, Rule]] = {_key(rule.name): rule for rule in _TABLE}
"""The rules by normalized name: without hyphens, in lower case."""


def rule_of(name: str) -> Rule | None:
    """Return the rule for a directive, however it is spelled, or None."""
    return DIRECTIVES.get(_key(name))
