"""The command ``orgrest import``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orgrest.commands import program
from orgrest.commands.console import complain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.convert.shared.model import Collection, Environment, Written


@program.command("import")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write here: requests.http, or notes.org for an Org document. A new file.",
)
@click.option("--strict", is_flag=True, help="Status 1 if something could not be translated.")
def import_(sources: tuple[str, ...], *, output: Path | None, strict: bool) -> None:
    """Convert files of other tools to request files.

    A SOURCE is a Postman collection or environment, an Insomnia export, the folder of a Bruno
    collection, a hurl file, an OpenAPI description, or a file with curl commands, an HTTP request
    as it is sent, or a HAR file of a browser; - reads standard input. The format is detected from
    the content.

    \b
    orgrest import api.postman_collection.json dev.postman_environment.json -o api.http
    orgrest import recorded.har -o notes.org
    xclip -o | orgrest import -

    Nothing is sent, and nothing of a source runs. What cannot be translated stands as a comment at
    its place, and is listed on standard error.
    """
    from orgrest.convert.formats import read
    from orgrest.convert.shared.model import ConversionError
    from orgrest.convert.shared.source import Source

    if output is not None and output.exists():
        raise ConversionError("this file exists: name a new one", file=str(output))
    found = [
        read(Source.of(sys.stdin.buffer.read(), "standard input") if one == "-" else Source.at(one))
        for one in sources
    ]
    whole = _together(found, sources)
    written = _write(whole, output)
    notes = [*whole.folder.all_notes(), *written.notes]
    for note in notes:
        complain(f"{note.place}: not translated: {note.reason}")
    sys.exit(1 if strict and notes else 0)


def _together(found: list[Collection], sources: Iterable[str]) -> Collection:
    """Return several collections as folders of a single collection."""
    import attrs

    from orgrest.convert.shared.model import Collection, Folder

    if len(found) == 1:
        return found[0]
    named = [
        attrs.evolve(one.folder, name=one.folder.name or Path(source).stem)
        for one, source in zip(found, sources, strict=True)
        if one.folder.items or one.folder.variables or one.folder.notes
    ]
    folder = named[0] if len(named) == 1 else Folder("", tuple(named))
    return Collection(folder, tuple(env for one in found for env in one.environments))


def _write(whole: Collection, output: Path | None) -> Written:
    """Write the document and the files beside it. Raises OrgrestError."""
    from orgrest.convert.environments import PRIVATE, merged
    from orgrest.convert.shared import documents
    from orgrest.files import FileError, is_request_file, write, write_new, write_private

    elsewhere = {name for one in whole.environments for name, _ in one.variables}
    as_org = output is not None and not is_request_file(output)
    make = documents.org_of if as_org else documents.request_file_of
    if output is None:
        written = make(whole, bodies=None)
        click.echo(written.text, nl=False)
        if whole.environments:
            names = ", ".join(one.name for one in whole.environments)
            complain(f"the environments {names} are written only with -o, beside its file")
        return written
    stem = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in output.stem)
    written = make(whole, bodies=f"{stem or 'imported'}-bodies", elsewhere=elsewhere)
    environments = _with_shared(whole, elsewhere)
    settings = merged(output.parent, environments)
    try:
        for name, data in written.files.items():
            write_new(output.parent / name, data)
        for path, text in settings.items():
            (write_private if path.name == PRIVATE else write)(path, text.encode())
        write(output, written.text.encode())
    except OSError as error:
        raise FileError(f"cannot be written: {error.strerror}", file=str(output)) from error
    if any(path.name == PRIVATE for path in settings):
        complain(f"secrets are in {output.parent / PRIVATE}: keep it out of the repository, with a "
                 f"line {PRIVATE} in .gitignore")  # fmt: skip
    return written


def _with_shared(whole: Collection, elsewhere: set[str]) -> tuple[Environment, ...]:
    """Return the environments, with one more for the collection's variables that they override."""
    from orgrest.convert.environments import shared

    values = {name: value for name, value in whole.folder.variables if name in elsewhere}
    return (*([shared(values)] if values else []), *whole.environments)
