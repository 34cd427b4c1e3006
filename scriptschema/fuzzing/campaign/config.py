"""What a campaign was asked to do: `campaign.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import attrs

from scriptschema import files
from scriptschema.files import FileError
from scriptschema.fuzzing.campaign.restriction import missing_of
from scriptschema.fuzzing.oracles.differential import COMPARED, OUTPUT
from scriptschema.fuzzing.targets.description import Description, TargetError, from_table
from scriptschema.fuzzing.targets.probing import Probed

FILE: Final = "campaign.json"
FORMAT: Final = 1

ORACLES: Final = ("broken", "hang", "memory", "difference", "round-trip", "types")
"""`broken` is a crash, a sanitizer's report, a failed assertion and an internal error."""

DEFAULT_ORACLES: Final = ("broken", "hang", "memory", "difference", "round-trip")

SOURCES: Final = ("program", "repaired")


@attrs.frozen
class Config:
    """A campaign's configuration; what is not here may change from one run of it to the next.

    `source` is how new programs are made: `program` by the generator of programs, `repaired` from
    random trees. `size` is the number of nodes that is aimed at, `mutants` the share of programs
    that are mutants of others. `checker` and `printer` are commands, see `oracles`; `judge` is a
    function of one's own, `module:function`; `known` the path of a file with known bugs. `compare`
    and `ulps` say what makes a difference, see `oracles.differential`. Programs do `without`
    libraries, members and globals, or with `only` some libraries; `probed` is what the targets said
    that they are when the campaign was last started.
    """

    targets: tuple[Description, ...]
    seed: int = 0
    source: str = "program"
    size: int = 100
    mutants: float = 0.5
    types: str = "random"
    oracles: tuple[str, ...] = attrs.field(default=DEFAULT_ORACLES, converter=tuple)
    checker: str = ""
    printer: str = ""
    judge: str = ""
    known: str = ""
    compare: str = attrs.field(default=OUTPUT, validator=attrs.validators.in_(COMPARED))
    ulps: int = 0
    without: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    only: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    probed: tuple[Probed, ...] = attrs.field(default=(), eq=False)

    def __attrs_post_init__(self) -> None:
        """Raise ValueError for libraries that there are not."""
        missing_of(self.without, self.only)

    def missing(self) -> frozenset[str]:
        """What programs must not use: what they are to do without, and what a target lacks."""
        lacked = [name for target in self.probed for name in target.missing]
        return missing_of(self.without, self.only).union(lacked)

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON's types."""
        return {
            "format": FORMAT,
            **attrs.asdict(self, recurse=False),
            "targets": [target.as_json() for target in self.targets],
            "oracles": [*self.oracles],
            "without": [*self.without],
            "only": [*self.only],
            "probed": [target.as_json() for target in self.probed],
        }

    @classmethod
    def from_json(cls, value: Any) -> Config:
        """The inverse of `as_json`. Raises ValueError for anything else."""
        try:
            found = dict(value)
            if found.pop("format") != FORMAT:
                raise ValueError("it was written by another version of scriptschema")
            targets = tuple(from_table(table) for table in found.pop("targets"))
            probed = tuple(map(Probed.from_json, found.pop("probed", ())))
            return cls(targets=targets, probed=probed, **found)
        except (KeyError, TypeError, TargetError) as error:
            raise ValueError(f"it is not a campaign's configuration: {error}") from None


def load(folder: Path) -> Config:
    """The configuration of the campaign in `folder`. Raises FileError."""
    path = folder / FILE
    try:
        return Config.from_json(json.loads(path.read_bytes()))
    except FileNotFoundError:
        raise FileError(f"{folder} is not a campaign: there is no {FILE} in it") from None
    except (OSError, ValueError) as error:
        reason = files.reason_of(error)
        raise FileError(f"{path}: {reason}") from None


def save(folder: Path, config: Config) -> None:
    """Write the configuration. Raises FileError."""
    files.write(folder / FILE, (json.dumps(config.as_json(), indent=2) + "\n").encode())
