"""Lays out a response in an Org document: chooses the type and the wrapper of the result.

The rendered text (see `results`) is wrapped according to ``:results`` and ``:wrap``, as in Org 9.5.
With ``list`` or ``table``, the text is first converted. ``:wrap`` takes precedence over the words
``html``, ``latex``, ``org``, ``code``, ``raw`` and ``drawer``. As in ob-restclient, the default is
``raw``, which any other word of the same group (such as ``pp``) replaces. Without a wrapper, text
other than a table becomes fixed-width text.

A response can never add structure to the document. In a result, Org finds only plain text, verbatim
text and code, and lists and tables that contain only these. In source and example blocks, commas
escape lines that look like structure. Elsewhere, text that is not plain (`sanitize.is_plain`)
becomes an example block or, in a list item or table cell, verbatim text between ``=``. ``html`` and
``latex`` would export a server's text unescaped, so a source block is written instead. Notes inform
the user about such replacements.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

from orgrest import classes
from orgrest.org.blocks import REQUEST_LANGUAGES, VERB, ArgumentError
from orgrest.org.text import escape
from orgrest.regular import compiled
from orgrest.rendering.content import LANGUAGES
from orgrest.rendering.sanitize import is_plain, is_plain_inside, verbatim

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from orgrest.org.blocks import Arguments

_MAX_CELLS = 1_000_000  # larger tables, and tables that padding would make larger, are not aligned
_OF_DATA = frozenset(LANGUAGES.values()) | {
    *("ascii", "beamer", "man", "md", "odt", "texinfo"),  # the formats that Org exports to
    *("conf", "csv", "diff", "graphql", "json", "latex", "log", "ob-verb-response", "org", "toml"),
    *("tsv", "xml"),
}  # the languages of source blocks that show responses
_EXAMPLE_FROM = 10  # lines; fewer become `: ` lines
_NUMBER = compiled(
    r"[<>]?[-+^.]*+[0-9][-+^.0-9eEdDx()%:]*|[<>]?[-+]?0[xX][0-9a-fA-F.]+|nan|[-+u]?inf"
)
# Org manual, "The Spreadsheet" and "Column Width and Alignment": formulas, row and column markers.
_SPECIAL_CELL = compiled(r":?=|(?:[!^_#*$/<>]|<>|<[lrc]?[0-9]*>)\Z")
_RULE = compiled(r"\|[-+]+\|?$")

_DRAWER_END = compiled(r"^[ \t]*:end:[ \t]*$", re.IGNORECASE | re.MULTILINE)

Returned: TypeAlias = "str | list[str] | list[list[str] | None] | None"
"""The result of a Babel function: text, list items, table rows (None is a rule), or nothing."""

IN_EXAMPLE = "the response looks like Org markup, so its result is an example block"
NO_EXPORT = (
    "the response cannot be inserted in an export block: when exported, it could run scripts"
)
NO_REQUEST = "the response may be a request: it cannot be inserted in a block that could be sent"
NO_CODE = (
    "the response cannot be inserted in this kind of source block, because Org could then run or "
    "tangle it"
)
NO_VERSE = "the response looks like Org markup, which Org would interpret in a verse block"
NO_DRAWER = "the response contains an :end: line, so it cannot be inserted in a drawer"


@classes.frozen
class RenderedResult:
    """A result to insert below its keyword, with notes for the user.

    `text` is empty or consists of whole lines. If `prose` is true, no delimiter marks its end.
    """

    text: str
    prose: bool = False
    notes: tuple[str, ...] = ()


def pure(arguments: Arguments) -> bool:
    """Return whether the result is only the body, without ob-restclient's wrapper and the headers.

    As in ob-restclient, the word ``value`` may appear anywhere in ``:results``.
    """
    words = arguments.results
    shaped = {"table", "vector", "file"} & set(words)
    return bool(shaped) or "value" in " ".join(words).lower()


def show(
    arguments: Arguments, values: Sequence[str], blocks: Sequence[str], language: str
) -> RenderedResult:
    """Return the responses of one block as its result.

    `values` are the bodies, and `blocks` are the responses in ob-restclient's wrapper. Each string
    is empty or consists of whole lines. For verb blocks, only `values` are used, as in ob-verb.
    ``code`` creates a source block in `language`.
    """
    words = arguments.results
    bare = pure(arguments) or language == VERB
    if "code" in words and not bare and "wrap" not in arguments:
        return RenderedResult("".join(blocks))  # already a source block
    text = "".join(values if bare else blocks)
    loose = bare and not is_plain(text)  # otherwise, a source block delimits it
    if len(values) > 1 and not _delimited(arguments):
        return _drawer(text, loose)
    if _shaped(arguments):
        try:
            text, loose = listed(text, bare=bare) if "list" in words else table(text), False
        except _LiveError:
            loose = True
    if "wrap" in arguments:
        return _wrap(arguments.get("wrap") or "results", text, loose)
    if "html" in words or "latex" in words:
        name = "html" if "html" in words else "latex"
        return RenderedResult(f"#+begin_src {name}\n{escape(text)}#+end_src\n", notes=(NO_EXPORT,))
    if "org" in words:
        return RenderedResult(f"#+begin_src org\n{escape(text)}#+end_src\n")
    if "code" in words and _would_be_sent(text, language):
        return RenderedResult(_example(text), notes=(NO_REQUEST,))
    if "code" in words:
        return RenderedResult(f"#+begin_src {language}\n{escape(text)}#+end_src\n")
    if "raw" in words:
        return _unwrapped(text, loose, prose=bare and not _shaped(arguments))
    if "drawer" in words or "wrap" in words:
        return _drawer(text, loose)
    if "table" in words or "vector" in words:
        return _unwrapped(text, loose, prose=False)
    return RenderedResult(_fixed(text))


def inline(arguments: Arguments, text: str, language: str) -> str | None:
    """Return the response of an inline block as the argument of ``{{{results(...)}}}``.

    Returns None if the text has several lines, would end the macro, or contains markup that an
    export would interpret. Unlike in Emacs, results with ``raw`` also use the macro. Otherwise,
    they would accumulate with each evaluation.
    """
    if not text:
        return ""
    if "\n" in text or ")}}}" in text:
        return None
    words = set(arguments.results)
    source, raw = "", False
    if "wrap" in arguments:
        kind, *rest = (arguments.get("wrap") or "results").split()
        raw = kind.lower() not in ("export", "src", "example")
        if kind.lower() in ("export", "src"):
            source = rest[0] if rest else "none"
            if _would_be_sent(text, source) or not _is_of_data(rest):
                return None
    elif words & {"html", "latex"}:
        source = "html" if "html" in words else "latex"
    elif "code" in words and _would_be_sent(text, language):
        return None
    elif words & {"org", "code"}:
        source = "org" if "org" in words else language + "[]"
    else:
        raw = bool(words & {"raw", "drawer", "wrap", "file"})
    shown: str | None = text
    if source:
        shown = None if "{" in text or "}" in text else f"src_{source}{{{text}}}"
    elif raw:
        shown = text if is_plain_inside(text) else None
    elif text != text.strip():
        shown = None
    else:
        shown = verbatim(text)
    return shown and re.sub(r"(\\*),", r"\1\1\\,", shown)  # as `org-macro-escape-arguments` does


def returned(
    arguments: Arguments,
    values: Sequence[str],
    blocks: Sequence[str],
    texts: Sequence[str],
    language: str,
) -> tuple[Returned, tuple[str, ...]]:
    """Return the value that a Babel function must return, and the notes about it.

    Org inserts this value, or the value that ``:post`` computes from it, by its own rules. `texts`
    are the responses with their heads as comments. The other parameters are those of `show`.

    Raises ArgumentError if Org would find structure or markup in the text, or if the requested kind
    of block cannot contain the text.
    """
    words = arguments.results
    bare = pure(arguments)
    shown = show(arguments, values, blocks, language)
    if len(values) > 1 and not _delimited(arguments):
        return shown.text, shown.notes
    if "code" in words and not bare and "wrap" not in arguments:
        return "".join(texts), ()  # Org writes the source block
    text = "".join(values if bare else blocks)
    for note in (NO_DRAWER, NO_REQUEST, NO_EXPORT, NO_VERSE, NO_CODE):
        if note in shown.notes:
            raise ArgumentError(f"{note}: use a different value for :results or :wrap")
    if _shaped(arguments):
        return _inert_shaped(arguments, text), ()
    return _example(text) if shown.notes else text, shown.notes


def shaped(arguments: Arguments, text: str) -> Returned:
    """Return `text` as a list or table if ``:results`` requests this, otherwise unchanged."""
    words = arguments.results
    if "list" in words:
        return _items(text)
    if "table" in words or "vector" in words:
        return _rows(text)
    return text


def _inert_shaped(arguments: Arguments, text: str) -> Returned:
    """Return `text` as a list or table for Org to insert, with any markup made verbatim.

    Raises ArgumentError if some markup cannot be made verbatim.
    """
    try:
        if "list" in arguments.results:
            return _inert_items(text, pure(arguments)) or ""
        return _inert_rows(text) or None
    except _LiveError:
        raise ArgumentError(
            "the response looks like Org markup, which Org would interpret in a list or "
            "table: use :results value drawer"
        ) from None


def _shaped(arguments: Arguments) -> bool:
    return bool({"list", "table", "vector"} & set(arguments.results))


def _would_be_sent(text: str, language: str) -> bool:
    from orgrest.structured import json_or

    # A request may also be just a URL, a path, a variable or a reference to a block.
    is_safe = isinstance(json_or(text), dict | list) and "<<" not in text
    is_sent = language == VERB or (language in REQUEST_LANGUAGES and not is_safe)
    return is_sent and bool(text.strip())


def _delimited(arguments: Arguments) -> bool:
    """Return whether Org can find the end of the result, to replace it."""
    return "wrap" in arguments or bool(
        {"html", "latex", "org", "code", "drawer", "wrap", "pp"} & set(arguments.results)
    )


def _example(text: str) -> str:
    return f"#+begin_example\n{escape(text)}#+end_example\n"


def _unwrapped(text: str, loose: bool, *, prose: bool) -> RenderedResult:
    if loose:
        return RenderedResult(_example(text), prose, (IN_EXAMPLE,))
    return RenderedResult(text, prose)


def _drawer(text: str, loose: bool) -> RenderedResult:
    if _DRAWER_END.search(text):  # Org has no escape for this line
        return RenderedResult(_example(text) if loose else text, notes=(NO_DRAWER,))
    if loose:
        return RenderedResult(f":results:\n{_example(text)}:end:\n", notes=(IN_EXAMPLE,))
    return RenderedResult(f":results:\n{text}:end:\n")


def _wrap(full: str, text: str, loose: bool) -> RenderedResult:
    kind, *rest = full.split() or ["results"]
    notes: tuple[str, ...] = ()
    if kind.lower() in ("src", "export"):
        if _would_be_sent(text, "".join(rest[:1])):
            return RenderedResult(_example(text), notes=(NO_REQUEST,))
        if not _is_of_data(rest):
            return RenderedResult(_example(text), notes=(NO_CODE,))
    if kind.lower() == "export":
        opened = " ".join(("src", *rest))
        return RenderedResult(f"#+begin_{opened}\n{escape(text)}#+end_src\n", notes=(NO_EXPORT,))
    if kind.lower() == "verse" and (loose or not is_plain(text)):  # Org parses markup in its lines
        return RenderedResult(_example(text), notes=(NO_VERSE,))
    if kind.lower() in ("src", "example", "comment"):
        text = escape(text)
    elif loose:
        text, notes = _example(text), (IN_EXAMPLE,)
    return RenderedResult(f"#+begin_{full}\n{text}#+end_{kind}\n", notes=notes)


def _is_of_data(source: Sequence[str]) -> bool:
    """Return whether a source block contains only data, so that it is never run or tangled.

    `source` contains the words after `#+begin_src`.
    """
    return not source or (len(source) == 1 and source[0].lower() in _OF_DATA)


def _fixed(text: str) -> str:
    lines = text.split("\n")[:-1]
    if len(lines) >= _EXAMPLE_FROM:
        return _example(text)
    return "".join(f": {line}\n" for line in lines)


class _LiveError(Exception):
    """Raised for text that can be neither plain nor verbatim."""


def _inert(text: str) -> str:
    """Return `text` as verbatim text, or raise _LiveError."""
    inert = verbatim(text)
    if inert is None:
        raise _LiveError
    return inert


def listed(text: str, *, bare: bool = True) -> str:
    """Return the lines of `text` as an Org list.

    Raises _LiveError if a line can be written neither as plain nor as verbatim text.
    """
    return "".join(f"- {item}\n" for item in _inert_items(text, bare)) or "\n"


def _items(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _inert_items(text: str, bare: bool) -> list[str]:
    return [_item(line, bare) for line in _items(text)]


def _item(line: str, bare: bool) -> str:
    frame = not bare and line.upper().startswith(("#+BEGIN_SRC ", "#+END_SRC"))  # by orgrest
    return line if frame or (is_plain(line) and line[0] != "[") else _inert(line)


def table(text: str) -> str:
    """Return `text` (JSON, an Org table, or tab- or comma-separated values) as an Org table.

    Raises _LiveError if a cell can be neither plain nor verbatim text.
    """
    rows = _inert_rows(text)
    return align(rows) if rows else ""


def _inert_rows(text: str) -> list[list[str] | None]:
    return [None if row is None else [_inert_cell(cell) for cell in row] for row in _rows(text)]


def _rows(text: str) -> list[list[str] | None]:
    """Return the rows of the table in `text`, with None for a horizontal rule."""
    if not text.strip():
        return []
    if text.lstrip()[0] in "[{":
        try:
            return _json_rows(json.loads(text, parse_float=_Spelled))
        except (ValueError, RecursionError):
            pass  # not JSON, or too deeply nested
    lines = [line for line in text.split("\n") if line.strip()]
    if all(line.lstrip().startswith("|") for line in lines):
        return [
            None
            if _RULE.match(line.strip())
            else [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in lines
        ]
    import csv
    import io

    tabs = "\t" in text
    reader = csv.reader(io.StringIO("\n".join(lines)), delimiter="\t" if tabs else ",")
    try:
        return [[_cell(cell) for cell in row] for row in reader]
    except csv.Error:
        return [[_cell(line)] for line in lines]


def _json_rows(data: object) -> list[list[str] | None]:
    """Return JSON data as rows. For a list of objects, the first row contains the keys."""
    items = data if isinstance(data, list) else [data]
    objects = [item for item in items if isinstance(item, dict)]
    if objects and len(objects) == len(items):
        keys = list(dict.fromkeys(key for item in objects for key in item))
        if len(keys) * len(objects) > _MAX_CELLS:
            raise ValueError("a table of mostly empty cells")
        rows: list[list[str] | None] = [[_cell(key) for key in keys], None]
        rows += ([_json_cell(item.get(key, "")) for key in keys] for item in objects)
        return rows
    return [
        [_json_cell(cell) for cell in (item if isinstance(item, list) else [item])]
        for item in items
    ]


class _Spelled(float):
    """A number that keeps its original spelling."""

    text: str

    def __new__(cls, text: str) -> _Spelled:
        literal = super().__new__(cls, text)
        literal.text = text
        return literal


def _json_cell(data: object) -> str:
    if isinstance(data, _Spelled):
        return data.text
    return _cell(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False))


def _cell(text: str) -> str:
    return " ".join(text.split("\n")).strip()


def _inert_cell(line: str) -> str:
    if not is_plain_inside(line) or _SPECIAL_CELL.match(line):
        line = _inert(line)
    return line.replace("|", "\\vert{}")


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def align(rows: Sequence[list[str] | None]) -> str:
    """Return rows as an aligned Org table. Columns of mostly numbers are right-aligned."""
    count = max(len(row) for row in rows if row is not None) if any(rows) else 1
    cells = sum(len(row) for row in rows if row is not None)
    if count * len(rows) > max(_MAX_CELLS, 2 * cells):  # Org fills in the shorter rows
        every = ("|-" if row is None else f"| {' | '.join(row)} |" for row in rows)
        return "\n".join(every) + "\n"
    full = [None if row is None else row + [""] * (count - len(row)) for row in rows]
    columns = list(zip(*(row for row in full if row is not None), strict=True))
    widths = [max(1, *(_width(cell) for cell in cells)) for cells in columns]
    size = sum(len(cell) for row in full if row is not None for cell in row)
    if sum(widths) * len(full) > max(4 * _MAX_CELLS, 8 * size):
        widths = [0] * len(widths)
    pads = [_padding(cells) for cells in columns]
    lines: list[str] = []
    for row in full:
        if row is None:
            lines.append("|" + "+".join("-" * (width + 2) for width in widths) + "|")
            continue
        padded = (pad(cell, width) for pad, cell, width in zip(pads, row, widths, strict=True))
        lines.append("| " + " | ".join(padded) + " |")
    return "\n".join(lines) + "\n"


def _padding(cells: Sequence[str]) -> Callable[[str, int], str]:
    filled = [cell for cell in cells if cell]
    numbers = sum(1 for cell in filled if _NUMBER.fullmatch(cell))
    if filled and numbers * 2 >= len(filled):
        return lambda cell, width: " " * (width - _width(cell)) + cell
    return lambda cell, width: cell + " " * (width - _width(cell))
