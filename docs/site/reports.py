"""Makes the pictures of the HTML reports, from the real programs and in a real browser.

`scriptschema report` shows the campaign in docs/site/campaign, which was recorded once, since no
two campaigns are alike (without what its programs used, which the picture does not show);
`orgrest test` tests a document against the demo's server. A picture holds the text of its page, so
that a test can tell whether it is out of date. Needs Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from orgrest.commands import demo_server

SITE = Path(__file__).parent
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
WIDTH = 1000
COLORS = 128
VOID = {"br", "hr", "img", "input", "link", "meta", "rect"}

DOCUMENT = """\
#+TITLE: The tasks
#+PROPERTY: header-args:restclient :var host="http://127.0.0.1:{port}"

#+NAME: login
#+begin_src restclient :results value :expect 200
GET :host/login
#+end_src

#+NAME: profile
#+begin_src restclient :var token=login :expect 200
GET :host/me
Authorization: Bearer :token
# ?? body name == "you"
#+end_src

#+NAME: open tasks
#+begin_src restclient :expect 200
GET :host/tasks?done=false
# ?? header Content-Type contains json
# ?? body [0].done == false
# ?? body [0].title == "Write down the request"
#+end_src

#+NAME: feed
#+begin_src restclient :expect 200
GET :host/feed
# ?? header Content-Type contains xml
#+end_src
"""


def campaign(home: Path) -> Path:
    """Make the report of the campaign that was recorded."""
    shutil.copytree(SITE / "campaign", home / "campaign")
    _run(home, "scriptschema", "report", "campaign", "-o", "report.html")
    return home / "report.html"


def tests(home: Path) -> Path:
    """Test a document, of which an assertion does not hold, and make the report of that."""
    report = home / "report.html"
    with demo_server.serve() as port:
        (home / "tasks.org").write_text(DOCUMENT.format(port=port), "utf-8")
        _run(home, "orgrest", "test", "tasks.org", "--html", report.name, status=1)
    report.write_text(report.read_text("utf-8").replace(f":{port}", ":8000"), "utf-8")
    return report


class Picture(NamedTuple):
    """A function that creates a page, the height of its picture in pixels, and the text below."""

    make: Callable[[Path], Path]
    height: int
    below: str | None = None


PICTURES: Mapping[str, Picture] = {
    "campaign.png": Picture(campaign, 1560, "Outcomes of programs"),
    "tests.png": Picture(tests, 1056),
}
"""The pictures in docs/, by their names."""


def draw(name: str, target: Path) -> None:
    """Make a report, and a picture of it."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        report = PICTURES[name].make(home)
        taken = home / "taken.png"
        _browse(report, f"--screenshot={taken}", f"--window-size={WIDTH},{PICTURES[name].height}")
        about = PngInfo()
        about.add_itxt("Description", _text(name, report))
        with Image.open(taken) as image:
            small = image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
            small.save(target, optimize=True, pnginfo=about)


def text_now(name: str) -> str:
    """Make a report, and return the text that a picture of it would show."""
    with tempfile.TemporaryDirectory() as folder:
        return _text(name, PICTURES[name].make(Path(folder)))


def text_of(picture: Path) -> str:
    """Return the text of the page that a picture shows."""
    with Image.open(picture) as image:
        return str(image.info["Description"])


class _Words(HTMLParser):
    """The words of a page that are to be seen: not those in what is folded."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._open: list[tuple[str, bool]] = []  # elements, and whether what is in them is hidden

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        given = dict(attrs)
        hidden = tag in ("style", "script", "noscript", "head") or "hidden" in given
        folded = tag == "details" and "open" not in given
        inside = bool(self._open) and self._open[-1][1]
        if tag == "summary" and len(self._open) > 1:  # it is seen where its own fold is
            inside = self._open[-2][1]
        self._open.append((tag, inside or hidden or folded))

    def handle_endtag(self, tag: str) -> None:
        while tag in [name for name, _ in self._open]:
            if self._open.pop()[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        if not (self._open and self._open[-1][1]):
            self.words += data.split()


def _text(name: str, report: Path) -> str:
    page = _Words()
    page.feed(_browse(report, "--dump-dom"))
    below = PICTURES[name].below
    return " ".join(page.words).partition(below)[0] if below else " ".join(page.words)


def _run(home: Path, program: str, *words: str, status: int = 0) -> None:
    command = [sys.executable, "-m", program, *words]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False)
    if done.returncode != status:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")


def _browse(page: Path, *options: str) -> str:
    if BROWSER is None:
        raise RuntimeError("Chromium is not there: apt install chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        command += [f"--user-data-dir={profile}", *options, page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout


def main() -> None:
    """Make all pictures."""
    for name in PICTURES:
        draw(name, SITE.parent / name)


if __name__ == "__main__":
    main()
