"""Parses the options of `fuzz`: durations, names, seed programs, and a campaign's configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scriptschema.commands.console import counted, luau_version
from scriptschema.commands.corpus.inputs import Failures

if TYPE_CHECKING:
    from scriptschema.fuzzing.campaign.config import Config
    from scriptschema.fuzzing.targets.description import Description

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def duration(_context: object, _parameter: object, value: str | None) -> float | None:
    """Return a duration (30s, 10m, 8h, 2d, or plain seconds) in seconds.

    Raises a usage error for other strings.
    """
    if value is None:
        return None
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", value)
    if not match or not float(match[1]):
        raise click.BadParameter(f"invalid duration {value!r}: use a form like 30s, 10m or 8h")
    return float(match[1]) * _UNITS[match[2]]


def names(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """Return the names in a comma-separated list of libraries and members.

    Raises a usage error for an unknown name.
    """
    if value is None:
        return None
    from scriptschema.fuzzing.campaign.config import missing_of

    listed = tuple(name.strip() for name in value.split(","))
    try:
        missing_of(*((), listed) if parameter.name == "only" else (listed, ()))
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from None
    return listed


def version_name(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """Return the name of a version of Luau. Raises a usage error if the version is unknown."""
    luau_version(context, parameter, value)
    return value


WITHOUT_TYPES = "other programs contain type errors that a checker need not notice"
"""Why `--checker` requires `--types sound`."""

_OPTIONS = {
    "variants": "--variant",
    "seconds": "--timeout",
    "megabytes": "--memory",
    "crash": "--crash",
    "error": "--error",
}
"""For each field of a target that can be set on the command line, the option that sets it."""


def config_of(
    folder: Path, *, words: tuple[str, ...], config_path: Path | None, **options: Any
) -> Config | None:
    """Return the configuration from the options, or None to continue an existing campaign.

    The names in `options` are those of fields of `Config` and of a target. Raises a usage error if
    options are missing, invalid or contradictory.
    """
    from scriptschema.fuzzing.campaign.config import Config
    from scriptschema.fuzzing.targets.description import KINDS, TargetError, from_word

    given = {name: value for name, value in options.items() if value not in (None, ())}
    limits = {name: given.pop(name) for name in _OPTIONS if name in given}
    if "known" in given:
        given["known"] = str(given["known"].absolute())
    if config_path is not None:
        extra = ["--target"] * bool(words) + [_OPTIONS[name] for name in limits]
        if extra:
            raise click.UsageError(
                f"{', '.join(extra)} cannot be combined with --config: the file describes the "
                "targets"
            )
        return _read_config(config_path, given)
    if not words:
        is_campaign = (folder / "campaign.json").exists()
        extra = [*(f"--{name}" for name in given), *(_OPTIONS[name] for name in limits)]
        if is_campaign and extra:
            raise click.UsageError(
                f"{folder} is an existing campaign, which keeps its options: to continue it, omit "
                f"{', '.join(extra)}; for a new campaign, use another folder and --target"
            )
        if not is_campaign:
            raise click.UsageError(
                "missing target: use --target, for example --target luau-web (to continue an "
                "existing campaign, give only its folder)"
            )
        return None
    if given.get("engine") == "afl" and ":" not in words[0] and words[0] not in KINDS:
        words = (f"command:{words[0]}", *words[1:])
    try:
        _check_engine(given)
        targets = [from_word(word, **limits) for word in words]
        return Config(targets=tuple(map(_with_absolute_folder, targets)), **given)
    except TargetError as error:
        raise click.BadParameter(str(error), param_hint="--target") from None
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _with_absolute_folder(target: Description) -> Description:
    if target.kind != "luau-web":
        return target
    import attrs

    # Later runs may start in another folder.
    return attrs.evolve(target, folder=str(Path(target.folder or ".").absolute()))


def _read_config(path: Path, overrides: dict[str, Any]) -> Config:
    import tomllib

    from scriptschema import files
    from scriptschema.fuzzing.campaign.config import FORMAT, Config

    try:
        with path.open("rb") as file:
            table = tomllib.load(file)
        _check_as_options(table)
        _check_engine({**table, **overrides})
        if isinstance(table.get("known"), str) and table["known"]:
            table["known"] = str(Path(table["known"]).absolute())  # as with the option
        config = Config.from_json({"format": FORMAT, **table, **overrides})
        if config.checker and config.types != "sound" and "checker" not in overrides:
            if "types" in overrides:
                raise click.UsageError(
                    f"the checker in {path} requires --types sound: {WITHOUT_TYPES}"
                )
            raise ValueError(f'checker requires types = "sound": {WITHOUT_TYPES}')
    except (OSError, ValueError) as error:
        reason = files.reason_of(error)
        raise click.BadParameter(f"{path}: {reason}", param_hint="--config") from None
    return config


_NOT_WITH_AFL = {
    "size": "AFL++ decides how large programs become",
    "source": "AFL++ starts from generated programs",
    "mutants": "AFL++ runs only mutants",
    "broken": "AFL++ creates invalid sources itself",
    "compiled": "AFL++ runs all programs",
}
"""The settings that AFL++ as the engine cannot follow, each with the reason."""


def _check_engine(given: dict[str, Any]) -> None:
    """Raise ValueError for a setting that requires the engine `own`, if the engine is `afl`."""
    for name, reason in _NOT_WITH_AFL.items() if given.get("engine") == "afl" else ():
        is_followed = name in ("broken", "compiled") and given.get(name) == 0
        if name in given and not is_followed:
            option = name if name in ("source", "mutants") else f"--{name}"
            raise ValueError(f"{option} requires --engine own: {reason}")


def _check_as_options(table: dict[str, Any]) -> None:
    """Raise ValueError for a setting whose value the option of the same name does not accept."""
    from scriptschema.fuzzing.campaign.config import settings

    context = click.get_current_context()
    for option in context.command.params:
        name = option.name
        if name in table and table[name] != settings().get(name, table[name]):
            value = table[name]
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            try:
                option.process_value(context, text)
            except click.BadParameter as error:
                raise ValueError(f"{name}: {error.message}") from None


def seeds_in(folder: Path, config: Config) -> list[bytes]:
    """Return the programs in a folder as encoded trees.

    Prints how many programs were read or changed, and each file that cannot be used. Raises
    FileError if no file can be used.
    """
    from scriptschema.fuzzing.corpora.reading import read_seeds

    failed = Failures()
    seeds = read_seeds(folder, failed.report, config.version)
    skipped = f", skipped {counted(failed.number, 'file')}" if failed.number else ""
    click.echo(f"seeds: read {counted(len(seeds.programs), 'program')}{skipped}", err=True)
    version = f" --luau {config.version}" if config.version else ""
    if seeds.incomplete:
        click.echo(
            f"seeds: read {counted(seeds.incomplete, 'program')} only in part, because of syntax "
            f"that the schema lacks: to list this syntax, run `scriptschema parse {folder} "
            f"--losses{version}`",
            err=True,
        )
    if seeds.without:
        click.echo(
            f"seeds: left out the modules of {counted(len(seeds.without), 'program')}, for example "
            f"{seeds.without[0]}, because the programs of a campaign cannot have modules",
            err=True,
        )
    if seeds.repaired:
        click.echo(
            f"seeds: changed {counted(len(seeds.repaired), 'program')}, for example "
            f"{seeds.repaired[0]}, because the programs of a campaign must be valid: to see why a "
            f"program is not valid, run `scriptschema check{version} FILE`",
            err=True,
        )
    return seeds.programs
