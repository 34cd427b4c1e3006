"""Parses and evaluates assertions about a response, such as `?? status == 200`.

    ?? status == 2xx                     ?? header Content-Type contains json
    ?? body data[0].id > 5               ?? body $.token exists
    ?? jq '.items | length' == 3         ?? xpath //item count 3
    ?? body schema user.schema.json      ?? certificate days > 14

An assertion has a subject (sometimes with a path into it), an operator, and an expected value.
`subjects` and `operators` contain tables. Each row has a function, and a description for
documentation, completion and hover texts. `language` parses assertions, and `judging` evaluates
them.

The `??` syntax comes from httpyac (sources: its guide on assertions, and its code). As in httpyac,
`exists` and `isTrue` require a value that is not empty, zero or false, and the expected value is
converted to the subject's type. There are four differences:

- In a line with several operators, the first is used instead of the last, unless the subject is
  `js`.
- `!=` is the opposite of `==` even for objects.
- An expected value in double quotes is a string.
- Text after an expected number is an error, unless it is a unit.

Subjects and operators that httpyac lacks have Hurl's names, if Hurl has them.
"""

from __future__ import annotations

from orgrest.http.assertions.judging import judge
from orgrest.http.assertions.language import ParsedAssertion, find
from orgrest.http.assertions.operators import OPERATORS
from orgrest.http.assertions.subjects import SUBJECTS, Tools

__all__ = ["OPERATORS", "SUBJECTS", "ParsedAssertion", "Tools", "find", "judge"]
