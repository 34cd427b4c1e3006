"""Builds the sdists and wheels once."""

import pytest
from built import PACKAGES, ROOT, Built, run, tool


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Built]:
    """Each package's sdist, and the wheel that is built from it."""
    found = {}
    for package in PACKAGES:
        folder = tmp_path_factory.mktemp("dist")
        run(tool("uv"), "build", "--quiet", "--out-dir", folder, ROOT / package)
        [sdist], [wheel] = folder.glob("*.tar.gz"), folder.glob("*.whl")
        found[package] = Built(sdist, wheel)
    return found
