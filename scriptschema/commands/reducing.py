"""The command `reduce`, which shrinks a program as long as a test command exits with status 0."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from scriptschema.commands import program
from scriptschema.commands.console import INPUT, Number, lost_text, luau_option, report
from scriptschema.commands.finds import reduce_find
from scriptschema.commands.luau import holds_source, load_names, names_option, parsed
from scriptschema.commands.trust import trust_option

if TYPE_CHECKING:
    from scriptschema.fuzzing.command_test import CommandTest
    from scriptschema.fuzzing.reduce import Reducer
    from scriptschema.luau.names import Names
    from scriptschema.messages import ModuleSet
    from scriptschema.versions import Version


@program.command("reduce")
@click.argument("path", type=INPUT, metavar="FILE")
@click.option(
    "--test",
    "command",
    metavar="COMMAND",
    help=(
        "A command that exits with status 0 if the program is interesting; not allowed with a find."
    ),
)
@click.option(
    "-o", "--output", metavar="FILE", help="The file to write (default: standard output)."
)
@click.option(
    "--from",
    "from_format",
    type=click.Choice(["luau", "binary", "text", "json"]),
    help="The format of the input (default: from the suffix).",
)
@click.option(
    "-j",
    "--jobs",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    metavar="N",
    help="The number of tests to run at the same time.",
)
@click.option(
    "--timeout",
    default=60.0,
    show_default=True,
    type=Number(0, min_open=True),
    metavar="S",
    help="The time limit for each test, in seconds; lowered if tests of interesting programs "
    "finish quickly.",
)
@names_option
@luau_option
@trust_option
def reduce_command(
    path: Path,
    command: str | None,
    output: str | None,
    from_format: str | None,
    jobs: int,
    timeout: float,
    names_path: Path | None,
    luau: Version | None,
    trust: bool,
) -> None:
    """Shrink a program as far as possible while a test keeps passing.

    The test is COMMAND, which must exit with status 0 if the program is still interesting. FILE is
    a Luau source (.luau, .lua, a pipe, or a file of a fuzzing engine), a tree (.pb, .textproto,
    .json) or - for standard input. COMMAND runs without a shell. {} or {file} in COMMAND is
    replaced with the name of a file that contains the source. {.pb}, {.textproto} and {.json} are
    replaced with the name of a file that contains the tree. A COMMAND without any of these reads
    the source from standard input.

    The suffix of the output file (-o) determines whether a source or a tree is written. During the
    reduction, each smaller program is written immediately. After Ctrl-C, the file contains the
    smallest program so far, if the test has passed at least once. If the program has a module, its
    sources are written to a folder with the name of the output file, without the suffix.

    FILE can also be a find, which is a folder in a campaign's finds/. Then the test is whether the
    find's bug occurs on its campaign's targets, and the result is stored in the find.

    \b
    scriptschema reduce crash.luau --test './crashes.sh {}' -o small.luau
    """
    from scriptschema import files
    from scriptschema.fuzzing.command_test import CommandError, CommandTest
    from scriptschema.fuzzing.reduce import NotInterestingError, Reducer

    if path.is_dir():
        from scriptschema.fuzzing.campaign import finds

        is_find = (path / finds.FILE).is_file()  # if not, `reduce_find` says so
        if is_find and (command is not None or output is not None):
            raise click.UsageError(
                "--test and -o cannot be used with a find: it is reduced in place, by its own test"
            )
        reduce_find(path, trust=trust)
        return
    if command is None:
        raise click.UsageError(
            "Missing option '--test': the command that decides whether a program is interesting."
        )
    target = files.STANDARD if output is None else Path(output)
    _check_target(target)
    try:
        tree, names, hint = _read(path, from_format, load_names(names_path), luau)
        test = CommandTest(command, names=names, max_time=timeout)
        if not _is_source(target):
            _serialized(target, tree)  # fails now rather than after the first tests
    except CommandError as error:
        raise click.BadParameter(str(error), param_hint="--test") from None
    place = _place(target, tree)
    if place != target:
        click.echo(
            f"the program has a module, so it is written to the folder {place}, not to {target}, "
            "unless reduction removes the module",
            err=True,
        )
    display = _Display()
    saved: Any = None

    def changed(reducer: Reducer[ModuleSet]) -> None:
        nonlocal saved
        if reducer.best is not saved:
            saved = reducer.best
            if target != files.STANDARD:
                _write(target, saved, names)
        display.show(reducer)

    reducer = Reducer(tree, test, jobs=jobs, names=names, changed=changed)
    saved = reducer.best
    before = reducer.size, len(reducer.source.encode("utf-8", "surrogateescape"))
    try:
        with display, contextlib.closing(test):
            reduced = reducer.run()
            text = _shortest_text(reduced, names, test) if _is_source(target) else None
        _write(target, reduced, names, text)
    except KeyboardInterrupt:
        if not reducer.is_confirmed:
            click.echo("stopped before the test had passed once: nothing was written", err=True)
            sys.exit(130)
        _write(target, reducer.best, names)
        written = _place(target, reducer.best)
        where = "printed above" if target == files.STANDARD else f"in {written}"
        click.echo(
            f"stopped: the smallest program so far, {reducer.size} nodes, is {where}", err=True
        )
        sys.exit(130)
    except NotInterestingError as error:
        own = path.read_bytes() if _is_shown(path, from_format, tree, test) else None
        report(ValueError(_refusal(str(error), hint, own, tree, test)))
        sys.exit(1)
    except (CommandError, ValueError) as error:
        report(error)
        sys.exit(1)
    size = len(text if text is not None else reducer.source)
    click.echo(
        f"{before[0]:,} nodes -> {reducer.size:,}, {before[1]:,} characters -> {size:,}, "
        f"{reducer.tests:,} tests",
        err=True,
    )
    if place != target:
        click.echo(f"the result is in {_place(target, reduced)}", err=True)
    if reducer.unreliable:
        report(Warning(reducer.unreliable))
        sys.exit(1)


def _is_shown(path: Path, form: Any, tree: ModuleSet, test: CommandTest) -> bool:
    """Return whether the test can be tried on the bytes of the input file itself."""
    alone = tree.module is None and test.reads_source
    return alone and path.is_file() and holds_source(path, form)


def _refusal(error: str, hint: str, own: bytes | None, tree: ModuleSet, test: CommandTest) -> str:
    """Return why the test fails for the original tree. `own` are the bytes of the input file."""
    from scriptschema.fuzzing.command_test import CommandError

    try:
        passes, ending = test.ending_for(tree if own is None else own)
        if own is None:
            return f"{error}{hint}\nthe command {ending}"
        if not passes:
            return f"{error}, and neither does the file itself\nfor the file, the command {ending}"
        _, ending = test.ending_for(tree)
    except CommandError as problem:
        return f"{error}{hint}\n{problem}"
    return (
        f"{error}{hint}\nthe file itself passes the test, but scriptschema reduces the program "
        f"without the file's own layout and comments\nfor this program, the command {ending}"
    )


def _is_source(path: Path) -> bool:
    from scriptschema import files

    return path.suffix not in files.ENDINGS


def _check_target(path: Path) -> None:
    from scriptschema import files

    if path != files.STANDARD and path.suffix not in files.ALL_ENDINGS:
        known = ", ".join((*files.SOURCE_ENDINGS, *files.ENDINGS))
        raise click.BadParameter(f"{path}: unknown suffix (known: {known})", param_hint="-o")


def _read(
    path: Path, form: Any, names: Names, luau: Version | None
) -> tuple[ModuleSet, Names, str]:
    """Return a file's tree, its name tables, and a possible reason why the tree fails the test."""
    from scriptschema import files
    from scriptschema.luau.names import NameReader
    from scriptschema.luau.parse import COMMENTS
    from scriptschema.messages import ModuleSet

    if not holds_source(path, form):
        return files.read(ModuleSet, path, form, luau=luau), names, ""
    reader = NameReader(names, luau)
    result, _ = parsed(path, form, names=reader, luau=luau)
    if result.losses:
        options = "--losses" if luau is None else f"--losses --luau {luau}"
        click.echo(
            f"{lost_text(len(result.losses))}: to list them, run `scriptschema parse {options}`",
            err=True,
        )
    lost, reason = {loss.what for loss in result.losses}, ""
    if luau is None and lost - COMMENTS:
        reason = ", perhaps because the tree lacks some of the source's syntax: use --luau today"
    elif "directive" in lost:
        reason = (
            ", perhaps because directives such as --!strict were dropped: replace them with "
            "options of the test's command, or let the test add them"
        )
    return result.tree, reader.names, reason


