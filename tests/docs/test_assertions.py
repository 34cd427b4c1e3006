"""docs/assertions.md lists every kind of assertion, and its examples are valid."""

import re
from pathlib import Path

import pytest

from orgrest.http.assertions import OPERATORS, SUBJECTS, ParsedAssertion, find

PAGE = (Path(__file__).parents[2] / "docs/assertions.md").read_text("utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in PAGE.splitlines()
    if line.startswith("| `")
]
EXAMPLES = re.findall(r"^(?:# )?\?\? (.+)$|`\?\? ([^`]+)`", PAGE, re.MULTILINE)


def test_the_page_has_every_subject_and_operator_and_no_other() -> None:
    subjects = [
        (f"`{subject.name} {subject.path}", subject.description) for subject in SUBJECTS.values()
    ]
    operators = [
        (f"`{operator.name} {operator.expected}", operator.description)
        for operator in OPERATORS.values()
    ]
    assert [(f"{first.strip()}`", second) for first, second in subjects + operators] == ROWS


@pytest.mark.parametrize("example", [one or other for one, other in EXAMPLES])
def test_an_example_of_the_page_is_an_assertion(example: str) -> None:
    assert isinstance(find(example), ParsedAssertion)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 8
