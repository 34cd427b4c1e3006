"""The command line: ``orgrest FILE...``, ``orgrest demo``, ``orgrest curl``.

The only module that prints, asks and writes documents. What it says about its work goes to
standard error; documents, responses, differences, a dry run's requests and JSON to standard output.

Exit status: 0 when all went well; 1 when a request failed, a check found changes or a document
could not be saved; 2 for wrong usage or a file that cannot be read; 130 after Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from orgrest.files import (
    Encoding,
    File,
    FileChangedError,
    FileError,
    decode,
    is_request_file,
    write_result,
)
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from orgrest.evaluate import Evaluation, Exchange, Options, Outcome
    from orgrest.variables import Scope

SAVE_EVERY = 2.0  # seconds between saves when --save is not given
MANY = 20  # requests from which on there is a progress bar

_COMMANDS = """\b
Other commands (orgrest COMMAND --help):
  demo      evaluate the tour against a server on this machine
  curl      print a request as a curl command, or turn one into a block
  complete  print what can be put in at a place of a document, for editors
  lsp       serve an editor as a language server
  emacs     print the line that sets Emacs up
  babel     evaluate a block for Org Babel, which asks in JSON
"""


# Where each of them is defined, under its name.
_MODULES = {
    "demo": "orgrest.cli",
    "curl": "orgrest.cli",
    "emacs": "orgrest.editor_commands",
    "babel": "orgrest.editor_commands",
    "lsp": "orgrest.editor_commands",
    "complete": "orgrest.editor_commands",
}


@attrs.frozen
class _Settings:
    """The options of one run."""

    mode: str  # save, stdout, diff or check
    save: str | None
    volatile: tuple[str, ...]
    fail: bool
    quiet: bool
    json: bool
    variables: dict[str, str]
    env_file: dict[str, str]
    allow_read: tuple[Path, ...]
    options: Options
    stdin_name: Path | None = None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command, name = evaluate, "orgrest"
    if given and given[0] in _MODULES:
        command = getattr(import_module(_MODULES[given[0]]), given[0])
        name = f"orgrest {given.pop(0)}"
    for stream, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, stream) is None:  # closed by who called us
            setattr(sys, stream, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - stays open
    for output in (sys.stdout, sys.stderr):
        if hasattr(output, "reconfigure"):
            output.reconfigure(errors="backslashreplace")
    try:
        try:
            command.main(given, prog_name=name, standalone_mode=True)
        finally:
            if not sys.stdout.closed:  # the language server closes it
                sys.stdout.flush()
    except OSError as error:  # nobody reads, or the disk is full
        if not isinstance(error, BrokenPipeError):
            where = "cannot write" if error.filename is None else error.filename
            with contextlib.suppress(OSError):
                os.write(2, f"orgrest: {where}: {error.strerror or error}\n".encode())
        for output in (sys.stdout, sys.stderr):  # so that nothing is tried again at the end
            os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
        sys.exit(1)


def _pairs(_: object, parameter: click.Parameter, given: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param=parameter)
        found[name.removeprefix(":")] = value
    return found


@click.command(epilog=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--name", "names", multiple=True, metavar="NAME", help="Only the block so named.")
@click.option("--line", "lines", multiple=True, type=int, metavar="N", help="Only the block there.")
@click.option(
    "--lang",
    "languages",
    multiple=True,
    type=click.Choice(["restclient", "http", "rest"]),
    help="Only blocks in this language.",
)
@click.option("--dry-run", is_flag=True, help="Show the requests; send nothing.")
@click.option("--stdout", "to_stdout", is_flag=True, help="Print the document; write nothing.")
@click.option("--diff", is_flag=True, help="Print what would change; write nothing.")
@click.option("--check", is_flag=True, help="Write nothing; status 1 when a result would change.")
@click.option(
    "--volatile",
    multiple=True,
    metavar="HEADER",
    help="A response header whose changes --check ignores, like Date.",
)
@click.option(
    "--var",
    "variables",
    multiple=True,
    callback=_pairs,
    metavar="NAME=VALUE",
    help="Set a variable.",
)
@click.option(
    "--env-file", multiple=True, type=click.Path(path_type=Path), help="Values for env()."
)
@click.option(
    "--allow-read",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Let requests read files below DIR, too.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Give up on a request after this time.",
)
@click.option("--fail", is_flag=True, help="Count a status of 400 and above as a failure.")
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(1, 64),
    default=1,
    metavar="N",
    help="Send up to N independent requests at once.",
)
@click.option(
    "--save",
    type=click.Choice(["each", "end"]),
    help="When to save: after each request, or at the end.",
)
@click.option(
    "--ca",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Certificates to trust instead of the system's.",
)
@click.option("--insecure", is_flag=True, help="Do not verify TLS certificates.")
@click.option(
    "--stdin-name",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take standard input for the text of FILE: Org or requests, with paths from its folder.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say only what went wrong.")
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each request.")
@click.version_option(package_name="scriptschema")
def evaluate(
    files: tuple[str, ...],
    *,
    names: tuple[str, ...],
    lines: tuple[int, ...],
    languages: tuple[str, ...],
    dry_run: bool,
    to_stdout: bool,
    diff: bool,
    check: bool,
    volatile: tuple[str, ...],
    variables: dict[str, str],
    env_file: tuple[Path, ...],
    allow_read: tuple[Path, ...],
    timeout: float | None,
    fail: bool,
    jobs: int,
    save: str | None,
    ca: Path | None,
    insecure: bool,
    stdin_name: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Evaluate the HTTP requests in FILEs, top to bottom.

    In Org files the responses are written below the request blocks. For .http and .rest files, and
    for standard input (no FILE, or -), they are printed.
    """
    from orgrest.evaluate import Options
    from orgrest.transport import Client
    from orgrest.variables import read_env_file

    modes = [name for name, on in (("stdout", to_stdout), ("diff", diff), ("check", check)) if on]
    if len(modes) > 1 or (modes and dry_run):
        raise click.UsageError("--dry-run, --stdout, --diff and --check exclude each other")
    if to_stdout and as_json:
        raise click.UsageError("--stdout and --json both want standard output")
    paths = list(files) or ([] if sys.stdin.isatty() else ["-"])
    if not paths:
        raise click.UsageError("which FILE? (- is standard input)")
    if len(paths) > 1 and (lines or names):
        raise click.UsageError("--line and --name need a single FILE")
    if stdin_name is not None:
        if paths != ["-"]:
            raise click.UsageError("--stdin-name is for standard input, not for a FILE")
        if not (modes or dry_run or is_request_file(stdin_name)):
            raise click.UsageError(
                "an Org text on standard input needs --stdout, --diff or --check"
            )
    try:
        values: dict[str, str] = {}
        for path in env_file:
            values.update(read_env_file(path))
        client = None if dry_run else Client(ca=ca, insecure=insecure)
    except OrgrestError as error:
        _complain(str(error))
        sys.exit(2)
    settings = _Settings(
        mode="dry run" if dry_run else modes[0] if modes else "save",
        save=save,
        volatile=volatile,
        fail=fail,
        quiet=quiet,
        json=as_json,
        variables=variables,
        env_file=values,
        allow_read=allow_read,
        options=Options(
            languages=frozenset(languages),
            names=names,
            lines=lines,
            jobs=jobs,
            dry_run=dry_run,
            timeout=timeout,
            ask=_ask if sys.stdin.isatty() and sys.stderr.isatty() else None,
        ),
        stdin_name=stdin_name,
    )
    status = 0
    try:
        for warning in client.warnings if client else ():
            _complain(f"warning: {warning}")
        for given in paths:
            status = max(status, _Run(given, settings, client).run())
    except KeyboardInterrupt:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)  # now: requests that are still under way must not be waited for
    finally:
        if client is not None:
            client.close()
    sys.exit(status)


