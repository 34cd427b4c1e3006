"""Parses and evaluates assertions about a response, such as `?? status == 200`.

    ?? status == 2xx                     ?? header Content-Type contains json
    ?? body data[0].id > 5               ?? body $.token exists
    ?? jq '.items | length' == 3         ?? xpath //item count 3
    ?? body schema user.schema.json      ?? certificate days > 14

An assertion has a subject (which can be followed by a path into it), an operator, and an expected
value. `subjects` and `operators` contain tables: each row has a function and a description, which
is used in documentation, completion and hover information. `language` uses the tables to parse
assertions, and `judging` uses them to evaluate assertions.

The `??` syntax comes from httpyac. Sources: httpyac's guide on assertions, and its code. As in
httpyac, `exists` and `isTrue` require a value that is not empty, zero or false, and the expected
value is converted to the subject's type. There are three differences:

- If a line contains several operators, the first is used instead of the last (except for `js`).
- `!=` is the opposite of `==` even for objects.
- An expected value in double quotes is a string.

Subjects and operators that httpyac lacks are named as in Hurl, if Hurl has them.
"""

from __future__ import annotations

from orgrest.http.assertions.judging import judge
from orgrest.http.assertions.language import ParsedAssertion, find
from orgrest.http.assertions.operators import OPERATORS
from orgrest.http.assertions.subjects import SUBJECTS, Tools

__all__ = ["OPERATORS", "SUBJECTS", "ParsedAssertion", "Tools", "find", "judge"]
