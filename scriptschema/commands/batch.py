"""Code shared by commands that process many files: selecting, processing, writing, reporting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scriptschema.commands.console import counted, progress, refuse_terminal, report

if TYPE_CHECKING:
    from scriptschema.base import Message
    from scriptschema.files import Format, Input
    from scriptschema.versions import Version


def tree_files(
    inputs: Sequence[Path], form: str | None, *, with_sources: bool = False
) -> list[Input]:
    """Return the files to read as trees, and report how many files are skipped.

    If `form` is None, a file in a folder is skipped unless its suffix indicates a tree or, if
    `with_sources` is true, a source.
    """
    from scriptschema import files

    candidates = files.expand(inputs)
    if form is not None:
        return candidates
    endings = {*(files.ALL_ENDINGS if with_sources else files.ENDINGS)}
    chosen = [item for item in candidates if not item.in_folder or item.path.suffix in endings]
    skipped = {item.path.suffix or "none" for item in candidates} - endings
    if len(chosen) < len(candidates):
        click.echo(
            f"skipped {counted(len(candidates) - len(chosen), 'file')} whose suffix does not "
            f"indicate a {'source or a ' if with_sources else ''}tree "
            f"({', '.join(sorted(skipped)[:5])}): use --from to read trees"
            + ("" if with_sources else ", and `scriptschema parse` to read sources"),
            err=True,
        )
    return chosen


def written_form(items: Sequence[Input], output: str | None, to: Format | None) -> Format | None:
    """Return the format to write: `to`, or else the format that the suffix of `output` indicates.

    Returns None if neither names a format. The suffix of a folder is ignored.
    """
    from scriptschema import files

    if to is None and output is not None and files.is_one_file(items, output):
        return files.ENDINGS.get(Path(output).suffix)
    return to


def common_form(items: Sequence[Input]) -> Format:
    """Return the format that the files' suffixes indicate, or `binary` if no suffix indicates one.

    Raises a usage error if the files have different formats.
    """
    from scriptschema import files

    forms = {files.ENDINGS[i.path.suffix] for i in items if i.path.suffix in files.ENDINGS}
    if len(forms) > 1:
        raise click.UsageError(
            f"the files have different formats ({' and '.join(sorted(forms))}): "
            "choose one with --to"
        )
    return next(iter(forms), "binary")


def run_all(
    items: Sequence[Input],
    output: str | None,
    form: str,
    what: str,
    run: Callable[[Input, Path], None],
    kept: Iterable[Path] = (),
) -> int:
    """Call `run` with each input and its output path, and return the exit status.

    `form` is the format to write, or `luau` for sources. `what` labels the progress bar. The files
    in `kept` must not be overwritten.

    Raises FileError if there are no inputs. Raises a usage error if `output` cannot be used, for
    example because its suffix indicates another format.
    """
    from scriptschema import files

    require_some(items)
    try:
        targets = files.outputs(items, output, files.ending_of(form))
    except files.FileError as error:
        raise click.UsageError(str(error)) from None
    forms = {**files.ALL_ENDINGS, files.STREAM_ENDING: "stream"}
    for target in targets:
        if forms.get(target.suffix, form) != form:
            what_is_written = "a source" if form == "luau" else f"a tree in the format {form}"
            raise click.UsageError(
                f"{target}: the output is {what_is_written}, but the suffix {target.suffix} "
                "indicates another format; choose another name"
            )
    require_not_replaced(targets, kept)
    if form == "binary" and files.STANDARD in targets:
        refuse_terminal()
    return run_each(list(zip(items, targets, strict=True)), what, run)


def require_not_replaced(outputs: Iterable[Path], kept: Iterable[Path]) -> None:
    """Raise a usage error if one of the `outputs` would replace a file in `kept`."""
    from scriptschema.files import STANDARD

    resolved = {path.resolve() for path in kept if path != STANDARD}
    for output in outputs:
        if output.resolve() in resolved and (output.is_file() or not output.exists()):
            raise click.UsageError(
                f"{output} is also an input or another output, and would be overwritten: choose "
                "another name"
            )


def run_each(
    pairs: Sequence[tuple[Input, Path]], what: str, run: Callable[[Input, Path], None]
) -> int:
    """Call `run` for each pair, report failures, and return the exit status."""
    from scriptschema import files

    status = 0
    for item, target in progress(pairs, what):
        try:
            if item.in_folder:
                files.require_regular(item.path)
            run(item, target)
        except files.FileError as error:
            report(error)
            status = 1
    return status


def write_tree(
    item: Input, target: Path, tree: Message, form: Format, luau: Version | None = None
) -> None:
    """Write the tree derived from `item` to `target` in the format `form`. Raises FileError."""
    from scriptschema import files

    try:
        data = files.serialize(tree, form, luau)
    except ValueError as error:
        raise files.FileError(f"{files.name_of(item.path)}: {error}") from None
    files.write(target, data, below=item.base_of(target))


def require_some(items: Sequence[Input]) -> None:
    """Raise FileError if `items` is empty."""
    from scriptschema.files import FileError

    if not items:
        raise FileError("nothing to read: the folder contains no files that this command reads")
