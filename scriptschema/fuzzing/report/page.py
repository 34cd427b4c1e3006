"""The HTML page of a report: `page.html.j2`, filled with a campaign's content.

The page loads nothing external. Its Content-Security-Policy allows only its own script, which a
hash identifies. Even if the template failed to escape a program's source, a script in it could not
run.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scriptschema.fuzzing.oracles.severity import severity_of
from scriptschema.fuzzing.report import charts, content, text, titles
from scriptschema.fuzzing.report.content import Content
from scriptschema.fuzzing.targets.outcome import shortened, visible

if TYPE_CHECKING:
    import jinja2

_FOLDER = Path(__file__).parent


def pieces(shown: Content, version: str, at: str) -> Iterator[bytes]:
    """Yield the HTML of the page in pieces.

    `version` is the version of the package, and `at` the current time.
    """
    environment = _environment()
    from markupsafe import Markup

    style, script = (_read(name) for name in ("page.css", "page.js"))
    digest = b64encode(hashlib.sha256(script.encode()).digest()).decode()
    style = style.replace("/* light */", text.styles(dark=False))
    style = style.replace("/* dark */", text.styles(dark=True))
    template = environment.from_string(_read("page.html.j2"))
    values = {
        "shown": shown,
        "kinds": Counter(each.find.signature.kind for each in shown.finds),
        "drawing": Markup(charts.over_time(shown.intervals)),  # noqa: S704  # numbers, drawn here
        "style": Markup(style),  # noqa: S704  # from the package
        "script": Markup(script),  # noqa: S704  # from the package
        "policy": f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'",
        "version": version,
        "at": at,
    }
    return (piece.encode("utf-8", "backslashreplace") for piece in template.generate(values))


def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    filters: dict[str, Any] = {
        "number": lambda value: f"{value:,}",
        "rows": content.rows,
        "visible": visible,
        "shortened": shortened,
        "highlighted": text.highlighted,
        "duration": text.duration,
    }
    environment.filters |= filters
    environment.globals |= {
        "runs_of": content.runs_of,
        "severity_of": severity_of,
        "title_of": titles.title_of,
        "marked": text.marked,
    }
    return environment


def _read(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")
