"""docs/orgrest/reference/request-files.md lists everything that orgrest supports."""

from pathlib import Path

from orgrest.http.parsing.directives import DIRECTIVES
from orgrest.http.values.dynamic import DYNAMICS

PAGE = (Path(__file__).parents[2] / "docs/orgrest/reference/request-files.md").read_text("utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.replace("\\|", "\0").strip("|").split("|"))
    for line in PAGE.splitlines()
    if line.startswith("| `")
]
WRITTEN = {first.strip("`").replace("\0", "|"): second for first, second in ROWS}


def test_the_page_has_every_dynamic_value_and_directive_and_no_other() -> None:
    dynamics = {f"{{{{{dynamic.usage}}}}}": dynamic.description for dynamic in DYNAMICS}
    directives = {
        f"# @{rule.name} {rule.value}".strip(): rule.description for rule in DIRECTIVES.values()
    }
    assert set(WRITTEN) == {*dynamics, *directives}
    for written, description in {**dynamics, **directives}.items():
        assert WRITTEN[written].startswith(description)


def test_the_page_says_what_is_refused_and_why() -> None:
    for rule in DIRECTIVES.values():
        row = WRITTEN[f"# @{rule.name} {rule.value}".strip()]
        assert (f"In orgrest, this is an error: {rule.refused}." in row) == bool(rule.refused)
        assert ("Used only by other tools" in row) == rule.informs
