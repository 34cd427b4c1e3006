"""Assertions about a response, `?? status == 200`: how they are read, and whether they hold.

    ?? status == 2xx                     ?? header Content-Type contains json
    ?? body data[0].id > 5               ?? body $.token exists
    ?? jq '.items | length' == 3         ?? xpath //item count 3
    ?? body schema user.schema.json      ?? certificate days > 14

A subject (perhaps with a path that leads into it), an operator, and what is expected. `subjects`
and `operators` are tables: a row has the function, and what documentation, completion and hover say
of it. `language` reads assertions by them, `judging` tells whether one holds.

Source: httpyac's guide on assertions, whose `??` lines these are, and its code. As there, `exists`
and `isTrue` ask for a value that is not empty, zero or false, and what is expected is compared as
the subject's type. Three things differ: the first operator behind the subject counts, not the last
one (but for `js`), `!=` is the opposite of `==` for objects, too, and what is expected in double
quotes is a text. Names that httpyac lacks are Hurl's where that has them.
"""

from __future__ import annotations

from orgrest.http.assertions.judging import judge
from orgrest.http.assertions.language import Found, find
from orgrest.http.assertions.operators import OPERATORS
from orgrest.http.assertions.subjects import SUBJECTS, Tools

__all__ = ["OPERATORS", "SUBJECTS", "Found", "Tools", "find", "judge"]
