"""The reducer's passes, each of which proposes edits that may make a tree smaller.

A pass receives the index of a tree and yields edits. An edit consists of a rank and a function that
returns the edited tree. The edits of all passes of a phase are tried together, the lowest rank
first. In the first phase, the rank is minus the number of messages removed. Passes do not depend on
the test.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Final

import attrs

from scriptschema.fuzzing.passes.content import rename, shrink_scalars, simplify_all
from scriptschema.fuzzing.passes.dropping import (
    drop_extensions,
    drop_optionals,
    drop_types,
    keep_module,
    shorten_lists,
)
from scriptschema.fuzzing.passes.edits import AnyIndex, Edit
from scriptschema.fuzzing.passes.inlining import (
    drop_arguments,
    inline,
    inline_calls,
    inline_functions,
)
from scriptschema.fuzzing.passes.replacing import (
    call_arguments,
    extract,
    hoist,
    make_fractions,
    print_at_once,
    run_once,
    simplify,
    simplify_loops,
    splice_bodies,
    use_constants,
)


@attrs.frozen
class Pass:
    """A pass: its name, a description, and the function that yields its edits to a tree."""

    name: str
    what: str
    edits: Callable[[AnyIndex], Iterable[Edit]]


PHASES: Final[Sequence[Sequence[Pass]]] = (
    (
        Pass("types", "drop all type annotations", drop_types),
        Pass("lists", "shorten lists, removing large pieces first", shorten_lists),
        Pass("optionals", "drop an optional field, or an elseif or else branch", drop_optionals),
        Pass("extensions", "drop syntax that is newer than the schema", drop_extensions),
        Pass("module", "replace the program with its module", keep_module),
        Pass("splice", "replace a statement with its body", splice_bodies),
        Pass("loops", "replace a loop with its body and the variable's first value", run_once),
        Pass("hoist", "replace an expression or type with one inside it", hoist),
        Pass("calls", "replace a call such as pcall(f, x) with f(x)", call_arguments),
        Pass("inline", "replace the uses of a local variable with its value", inline),
        Pass("functions", "move a function to its only use", inline_functions),
        Pass("bodies", "replace a call with the function's body", inline_calls),
        Pass("arguments", "drop a function's parameter, and the argument for it", drop_arguments),
        Pass("extract", "move an expression into a local", extract),
        Pass("print", "print a value where it is computed, and stop", print_at_once),
        Pass("simplest", "replace a part with the simplest one of the same kind", simplify),
        Pass("constants", "replace an expression with a constant", use_constants),
        Pass("fractions", "replace a calculation with the fraction -1 / 2", make_fractions),
    ),
    (
        Pass("zero", "replace all values with the simplest ones", simplify_all),
        Pass("while", "replace a for loop with a simpler loop", simplify_loops),
        Pass("scalars", "shrink numbers and strings", shrink_scalars),
    ),
    (Pass("names", "replace all names with the shortest ones", rename),),
)
"""The passes by phase. A phase ends when none of its edits succeeds any more."""


def edits_of(phase: Iterable[Pass], index: AnyIndex, least: int | None = None) -> list[Edit]:
    """Return the edits of all passes of a phase, the lowest rank first.

    Edits whose rank is lower than `least` are left out, because they have just failed.
    """
    edits = sorted((edit for each in phase for edit in each.edits(index)), key=itemgetter(0))
    return edits if least is None else edits[bisect_left(edits, least, key=itemgetter(0)) :]
