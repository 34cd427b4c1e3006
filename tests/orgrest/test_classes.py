"""Classes declared with `orgrest.classes` behave like those of attrs, which are the reference."""

from __future__ import annotations

import threading
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orgrest import classes


def declare(module: ModuleType) -> SimpleNamespace:
    """Return the same classes, made with `module`."""

    @module.define
    class Base:
        first: Any
        second: Any = 2
        kind: ClassVar[str] = "base"

    @module.frozen
    class Derived(Base):
        third: Any = module.field(factory=list, eq=False)
        _private: Any = module.field(default="p", repr=False)

    @module.frozen(kw_only=True)
    class Named(Base):
        text: Any = module.field(converter=str, default=0)
        copied: Any = module.Factory(lambda self: [self.first], takes_self=True)
        computed: Any = module.field(init=False, default=7)

    @module.define(eq=False)
    class Identity:
        value: Any

    @module.define
    class Own:
        value: Any

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    return SimpleNamespace(**{cls.__name__: cls for cls in (Base, Derived, Named, Identity, Own)})


OURS, THEIRS = declare(classes), declare(attrs)
VALUES = st.sampled_from([0, 1])
ARGUMENTS = st.tuples(
    st.lists(VALUES, min_size=1, max_size=3),
    st.dictionaries(st.sampled_from(["second", "third", "private", "text", "copied"]), VALUES),
)


def outcome(action: Any) -> Any:
    try:
        return action()
    except TypeError:
        return TypeError


@given(
    st.lists(st.sampled_from(sorted(vars(OURS))), min_size=1, max_size=2),
    ARGUMENTS,
    ARGUMENTS,
    st.dictionaries(st.sampled_from(["first", "private", "text"]), VALUES),
)
def test_objects_are_made_compared_hashed_shown_and_copied_as_with_attrs(
    names: list[str], one: Any, other: Any, changes: dict[str, Any]
) -> None:
    def described(module: Any, known: SimpleNamespace, astuple: Any) -> Any:
        objects = []
        for name, (arguments, named) in ((names[0], one), (names[-1], other)):
            made = outcome(lambda: getattr(known, name)(*arguments, **named))  # noqa: B023
            objects.append(made)
        if TypeError in objects:
            return [made is TypeError for made in objects]
        left, right = objects
        copy = outcome(lambda: module.evolve(left, **changes))
        return (
            left == right,
            outcome(lambda: hash(left) == hash(right)) if left == right else None,
            [repr(made) for made in objects],
            [astuple(made) for made in objects],
            copy if copy is TypeError else repr(copy),
        )

    theirs = described(attrs, THEIRS, partial(attrs.astuple, recurse=False))
    for known in (declare(classes), OURS):  # OURS are compiled after a few examples
        assert described(classes, known, classes.astuple) == theirs


def test_threads_that_make_the_first_objects_of_a_class_get_them() -> None:
    for _ in range(50):
        cls, barrier, made = declare(classes).Base, threading.Barrier(4), []

        def make(cls: Any = cls, barrier: Any = barrier, made: Any = made) -> None:
            barrier.wait()
            made.append(cls(1))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert made == [cls(1)] * 4


def test_an_object_can_be_made_by_a_class_above_its_own() -> None:
    @classes.define
    class Base:
        value: int

    @classes.define
    class Derived(Base):
        def __init__(self) -> None:
            super().__init__(3)

    assert Derived().value == 3
    with pytest.raises(TypeError, match="value"):
        Base()