def _ask(question: str) -> bool:
    return click.confirm(question, err=True)


def _complain(text: str) -> None:
    click.echo(f"orgrest: {text}", err=True)


def _scope(file: str, folder: Path, settings: _Settings) -> Scope:
    from orgrest.variables import Scope

    return Scope.of_user(
        file,
        folder,
        allow_read=settings.allow_read,
        env_file=settings.env_file,
        overrides=settings.variables,
    )


class _Run:
    """One file, evaluated, reported and saved."""

    def __init__(self, given: str, settings: _Settings, client: Any) -> None:
        self.given = given  # the name of the file, for messages
        self.from_stdin = given == "-"
        if self.from_stdin:
            self.given = str(settings.stdin_name or "standard input")
        self.settings = settings
        self.client = client
        self.status = 0
        self.saved_at = time.monotonic()
        self.file: File | None = None
        self.encoding = Encoding()
        self.changed_on_disk = False

    def run(self) -> int:
        """Evaluate the file; give the exit status. KeyboardInterrupt comes out after saving."""
        from orgrest.evaluate import Evaluation, EvaluationError

        try:
            text, folder, plain = self._read()
        except FileError as error:
            _complain(str(error))
            return 2
        if self.file is not None and not plain and self.settings.mode == "save":
            try:
                self.file.check_writable()
            except FileError as error:
                _complain(f"{error}: nothing is sent (--stdout prints the results)")
                return 1
        if plain and self.settings.mode not in ("save", "dry run"):
            raise click.UsageError(
                f"--{self.settings.mode} is for Org files; {self.given}: responses are printed"
            )
        name = self.given
        evaluation = Evaluation(
            text,
            file=name,
            scope=_scope(name, folder, self.settings),
            client=self.client,
            options=self.settings.options,
            plain=plain,
        )
        try:
            count = evaluation.plan()
        except EvaluationError as error:
            _complain(str(error))
            return 2
        if not self.settings.quiet:
            for notice in evaluation.notices:
                _complain(f"{name}: {notice}")
        try:
            for outcome in _with_progress(evaluation.run(), count, self.settings):
                self._report(outcome, plain)
                self._keep(outcome, evaluation)
        except KeyboardInterrupt:
            _complain(f"{name}: interrupted; what was done is kept")
            raise
        finally:  # also when nobody reads what is told any more
            if not plain:
                self._end(evaluation.text, text)
        return self.status

    def _read(self) -> tuple[str, Path, bool]:
        path = Path(self.given)
        if self.from_stdin:
            text, self.encoding = decode(sys.stdin.buffer.read())
            if self.settings.stdin_name is None:
                return text, Path(), True
        else:
            self.file = File.read(path)
            text, self.encoding = self.file.text, self.file.encoding
        return text, path.resolve().parent, is_request_file(path)

    # telling

    def _report(self, outcome: Outcome, plain: bool) -> None:
        settings = self.settings
        failed = outcome.state == "failed"
        for exchange in outcome.exchanges:
            response = exchange.response
            if settings.fail and response is not None and response.status >= 400:
                failed = True
        if failed:
            self.status = 1
        if settings.json:
            for line in _json_lines(self.given, outcome, failed, with_text=plain):
                click.echo(line)
        if outcome.reason is not None:
            prefix = "" if failed else "skipped: "
            _complain(prefix + self._safe(str(outcome.reason), outcome))
        for note in outcome.notes:
            where = "" if note.startswith(self.given) else f"{self.given}:{outcome.line}: "
            _complain(self._safe(f"{where}{note}", outcome))
        if settings.mode == "dry run" and not settings.json:
            for exchange in outcome.exchanges:
                click.echo(_wire(exchange))
        elif plain and not settings.json:
            for exchange in outcome.exchanges:
                _print_response(exchange)
        if not settings.quiet and settings.mode != "dry run":
            for exchange in outcome.exchanges:
                click.echo(_line(exchange, settings.fail), err=True)

    def _safe(self, text: str, outcome: Outcome) -> str:
        from orgrest.results import mask, visible

        return visible(mask(text, outcome.secrets))

    # keeping

    def _keep(self, outcome: Outcome, evaluation: Evaluation) -> None:
        settings = self.settings
        if settings.mode != "save":
            if settings.mode == "check":
                self._check(outcome)
            return
        for path, content in outcome.files:
            try:
                write_result(path, content)
            except FileError as error:
                _complain(str(error))
                self.status = 1
        if self.file is None or outcome.change is None:
            return
        codec = self.file.encoding.codec
        if self.file.encoding.lacks(outcome.change[1]):
            _complain(
                f"{self.given}:{outcome.line}: the file is in {codec}, which lacks some "
                "characters of the response: they are written as \\uXXXX"
            )
        slow = time.monotonic() - self.saved_at > SAVE_EVERY
        if settings.save == "each" or (settings.save is None and slow):
            self._save(self.file, evaluation.text, last=False)
            self.saved_at = time.monotonic()

    def _check(self, outcome: Outcome) -> None:
        change = outcome.change or ("", "")
        old, new = (_without_volatile(text, self.settings.volatile) for text in change)
        if old != new:
            self.status = 1
            _complain(f"{self.given}:{outcome.line}: the result would change")
        for path, content in outcome.files:
            if not path.is_file() or path.read_bytes() != content:
                self.status = 1
                _complain(f"{self.given}:{outcome.line}: the file {path} would change")

    def _end(self, text: str, before: str) -> None:
        mode = self.settings.mode
        if mode == "save" and self.file is not None:
            self._save(self.file, text, last=True)
        elif mode == "stdout":
            stream = sys.stdout.buffer
            stream.write(self.encoding.encode(text))
            stream.flush()
        elif mode == "diff":
            import difflib

            for line in difflib.unified_diff(
                before.split("\n"), text.split("\n"), self.given, self.given, lineterm=""
            ):
                click.echo(line)

    def _save(self, file: File, text: str, *, last: bool) -> None:
        """Save the document; what cannot be saved now is tried again at the end."""
        try:
            if not self.changed_on_disk:
                file.save(text)
        except FileChangedError as error:
            self.changed_on_disk = True
            self.status = 1
            _complain(str(error))
        except FileError as error:
            if last:
                self.status = 1
                _complain(str(error))
        if last and self.changed_on_disk:
            self._save_beside(file, text)

    def _save_beside(self, file: File, text: str) -> None:
        try:
            path = file.save_beside(text)
        except FileError as error:
            _complain(str(error))
        else:
            _complain(f"the document with the results is in {path}")


