"""The table of directives in request files, `# @name value`.

Each row describes a directive. If orgrest does not support the directive, the row contains the
reason, and requests with the directive are not sent, because they would not do what their author
intended. An unknown directive causes a warning, or an error if it resembles an assertion or a
directive that affects the request. As in httpyac, hyphens, underscores and case in names are
ignored: `@no-redirect` is `@noRedirect`.

Sources: VS Code REST Client's README; JetBrains' HTTP Client reference; httpyac's guide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orgrest import classes


@classes.frozen
class Rule:
    """A directive: its name, the form of its value, and its description.

    - `refused`, if not empty, is the reason why requests with the directive are not sent.
    - If `informs` is set, only other tools use the directive, for example to display the response.
    - If `names` is set, the value is the name of a request and must be given.
    - If `in_files` is set, the directive has no effect in Org documents, which have header
      arguments and calls instead.
    """

    name: str
    value: str
    description: str
    refused: str = ""
    informs: bool = False
    names: bool = False
    in_files: bool = False

    @property
    def about(self) -> str:
        """The description of the directive that editors show, in Markdown."""
        effect = (
            f"Requests with this directive are not sent: {self.refused}." if self.refused else ""
        )
        effect = "Used only by other tools; orgrest ignores it." if self.informs else effect
        return "\n\n".join(filter(None, (self.description, effect)))


_TABLE: Final = (
    Rule(
        "name",
        "NAME",
        "Names the request. Other requests refer to its response by this name.",
        names=True,
        in_files=True,
    ),
    Rule("title", "TEXT", "A title for the request.", informs=True),
    Rule("description", "TEXT", "Describes the request.", informs=True),
    Rule("tag", "TAG, ...", "Tags the request, for `--tag`."),
    Rule("prompt", "NAME [DESCRIPTION]", "Asks for the value of a variable before sending."),
    Rule("note", "[QUESTION]", "Asks for confirmation before the request is sent."),
    Rule(
        "disabled",
        "[EXPRESSION]",
        "Skips the request; with an expression, only if the expression is true.",
        in_files=True,
    ),
    Rule("ref", "NAME", "Sends the named request first, once per run.", names=True, in_files=True),
    Rule(
        "force-ref",
        "NAME",
        "Sends the named request first, each time.",
        names=True,
        in_files=True,
    ),
    Rule(
        "openapi",
        "FILE",
        "Checks this request and those below it against an OpenAPI description.",
    ),
    Rule(
        "import",
        "FILE",
        "Makes the requests and variables of another file available.",
        in_files=True,
    ),
    Rule(
        "loop",
        "for N | for NAME of LIST | while EXPRESSION",
        "Sends the request several times. `{{$index}}` is the number of the iteration, starting at "
        "0.",
        in_files=True,
    ),
    Rule(
        "file-to-variable",
        "NAME FILE",
        "Sets a variable to the text of a file (Kulala's syntax).",
    ),
    Rule(
        "env-json-key",
        "NAME PATH",
        "Sets a variable to the value at a path, such as a.b, in the JSON response "
        "(Kulala's syntax).",
    ),
    Rule(
        "env-stdin-cmd",
        "NAME COMMAND",
        "Sets a variable to the output of a command.",
        refused="orgrest runs no commands; use a script below the request to set variables",
    ),
    Rule(
        "xpath_ns",
        "PREFIX=NAMESPACE",
        "Declares a namespace prefix for `?? xpath`; a `#` before the directive is optional "
        "(httpyac's syntax).",
    ),
    Rule("no-redirect", "", "Does not follow redirects."),
    Rule("no-cookie-jar", "", "Neither sends nor stores cookies."),
    Rule(
        "timeout",
        "TIME",
        "The time limit for the response, such as 30 s or 500 ms. A number without a unit is in "
        "milliseconds, as in httpyac. In a file with JetBrains-only syntax and no httpyac-only "
        "syntax, it is in seconds. `5000 ms` means the same in httpyac (which ignores units), in "
        "JetBrains' HTTP Client and here.",
    ),
    Rule("messages", "N", "The number of WebSocket messages or server-sent events to wait for."),
    Rule(
        "connection-timeout",
        "TIME",
        "The time limit for connecting. A number without a unit is in seconds, as in "
        "JetBrains' HTTP Client.",
    ),
    Rule("sleep", "MILLISECONDS", "Waits before the request is sent."),
    Rule("inject-variables", "", "Also replaces variables in a body that is read from a file."),
    Rule("no-log", "", "Does not log the request.", informs=True),
    Rule("no-auto-encoding", "", "Sends the URL as written.", informs=True),
    Rule("no-response-view", "", "Does not show the response.", informs=True),
    Rule("no-streaming-log", "", "Does not log messages.", informs=True),
    Rule(
        "extension",
        "EXTENSION",
        "The extension of the file that the response is saved to.",
        informs=True,
    ),
    Rule("language", "LANGUAGE", "The language for highlighting the response.", informs=True),
    Rule("open-with", "VIEW", "The program that shows the response.", informs=True),
    Rule("save", "", "Saves the response instead of showing it.", informs=True),
    Rule("debug", "", "Logs more.", informs=True),
    Rule("verbose", "", "Logs more.", informs=True),
    Rule("jwt", "[FIELD]", "Decodes tokens in the response and shows them.", informs=True),
    Rule("response-ref", "FILE", "A stored response to this request.", informs=True),
    Rule("force-region-delimiter", "", "Ends this request only at `###`."),
    Rule("no-gql-parsing", "", "Sends a body as written, even if it looks like GraphQL."),
    Rule(
        "no-reject-unauthorized",
        "",
        "Does not verify certificates; an error unless the run was started with --insecure.",
    ),
    Rule("no-client-cert", "", "Does not use the client certificate from the settings."),
    Rule(
        "no-proxy",
        "",
        "Uses no proxy.",
        refused="in the environment variable NO_PROXY, list the hosts that should bypass the proxy",
    ),
    Rule(
        "proxy",
        "URL",
        "A proxy for this request; an error unless the run was started with --allow-proxy URL.",
    ),
    Rule(
        "ratelimit",
        "max N expire MS",
        "Sends at most N requests within MS milliseconds. With minIdleTime MS, consecutive "
        "requests are at least MS milliseconds apart. All requests with this directive, in all "
        "documents of a run and including retries, are counted together; to count some of them "
        "separately, write `slot NAME` before the other options.",
    ),
    Rule(
        "keep-streaming",
        "",
        "Keeps the connection open.",
        refused="streams always end after a time limit or a number of messages, which you can set "
        "with @timeout or @messages",
    ),
    Rule(
        "grpc-reflection",
        "",
        "Uses gRPC server reflection.",
        refused="gRPC is not supported",
    ),
)


def _key(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


DIRECTIVES: Final[Mapping[str, Rule]] = {_key(rule.name): rule for rule in _TABLE}
"""The rules by normalized name: in lower case, without hyphens and underscores."""


def suggestion_for(name: str) -> str | None:
    """Return the assertion or directive to suggest for an unknown directive, or None.

    Directives that do not affect the run are not suggested.
    """
    from difflib import get_close_matches

    if get_close_matches(_key(name), ("assert", "expect"), 1, 0.8):
        return "?? status == 200"
    acting = (key for key, rule in DIRECTIVES.items() if not rule.informs)
    matches = get_close_matches(_key(name), acting, 1, 0.87)
    return f"@{DIRECTIVES[matches[0]].name}" if matches else None


def substitute_for(name: str) -> str:
    """Return what to write instead of an unknown directive that has no effect, or ""."""
    if _key(name) in ("retry", "retries"):
        return "to repeat a request, write ?? eventually 30s status == 200, or use test --retry"
    return ""


def rule_of(name: str) -> Rule | None:
    """Return the rule for the directive `name`, or None if it is unknown.

    Case, hyphens and underscores in the name are ignored.
    """
    return DIRECTIVES.get(_key(name))
