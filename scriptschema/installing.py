"""Finds the command that installs a missing package in this process's environment."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path


def install_command(package: str) -> str:
    """Return the command that installs `package` where this process can import it.

    The command uses pipx or uv if one of them installed the running program. Otherwise it uses pip,
    or uv in an environment without pip.
    """
    prefix = Path(sys.prefix)
    receipt = prefix / "uv-receipt.toml"
    if prefix.parent.name == "venvs" and (prefix / "pipx_metadata.json").exists():
        words = ["pipx", "inject", prefix.name, package]
    elif receipt.exists():
        # uv reinstalls the tool from scratch: repeat its source and the packages added before.
        tool, *added = tomllib.loads(receipt.read_text("utf-8"))["tool"]["requirements"]
        others = [option for entry in added for option in ("--with", _requirement(entry))]
        words = ["uv", "tool", "install", *others, "--with", package, _requirement(tool)]
    elif find_spec("pip") is None:
        words = ["uv", "pip", "install", "--python", sys.executable, package]
    else:
        words = [sys.executable, "-m", "pip", "install", package]
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _requirement(entry: dict[str, str]) -> str:
    extras = f"[{','.join(entry['extras'])}]" if "extras" in entry else ""
    source = entry.get("directory") or entry.get("path") or entry["name"]
    return f"{source}{extras}{entry.get('specifier', '')}"
