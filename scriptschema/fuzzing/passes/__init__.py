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
from typing import Final, TypeAlias

from scriptschema.fuzzing.passes import content, dropping, inlining, replacing
from scriptschema.fuzzing.passes.edits import AnyIndex, Edit

Pass: TypeAlias = Callable[[AnyIndex], Iterable[Edit]]

PHASES: Final[Sequence[Sequence[Pass]]] = (
    (
        dropping.drop_types,
        dropping.shorten_lists,
        dropping.drop_optionals,
        dropping.drop_extensions,
        dropping.keep_module,
        replacing.splice_bodies,
        replacing.run_once,
        replacing.hoist,
        replacing.hoist_alike,
        inlining.inline,
        inlining.inline_functions,
        inlining.inline_calls,
        inlining.drop_arguments,
        replacing.extract,
        replacing.print_at_once,
        replacing.simplify,
        replacing.calculate,
    ),
    (content.simplify_all, replacing.simplify_loops, content.shrink_scalars),
    (replacing.call_arguments, replacing.use_constants, inlining.hide),
)
"""The passes by phase. A phase ends when none of its edits succeeds any more. The phases are
repeated until none of them makes the tree smaller. Passes with many edits that seldom succeed come
last, so that few trees are tried with them."""

LAST: Final[Sequence[Pass]] = (content.rename,)
"""The phase that runs once, at the end. Other names do not let the other passes succeed."""


def edits_of(phase: Iterable[Pass], index: AnyIndex, least: int | None = None) -> list[Edit]:
    """Return the edits of all passes of a phase, the lowest rank first.

    Edits whose rank is lower than `least` are left out, because they have just failed.
    """
    edits = sorted((edit for each in phase for edit in each(index)), key=itemgetter(0))
    return edits if least is None else edits[bisect_left(edits, least, key=itemgetter(0)) :]
