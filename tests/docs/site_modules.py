"""Imports the scripts in docs/site, which are not a package, as modules."""

import sys
from importlib import import_module
from types import ModuleType

from pages import ROOT


def site_module(name: str) -> ModuleType:
    """Import a script in docs/site by name."""
    folder = str(ROOT / "docs/site")
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module(name)
