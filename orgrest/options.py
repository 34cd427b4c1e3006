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

_WHICH = "Which requests"
_VALUES = "Values"
_HOW = "How requests are sent"
_LIMITS = "What a run may do"
_OUTPUT = "Output"
_KEPT = "What to keep between runs"
REPORTS = "Reports"


class Option(NamedTuple):
    """A command-line option. `flags` and `commands`, which accept it, are separated by spaces.

    `kind` is `flag` or a key of `commands.options.KINDS`. `field` lists what the option sets,
    separated by spaces: fields of Settings (`insecure`, `inputs.seed`) or arguments of `Client` and
    `Budget` (`client.ca`, `budget.requests`). An option without a field is used only by its
    command. `setting` is the option's name in editor settings.
    """

    flags: str
    section: str
    commands: tuple[str, ...]
    help: str
    kind: str = "text"
    field: str = ""
    metavar: str | None = None
    default: Any = None
    many: bool = False
    setting: str | None = None

    @property
    def name(self) -> str:
        """The key of the option's value, derived from its first field or its last flag."""
        last = self.field.split()[0] if self.field else self.flags.split()[-1].lstrip("-")
        return last.rpartition(".")[2].replace("-", "_")


OPTIONS: Final = (
    Option(
        "--name",
        _WHICH,
        (RUN, EXPORT),
        "Select only the request with this name.",
        field="names",
        metavar="NAME",
        many=True,
    ),
    Option(
        "--name",
        _WHICH,
        (TEST,),
        "Run only requests with this name (* and ? are wildcards).",
        field="choice.names",
        metavar="NAME",
        many=True,
    ),
    Option(
        "--tag",
        _WHICH,
        (TEST,),
        "Run only requests with this tag.",
        field="choice.tags",
        metavar="TAG",
        many=True,
    ),
    Option(
        "--line",
        _WHICH,
        (RUN, EXPORT),
        "Select only the request at this line.",
        "integer",
        field="lines",
        metavar="N",
        many=True,
    ),
    Option(
        "--lang",
        _WHICH,
        _SENDING,
        "Run only blocks in this language.",
        "language",
        field="languages",
        many=True,
    ),
    Option(
        "--stdin-name",
        _WHICH,
        (RUN, EXPORT),
        "Treat standard input as the content of FILE, with the type and folder of FILE.",
        "path",
        metavar="FILE",
    ),
    Option(
        "--var",
        _VALUES,
        (*_ALL, PYTEST),
        "Set a variable.",
        "pairs",
        field="inputs.overrides",
        metavar="NAME=VALUE",
        many=True,
        setting="variables",
    ),
    Option(
        "--env",
        _VALUES,
        (*_ALL, PYTEST),
        "Use the variables of this environment; if repeated, the last one takes precedence.",
        field="inputs.environments",
        metavar="NAME",
        many=True,
        setting="environments",
    ),
    Option(
        "--env-file",
        _VALUES,
        _ALL,
        "A .env file with values for env().",
        "path",
        field="inputs.env_file",
        metavar="FILE",
        many=True,
    ),
    Option(
        "--seed",
        _VALUES,
        _ALL,
        "Make {{$uuid}} and other random values reproducible.",
        "integer",
        field="inputs.seed",
        metavar="N",
    ),
    Option(
        "--data",
        _HOW,
        (TEST,),
        "Run once for each row of this CSV or JSON file.",
        "file",
        metavar="FILE",
    ),
    Option("--repeat", _HOW, (TEST,), "Run everything N times.", "count", metavar="N", default=1),
    Option(
        "-j --jobs", _HOW, (TEST,), "Run N documents in parallel.", "jobs", metavar="N", default=1
    ),
    Option("--bail", _HOW, (TEST,), "Stop at the first failure.", "flag", field="bail"),
    Option(
        "--fail",
        _HOW,
        (RUN,),
        "Exit with status 1 if an assertion fails, or if no assertion checks a status of 400 or "
        "above.",
        "flag",
        "fail",
    ),
    Option(
        "--openapi",
        _HOW,
        _SENDING,
        (
            "Check requests and responses against this OpenAPI description, or, with auto, against "
            "one in the document's folder or its parents."
        ),
        "description",
        metavar="FILE|auto",
        setting="openapi",
    ),
    Option(
        "--retry",
        _HOW,
        (TEST,),
        (
            "Retry requests that get no response, or status 408, 425, 429, 502, 503 or 504, up "
            "to N times where that is safe."
        ),
        "retries",
        field="retry_policy.retries",
        metavar="N",
        default=0,
    ),
    Option(
        "--retry-delay",
        _HOW,
        (TEST,),
        "The delay before a retry, unless the server sends Retry-After (default: 1).",
        "delay",
        field="retry_policy.delay",
        metavar="SECONDS",
        default=1.0,
    ),
    Option(
        "--wait-for",
        _HOW,
        (TEST,),
        "Wait until this URL answers with a status below 500.",
        metavar="URL",
        many=True,
    ),
    Option(
        "--wait-timeout",
        _HOW,
        (TEST,),
        "The maximum time for --wait-for (default: 60).",
        "seconds",
        metavar="SECONDS",
        default=60.0,
    ),
    Option(
        "--ca",
        _HOW,
        _SENDING,
        "Trust these certificates instead of the system's.",
        "file",
        field="client.ca",
        metavar="FILE",
    ),
    Option(
        "--proxy",
        _HOW,
        _SENDING,
        "Send requests through this proxy instead of the one in the environment variables.",
        "proxy",
        field="client.proxy",
        metavar="URL",
    ),
    Option(
        "--watch",
        _HOW,
        (RUN,),
        "Run again whenever a FILE, or a file that it reads, changes.",
        "flag",
    ),
    Option(
        "--timeout",
        _LIMITS,
        _SENDING,
        "Cancel a request after this time.",
        "seconds",
        field="timeout",
        metavar="SECONDS",
    ),
    Option(
        "--max-requests",
        _LIMITS,
        _SENDING,
        "Stop the run after this many requests (default: 100000).",
        "count",
        field="budget.requests",
        metavar="N",
        default=100_000,
    ),
    Option(
        "--max-time",
        _LIMITS,
        (TEST,),
        "Stop the run after this time.",
        "duration",
        field="budget.seconds",
        metavar="SECONDS",
    ),
    Option(
        "--insecure",
        _LIMITS,
        _SENDING,
        "Do not verify TLS certificates.",
        "flag",
        field="insecure client.insecure",
    ),
    Option(
        "--allow-private",
        _LIMITS,
        _SENDING,
        "Follow redirects from public servers to private addresses.",
        "flag",
        field="client.allow_private",
    ),
    Option(
        "--allow-proxy",
        _LIMITS,
        _SENDING,
        "Allow documents to use this proxy (# @proxy URL).",
        "proxy",
        field="proxies",
        metavar="URL",
        many=True,
    ),
    Option(
        "--allow-read",
        _LIMITS,
        _SENDING,
        "Also allow documents to read files in DIR.",
        "folder",
        field="inputs.allow_read",
        metavar="DIR",
        many=True,
    ),
    Option(
        "--allow-write",
        _LIMITS,
        _SENDING,
        "Allow documents to write files with any name in DIR.",
        "folder",
        field="allow_write",
        metavar="DIR",
        many=True,
        setting="allowWrite",
    ),
    Option(
        "--dry-run",
        _OUTPUT,
        (RUN,),
        "Print the requests instead of sending them.",
        "flag",
        field="dry_run",
    ),
    Option(
        "--explain",
        _OUTPUT,
        (RUN,),
        "With --dry-run: also print the origin of each variable's value.",
        "flag",
    ),
    Option("--stdout", _OUTPUT, (RUN,), "Print the document instead of writing it.", "flag"),
    Option("--diff", _OUTPUT, (RUN,), "Print what would change instead of writing it.", "flag"),
    Option(
        "--check",
        _OUTPUT,
        (RUN,),
        "Write nothing, and exit with status 1 if a result would change.",
        "flag",
    ),
    Option(
        "--volatile",
        _OUTPUT,
        (RUN,),
        "A response header that --check ignores, in addition to Date.",
        metavar="HEADER",
        many=True,
    ),
    Option(
        "--limit",
        _OUTPUT,
        (RUN,),
        "The maximum size of a body that is shown (default: 1M).",
        "size",
        field="limit",
        metavar="SIZE",
    ),
    Option(
        "--save",
        _OUTPUT,
        (RUN,),
        "When to save the document: after each request, or at the end.",
        "moment",
    ),
    Option("--write", _OUTPUT, (TEST,), "Write the results into the documents.", "flag", "write"),
    Option("--list-envs", _OUTPUT, (RUN,), "Print the environments of each FILE.", "flag"),
    Option("-q --quiet", _OUTPUT, (RUN,), "Print only errors and failed assertions.", "flag"),
    Option("-q --quiet", _OUTPUT, (TEST,), "Print only failures and the summary.", "flag"),
    Option("--json", _OUTPUT, (RUN,), "Print a line of JSON for each request.", "flag"),
    Option(
        "--cookies",
        _KEPT,
        (RUN,),
        "Keep cookies in FILE between runs (in the Netscape cookie file format, like curl).",
        "file",
        metavar="FILE",
    ),
    Option(
        "--globals",
        _KEPT,
        _SENDING,
        "Keep the global variables of scripts in FILE between runs.",
        "file",
        metavar="FILE",
    ),
    *(
        Option(f"--{flag}", REPORTS, (TEST, REPORT), text, "report", metavar="FILE")
        for flag, text in (
            ("junit", "Write a JUnit XML report."),
            ("html", "Write an HTML report."),
            ("tap", "Write a TAP (Test Anything Protocol) report."),
            ("report-json", "Write a JSON report."),
            ("har", "Write the exchanges as an HTTP Archive (HAR 1.2)."),
        )
    ),
    Option(
        "--jsonl",
        REPORTS,
        (TEST,),
        "Write a line of JSON after each request.",
        "file",
        metavar="FILE",
    ),
)


def options_of(command: str) -> tuple[Option, ...]:
    """Return the options that a command or the pytest plugin accepts."""
    return tuple(option for option in OPTIONS if command in option.commands)


def pair(text: str) -> tuple[str, str]:
    """Split `NAME=VALUE` into the name and the value. Raises ValueError for other strings."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ValueError(f"expected NAME=VALUE, found {text!r}")
    return name.removeprefix(":"), value