def _write(target: Path, tree: ModuleSet, names: Names, text: str | None = None) -> None:
    from scriptschema import files
    from scriptschema.luau import sources
    from scriptschema.luau.render import render

    if not _is_source(target):
        files.write(target, _serialized(target, tree))
    elif text is not None:
        files.write(target, sources.encode(text))
    elif target == files.STANDARD:
        files.write(target, sources.encode(render(tree, names=names)))
    else:
        sources.write_sources(target, tree, names=names)


def _place(target: Path, tree: ModuleSet) -> Path:
    from scriptschema.luau.sources import place_of

    return place_of(target, tree) if _is_source(target) else target


def _serialized(target: Path, tree: ModuleSet) -> bytes:
    from scriptschema import files
    from scriptschema.versions import TODAY

    try:
        return files.serialize(tree, files.format_of(target), TODAY)
    except ValueError as error:
        source = target.with_suffix(".luau")
        raise files.FileError(
            f"{target}: {error}: write Luau source instead, with -o {source}"
        ) from None


def _shortest_text(tree: ModuleSet, names: Names, test: CommandTest) -> str | None:
    """Return the shortest of several shortened sources that pass the test, if any."""
    from scriptschema.luau.printing.shorten import compact, short_names
    from scriptschema.luau.render import render

    if tree.module is not None or not test.reads_source:
        return None
    plain = render(tree.program, names=names)
    short = render(tree.program, names=short_names(tree, names))
    texts = {compact(short), short, compact(plain)}
    return next((text for text in sorted(texts, key=len) if test.holds_for(text)), None)


_INTERVAL: Final = 30.0


class _Display:
    """Shows the progress: in place on a terminal, otherwise as a line every `_INTERVAL` seconds."""

    def __init__(self) -> None:
        self.status: Any = None
        self.start = self.shown = time.monotonic()

    def __enter__(self) -> None:
        if sys.stderr.isatty():
            from rich.console import Console

            self.status = Console(stderr=True).status("reducing")
            self.status.start()

    def __exit__(self, *_: object) -> None:
        if self.status is not None:
            self.status.stop()

    def show(self, reducer: Reducer[ModuleSet]) -> None:
        now = time.monotonic()
        if self.status is None and now < self.shown + _INTERVAL:
            return
        self.shown = now
        text = (
            f"{reducer.size:,} nodes, {len(reducer.source):,} characters, "
            f"{reducer.tests:,} tests, {now - self.start:.0f} s"
        )
        if self.status is None:
            click.echo(text, err=True)
        else:
            self.status.update(text)
