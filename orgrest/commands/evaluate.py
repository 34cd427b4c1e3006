"""The command ``orgrest FILE...``, which evaluates requests.

`evaluate` has a parameter for each option; the module `run` does the work.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orgrest.commands import program
from orgrest.commands.completion import documents
from orgrest.commands.console import (
    complain,
    description,
    globals_in,
    inputs_of,
    open_page,
    require_environments,
    require_files,
    with_proxies,
    with_values,
)
from orgrest.commands.program import section
from orgrest.files import FileError, is_request_file, read_bytes, write_private
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.commands.run import Shown
    from orgrest.commands.watch import Watched
    from orgrest.http.transport import Cookies
    from orgrest.http.values.global_variables import GlobalVariables
    from orgrest.run.logins import Logins
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings


def _size(_: object, parameter: click.Parameter, given: str | None) -> int | None:
    if given is None:
        return None
    from orgrest.rendering.results import parse_size

    try:
        return parse_size(given)
    except ValueError as error:
        raise click.BadParameter(str(error), param=parameter) from None


_which = section("Which requests")
_shown = section("What is written and printed")
_allowed = section("How requests are sent, and what they may do")
_kept = section("What is kept between runs")


@program.command()
@click.argument("files", nargs=-1, metavar="FILE...", shell_complete=documents)
@_which("--name", "names", multiple=True, metavar="NAME", help="Run only the block with this name.")
@_which(
    "--line", "lines", multiple=True, type=int, metavar="N", help="Run only the block at this line."
)
@_which(
    "--lang",
    "languages",
    multiple=True,
    type=click.Choice(["restclient", "http", "rest", "verb"]),
    help="Run only blocks in this language.",
)
@_shown("--dry-run", is_flag=True, help="Print the requests instead of sending them.")
@_shown(
    "--explain",
    is_flag=True,
    help="With --dry-run: also print where each variable's value comes from.",
)
@_shown("--stdout", "to_stdout", is_flag=True, help="Print the document instead of writing it.")
@_shown("--diff", is_flag=True, help="Print what would change instead of writing it.")
@_shown(
    "--check", is_flag=True, help="Write nothing, and exit with status 1 if a result would change."
)
@_shown(
    "--volatile",
    multiple=True,
    metavar="HEADER",
    help="A response header that --check ignores, such as Date.",
)
@with_values
@_allowed(
    "--allow-read",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Also allow requests to read files in DIR.",
)
@_allowed(
    "--allow-write",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Allow documents to write files of any name in DIR.",
)
@_allowed(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Cancel a request after this time.",
)
@_shown(
    "--limit",
    callback=_size,
    metavar="SIZE",
    help="How much of a body is shown (1M); a longer one is saved to a file.",
)
@_allowed(
    "--max-requests",
    type=click.IntRange(1),
    default=100_000,
    metavar="N",
    help="End the run after this many requests (100000).",
)
@_allowed(
    "--openapi",
    callback=description,
    metavar="FILE|auto",
    help="Check requests and responses against this OpenAPI description, or one found beside them.",
)
@_allowed(
    "--fail",
    is_flag=True,
    help="Fail for a status of 400 or above, and for assertions that do not hold.",
)
@_shown(
    "--save",
    type=click.Choice(["each", "end"]),
    help="When to save the document: after each request, or at the end.",
)
@_allowed(
    "--ca",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Certificates to trust instead of the system's.",
)
@_allowed(
    "--allow-private",
    is_flag=True,
    help="Follow redirects of public servers to private addresses.",
)
@_allowed("--insecure", is_flag=True, help="Do not verify TLS certificates.")
@with_proxies(_allowed)
@_kept(
    "--cookies",
    "cookie_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep cookies in FILE between runs (Netscape's format, as curl's).",
)
@_kept(
    "--globals",
    "globals_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep the global variables of scripts in FILE between runs.",
)
@_which(
    "--stdin-name",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Treat standard input as the text of FILE: its type and its folder count.",
)
@_allowed(
    "--watch", is_flag=True, help="Run again whenever a FILE, or a file that it reads, changes."
)
@_shown("--list-envs", is_flag=True, help="Print the environments of each FILE; send nothing.")
@_shown("-q", "--quiet", is_flag=True, help="Print errors only.")
@_shown("--json", "as_json", is_flag=True, help="Print a line of JSON for each request.")
def evaluate(
    files: tuple[str, ...],
    *,
    names: tuple[str, ...],
    lines: tuple[int, ...],
    languages: tuple[str, ...],
    dry_run: bool,
    explain: bool,
    to_stdout: bool,
    diff: bool,
    check: bool,
    volatile: tuple[str, ...],
    variables: dict[str, str],
    env_file: tuple[Path, ...],
    environments: tuple[str, ...],
    seed: int | None,
    list_envs: bool,
    allow_read: tuple[Path, ...],
    allow_write: tuple[Path, ...],
    timeout: float | None,
    limit: int | None,
    max_requests: int,
    openapi: Path | str | None,
    fail: bool,
    save: str | None,
    ca: Path | None,
    insecure: bool,
    allow_private: bool,
    proxy: str | None,
    proxies: tuple[str, ...],
    cookie_file: Path | None,
    globals_file: Path | None,
    stdin_name: Path | None,
    watch: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Evaluate the HTTP requests in FILEs, top to bottom.

    In Org files the responses are written below the request blocks. For .http and .rest files, and
    for standard input (no FILE, or -), they are printed.

    \b
    orgrest notes.org
    orgrest api.http --name login --env dev
    echo 'GET https://example.com' | orgrest
    """
    modes = [name for name, on in (("stdout", to_stdout), ("diff", diff), ("check", check)) if on]
    if len(modes) > 1 or (modes and dry_run):
        raise click.UsageError("--dry-run, --stdout, --diff and --check exclude each other")
    if explain and not dry_run:
        raise click.UsageError("--explain tells about a --dry-run")
    if to_stdout and as_json:
        raise click.UsageError("--stdout and --json both want standard output")
    if cookie_file is not None and cookie_file == globals_file:
        raise click.UsageError("--cookies and --globals keep different things: name two files")
    paths = list(files) or ([] if sys.stdin.isatty() else ["-"])
    if not paths:
        raise click.UsageError("which FILE? (- is standard input)")
    if list_envs:
        require_files(paths)
        sys.exit(_list_environments(paths))
    if len(paths) > 1 and (lines or names):
        raise click.UsageError("--line and --name need a single FILE")
    if stdin_name is not None:
        if paths != ["-"]:
            raise click.UsageError("--stdin-name is for standard input, not for a FILE")
        if not (modes or dry_run or is_request_file(stdin_name)):
            raise click.UsageError(
                "an Org text on standard input needs --stdout, --diff or --check"
            )
    if watch and "-" in paths:
        raise click.UsageError("--watch is for a FILE, not for standard input")
    require_files(paths, may_come=watch)
    asking = sys.stdin.isatty() and sys.stderr.isatty()

    @cache
    def known_logins() -> Logins:  # of all turns with --watch
        from orgrest.run.logins import Logins

        return Logins()

    def once(watched: Watched | None = None) -> int:
        from orgrest.commands.run import Shown
        from orgrest.run.descriptions import Descriptions
        from orgrest.run.services import Services
        from orgrest.run.settings import Settings

        try:
            cookies = None if cookie_file is None else _cookies(cookie_file)
            inputs = inputs_of(
                Path(),
                variables=variables,
                env_file=env_file,
                environments=environments,
                seed=seed,
                allow_read=allow_read,
                secrets=cookies.secrets if cookies is not None else (),
            )
            folders = [_folder(given, stdin_name) for given in paths]
            require_environments(environments, folders)
            on_read = None if watched is None else watched.read
            services = Services.of_user(
                prompt=_answer if asking else None,
                on_read=on_read,
                globals_=None if globals_file is None else globals_in(globals_file),
                cookies=cookies,
                ask=_ask if asking else None,
                on_message=None if quiet else _print_message,
                descriptions=Descriptions(openapi, inputs, on_read),
            )
            if not dry_run:
                from orgrest.http.transport import Budget, Client
                from orgrest.run.history import History

                services.client = Client(
                    ca=ca,
                    insecure=insecure,
                    allow_private=allow_private,
                    proxy=proxy,
                    budget=Budget(max_requests),
                )
                services.history = History(complain)
        except OrgrestError as error:
            complain(str(error))
            return 2
        if not dry_run:
            from orgrest.run.logins import Person

            services.logins = known_logins()
            if asking and not os.environ.get("CI"):
                services.person = Person(_ask, complain, open_page)
        if not (modes or dry_run):
            from orgrest.run.writable_files import write

            services.write = write
        settings = Settings(
            inputs,
            languages=frozenset(languages),
            names=names,
            lines=lines,
            dry_run=dry_run,
            fail=fail,
            timeout=timeout,
            limit=limit,
            allow_write=allow_write,
            insecure=insecure,
            proxies=(*proxies, *filter(None, (proxy,))),
        )
        shown = Shown(
            mode="dry run" if dry_run else "".join(modes),
            save=save,
            volatile=volatile,
            explain=explain,
            quiet=quiet,
            json=as_json,
            stdin_name=stdin_name,
            watched=watched,
        )
        kept = ((cookie_file, cookies), (globals_file, services.globals_))
        return _run(paths, settings, services, shown, kept)

    if watch:
        from orgrest.commands import watch as watching

        sys.exit(watching.watch(once, lambda: watching.Watched(env_file)))
    sys.exit(once())


