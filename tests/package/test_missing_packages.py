"""An error about a missing package contains the command that installs it, with pip, pipx and uv."""

from __future__ import annotations

import os
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from built import ROOT, Built, run, tool

if TYPE_CHECKING:
    from collections.abc import Iterator


class _AsksForNtlm(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("WWW-Authenticate", "NTLM")
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A request whose server demands NTLM, which needs an extra of orgrest."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _AsksForNtlm)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        path = tmp_path_factory.mktemp("document") / "a.http"
        url = f"http://127.0.0.1:{server.server_port}/"
        path.write_text(f"GET {url}\nAuthorization: NTLM user password\n")
        yield path
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def installed(how: str, source: Path, folder: Path) -> None:
    """Install `source` in a folder, whose `bin` then contains its programs."""
    python = "--python", sys.executable
    if how == "pipx":
        run(tool("pipx"), "install", "--quiet", *python, source, **variables(folder))
    elif how == "uv tool":
        words = "tool", "install", "--quiet", *python, "--with", "six", source
        run(tool("uv"), *words, **variables(folder))
    elif how == "uv":
        run(tool("uv"), "venv", "--quiet", *python, folder)
        run(tool("uv"), "pip", "install", "--quiet", "--python", folder / "bin/python", source)
    else:
        run(sys.executable, "-m", "venv", folder)
        run(folder / "bin/python", "-m", "pip", "install", "--quiet", source)


def variables(folder: Path) -> dict[str, str]:
    """Return the variables that say where pipx and uv install, and where the shell finds them."""
    return {
        "PIPX_HOME": str(folder / "pipx"),
        "PIPX_BIN_DIR": str(folder / "bin"),
        "UV_TOOL_DIR": str(folder / "tools"),
        "UV_TOOL_BIN_DIR": str(folder / "bin"),
        "PATH": f"{tool('uv').parent}:{os.environ['PATH']}",
    }


@pytest.mark.parametrize(
    ("how", "source"),
    [
        ("pip", "clone"),
        ("uv", "wheel"),
        *(("pipx", "clone"), ("pipx", "wheel")),
        *(("uv tool", "clone"), ("uv tool", "wheel")),
    ],
)
def test_the_command_installs_what_orgrest_misses(
    how: str, source: str, built: dict[str, Built], document: Path, tmp_path: Path
) -> None:
    installed(how, ROOT if source == "clone" else built["orgrest"].wheel, tmp_path)
    orgrest = tmp_path / "bin" / "orgrest"
    output = run(orgrest, document, status=1)
    found = re.search(r"NTLM requires pyspnego: (.*)", output)
    assert found, output
    run("sh", "-c", found[1], **variables(tmp_path))
    assert "pyspnego" not in run(orgrest, document)
    if how == "uv tool":  # what was added before is still there
        assert (next(tmp_path.glob("tools/*/lib/*/site-packages")) / "six.py").exists()


@pytest.mark.parametrize("how", ["pipx", "uv tool"])
def test_the_command_installs_what_scriptschema_misses(
    how: str, built: dict[str, Built], tmp_path: Path
) -> None:
    installed(how, built["scriptschema"].wheel, tmp_path)
    fuzz = tmp_path / "bin" / "scriptschema", "fuzz", "--target", "pluau", "--count", 1
    output = run(*fuzz, "-o", tmp_path / "first", status=1)
    found = re.search(r"pluau is not installed: (.*)", output)
    assert found, output
    run("sh", "-c", found[1], **variables(tmp_path))
    assert "not installed" not in run(*fuzz, "-o", tmp_path / "second")
