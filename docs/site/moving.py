"""The pages on moving from another tool, made from the tables in docs/orgrest/moving/*.toml.

A row is a thing that people write there: `what` it is, how it is spelled (`theirs`), and where that
is not the same, how it is spelled here (`ours`) and a `note`. The other keys say what a test finds
when it tries the row: what `comes` out, with `send` from the demo's server; which `error`; with
which `arguments` and `status`. A table with `imported` is of what `orgrest import` translates: a
test imports what stands on the left, put in the place of ROW in that text, from a
folder with the files `beside` it, if there are any.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "orgrest/moving"
TOOLS = sorted(path.stem for path in FOLDER.glob("*.toml"))
KINDS = {"same": "The same", "different": "Different, on purpose", "missing": "Not there"}


def table(tool: str) -> dict[str, Any]:
    """Return what the file of a tool holds."""
    return tomllib.loads((FOLDER / f"{tool}.toml").read_text("utf-8"))


def pages() -> dict[str, str]:
    """Return the text of each page by its path."""
    return {f"orgrest/moving/{tool}.md": "".join(_page(table(tool))) for tool in TOOLS}


def _page(data: dict[str, Any]) -> Iterator[str]:
    yield f"# {data['title']}\n{data['text']}\n"
    tried = "what is written on the right" if data.get("foreign") else "all that is written"
    if "imported" in data:
        tried = "what is written on the left: its import is what is on the right"
    yield f"A test tries {tried}, as it stands in the tables.\n\n"
    for kind, title in KINDS.items():
        rows = data.get(kind, [])
        here = any("ours" in row for row in rows)
        yield f"## {title}\n\n"
        yield "| | there |" + (" here |" if here else "") + "\n"
        yield "| --- " * (3 if here else 2) + "|\n"
        for row in rows:
            note = f"<br>{row['note']}" if "note" in row else ""
            what = f"**{_text(row['what'])}**{note}"
            cells = [what, _code(row["theirs"])]
            cells += [_code(row.get("ours", ""))] if here else []
            yield f"| {' | '.join(cells)} |\n"
        yield "\n"


def _code(text: str) -> str:
    if not text.strip():
        return ""
    shown = escape(text.strip("\n"))
    for character in "|\n*_`[]\\{}:":
        shown = shown.replace(character, f"&#{ord(character)};")
    return f"<pre><code>{shown}</code></pre>"


def _text(text: str) -> str:
    return escape(text, quote=False).replace("|", "\\|").replace("#", "\\#")
