"""Determines the command that installs a missing package so that orgrest can import it."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path


def install_command(package: str) -> str:
    """Return a shell command that installs `package` so that orgrest can import it.

    The command uses pipx or uv if one of them installed orgrest. Otherwise it uses pip, or uv if
    pip is missing.
    """
    import shlex
    import subprocess
    import tomllib

    prefix = Path(sys.prefix)
    receipt = prefix / "uv-receipt.toml"
    if prefix.parent.name == "venvs" and (prefix / "pipx_metadata.json").exists():
        words = ["pipx", "inject", prefix.name, package]
    elif receipt.exists():
        # uv reinstalls the tool, so its source and the packages added earlier are repeated.
        tool, *added = tomllib.loads(receipt.read_text("utf-8"))["tool"]["requirements"]
        with_options = [
            option for requirement in added for option in ("--with", _requirement(requirement))
        ]
        words = ["uv", "tool", "install", *with_options, "--with", package, _requirement(tool)]
    elif find_spec("pip") is None:
        words = ["uv", "pip", "install", "--python", sys.executable, package]
    else:
        words = [sys.executable, "-m", "pip", "install", package]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _requirement(entry: dict[str, str]) -> str:
    """Return an entry of uv's receipt in the form that uv's options accept."""
    extras = f"[{','.join(entry['extras'])}]" if "extras" in entry else ""
    source = entry.get("directory") or entry.get("path") or entry["name"]
    return f"{source}{extras}{entry.get('specifier', '')}"
