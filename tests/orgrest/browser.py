"""A real browser for the tests: headless Chromium, controlled by its DevTools protocol."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Self

import pytest
from components import missing

AXE = Path(__file__).parent / "npm/node_modules/axe-core/axe.min.js"
PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """A page in a browser. `messages` are its errors and warnings."""

    def __init__(self) -> None:
        if PROGRAM is None:
            pytest.skip(missing("chromium"))
        self._stack = contextlib.ExitStack()
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        home = self._stack.enter_context(folder)
        self._process = subprocess.Popen(
            [
                PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--no-first-run", f"--user-data-dir={home}", "--window-size=1200,900",
                "--remote-debugging-port=0", "--remote-allow-origins=*", "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        self.messages: list[dict[str, Any]] = []
        self._count = 0
        self._stack.callback(self._end)
        try:
            self._connect()
        except BaseException:
            self._stack.close()
            raise

    def _connect(self) -> None:
        import urllib3
        from websockets.sync.client import connect

        assert self._process.stderr is not None
        origin = ""
        for line in self._process.stderr:
            if "DevTools listening on ws://" in line:
                origin = line.split("ws://")[1].split("/")[0]
                break
        found = urllib3.PoolManager().request("GET", f"http://{origin}/json/list").json()
        page = next(one for one in found if one["type"] == "page")
        connection = connect(page["webSocketDebuggerUrl"], max_size=None)
        self._socket = self._stack.enter_context(connection)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _end(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=20)

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result."""
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            found = json.loads(self._socket.recv(timeout=60))
            if found.get("id") == self._count:
                assert "error" not in found, found
                return found["result"]
            self.messages.append(found)

    def open(self, path: Path) -> None:
        """Load a file completely."""
        self.messages.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(message["method"] == "Page.loadEventFired" for message in self.messages):
            self.messages.append(json.loads(self._socket.recv(timeout=60)))

    def ask(self, expression: str) -> Any:
        """Return the value of a JavaScript expression. A promise is awaited."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27}
        for key in keys:
            text = {} if key in ("Tab", "Escape") else {"text": "\r" if key == "Enter" else key}
            about = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0)}
            self.call("Input.dispatchKeyEvent", type="keyDown", **about, **text)
            self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def in_colors(self, scheme: str) -> None:
        """Show the page for a person who prefers the "light" or "dark" theme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def barriers(self) -> list[str]:
        """Return the problems that axe-core finds in the accessibility of the page."""
        if not AXE.exists():
            pytest.skip(missing("axe-core"))
        self.ask(f"{AXE.read_text('utf-8')};0")
        barriers: list[str] = self.ask("""
            axe.run().then((found) => found.violations.flatMap((rule) => rule.nodes.map(
                (node) => `${rule.id}: ${node.html} ${node.failureSummary}`)))""")
        return barriers

    def complaints(self) -> list[str]:
        """Return the page's exceptions, refused resources and errors."""
        kinds = {"Runtime.exceptionThrown", "Log.entryAdded"}
        return [
            json.dumps(message["params"]) for message in self.messages if message["method"] in kinds
        ]

    def requested(self) -> list[str]:
        """Return the URLs that the page requested."""
        return [
            message["params"]["request"]["url"]
            for message in self.messages
            if message["method"] == "Network.requestWillBeSent"
        ]
