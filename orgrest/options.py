"""The table of run options, shared by the command line, the pytest plugin and the editors.

Shell completion and every run of pytest load this module, so it imports almost nothing. To add an
option, add a row here, the field that it sets, and the code that uses the field.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

RUN, TEST, EXPORT, REPORT, PYTEST = "orgrest", "test", "export", "report", "pytest"
"""The programs that accept options: `orgrest FILE`, the commands, and the pytest plugin."""
_ALL = (RUN, TEST, EXPORT)
_SENDING = (RUN, TEST)


class Option(NamedTuple):
    """A command-line option. `flags` and `commands`, which accept it, are separated by spaces.

    `kind` is `flag` or a key of `commands.options.KINDS`. `field` lists what the option sets,
    separated by spaces: fields of Settings (`insecure`, `inputs.seed`) or arguments of `Client` and
    `Budget` (`client.ca`, `budget.requests`). An option without a field is used only by its
    command. `setting` is the option's name in editor settings. The table below adds the `section`
    of the help, and the usual `metavar` of the kind.
    """

    flags: str
    commands: tuple[str, ...]
    help: str
    kind: str = "text"
    field: str = ""
    metavar: str | None = None
    default: Any = None
    many: bool = False
    setting: str | None = None
    section: str = ""

    @property
    def name(self) -> str:
        """The key of the option's value, derived from its first field or its last flag."""
        last = self.field.split()[0] if self.field else self.flags.split()[-1].lstrip("-")
        return last.rpartition(".")[2].replace("-", "_")


