"""A pytest plugin: with `--orgrest`, documents with requests are collected as tests.

Every run of pytest in an environment with this package loads this module, so it imports only the
table of options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from orgrest.run.suite.pytest_collector import DocumentFile


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add orgrest's options to pytest."""
    group = parser.getgroup("orgrest", "requests in documents")
    group.addoption(
        "--orgrest",
        action="store_true",
        help="collect the requests of .org, .http and .rest files as tests",
    )
    from orgrest.options import PYTEST, options_of

    for row in options_of(PYTEST):
        group.addoption(
            f"--orgrest-{row.flags.lstrip('-')}",
            action="append",
            default=[],
            metavar=row.metavar,
            help=row.help,
        )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> DocumentFile | None:
    """Return a collector for a document, or None if the file is not a document."""
    if file_path.suffix.lower() not in (".org", ".http", ".rest"):
        return None
    if not parent.config.getoption("orgrest"):
        return None
    from orgrest.run.suite.pytest_collector import DocumentFile

    return DocumentFile.from_parent(parent, path=file_path)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Return a scheduler that gives all requests of a document to one pytest-xdist worker.

    The requests may depend on each other.
    """
    if not (config.getoption("orgrest") and config.getoption("dist") == "load"):
        return None
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


pytest_xdist_make_scheduler.pytest_impl = {"optionalhook": True}  # type: ignore[attr-defined]  # as pytest.hookimpl does