def _with_progress(
    outcomes: Iterator[Outcome], count: int, settings: _Settings
) -> Iterator[Outcome]:
    """Show a progress bar on a terminal when there is much to do."""
    if settings.quiet or count < MANY or not sys.stderr.isatty() or settings.mode == "dry run":
        yield from outcomes
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(
        outcomes, "Requests", total=count, console=Console(stderr=True), transient=True
    )


def _line(exchange: Exchange, fail: bool) -> str:
    """Tell about a request in a line: method, URL, status, time."""
    from orgrest.results import mask, visible

    request, response = exchange.request, exchange.response
    text = visible(mask(f"{request.method} {request.url}", request.secrets), one_line=True)
    if response is None:
        return text
    color = "red" if response.status >= 400 else "green"
    del fail
    status = click.style(str(response.status), fg=color)
    return f"{text}  {status}  {response.duration:.3f} s"


def _wire(exchange: Exchange) -> str:
    """Write a request as it would be sent, secrets hidden."""
    from orgrest.results import mask, visible
    from orgrest.transport import wire_headers

    request = exchange.request
    lines = [f"{request.method} {request.url}"]
    lines += (f"{name}: {value}" for name, value in wire_headers(request))
    if request.body:
        body = request.body.decode("utf-8", "backslashreplace")
        lines += ["", body.replace("\r\n", "\n")]
    return visible(mask("\n".join(lines), request.secrets)) + "\n"