_METAVARS: Final = {
    **dict.fromkeys(("path", "file", "report"), "FILE"),
    **dict.fromkeys(("integer", "count", "jobs", "retries"), "N"),
    **dict.fromkeys(("seconds", "delay", "duration"), "SECONDS"),
    "description": "FILE|auto",
    "folder": "DIR",
    "pairs": "NAME=VALUE",
    "proxy": "URL",
    "size": "SIZE",
}
_WHICH = (
    Option(
        "--name",
        _ALL,
        "Select only requests with this name (* and ? are wildcards).",
        field="choice.names",
        metavar="NAME",
        many=True,
    ),
    Option(
        "--tag",
        _SENDING,
        "Select only requests with this tag.",
        field="choice.tags",
        metavar="TAG",
        many=True,
    ),
    Option(
        "--line",
        (RUN, EXPORT),
        "Select only the request at this line.",
        "integer",
        field="lines",
        many=True,
    ),
    Option(
        "--lang",
        _SENDING,
        "Run only blocks in this language.",
        "language",
        field="languages",
        many=True,
    ),
    Option(
        "--stdin-name",
        (RUN, EXPORT),
        "Treat standard input as the content of FILE, with the type and folder of FILE.",
        "path",
    ),
)
_VALUES = (
    Option(
        "--var",
        (*_ALL, PYTEST),
        "Set a variable.",
        "pairs",
        field="overrides.variables",
        many=True,
        setting="variables",
    ),
    Option(
        "--secret",
        (*_ALL, PYTEST),
        "Set a variable whose value is masked in results, messages and reports.",
        "pairs",
        field="overrides.secrets",
        many=True,
    ),
    Option(
        "--env",
        (*_ALL, PYTEST),
        "Use the variables of this environment; if repeated, later ones take precedence.",
        field="inputs.environments",
        metavar="NAME",
        many=True,
        setting="environments",
    ),
    Option(
        "--env-file",
        _ALL,
        "A .env file with values for env().",
        "path",
        field="inputs.env_file",
        many=True,
    ),
    Option(
        "--seed",
        _ALL,
        "Make {{$uuid}} and other random values reproducible.",
        "integer",
        field="inputs.seed",
    ),
)
_HOW = (
    Option("--data", (TEST,), "Run once for each row of this CSV or JSON file.", "file"),
    Option("--repeat", (TEST,), "Run everything N times.", "count", default=1),
    Option("-j --jobs", (TEST,), "Run N documents in parallel.", "jobs", default=1),
    Option("--bail", (TEST,), "Stop at the first failure.", "flag", field="bail"),
    Option(
        "--fail",
        (RUN,),
        "Exit with status 1 if an assertion fails, or if no assertion checks a status of 400 or "
        "above.",
        "flag",
        field="fail",
    ),
    Option(
        "--openapi",
        _SENDING,
        "Check requests and responses against this OpenAPI description, or, with auto, against one "
        "in the document's folder or its parents.",
        "description",
        setting="openapi",
    ),
    Option(
        "--retry",
        (TEST,),
        "Retry requests that get no response, or status 408, 425, 429, 502, 503 or 504, up to N "
        "times where that is safe.",
        "retries",
        field="retry_policy.retries",
        default=0,
    ),
    Option(
        "--retry-delay",
        (TEST,),
        "The delay before a retry, unless the server sends Retry-After (default: 1).",
        "delay",
        field="retry_policy.delay",
        default=1.0,
    ),
    Option(
        "--wait-for",
        (TEST,),
        "Wait until this URL answers with a status below 500.",
        metavar="URL",
        many=True,
    ),
    Option(
        "--wait-timeout",
        (TEST,),
        "The maximum time for --wait-for (default: 60).",
        "seconds",
        default=60.0,
    ),
    Option(
        "--ca",
        _SENDING,
        "Trust these certificates instead of the system's.",
        "file",
        field="client.ca",
    ),
    Option(
        "--proxy",
        _SENDING,
        "Send requests through this proxy instead of the one in the environment variables.",
        "proxy",
        field="client.proxy",
    ),
    Option(
        "--watch", (RUN,), "Run again whenever a FILE, or a file that it reads, changes.", "flag"
    ),
)
_LIMITS = (
    Option("--timeout", _SENDING, "Cancel a request after this time.", "seconds", field="timeout"),
    Option(
        "--max-requests",
        _SENDING,
        "Stop the run after this many requests (default: 100000).",
        "count",
        field="budget.requests",
        default=100000,
    ),
    Option(
        "--max-time", (TEST,), "Stop the run after this time.", "duration", field="budget.seconds"
    ),
    Option(
        "--insecure",
        _SENDING,
        "Do not verify TLS certificates.",
        "flag",
        field="insecure client.insecure",
    ),
    Option(
        "--allow-private",
        _SENDING,
        "Follow redirects from public servers to private addresses.",
        "flag",
        field="client.allow_private",
    ),
    Option(
        "--allow-proxy",
        _SENDING,
        "Allow documents to use this proxy (# @proxy URL).",
        "proxy",
        field="proxies",
        many=True,
    ),
    Option(
        "--allow-read",
        _SENDING,
        "Also allow documents to read files in DIR.",
        "folder",
        field="inputs.allow_read",
        many=True,
    ),
    Option(
        "--allow-write",
        _SENDING,
        "Allow documents to write files with any name in DIR.",
        "folder",
        field="allow_write",
        many=True,
        setting="allowWrite",
    ),
)
_OUTPUT = (
    Option(
        "--dry-run", (RUN,), "Print the requests instead of sending them.", "flag", field="dry_run"
    ),
    Option(
        "--explain",
        (RUN,),
        "With --dry-run: also print the origin of each variable's value.",
        "flag",
    ),
    Option("--stdout", (RUN,), "Print the document instead of writing it.", "flag"),
    Option("--diff", (RUN,), "Print what would change instead of writing it.", "flag"),
    Option(
        "--check", (RUN,), "Write nothing, and exit with status 1 if a result would change.", "flag"
    ),
    Option(
        "--volatile",
        (RUN,),
        "A response header that --check ignores, in addition to Date.",
        metavar="HEADER",
        many=True,
    ),
    Option(
        "--limit",
        (RUN,),
        "The maximum size of a body that is shown (default: 1M).",
        "size",
        field="limit",
    ),
    Option(
        "--save", (RUN,), "When to save the document: after each request, or at the end.", "moment"
    ),
    Option("--write", (TEST,), "Write the results into the documents.", "flag", field="write"),
    Option("--list-envs", (RUN,), "Print the environments of each FILE.", "flag"),
    Option("-q --quiet", (RUN,), "Print only errors and failed assertions.", "flag"),
    Option("-q --quiet", (TEST,), "Print only failures and the summary.", "flag"),
    Option("--json", (RUN,), "Print a line of JSON for each request.", "flag"),
    Option("--body", (RUN,), "Print only the bodies of the responses, as received.", "flag"),
)
_KEPT = (
    Option(
        "--cookies",
        (RUN,),
        "Keep cookies in FILE between runs (in the Netscape cookie file format, like curl).",
        "file",
    ),
    Option(
        "--globals", _SENDING, "Keep the global variables of scripts in FILE between runs.", "file"
    ),
)
_REPORTS = (
    *(
        Option(f"--{flag}", (TEST, REPORT), text, "report")
        for flag, text in (
            ("junit", "Write a JUnit XML report."),
            ("html", "Write an HTML report."),
            ("tap", "Write a TAP (Test Anything Protocol) report."),
            ("report-json", "Write a JSON report."),
            ("har", "Write the exchanges as an HTTP Archive (HAR 1.2)."),
        )
    ),
    Option("--jsonl", (TEST,), "Write a line of JSON after each request.", "file"),
)
OPTIONS: Final = tuple(
    row._replace(section=section, metavar=row.metavar or _METAVARS.get(row.kind))
    for section, rows in {
        "Which requests": _WHICH,
        "Values": _VALUES,
        "How requests are sent": _HOW,
        "What a run may do": _LIMITS,
        "Output": _OUTPUT,
        "What to keep between runs": _KEPT,
        "Reports": _REPORTS,
    }.items()
    for row in rows
)


def options_of(command: str) -> tuple[Option, ...]:
    """Return the options that a command or the pytest plugin accepts."""
    return tuple(option for option in OPTIONS if command in option.commands)


def pair(text: str) -> tuple[str, str]:
    """Split `NAME=VALUE` into the name and the value.

    Raises ValueError for other strings, without the string itself, which may be a secret.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"expected NAME=VALUE, found no {'name' if equals else '='}")
    return name.removeprefix(":"), value
