"""Assertions about a response, `?? status == 200`: parsing and evaluation.

    ?? status == 2xx                     ?? header Content-Type contains json
    ?? body data[0].id > 5               ?? body $.token exists
    ?? jq '.items | length' == 3         ?? xpath //item count 3
    ?? body schema user.schema.json      ?? certificate days > 14

An assertion has a subject (perhaps with a path into it), an operator, and an expected value.
`subjects` and `operators` are tables: a row has the function, and its description for
documentation, completion and hover. `language` parses assertions by them, `judging` evaluates them.

Source: httpyac's guide on assertions, whose `??` lines these are, and its code. As there, `exists`
and `isTrue` require a value that is not empty, zero or false, and the expected value is converted
to the subject's type. Three things differ: the operator is the first after the subject, not the
last (except for `js`), `!=` is the opposite of `==` for objects, too, and an expected value in
double quotes is a string. Names that httpyac lacks are Hurl's if it has them.
"""

from __future__ import annotations

from orgrest.http.assertions.judging import judge
from orgrest.http.assertions.language import Found, find
from orgrest.http.assertions.operators import OPERATORS
from orgrest.http.assertions.subjects import SUBJECTS, Tools

__all__ = ["OPERATORS", "SUBJECTS", "Found", "Tools", "find", "judge"]
