"""Opens targets from their descriptions, checks that they work, and determines their versions."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from scriptschema import __version__
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Sources, Target
from scriptschema.fuzzing.targets.command import CommandTarget, version_of
from scriptschema.fuzzing.targets.description import Description, TargetError
from scriptschema.fuzzing.targets.outcome import Outcome, shortened
from scriptschema.fuzzing.targets.persistent import PersistentTarget
from scriptschema.fuzzing.targets.processes import split
from scriptschema.installing import install_command

SERVICES: Final = Path(__file__).parent

TRIAL: Final = Sources(None, 'local greeting = "hello" print(greeting, 1 + 1)\n')
"""The program that is run to check that a target works."""

_FIND_LUAU_WEB: Final = """
const path = require('module').createRequire(process.argv[1] + '/').resolve('luau-web')
console.log(path)
"""


def open_target(description: Description) -> Target:
    """Return the described target, ready to use. Raises TargetError if something is missing."""
    match description.kind:
        case "command":
            return CommandTarget(description)
        case "persistent":
            return PersistentTarget(description, split(description.command))
        case "luau-web":
            _luau_web(description)
            service = str(SERVICES / "luau_web.mjs")
            words = [_node(), service, str(Path(description.folder or ".").resolve())]
            return PersistentTarget(description, words)
        case _:
            if not _version_of_pluau():
                raise TargetError(f"pluau is not installed: {install_command('pluau')}")
            words = [sys.executable, str(SERVICES / "pluau_service.py")]
            return PersistentTarget(description, words)


def try_target(description: Description) -> list[Outcome]:
    """Run a one-line program with each variant, and return the outcomes.

    The first start of a target may take longer than the target's time limit, but not the second.
    Raises TargetError, with the target's output, if the program does not succeed.
    """
    with closing(open_target(description)) as target:
        target.submit(TRIAL, max(description.seconds, 10))
        outcomes = target.collect()
        if any(each.kind == outcome.OK and each.seconds > description.seconds for each in outcomes):
            target.submit(TRIAL, description.seconds)
            outcomes = target.collect()
    for variant, each in zip(description.variants, outcomes, strict=True):
        if each.kind != outcome.OK:
            wrote = "\n".join(text.strip() for text in (each.error, each.output) if text.strip())
            status = "" if each.status is None else f", status {each.status}"
            end, advice = each.kind, ""
            if each.kind == outcome.HANG:
                advice = "\nif it is only slow, start a new campaign with a higher --timeout"
            elif each.kind == outcome.MEMORY:
                advice = (
                    f"\nthe limit is {description.megabytes} MB: if it needs more, start a new "
                    "campaign with a higher --memory"
                )
            elif each.kind == outcome.FLOOD:
                end += f" (more than {description.output:,} bytes of output)"
                advice = (
                    "\nif it always prints that much, start a new campaign with a higher `output` "
                    "for the target in the file that --config names"
                )
            else:
                advice = (
                    f"\nthe memory limit is {description.megabytes} MB: if the output is about "
                    "memory or threads, start a new campaign with a higher --memory"
                )
            raise TargetError(
                f"{description.run_name(variant)} does not work: the test program "
                f"{TRIAL.program.strip()!r} ended with: "
                f"{end}{status}\n{shortened(wrote) or '(it wrote nothing)'}{advice}"
            )
    return outcomes


def versions_of(descriptions: Iterable[Description]) -> dict[str, str]:
    """Return the versions of this package, Python, the system and the targets."""
    versions = {
        "scriptschema": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
    }
    for description in descriptions:
        command = description.command
        versions[split(command)[0] if command else description.kind] = version_of_target(
            description
        )
    return {name: value for name, value in versions.items() if value}


def version_of_target(description: Description) -> str:
    """Return a target's version, or an empty string if it is unknown. Raises TargetError."""
    match description.kind:
        case "luau-web":
            return _luau_web(description)
        case "pluau":
            return _version_of_pluau()
        case _:
            return version_of(split(description.command))


def _version_of_pluau() -> str:
    try:
        return version("pluau")
    except PackageNotFoundError:
        return ""


def _node() -> str:
    node = shutil.which("node")
    if node is None:
        raise TargetError(
            "luau-web requires Node 20 or later on PATH: install it, for example with `apt "
            "install nodejs npm`, then run `npm install luau-web`"
        )
    return node


def _luau_web(description: Description) -> str:
    """Return luau-web's version. Raises TargetError if Node cannot find luau-web."""
    folder = Path(description.folder or ".").resolve()
    result = subprocess.run(  # noqa: S603  # Node itself
        [_node(), "-e", _FIND_LUAU_WEB, str(folder)], capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise TargetError(
            f"luau-web is not installed in {folder / 'node_modules'}: run `npm install "
            "luau-web` there, or use another folder: luau-web:FOLDER"
        )
    package = Path(result.stdout.strip()).parents[1] / "package.json"
    return str(json.loads(package.read_bytes())["version"])