def _folder(given: str, stdin_name: Path | None) -> Path:
    """Return the folder of a document."""
    path = stdin_name if given == "-" else Path(given)
    return Path() if path is None else path.resolve().parent


def _cookies(file: Path) -> Cookies:
    """Return the cookies in a file, none if it does not exist. Raises OrgrestError."""
    from orgrest.http.transport import Cookies

    return Cookies.read(read_bytes(file) if file.exists() else b"", str(file))


def _run(
    paths: list[str],
    settings: Settings,
    services: Services,
    shown: Shown,
    kept: Iterable[tuple[Path | None, Cookies | GlobalVariables | None]],
) -> int:
    """Evaluate the files, and save what is `kept` for the next run; return the exit status."""
    from orgrest.commands import run

    status = 1
    try:
        client = services.client
        for warning in client.warnings if client else ():
            complain(f"warning: {warning}")
        try:
            status = max([run.evaluate(given, settings, services, shown) for given in paths])
        finally:
            for path, what in kept if services.client is not None else ():
                if path is not None and what is not None:
                    write_private(path, what.written())
    except FileError as error:
        complain(str(error))
        status = 1
    except KeyboardInterrupt:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)  # a normal exit would wait for requests in progress
    finally:
        if services.history is not None:
            services.history.close()
        if services.client is not None:
            services.client.close()
    return status


def _print_message(message: str) -> None:
    click.echo(message, err=True)


def _answer(what: str, hidden: bool) -> str:
    """Prompt on the terminal for the value of a variable."""
    return str(click.prompt(what, hide_input=hidden, err=True, default="", show_default=False))


def _ask(question: str) -> bool:
    return click.confirm(question, err=True)


def _list_environments(paths: list[str]) -> int:
    """Print the environments defined in the files around each document, one per line."""
    from orgrest.http.values import environments

    status = 0
    for given in paths:
        found = environments.find(_folder(given, None))
        for name in found.names:
            click.echo(f"{given}: {name}" if len(paths) > 1 else name)
        for broken in found.broken:
            complain(str(broken.error))
            status = 2
    return status
