"""The requests of an imported document, according to orgrest's own dry run."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from orgrest.commands.main import program
from orgrest.files import File, is_request_file
from orgrest.http.values import Inputs
from orgrest.model import Request
from orgrest.run.run import Run
from orgrest.run.settings import Settings


def imported(folder: Path, content: str | bytes, *more: str, output: str = "out.http") -> Result:
    """Run `orgrest import` on a file with this content. It writes to `output` in the folder."""
    source = folder / "source"
    source.write_bytes(content if isinstance(content, bytes) else content.encode())
    return CliRunner().invoke(program, ["import", str(source), "-o", str(folder / output), *more])


def sent(
    folder: Path,
    output: str = "out.http",
    *environments: str,
    environ: dict[str, str] | None = None,
    **values: str,
) -> list[Request]:
    """Return the requests that a run of the document would send, in order."""
    path = folder / output
    inputs = Inputs(
        directory=folder, environments=environments, overrides=values, environ=environ or {}
    )
    settings = Settings(inputs, dry_run=True)
    run = Run(File.read(path).text, file=str(path), settings=settings, plain=is_request_file(path))
    outcomes = list(run.outcomes())
    problems = [
        str(outcome.reason) for outcome in outcomes if outcome.reason and outcome.state != "skipped"
    ]
    assert not problems, problems
    return [exchange.request for outcome in outcomes for exchange in outcome.exchanges]


def parts(request: Request) -> tuple[str, str, tuple[tuple[str, str], ...], bytes | None]:
    return request.method, request.url, tuple(request.headers), request.body
