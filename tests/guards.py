"""A pytest plugin that fails tests which change state that other tests or later runs depend on.

A test fails if it leaves this process with another working directory, environment, umask, limit or
the like. A run fails if it leaves a .pyc file that Python cannot load among the installed packages.
"""

from __future__ import annotations

import contextlib
import gc
import locale
import marshal
import os
import signal
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

try:
    import resource
except ImportError:  # missing on Windows
    limits: dict[str, int] = {}
else:
    limits = {name: getattr(resource, name) for name in dir(resource) if name[:7] == "RLIMIT_"}

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGCHLD", "SIGUSR1", "SIGPIPE", "SIGXFSZ")
HEADER = 16  # bytes of a .pyc file before the code


def _state() -> dict[str, Any]:
    umask = os.umask(0)
    os.umask(umask)
    return {
        "the working directory": str(Path.cwd()),
        "the umask": umask,
        **{
            f"the environment variable {name}": value
            for name, value in os.environ.items()
            if name != "PYTEST_CURRENT_TEST"
        },
        **{name: resource.getrlimit(number) for name, number in limits.items()},
        **{
            f"the handler of {name}": signal.getsignal(getattr(signal, name))
            for name in SIGNALS
            if hasattr(signal, name)
        },
        "sys.path": list(sys.path),
        "the recursion limit": sys.getrecursionlimit(),
        "the garbage collector": gc.isenabled(),
        "the locale": locale.setlocale(locale.LC_ALL),
        "the time zone": time.tzname,
        "the default timeout of sockets": socket.getdefaulttimeout(),
    }


class Guards:
    """The plugin, created when a run begins. `installed` is the folder of installed packages."""

    def __init__(self, installed: str) -> None:
        self._installed = Path(installed)
        self._began = time.time()
        self._before: dict[str, Any] = {}
        self._broken: list[Path] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None]:
        self._before = _state()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None]:
        result = yield
        before, after = self._before, _state()
        changed = {
            name: (before.get(name), after.get(name))
            for name in before.keys() | after.keys()
            if before.get(name) != after.get(name)
        }
        assert not changed, f"the test leaves this process changed (before, after): {changed}"
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput"):
            return  # the process that started this worker looks once, when all is done
        for file in self._installed.rglob("*.pyc"):
            with contextlib.suppress(FileNotFoundError):  # replaced by another run
                if file.stat().st_mtime < self._began - 1:
                    continue
                try:
                    marshal.loads(file.read_bytes()[HEADER:])
                except (EOFError, ValueError, TypeError):
                    self._broken.append(file)
        if self._broken:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._broken:
            terminalreporter.section("a test left .pyc files that Python cannot load", red=True)
            for file in self._broken:
                terminalreporter.write_line(str(file))
