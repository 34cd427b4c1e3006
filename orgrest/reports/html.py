"""Writes the report of a run as a searchable HTML page.

The page shows each request with its exchange, assertions and a waterfall, and loads nothing
external. The template escapes all values. A Content-Security-Policy allows only the page's own
script and style, by their hashes.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orgrest.rendering.pretty import json_text
from orgrest.run.suite.summary import last_own, spent, title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orgrest.run.record import Record

_FOLDER = Path(__file__).parent
_PHASES = (
    ("resolve", "Resolve"),
    ("connect", "Connect"),
    ("tls", "TLS"),
    ("wait", "First byte"),
    ("download", "Download"),
)


def pieces(run: Record, records: Iterable[Record]) -> Iterator[bytes]:
    """Yield the page in pieces."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"ms": _milliseconds, "pretty": _pretty}
    environment.globals |= {"title": title, "spent": spent, "phases": phases, "last": last_own}
    style, script = ((_FOLDER / name).read_text("utf-8") for name in ("report.css", "report.js"))
    template = environment.from_string((_FOLDER / "report.html.j2").read_text("utf-8"))
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    values = {"run": run, "records": records, "style": style, "script": script, "policy": policy}
    for piece in template.generate(values):
        yield piece.encode("utf-8", "backslashreplace")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms"


def _pretty(body: dict[str, Any]) -> str:
    text: str = body["text"]
    return json_text(text) if "json" in body["type"] and not body["cut"] else text


def phases(timing: Record) -> list[Record]:
    """Return the phases of an exchange as bars, with their position and width in percent."""
    spent = [(name, words, timing[name]) for name, words in _PHASES if timing[name] is not None]
    total = sum(seconds for _, _, seconds in spent) or 1.0
    bars, at = [], 0.0
    for name, words, seconds in spent:
        left, width = 100 * at / total, max(100 * seconds / total, 0.3)
        bar = {"left": round(min(left, 99.7), 2), "width": round(width, 2)}
        bars.append({"name": name, "words": words, "seconds": seconds, **bar})
        at += seconds
    return bars
