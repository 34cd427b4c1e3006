"""Merges the metadata of both packages into the top-level project, which installs both.

Dependencies, extras, programs and plugins are declared only in `orgrest/pyproject.toml` and
`scriptschema/pyproject.toml`. Hatchling runs this file when it builds the top-level project.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_PACKAGES = "scriptschema", "orgrest"


class BothPackages(MetadataHookInterface):
    """Fills in the dynamic fields of the top-level project."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the dependencies, extras, programs and plugins of both packages to `metadata`."""
        dependencies: set[str] = set()
        extras: dict[str, set[str]] = {}
        scripts: dict[str, str] = {}
        plugins: dict[str, dict[str, str]] = {}
        for package in _PACKAGES:
            text = (Path(self.root) / package / "pyproject.toml").read_text("utf-8")
            project = tomllib.loads(text)["project"]
            dependencies.update(project["dependencies"])
            for extra, requirements in project["optional-dependencies"].items():
                # If an extra of orgrest requires `orgrest[ntlm]`, it requires this project's here.
                prefix = f"{metadata['name']}["
                renamed = (item.replace(f"{package}[", prefix) for item in requirements)
                extras.setdefault(extra, set()).update(renamed)
            scripts |= project["scripts"]
            for group, entries in project["entry-points"].items():
                plugins.setdefault(group, {}).update(entries)
        metadata["dependencies"] = sorted(dependencies)
        metadata["optional-dependencies"] = {name: sorted(extras[name]) for name in sorted(extras)}
        metadata["scripts"] = scripts
        metadata["entry-points"] = plugins
