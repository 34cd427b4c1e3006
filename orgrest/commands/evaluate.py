"""The command ``orgrest FILE...``, which evaluates requests.

The function `evaluate` has a parameter for each option. The module `run` evaluates the files.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from orgrest.commands import program
from orgrest.commands.completion import documents
from orgrest.commands.console import (
    check_outputs,
    complain,
    open_page,
    require_files,
    require_standard_input,
    store,
    stored_in,
)
from orgrest.commands.options import client_of, inputs_of, parts_of, settings_of, with_options
from orgrest.options import RUN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from orgrest.commands.watch import Watched
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings


@program.command()
@click.argument("files", nargs=-1, metavar="FILE...", shell_complete=documents)
@with_options(RUN)
def evaluate(files: tuple[str, ...], **given: Any) -> None:
    """Evaluate the HTTP requests in FILEs, from top to bottom.

    In Org files, the responses are written below the request blocks. For .http and .rest files, and
    for standard input (no FILE, or -), they are printed.

    \b
    orgrest notes.org
    orgrest api.http --name login --env dev
    echo 'GET https://example.com' | orgrest
    """
    from orgrest.files import is_request_file
    from orgrest.model import OrgrestError

    options = SimpleNamespace(**given)
    modes = [name for name in ("stdout", "diff", "check") if given[name]]
    options.mode = "dry run" if options.dry_run else "".join(modes)
    if len(modes) > 1 or (modes and options.dry_run):
        raise click.UsageError("--dry-run, --stdout, --diff and --check cannot be combined")
    if options.explain and not options.dry_run:
        raise click.UsageError("--explain requires --dry-run")
    printing = {"body": ("stdout", "json", "diff", "dry_run"), "json": ("stdout",)}
    for name in filter(given.get, printing):
        for other in filter(given.get, printing[name]):
            raise click.UsageError(
                f"--{other.replace('_', '-')} and --{name} cannot be combined: both write to "
                "standard output"
            )
    paths = list(files) or ([] if sys.stdin.isatty() else ["-"])
    if not paths:
        raise click.UsageError("missing FILE (use - for standard input)")
    if options.list_envs:
        require_files(paths)
        sys.exit(_list_environments(paths))
    if len(paths) > 1 and (options.lines or options.names or options.tags):
        raise click.UsageError("--line, --name and --tag require exactly one FILE")
    require_standard_input(paths, options.stdin_name)
    if options.stdin_name is not None and not (
        modes or options.dry_run or is_request_file(options.stdin_name)
    ):
        raise click.UsageError("Org text on standard input requires --stdout, --diff or --check")
    if options.watch and "-" in paths:
        raise click.UsageError("--watch requires a FILE: standard input cannot be watched")
    require_files(paths, allow_missing=options.watch)
    outputs = {"cookies": options.cookies, "globals": options.globals}
    check_outputs(outputs, (*paths, *options.env_file, options.openapi, options.ca))
    asking = sys.stdin.isatty() and sys.stderr.isatty()

    parts = parts_of(RUN, given)
    logins = None  # all runs with --watch share the logins
    if not options.dry_run:
        from orgrest.run.logins import Logins

        logins = Logins()

    def once(watched: Watched | None = None) -> int:
        from orgrest.run.descriptions import Descriptions
        from orgrest.run.services import Services

        try:
            cookies = globals_ = None
            savers: list[Callable[[], None]] = []
            if options.cookies is not None:
                from orgrest.http.transport.cookies import Cookies

                cookies = stored_in(options.cookies, Cookies)
                savers.append(partial(store, options.cookies, cookies))
            if options.globals is not None:
                from orgrest.http.values.global_variables import GlobalVariables

                globals_ = stored_in(options.globals, GlobalVariables)
                savers.append(partial(store, options.globals, globals_))
            secrets = cookies.secrets if cookies is not None else ()
            inputs = inputs_of(parts, Path(), secrets=secrets)
            if options.environments:
                from orgrest.http.values import environments

                folders = [_folder(path, options.stdin_name) for path in paths]
                environments.require(options.environments, folders)
            on_read = None if watched is None else watched.read
            services = Services.of_user(
                prompt=_prompt if asking else None,
                on_read=on_read,
                globals_=globals_,
                cookies=cookies,
                ask=_ask if asking else None,
                on_message=None if options.quiet else partial(click.echo, err=True),
                descriptions=Descriptions(options.openapi, inputs, on_read),
            )
            if not options.dry_run:
                from orgrest.run.history import History

                client, budget = client_of(parts)
                services.client = client(budget=budget)
                services.history = History(complain, fail=options.fail)
        except OrgrestError as error:
            complain(str(error))
            return 2
        services.logins = logins
        if logins is not None and asking and not os.environ.get("CI"):
            from orgrest.run.logins import Person

            services.person = Person(_ask, complain, open_page)
        if not (modes or options.dry_run):
            from orgrest.run.writable_files import write

            services.write = write
        settings = settings_of(parts, inputs)
        options.watched = watched
        return _evaluate_files(paths, settings, services, options, savers)

    if options.watch:
        from orgrest.commands.watch import watch

        sys.exit(watch(once, options.env_file))
    sys.exit(once())


def _folder(file: str, stdin_name: Path | None) -> Path:
    path = stdin_name if file == "-" else Path(file)
    return Path() if path is None else path.resolve().parent


def _evaluate_files(
    paths: list[str],
    settings: Settings,
    services: Services,
    output: SimpleNamespace,
    savers: Iterable[Callable[[], None]],
) -> int:
    """Evaluate the files. Then call the `savers`, which store cookies and global variables."""
    from orgrest.commands.run import evaluate_file
    from orgrest.files import FileError
    from orgrest.http.sandbox import children

    status = 1
    try:
        client = services.client
        for warning in client.warnings if client else ():
            complain(f"warning: {warning}")
        deadline = None if client is None else client.budget.deadline
        try:
            with children.of_run(deadline):
                status = max(evaluate_file(path, settings, services, output) for path in paths)
        finally:
            for save in savers if services.client is not None else ():
                save()
    except FileError as error:
        complain(str(error))
        status = 1
    except KeyboardInterrupt:
        children.end()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)  # a normal exit would wait for requests in progress
    finally:
        if services.history is not None:
            services.history.close()
        if services.client is not None:
            services.client.close()
    return status


def _prompt(what: str, hidden: bool) -> str:
    return str(click.prompt(what, hide_input=hidden, err=True, default="", show_default=False))


def _ask(question: str) -> bool:
    return click.confirm(question, err=True)


def _list_environments(paths: list[str]) -> int:
    from orgrest.http.values import environments

    status = 0
    for path in paths:
        environments_here = environments.find(_folder(path, None))
        for name in environments_here.names:
            click.echo(f"{path}: {name}" if len(paths) > 1 else name)
        for broken in environments_here.broken:
            complain(str(broken.error))
            status = 2
    return status
