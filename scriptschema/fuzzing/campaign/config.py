"""The configuration of a campaign: `campaign.json`."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from scriptschema import files
from scriptschema.files import FileError
from scriptschema.fuzzing.oracles.differential import COMPARED, OUTPUT, shortened
from scriptschema.fuzzing.targets.description import Description, TargetError, from_table
from scriptschema.fuzzing.targets.probing import ANNOTATIONS, SPELLINGS, Probed, as_json, names
from scriptschema.luau.names import DEFAULT
from scriptschema.versions import SEED, Version

FILE: Final = "campaign.json"
FORMAT: Final = 1

ORACLES: Final = (
    *("broken", "hang", "memory", "difference", "metamorphic", "round-trip", "accepted", "types"),
)
"""The names of the oracles. `broken` finds crashes, sanitizer reports, failed assertions and
internal errors. `metamorphic` finds differences between a program and an equivalent, rewritten
version of it (`fuzzing.rewriting`). `accepted` finds sources that a target runs although they are
not Luau. `types` finds type errors at run time in programs that the checker accepts."""

SOURCES: Final = ("program", "repaired")

TYPES: Final = ("none", "random", "sound")

STYLES: Final = ("random", "plain")

ENGINES: Final = ("own", "afl")


def _is_share(_: object, field: attrs.Attribute[float], value: float) -> None:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise ValueError(f"{field.name} must be a number from 0 to 1, found {value!r}")


def _is_whole(_: object, field: attrs.Attribute[int], value: int) -> None:
    if type(value) is not int:
        raise ValueError(f"{field.name} must be a whole number, found {value!r}")


@attrs.frozen
class Config:
    """A campaign's configuration. All fields except `probed` stay the same in all runs.

    `engine` is the source of mutants: `own` is the campaign's workers, `afl` is AFL++ (see `afl`).
    `source` is the source of new programs: `program` is the program generator, `repaired` repairs
    random trees. `size` is the intended number of nodes. `style` is `random` if some programs are
    written in random styles (see `luau.render.render`), otherwise `plain`.

    Three fields are fractions of all programs. `mutants` is the fraction of mutants. `broken` is
    the fraction whose source is not valid Luau (`luau.breaking`). `compiled` is the fraction of
    programs that are compiled but not run (`fuzzing.uncalled`).

    `checker` and `printer` are commands (see `oracles`), `judge` is the user's judge function
    (`module:function`), and `known` is the path of a file that lists known bugs. `compare` and
    `ulps` define what counts as a difference (see `oracles.differential`).

    Programs avoid the names in `without` (libraries, members, globals). If `only` is not empty,
    they use no libraries except those in `only`. `luau` is the version of Luau to write programs
    for, or empty for the newest version that all targets support (see `Probed.luau`). `probed`
    contains the properties that the targets had when the campaign was last started.
    """

    targets: tuple[Description, ...]
    seed: int = attrs.field(default=0, validator=_is_whole)
    engine: str = attrs.field(default="own", validator=attrs.validators.in_(ENGINES))
    source: str = attrs.field(default="program", validator=attrs.validators.in_(SOURCES))
    size: int = attrs.field(default=100, validator=_is_whole)
    mutants: float = attrs.field(default=0.2, validator=_is_share)
    broken: float = attrs.field(default=0.0, validator=_is_share)
    compiled: float = attrs.field(default=0.25, validator=_is_share)
    types: str = attrs.field(default="random", validator=attrs.validators.in_(TYPES))
    style: str = attrs.field(default="random", validator=attrs.validators.in_(STYLES))
    oracles: tuple[str, ...] = attrs.field(
        default=ORACLES,
        converter=tuple,
        validator=attrs.validators.deep_iterable(attrs.validators.in_(ORACLES)),
    )
    checker: str = ""
    printer: str = ""
    judge: str = ""
    known: str = ""
    compare: str = attrs.field(default=OUTPUT, validator=attrs.validators.in_(COMPARED))
    ulps: int = attrs.field(default=0, validator=_is_whole)
    luau: str = ""
    without: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    only: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    probed: tuple[Probed, ...] = attrs.field(default=(), eq=False)

    def __attrs_post_init__(self) -> None:
        """Raise ValueError for unknown libraries or an unknown version of Luau."""
        missing_of(self.without, self.only)
        if self.luau:
            Version.parse(self.luau)

    @property
    def version(self) -> Version | None:
        """The version of Luau to write programs for. None means the schema without extensions.

        This is `luau` if set, otherwise the newest version that all targets support (see
        `Probed.luau`).
        """
        if self.luau:
            return Version.parse(self.luau)
        versions = [target.luau for target in self.probed]
        known = [version for version in versions if version is not None]
        return min(known, default=None) if all(versions) else None

    @property
    def run_names(self) -> list[str]:
        """The names of all runs of a program: a run for each target and variant."""
        return [target.run_name(each) for target in self.targets for each in target.variants]

    @property
    def run_targets(self) -> dict[str, int]:
        """The index of each run's target, by the name of the run in signatures."""
        indexes = [index for index, target in enumerate(self.targets) for _ in target.variants]
        return dict(zip(shortened(self.run_names), indexes, strict=True))

    @property
    def descriptions(self) -> list[str]:
        """A line of text for each target: its properties, and what programs lack because of it."""
        unknown = f"; not known to be Luau {SEED} or newer: no fractions, no casts (see --luau)"
        if self.luau:
            unknown = ""
        return [f"{target}{unknown if target.luau is None else ''}" for target in self.probed]

    @property
    def rewrites(self) -> bool:
        """Whether programs are compared with rewritten versions of themselves (see `rewriting`).

        This requires that all targets run code.
        """
        return (
            "metamorphic" in self.oracles
            and bool(self.probed)
            and all(target.runs for target in self.probed)
        )

    @property
    def styles(self) -> bool:
        """Whether some programs are written in random styles.

        This requires that all targets can read programs in any style.
        """
        return self.style == "random" and all(SPELLINGS not in t.missing for t in self.probed)

    def missing(self) -> frozenset[str]:
        """Return the features that programs must not use.

        These are the features that `without`, `only` and `types` exclude, and those that a target
        lacks. Sound types are used even if a target lacks annotations.
        """
        missing = {name for target in self.probed for name in target.missing}
        if self.types != "random":
            missing = missing | ANNOTATIONS if self.types == "none" else missing - ANNOTATIONS
        return missing_of(self.without, self.only) | missing - {SPELLINGS}

    def as_json(self) -> dict[str, Any]:
        """Return all fields as JSON data."""
        return {"format": FORMAT, **as_json(self)}

    @classmethod
    def from_json(cls, value: Any) -> Config:
        """Return the configuration that JSON data describes. Raises ValueError for invalid data."""
        try:
            fields = dict(value)
            if fields.pop("format") != FORMAT:
                raise ValueError(
                    "written by another version of scriptschema: use that version, or start a new "
                    "campaign"
                )
            tables = fields.pop("targets", None)
            if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
                raise ValueError(
                    "targets must be a list of tables, in TOML one [[targets]] for each target"
                )
            targets = tuple(map(from_table, tables))
            probed = tuple(map(Probed.from_json, fields.pop("probed", ())))
            _require_types(fields)
            return cls(targets=targets, probed=probed, **fields)
        except (KeyError, TypeError, TargetError) as error:
            raise ValueError(f"invalid campaign configuration: {error}") from None
        except ValueError as error:  # those of attrs also contain the field and its validator
            raise ValueError(error.args[0]) from None


