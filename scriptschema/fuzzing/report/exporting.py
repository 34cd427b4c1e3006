"""Exports finds as Markdown issues, as regression tests in Luau, or as results for CI systems.

    export([(folder, find)], "markdown")

Markdown and Luau are usually exported for a single find, JUnit XML and SARIF 2.1.0 (OASIS, 2020)
for all finds of a campaign.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from xml.etree import ElementTree as ET

from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.finds import Find
from scriptschema.fuzzing.oracles import normalisation, round_trip
from scriptschema.fuzzing.oracles.severity import severity_of
from scriptschema.fuzzing.report.titles import names_of, title_of
from scriptschema.fuzzing.targets.outcome import visible
from scriptschema.luau import quoting

_OUTPUT: Final = 2000
_BYTE: Final = re.compile(r"(\\x(?:0[0-8b-f]|1[0-9a-f]|7f|[89a-f][0-9a-f]))")
"""An escape sequence that targets write for some bytes, but never for printable ASCII, tabs or line
feeds."""

_WITHOUT_POSITIONS: Final = r"""for _, position in {
    '%[string "[^"\n]*"%]:%d+:',
    '%f[%w_./\\%-][%w_./\\%-]+:%d+:',
} do
    text, expected = text:gsub(position, ':'), expected:gsub(position, ':')