def _print_response(exchange: Exchange) -> None:
    rendered = exchange.rendered
    if rendered is None:
        return
    if rendered.data is not None:
        click.echo(f"[{len(rendered.data)} bytes of binary data]")
    click.echo(rendered.text)


def _json_lines(file: str, outcome: Outcome, failed: bool, *, with_text: bool) -> Iterator[str]:
    """Give an outcome as JSON, a line for each request, or one without any.

    `with_text` adds what is shown of the response, which stands nowhere else, and in base64 a body
    that is no text.
    """
    import json
    from base64 import b64encode

    from orgrest.results import mask, visible

    common: dict[str, Any] = {
        "file": file,
        "line": outcome.line,
        "name": outcome.name,
        "state": "failed" if failed else outcome.state,
    }
    exchanges: tuple[Exchange | None, ...] = outcome.exchanges or (None,)
    for exchange in exchanges:
        found = dict(common)
        if exchange is not None:
            request, response = exchange.request, exchange.response
            found |= {"method": request.method, "url": mask(request.url, request.secrets)}
            if response is not None:
                found |= {
                    "status": response.status,
                    "reason": mask(response.reason, request.secrets),
                    "duration": round(response.duration, 6),
                    "bytes": len(response.body),
                }
                if with_text and exchange.rendered is not None:
                    found |= {
                        "language": exchange.rendered.language,
                        "text": exchange.rendered.text,
                    }
                    if exchange.rendered.data is not None:
                        found["data"] = b64encode(exchange.rendered.data).decode()
            elif not failed:
                from orgrest.transport import wire_headers

                found["headers"] = [
                    [name, mask(value, request.secrets)] for name, value in wire_headers(request)
                ]
                if request.body is not None:
                    body = request.body.decode("utf-8", "backslashreplace")
                    found["body"] = mask(body, request.secrets)
        if outcome.change is not None:
            found["changed"] = outcome.change[0] != outcome.change[1]
        if outcome.reason is not None:
            found["error"] = visible(mask(outcome.reason.reason, outcome.secrets))
        if outcome.notes:
            found["notes"] = [mask(note, outcome.secrets) for note in outcome.notes]
        yield json.dumps(found, ensure_ascii=False)


