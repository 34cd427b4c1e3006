"""Gives the project of a clone, which installs both packages, what their own projects declare.

Dependencies, extras, programs and plugins stand once, in `orgrest/pyproject.toml` and
`scriptschema/pyproject.toml`; hatchling reads this file when it builds the project at the top.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PACKAGES = "scriptschema", "orgrest"


class BothPackages(MetadataHookInterface):
    """Fills in the dynamic fields of the project at the top."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add what both packages declare to `metadata`."""
        dependencies: set[str] = set()
        extras: dict[str, set[str]] = {}
        scripts: dict[str, str] = {}
        plugins: dict[str, dict[str, str]] = {}
        for package in _PACKAGES:
            text = (Path(self.root) / package / "pyproject.toml").read_text("utf-8")
            project = tomllib.loads(text)["project"]
            dependencies.update(project["dependencies"])
            for extra, requirements in project["optional-dependencies"].items():
                # `orgrest[ntlm]` in an extra of orgrest is an extra of this project here.
                own = (one.replace(f"{package}[", f"{metadata['name']}[") for one in requirements)
                extras.setdefault(extra, set()).update(own)
            scripts |= project["scripts"]
            for group, entries in project["entry-points"].items():
                plugins.setdefault(group, {}).update(entries)
        metadata["dependencies"] = sorted(dependencies)
        metadata["optional-dependencies"] = {name: sorted(extras[name]) for name in sorted(extras)}
        metadata["scripts"] = scripts
        metadata["entry-points"] = plugins
