"""The reducer's passes, each of which proposes edits that may make a tree smaller.

A pass receives the index of a tree and yields edits. An edit consists of a rank and a function that
returns the edited tree. The edits of all passes of a phase are tried together, those with the
lowest rank first. In the first phase, the rank is minus the number of messages removed. `PHASES` is
the table of all passes. Passes do not depend on the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    splice_bodies,
    use_constants,
)


@attrs.frozen
class Pass:
    """A pass, with its name, a description, and the function that yields its edits of a tree."""

    name: str
    what: str
    edits: Callable[[AnyIndex], Iterable[Edit]]


PHASES: Final[Sequence[Sequence[Pass]]] = (
    (
        Pass("types", "drop all type annotations", drop_types),
        Pass("lists", "shorten lists, from coarse to fine", shorten_lists),
        Pass("optionals", "drop what is optional", drop_optionals),
        Pass("extensions", "drop what the schema's 57 messages lack", drop_extensions),
        Pass("module", "put the module in place of the program", keep_module),
        Pass("splice", "put a body in place of its statement", splice_bodies),
        Pass("loops", "put a body and its variable's first value in place of a loop", run_once),
        Pass("hoist", "put an operand in place of its expression", hoist),
        Pass("calls", "call a call's first argument instead", call_arguments),
        Pass("inline", "put a local variable's value in place of its uses", inline),
        Pass("functions", "put a function in place of its only use", inline_functions),
        Pass("bodies", "put a function's body in place of its call", inline_calls),
        Pass("arguments", "drop a function's parameter with its argument", drop_arguments),
        Pass("extract", "move an expression into a local", extract),
        Pass("print", "print a value where it is made, and stop", print_at_once),
        Pass("simplest", "replace a part with the simplest one of the same kind", simplify),
        Pass("constants", "put the tree's constants in place of expressions", use_constants),
        Pass("fractions", "replace a calculation with a fraction", make_fractions),
    ),
    (
        Pass("zero", "make all values the simplest", simplify_all),
        Pass("scalars", "shrink numbers and strings", shrink_scalars),
    ),
    (Pass("names", "give the shortest names", rename),),
)
"""The passes by phase. A phase ends when none of its edits succeeds any more."""
