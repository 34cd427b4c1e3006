"""Steps for scripts, assertions, and lines that save responses.

Each step gets the reader, a line and its stripped text, and returns whether it consumed the line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest.http.parsing.lines import joined, mismarked, one_line
from orgrest.http.parsing.request_file.grammar import (
    ASSERTION,
    HANDLER_FILE,
    HISTORY,
    HTTPYAC,
    SAVING,
    SCRIPT_FILE,
    SCRIPT_LINE,
    SEPARATOR,
)
from orgrest.http.syntax import Saving, Script, Template
from orgrest.model import Span
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, TypeAlias

    from orgrest.http.parsing.request_file.reader import Reader
    from orgrest.http.parsing.request_file.region import Line

    _Moment: TypeAlias = Literal["before", "request", "response", "after", "end"]

_MOMENTS: dict[str, _Moment] = {"request": "request", "response": "response", "after": "end"}
"""Maps the event that an httpyac script names to the moment when it runs (`Script.when`)."""
_IMPORT = compiled(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|`(?:[^`\\]|\\.)*+`?|'(?:[^'\\\n]|\\.)*+'?|"
    r"\"(?:[^\"\\\n]|\\.)*+\"?|"
    r"(?:^|(?<=[;}]))[ \t]*(?P<import>import\b(?=\s*['\"{*]|\s+[\w$]+(?:\s*,|\s+from\b))"
    r"[^'\";]{0,500}['\"](?P<name>[^'\"\n]{1,200})['\"])",
    re.DOTALL | re.MULTILINE,
)
"""An `import` statement, which is the only match with the group `import`."""
_SCRIPT_NAMES = (".js", ".mjs", ".ts")


def handler(reader: Reader, line: Line, text: str) -> bool:
    """Read a JetBrains HTTP Client script, either inline or in a separate file.

    `> {% %}` and `> file.js` run after the response has arrived. `< {% %}` and `< file.js` run
    before the request is sent, and must be above its request line.
    """
    region = reader.region
    if match := SCRIPT_LINE.fullmatch(text):
        when: _Moment = "response" if match["mark"] == ">" else "before"
        if when == "before" and region.begun:
            reason = "scripts for the request must precede its request line"
            reader.problem(line.start, reason, "misplaced-script")
        code, end = _code(reader, line, match)
        if imported := find_import(code.text):
            reader.problem(code.offset(imported[0]), imported[1], "import-in-script")
        span = Span(line.offset, end)
        region.scripts.append(Script(when, "jetbrains", code, None, "own", span))
        region.reach(end)
        return True
    match = SCRIPT_FILE.fullmatch(text) if text[:1] == ">" or not region.begun else None
    if region.begun and (not region.closed or text.endswith(_SCRIPT_NAMES)):
        match = match or HANDLER_FILE.fullmatch(text)
    if match is None:
        return False
    when = "response" if text[0] == ">" else "before"
    path = line.template(match, "path")
    region.scripts.append(Script(when, "jetbrains", None, path, "own", line.span))
    region.reach(line.end)
    return True


def find_import(code: str) -> tuple[int, str] | None:
    """Return the index of the first `import` in a script, and what is wrong with it, or None."""
    for match in _IMPORT.finditer(code):
        if match["import"] is not None:
            reason = (
                f'scripts cannot use import: write require("{match["name"]}") instead, and '
                "module.exports instead of export in that file"
            )
            return match.start("import"), reason
    return None


def _code(reader: Reader, line: Line, match: re.Match[str]) -> tuple[Template, int]:
    """Return the code between `{%` and `%}`, and the end offset of the last line."""
    if match["end"]:
        return line.template(match, "text"), line.end
    below = _lines_below(reader, line, "%}", lambda text: text.partition("%}")[1:] == ("%}", ""))
    pieces = [(each.raw.partition("%}")[0], each.offset) for each in below]
    code = joined([(match["text"], line.start + match.start("text")), *pieces])
    return code, (below or [line])[-1].end


def _lines_below(
    reader: Reader, first: Line, mark: str, closes: Callable[[str], bool]
) -> list[Line]:
    """Consume and return the lines below `first`, up to the one whose text `closes` the script."""
    below: list[Line] = []
    while reader.at < len(reader.lines) and not SEPARATOR.fullmatch(reader.lines[reader.at].text):
        below.append(reader.lines[reader.at])
        reader.at += 1
        if closes(below[-1].text):
            return below
    reader.problem(first.start, f"this script is never closed: missing {mark}", "unclosed-script")
    reader.quoted = reader.at == len(reader.lines)
    return below


def script_of_httpyac(reader: Reader, line: Line, text: str) -> bool:
    """Read an httpyac script, which begins with `{{` alone on a line and ends with `}}`.

    The first line may name an event, such as `{{@response`. By default, a script above the request
    line runs before the request, and a script below it after the response. A script that begins
    with `{{+` runs for every request in the file, by default before the request.
    """
    match = HTTPYAC.fullmatch(text)
    if match is None:
        return False
    below = _lines_below(reader, line, "}}", lambda text: text == "}}")
    pieces = [(each.raw, each.offset) for each in below if each.text != "}}"]
    event = (match["event"] or "").lower()
    if event in ("streaming", "responselogging"):
        reason = (
            f"scripts for {match['event']} are not supported: to send messages, write them in the "
            "body, separated by `===` lines; to handle the response, start the script with "
            "{{@response"
        )
        reader.problem(line.start, reason, "unknown-script")
    region = reader.region
    for_all = match["every"] == "+"
    when = _MOMENTS.get(event, "after" if region.begun and not for_all else "before")
    span = Span(line.offset, (below or [line])[-1].end)
    code = joined(pieces) if pieces else one_line("", span.end)
    script = Script(when, "httpyac", code, None, "every" if for_all else "own", span)
    (reader.scripts if for_all else region.scripts).append(script)
    region.reach(span.end)
    return True


def after_response(reader: Reader, line: Line, text: str) -> bool:
    """Read an assertion, `>> file` (which saves the response), or `<> file` (which is skipped)."""
    region = reader.region
    if match := ASSERTION.fullmatch(text):
        reader.assertion(line, line.template(match, "text"))
    elif reason := mismarked(text):
        reader.problem(line.start, reason, "bad-assertion")
    elif region.begun and (match := SAVING.fullmatch(text)):
        path = line.template(match, "path")
        region.savings.append(Saving(path, bool(match["force"]), line.span))
    elif not (region.begun and HISTORY.fullmatch(text)):
        return False
    region.reach(line.end)
    return True
