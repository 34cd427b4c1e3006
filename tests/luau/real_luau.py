"""The real Luau in one long-lived process, which is the reference for the tests in this folder.

It is the npm package luau-web, Luau compiled to WebAssembly, run by Node (see `luau.mjs`).
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import attrs

from scriptschema.fuzzing.targets import probing
from scriptschema.versions import Version

FOLDER = Path(__file__).parent


def what_is_missing() -> str | None:
    """Return what must be installed to get the real Luau, or None if nothing is missing."""
    if shutil.which("node") is None:
        return "Node is not installed: apt install nodejs npm, then npm ci --prefix tests/luau"
    if not (FOLDER / "node_modules" / "luau-web").is_dir():
        return "luau-web is not installed: npm ci --prefix tests/luau"
    return None


@attrs.frozen
class Answer:
    """The result of a program: its error or None, its output, and whether time ran out."""

    error: str | None
    output: str = ""
    timeout: bool = False


class RealLuau:
    """The Luau process. As a context manager, it ends the process on exit."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            ["node", str(FOLDER / "luau.mjs")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __enter__(self) -> RealLuau:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.process.communicate(timeout=60)

    def compile(self, source: str) -> str | None:
        """Compile a source. Return the error, or None."""
        return self._ask({"source": source})["error"]

    def compile_all(self, sources: Iterable[str]) -> Iterator[str | None]:
        """Compile sources. The next source is generated while Luau compiles."""
        waiting = False
        for source in sources:
            self._send({"source": source})
            if waiting:
                yield self._receive()["error"]
            waiting = True
        if waiting:
            yield self._receive()["error"]

    def run(self, source: str, module: str | None = None, *, milliseconds: int = 1000) -> Answer:
        """Run a program, with the module that it requires, within a time limit."""
        request = {"source": source, "module": module, "milliseconds": milliseconds}
        return Answer(**self._ask(request))

    @cached_property
    def version(self) -> Version:
        """The newest version of Luau whose library members and syntax are all supported."""
        answer = self.run(probing.program(), milliseconds=10_000)
        assert answer.error is None, answer.error
        names = enumerate(probing.names())
        lines = answer.output.splitlines()
        missing = {name for number, name in names if f"has {number}" not in lines}
        refused = (since for since, _, source in probing.NEWER if self.compile(source) is not None)
        version = probing.version_of(missing, refused)
        assert version is not None, missing
        return version

    def _ask(self, request: Mapping[str, Any]) -> Any:
        self._send(request)
        return self._receive()

    def _send(self, request: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def _receive(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the real Luau ended with {self.process.wait()}"
        return json.loads(line)
