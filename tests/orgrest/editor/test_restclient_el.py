"""Random Org documents, evaluated in Emacs with the real restclient.el and with orgrest.el.

restclient.el and ob-restclient.el are in no registry that a test could install them from. With
`--long`, the variable SCRIPTSCHEMA_RESTCLIENT names a folder that has both. The requests that a
server receives, and the documents afterwards, must be the same.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from components import needs
from servers import RawServer, by_path, response

from orgrest import editor

FOLDER = os.environ.get("SCRIPTSCHEMA_RESTCLIENT", "")
ORGREST_EL = Path(editor.__file__).with_name("orgrest.el")
BODIES = {
    "/json": (b'{"id": 7, "name": "\xc3\xa9", "list": [1, {"a": null}], "none": {}}', "json"),
    "/text": (b"one line\n\nanother one\n", "text"),
    "/table": (b"name,id\none,two\n", "text"),
    "/xml": (b"<a><b c='1'>text</b><d/></a>", "xml"),
    "/empty": (b"", "text"),
}
TYPES = {
    "json": "application/json",
    "text": "text/plain; charset=utf-8",
    "xml": "application/xml",
}
VARYING = re.compile(r"^((?://|#|;;|<!--)? *(?:Date|Request duration): ).*$", re.MULTILINE)

pytestmark = [
    pytest.mark.long,
    needs("emacs"),
    pytest.mark.skipif(
        not FOLDER,
        reason="SCRIPTSCHEMA_RESTCLIENT=FOLDER: one with restclient.el, ob-restclient.el",
    ),
]


def document(seed: int, url: str) -> str:
    """Return a document of typical requests in ob-restclient's language."""
    rng = random.Random(seed)
    blocks = ["#+TITLE: Requests", f'#+PROPERTY: header-args:restclient :var host="{url}"', ""]
    for _ in range(12):
        arguments = rng.choice(
            ["", " :results value", " :results raw", " :noheaders", " :results table",
             " :results value drawer", " :jq .id", " :jq .list[0] :results value"]
        )  # fmt: skip
        jq = ":jq" in arguments
        path = "/json" if jq else rng.choice(list(BODIES))
        path = "/table" if "table" in arguments else path
        lines = []
        if rng.random() < 0.4:
            value = rng.choice(["a b", "é", "1", "x=y&z"])
            arguments += f' :var word="{value}"'
        word = ":word" if "word=" in arguments else "plain"
        plain = word if arguments.isascii() else "plain"  # url.el sends ? for what is not ASCII
        lines += rng.choice([[], [], [":kept = k", "# a comment"]])
        method = rng.choice(["GET", "GET", "POST", "PUT", "DELETE", "PATCH"])
        lines.append(f"{method} :host{path}" + rng.choice(["", "?a=1"]))
        if lines[0].startswith(":kept"):
            lines[-1] += "?q=:kept"
        for name in rng.sample(["X-One", "Accept", "X-Two", "If-Match"], rng.randrange(3)):
            lines.append(f"{name}: {rng.choice(['a', plain, 'text/*', 'b; c=d'])}")
        if method in ("POST", "PUT", "PATCH"):
            kind = rng.choice(["json", "text", "form"])
            lines.append(
                {"json": "Content-Type: application/json", "text": "Content-Type: text/plain",
                 "form": "Content-Type: application/x-www-form-urlencoded"}[kind]
            )  # fmt: skip
            body = {"json": f'{{"word": "{word}",\n "n": [1, 2]}}', "text": f"first\n\n{word}"}
            lines += ["", body.get(kind, f"a=1&b={word}")]
        blocks += ["text before", f"#+begin_src restclient{arguments}", *lines, "#+end_src", ""]
    return "\n".join(blocks) + "\n"


def evaluated(text: str, folder: Path, setup: str) -> str:
    """Return the document after Emacs has evaluated it with these lines in its init file."""
    folder.mkdir()
    (folder / "notes.org").write_text(text)
    script = f"""(progn (require 'org) (setq make-backup-files nil org-confirm-babel-evaluate nil)
      {setup}
      (find-file "notes.org")
      (org-babel-execute-buffer)
      (save-buffer))"""
    done = subprocess.run(
        ["emacs", "--batch", "-Q", "--eval", script],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={
            **{name: value for name, value in os.environ.items() if "proxy" not in name.lower()},
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return VARYING.sub(r"\1...", (folder / "notes.org").read_text())


def given(request: bytes) -> tuple[str, list[str], bytes]:
    """Return a request without the headers in which a client identifies itself."""
    head, _, body = request.partition(b"\r\n\r\n")
    line, *headers = head.decode("utf-8").split("\r\n")
    own = ["user-agent", "accept-encoding", "mime-version", "extension", "connection", "host"]
    own += ["content-length", "accept-charset"]
    kept = [header for header in headers if header.partition(":")[0].lower() not in own]
    return line, sorted(one for one in kept if one.lower() != "accept: */*"), body


@pytest.mark.parametrize("seed", range(4))
def test_the_same_is_sent_and_written_as_by_the_real_restclient(seed: int, tmp_path: Path) -> None:
    answers = {
        path: response(body, f"Content-Type: {TYPES[kind]}")
        for path, (body, kind) in BODIES.items()
    }
    targets = {f"{path}{query}": answer for path, answer in answers.items()
               for query in ("", "?a=1", "?q=k", "?q=3", "?a=1?q=k", "?a=1?q=3")}  # fmt: skip
    with RawServer(by_path(dict(targets))) as server:
        text = document(seed, server.url)
        theirs = evaluated(
            text,
            tmp_path / "theirs",
            f"""(add-to-list 'load-path "{FOLDER}") (require 'ob-restclient)
            (setq restclient-results-in-view-mode nil)  ; ob-restclient writes into them""",
        )
        sent = [given(request) for request in server.requests]
        server.requests.clear()
        ours = evaluated(text, tmp_path / "ours", f'(load "{ORGREST_EL}")')
        assert [given(request) for request in server.requests] == sent
    assert len(sent) == 12
    assert ours == theirs
