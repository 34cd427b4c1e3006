"""The command ``orgrest import``."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orgrest.commands import program
from orgrest.commands.console import complain

if TYPE_CHECKING:
    from orgrest.convert.shared.model import Collection, Written


@program.command("import")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to this new file, such as requests.http, or notes.org for an Org document.",
)
@click.option(
    "--strict", is_flag=True, help="Exit with status 1 if something could not be translated."
)
def import_(sources: tuple[str, ...], *, output: Path | None, strict: bool) -> None:
    """Convert files from other tools to request files.

    A SOURCE is a Postman collection or environment, an Insomnia export, the folder of a Bruno
    collection, a hurl file, an OpenAPI description, a file with curl commands, a raw HTTP request,
    or a HAR file from a browser. Use - for standard input. The content determines the format.

    \b
    orgrest import api.postman_collection.json dev.postman_environment.json -o api.http
    orgrest import recorded.har -o notes.org
    xclip -o | orgrest import -

    Nothing is sent, and no code in a source runs. Parts that cannot be translated become comments,
    and are listed on standard error, and so are files that do not exist. If a SOURCE cannot be
    read, the others are still converted, and the exit status is 2.
    """
    from orgrest.convert.formats import read
    from orgrest.convert.shared.model import ConversionError
    from orgrest.convert.shared.scopes import unset
    from orgrest.convert.shared.source import Source
    from orgrest.model import explained

    if output is not None and output.exists():
        raise ConversionError("the file already exists: choose another name", file=str(output))
    collections: dict[str, Collection] = {}
    for argument in dict.fromkeys(sources):  # standard input can be read only once
        name = "standard input" if argument == "-" else argument
        try:
            source = (
                Source.at(argument) if argument != "-" else Source.of(sys.stdin.buffer.read(), name)
            )
            target = Path() if output is None else output.parent
            collections[argument] = source.with_files(read(source), target)
        except Exception as error:
            why = explained(error)
            why.file = why.file or name
            complain(str(why))
    if not collections:
        sys.exit(2)
    whole = _combined(collections, apart=output is not None)
    written = _write(whole, output)
    notes = [*whole.folder.all_notes(), *written.notes]
    for note in notes:
        complain(f"{note.place}: not translated: {note.reason}")
    known = (name for environment in whole.environments for name, _ in environment.variables)
    if missing := unset(whole.folder, known, org=_is_org(output)):
        complain(
            f"variables that requests use before anything sets them: {', '.join(missing)}; define "
            "them in the document or an environment, because such a request is not sent"
        )
    if len(collections) < len(set(sources)):
        sys.exit(2)
    sys.exit(int(any(strict or note.bug for note in notes)))


def _is_org(output: Path | None) -> bool:
    from orgrest.files import is_request_file

    return output is not None and not is_request_file(output)


def _combined(collections: dict[str, Collection], *, apart: bool) -> Collection:
    """Return a collection with the content of all `collections`.

    If `apart` is true, the variables of a collection that environments also define become a shared
    environment: environments can override its values, but not those in a document.
    """
    from orgrest import classes
    from orgrest.convert.shared.model import Collection, Environment, Folder, Note
    from orgrest.http.values.environments import SHARED

    environments = [each for collection in collections.values() for each in collection.environments]
    # The values of a document override shared ones in any case.
    able = [each for each in environments if apart and each.name != SHARED]
    names = {name for each in able for name, _ in each.variables}
    pairs = dict.fromkeys(pair for each in collections.values() for pair in each.folder.variables)
    values = Counter(name for name, _ in pairs)
    common = {name: value for name, value in pairs if name in names and values[name] == 1}
    folders = []
    for source, collection in collections.items():
        folder = collection.folder
        left = tuple(pair for pair in folder.variables if pair[0] not in common)
        notes = tuple(
            Note(source, f"environments cannot set {name}, because collections set it differently")
            for name, _ in left
            if name in names
        )
        if folder.items or folder.variables or folder.notes or len(collections) == 1:
            title = folder.name if len(collections) == 1 else folder.name or Path(source).stem
            notes = (*folder.notes, *notes)
            folders.append(classes.evolve(folder, name=title, variables=left, notes=notes))
    folder = folders[0] if len(folders) == 1 else Folder("", tuple(folders))
    # Last, because a collection's values override global ones.
    shared = [Environment(SHARED, tuple(common.items()))] if common else []
    return Collection(folder, (*environments, *shared))


def _write(whole: Collection, output: Path | None) -> Written:
    """Write the document, its body files and its environments, or print only the document."""
    from orgrest.convert.environments import merged
    from orgrest.convert.shared import documents
    from orgrest.files import FileError, write, write_new
    from orgrest.http.values.environments import PRIVATE
    from orgrest.model import to_bytes

    elsewhere = {name for environment in whole.environments for name, _ in environment.variables}
    as_org = _is_org(output)
    if output is None:
        written = documents.document_of(whole, org=as_org, bodies=None)
        click.echo(written.text, nl=False)
        if whole.environments:
            names = ", ".join(environment.name for environment in whole.environments)
            complain(
                f"cannot print the environments {names}: use -o FILE to write them beside FILE"
            )
        return written
    stem = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in output.stem)
    bodies = f"{stem or 'imported'}-bodies"
    written = documents.document_of(whole, org=as_org, bodies=bodies, elsewhere=elsewhere)
    settings = merged(output.parent, whole.environments)
    try:
        for name, data in written.files.items():
            write_new(output.parent / name, data)
        for path, text in settings.items():
            write(path, to_bytes(text), private=path.name == PRIVATE)
        write(output, written.text.encode())
    except OSError as error:
        raise FileError(f"could not write the file: {error.strerror}", file=str(output)) from error
    if any(path.name == PRIVATE for path in settings):
        complain(
            f"{output.parent / PRIVATE} contains secrets: keep it out of the "
                        f"repository (add the line {PRIVATE} to .gitignore)")  # fmt: skip
    return written