end
"""

_LEVELS: Final[Mapping[str, str]] = {"undefined": "warning", "message": "note", "position": "note"}

Found = Sequence[tuple[Path, Find]]


def export(found: Found, form: str) -> bytes:
    """Return finds in one of the `FORMATS`. `found` are (folder, find) pairs. Raises FileError."""
    # The programs in regression tests keep bytes that are not UTF-8.
    errors = "surrogateescape" if form == "luau" else "backslashreplace"
    return FORMATS[form](found).encode("utf-8", errors)


def _markdown(found: Found) -> str:
    return "\n".join(_issue(folder, find) for folder, find in found)


def _issue(folder: Path, find: Find) -> str:
    runs = find.smallest.runs
    names = names_of(runs)
    source = visible(finds.source_of(folder, find.stem))
    parts = [f"# {_line(title_of(find))}", "", *_fenced(source, "lua")]
    for run in runs:
        end = run.outcome
        status = "" if end.status is None else f", status {end.status}"
        parts += [f"`{names[run.target]}`: {end.kind}{status}", ""]
        for text in _apart([end.output, end.error, end.report]):
            parts += _fenced(visible(text), "")
    if find.signature.kind == round_trip.KIND:
        parts += [_line(find.verdict.message), ""]
        if find.verdict.printed:
            parts += ["The printer printed:", "", *_fenced(find.verdict.printed, "lua")]
    if find.verdict.difference is not None and find.verdict.difference.ulps:
        parts += [
            f"The numbers differ by {find.verdict.difference.ulps} units in the last place.",
            "",
        ]
    parts += [f"- {name} {value}" for name, value in find.versions.items()]
    bisection = find.bisection and f"- {find.bisection}"
    parts += [bisection] if bisection else []
    signature = _line(str(find.signature))
    parts += [f"- seen {find.count} times since {find.first_seen}; signature `{signature}`"]
    parts += ["", f"To run it again: `{finds.command_of(folder, find)}`", ""]
    return visible("\n".join(parts))


def _apart(texts: Sequence[str]) -> list[str]:
    """Return the texts, cut, without those that are blank or whose lines are part of another."""
    cut = [text[:_OUTPUT].rstrip("\n") for text in texts if text.strip()]
    kept: list[str] = []
    for text in sorted(dict.fromkeys(cut), key=len, reverse=True):
        if not any(f"\n{text}\n" in f"\n{other}\n" for other in kept):
            kept.append(text)
    return [text for text in dict.fromkeys(cut) if text in kept]


def _line(text: str) -> str:
    return " ".join(visible(text).split())  # a user's judge function may return several lines


def _fenced(text: str, language: str) -> list[str]:
    longest = max((len(ticks) for ticks in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return [f"{fence}{language}", text.rstrip("\n"), fence, ""]


def _luau(found: Found) -> str:
    return "\n".join(_regression_test(folder, find) for folder, find in found)


def no_test(folder: Path, find: Find) -> str:
    """Return why a find cannot become a regression test in Luau, or an empty string."""
    source = folder / f"{find.stem}.luau"
    if find.signature.kind == round_trip.KIND:
        is_own = find.signature.detail.startswith("parse: ")
        place = "scriptschema's own parser" if is_own else "your printer"
        instead = "`scriptschema parse` does with" if is_own else "your printer prints for"
        return (
            f"{source} shows a bug of {place}, not of a target, so it cannot become a regression "
            f"test in Luau: test what {instead} this file"
        )
    if not find.smallest.is_luau:
        return (
            f"{source} is not valid Luau, so it cannot be part of a regression test in Luau: test "
            "that your implementation rejects the file itself"
        )
    return ""


def _regression_test(folder: Path, find: Find) -> str:
    """Return a Luau test that fails if the bug is present.

    The expected output and ending are those of the first run that ended normally or with a Luau
    error. Without such a run, the test checks only that the program terminates. The program is
    inserted unchanged, because the bug may depend on its exact strings and white space. Positions
    in error messages that it prints are not compared: they are different in the test. Only this
    comparison uses a library, because the target may have none.
    """
    runs = find.smallest.runs
    good = next((run for run in runs if run.outcome.kind in ("ok", "error")), None)
    body = finds.source_bytes_of(folder, find.stem).decode("utf-8", "surrogateescape")
    body = body if body.endswith("\n") else f"{body}\n"
    title = f"-- {_line(title_of(find))}\n-- {_line(str(find.signature))}\n"
    # Directives, which may be needed for the bug, only apply in the first comments of a source.
    [directives] = re.findall(r"\A(?:--!.*\n)*", body)
    title += directives
    if good is None:
        return f"{title}pcall(function(...)\n{body}end)\n"
    output = good.outcome.output
    lines = output.removesuffix("\n").split("\n") if output else []
    expected = "".join(f"    {_quoted(line)},\n" for line in lines)
    has_positions = normalisation.output(output, positions=False) != normalisation.output(output)
    ended, problem = "false", '"'
    if good.outcome.kind == "ok":
        ended, problem = "true", ': " .. tostring(problem)'
    return (
        f"{title}"
        'local text, expected = "", ""\n'
        "local function print(...)\n"
        '    local line = ""\n'
        '    for i = 1, select("#", ...) do\n'
        '        line = line .. (i > 1 and "\\t" or "") .. tostring((select(i, ...)))\n'
        "    end\n"
        '    text = text .. line .. "\\n"\n'
        "end\n"
        "local ended, problem = pcall(function(...)\n"
        f"{body}"
        "end)\n"
        "local lines = {\n"
        f"{expected}"
        "}\n"
        'for i = 1, #lines do expected = expected .. lines[i] .. "\\n" end\n'
        f"{_WITHOUT_POSITIONS if has_positions else ''}"
        f'assert(ended == {ended}, "the program ended differently{problem})\n'
        'assert(text == expected, "wrong output: " .. text)\n'
    )


def _quoted(text: str) -> str:
    """Return a line of output as a Luau string literal.

    Escape sequences that targets write for bytes (`_BYTE`) are kept. If the program itself printed
    such a sequence, the literal is wrong, but this is rare.
    """
    parts = _BYTE.split(text)  # every second part is such a byte
    parts[::2] = (quoting.quote(part)[1:-1] for part in parts[::2])
    return f'"{"".join(parts)}"'


def _junit(found: Found) -> str:
    suite = ET.Element("testsuite", name="scriptschema", tests=str(len(found)))
    suite.set("failures", str(len(found)))
    suite.set("errors", "0")
    for folder, find in found:
        case = ET.SubElement(
            suite, "testcase", name=find.name, classname=severity_of(find.signature)
        )
        failure = ET.SubElement(case, "failure", type=_line(find.signature.kind))
        failure.set("message", _line(title_of(find)))
        failure.text = _issue(folder, find)
    ET.indent(suite)
    return ET.tostring(suite, "unicode", xml_declaration=True) + "\n"


def _sarif(found: Found) -> str:
    kinds = sorted({find.signature.kind for _, find in found})
    results = [_result(folder, find) for folder, find in found]
    driver = {"name": "scriptschema", "rules": [{"id": kind} for kind in kinds]}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, indent=2) + "\n"


def _result(folder: Path, find: Find) -> dict[str, Any]:
    path = folder / f"{find.stem}.luau"
    location = {"artifactLocation": {"uri": quote(path.as_posix())}}
    return {
        "ruleId": find.signature.kind,
        "level": _LEVELS.get(severity_of(find.signature), "error"),
        "message": {"text": _line(title_of(find))},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"signature/v1": str(find.signature)},
        "occurrenceCount": find.count,
        "properties": {
            "severity": severity_of(find.signature),
            "command": finds.command_of(folder, find),
        },
    }


FORMATS: Final[Mapping[str, Callable[[Found], str]]] = {
    "markdown": _markdown,
    "luau": _luau,
    "junit": _junit,
    "sarif": _sarif,
}