def settings() -> dict[str, Any]:
    """Return the names and default values of the fields that a user can set, except `targets`."""
    return {
        field.name: field.default
        for field in attrs.fields(Config)
        if field.name not in ("targets", "probed")
    }


def _require_types(given: Mapping[str, Any]) -> None:
    """Raise ValueError for an unknown setting, or one that should be a string or a list.

    The fields' validators check numbers.
    """
    known = settings()
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"unknown setting {name!r}; available: targets, {', '.join(known)}")
        match known[name]:
            case str() if not isinstance(value, str):
                wanted = "a string"
            case tuple() if not (
                isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
            ):
                wanted = "a list of strings"
            case _:
                continue
        raise ValueError(f"{name} must be {wanted}, found {value!r}")


def missing_of(without: Iterable[str], only: Iterable[str]) -> frozenset[str]:
    """Return all names that `without` and `only` exclude, including members of excluded libraries.

    If `only` is not empty, it excludes all libraries that it does not contain. Raises ValueError
    for an unknown name, or for a name in `only` that is not a library.
    """
    known = [*names()]
    for name in (*without, *only):
        if name not in known or (name in {*only} and name not in DEFAULT.libraries):
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(f"unknown library or member {name!r}{hint}")
    excluded = {*without}
    if only:
        excluded |= {name for name in DEFAULT.libraries if name not in {*only}}
    return frozenset(
        name for name in known if name in excluded or name.partition(".")[0] in excluded
    )


def load(folder: Path) -> Config:
    """Return the configuration of the campaign in `folder`. Raises FileError."""
    path = folder / FILE
    data = files.content_of(path)
    if data is None:
        raise FileError(f"{folder} is not a campaign: it contains no {FILE}")
    try:
        return Config.from_json(json.loads(data))
    except ValueError as error:
        raise FileError(f"{path}: {error}") from None


def save(folder: Path, config: Config) -> None:
    """Write the configuration of the campaign in `folder`. Raises FileError."""
    files.write(folder / FILE, (json.dumps(config.as_json(), indent=2) + "\n").encode())