def _without_volatile(text: str, names: Iterable[str]) -> str:
    """Take the lines out of a result that differ each time: dates, durations, named headers."""
    import re

    headers = "|".join(re.escape(name) for name in ("Date", *names))
    return re.sub(
        rf"^([ \t]*+(?:[:,|-] ?)?(?://|<!--|/\*|#|;;)?[ \t]*+)"
        rf"(?:(?:{headers}): .*|Request duration: [0-9.]+s(?: -->| \*/)?)$",
        r"\1",
        text,
        flags=re.IGNORECASE | re.MULTILINE,
    )


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path, dir_okay=False))
def demo(path: Path | None) -> None:
    """Evaluate the tour against a server on this machine, and print it.

    The tour is copied to PATH (which must not exist yet), or to a temporary file.
    """
    from orgrest.demo import run

    try:
        well = run(path, click.echo)
    except OrgrestError as error:
        _complain(str(error))
        sys.exit(2)
    sys.exit(0 if well else 1)


@click.command()
@click.argument("file", required=False)
@click.option("--line", type=int, metavar="N", help="The request at this line.")
@click.option("--name", metavar="NAME", help="The request with this name.")
@click.option(
    "--var",
    "variables",
    multiple=True,
    callback=_pairs,
    metavar="NAME=VALUE",
    help="Set a variable.",
)
@click.option(
    "--env-file", multiple=True, type=click.Path(path_type=Path), help="Values for env()."
)
@click.option(
    "--stdin-name",
    type=click.Path(path_type=Path),
    metavar="NAME",
    help="With the FILE -, take standard input for the text of the file NAME.",
)
@click.option("--from-curl", "command", metavar="COMMAND", help="A curl command; - reads one.")
def curl(
    file: str | None,
    *,
    line: int | None,
    name: str | None,
    variables: dict[str, str],
    env_file: tuple[Path, ...],
    stdin_name: Path | None,
    command: str | None,
) -> None:
    """Print a request of FILE as a curl command, or turn a curl command into a block.

    The curl command holds the values of variables, secrets included: it has to work.
    """
    from orgrest import curl as translate
    from orgrest.evaluate import Evaluation, Options
    from orgrest.variables import read_env_file

    if (command is None) == (file is None):
        raise click.UsageError("give a FILE, or a command with --from-curl")
    try:
        if file is None:
            given = sys.stdin.read() if command == "-" else str(command)
            click.echo(translate.to_block(given), nl=False)
            return
        values: dict[str, str] = {}
        for path in env_file:
            values.update(read_env_file(path))
        path = Path(file)
        if file == "-":
            path = stdin_name or Path("standard input.http")
            text, _ = decode(sys.stdin.buffer.read())
        else:
            text = File.read(path).text
        settings = _Settings(
            mode="dry run",
            save=None,
            volatile=(),
            fail=False,
            quiet=True,
            json=False,
            variables=variables,
            env_file=values,
            allow_read=(),
            options=Options(
                names=(name,) if name else (),
                lines=(line,) if line else (),
                dry_run=True,
                complete=True,
            ),
        )
        evaluation = Evaluation(
            text,
            file=str(path),
            scope=_scope(str(path), path.resolve().parent, settings),
            client=None,
            options=settings.options,
            plain=is_request_file(path),
        )
        evaluation.plan()
        for outcome in evaluation.run():
            if outcome.reason is not None:
                raise outcome.reason
            for exchange in outcome.exchanges:
                click.echo(translate.to_command(exchange.request))
    except OrgrestError as error:
        _complain(str(error))
        sys.exit(2)
