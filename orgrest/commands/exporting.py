"""The command ``orgrest export``."""

from __future__ import annotations

import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orgrest.commands import program
from orgrest.commands.completion import documents
from orgrest.commands.console import complain, require_standard_input, safe, text_of
from orgrest.commands.options import inputs_of, parts_of, settings_of, with_options
from orgrest.options import EXPORT

if TYPE_CHECKING:
    from orgrest.convert.shared.exports import Export
    from orgrest.convert.shared.model import Written


class _Formats(click.Choice[str]):
    """The names of the export formats, which are listed on first use."""

    def __init__(self) -> None:
        self.case_sensitive = True

    @cached_property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]  # never assigned
        from orgrest.convert.formats import EXPORTERS

        return tuple(EXPORTERS)


@program.command("export")
@click.argument("file", shell_complete=documents)
@click.option(
    "--to",
    "target",
    type=_Formats(),
    required=True,
    help="The format to write.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to this file, which must not exist yet.",
)
@with_options(EXPORT)
@click.option(
    "--strict", is_flag=True, help="Exit with status 1 if something could not be exported."
)
def export(
    file: str,
    *,
    target: str,
    output: Path | None,
    strict: bool,
    **given: Any,
) -> None:
    """Export requests to the format of another tool.

    Nothing is sent. Variables stay variables, and secrets are left out. Parts that the format
    cannot express, such as scripts, captures and assertions, are listed on standard error.

    \b
    orgrest export --to postman api.http -o api.postman_collection.json
    orgrest export --to python --name login notes.org
    orgrest export --to curl api.http
    """
    from orgrest.convert.formats import exporter
    from orgrest.convert.shared.completing import read
    from orgrest.files import FileError, is_request_file
    from orgrest.http.values import environments

    require_standard_input([file], given["stdin_name"])
    if output is not None and output.exists():
        raise FileError("the file already exists: choose another name", file=str(output))
    path, text = text_of(file, given["stdin_name"])
    folder = path.resolve().parent
    environments.require(given["environments"], [folder])
    format_ = exporter(target)
    parts = parts_of(EXPORT, given)
    exported = read(
        text,
        file=str(path),
        plain=is_request_file(path),
        settings=settings_of(parts, inputs_of(parts, folder)),
        beside=None if output is None else f"{output.stem}-bodies",
        dynamic=getattr(format_, "DYNAMIC", {}),
    )
    written: Written = format_.write(exported)
    if exported.calls:
        _save(exported, written, output)
    sys.exit(_report(exported, written, strict=strict))


def _save(export_: Export, written: Written, output: Path | None) -> None:
    from orgrest.files import write, write_new
    from orgrest.model import to_bytes

    private = any(secret and secret in written.text for secret in export_.secrets)
    if output is None:
        click.echo(written.text, nl=False)
    else:
        for name, data in written.files.items():
            write_new(output.parent / name, data)
        write(output, to_bytes(written.text), private=private)
    if private:
        complain("the file contains a secret that could not be removed: do not share it")


def _report(export_: Export, written: Written, *, strict: bool) -> int:
    for reason in export_.failed:
        complain(f"not exported: {safe(reason, export_.secrets)}")
    for reason in export_.suspects:
        complain(safe(reason, export_.secrets))
    notes = [note for call in export_.calls for note in call.lost_in(written)] + [*written.notes]
    for note in notes:
        complain(safe(f"{note.place}: not exported: {note.reason}", export_.secrets))
    return int(bool(export_.failed) or any(strict or note.bug for note in notes))
