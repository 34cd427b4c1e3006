"""Calling back an owner without a reference cycle.

Python frees a cycle only when its collector runs, and the objects of a run hold whole responses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar
from weakref import WeakMethod

if TYPE_CHECKING:
    from collections.abc import Callable

_P = ParamSpec("_P")
_T = TypeVar("_T")


def weakly(method: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return what calls a method of an object and does not keep the object alive.

    It is for what the object owns, and may be called only while the object is there.
    """
    reference = WeakMethod(method)

    def call(*arguments: _P.args, **options: _P.kwargs) -> _T:
        found = reference()
        if found is None:
            raise ReferenceError("the run is over")
        return found(*arguments, **options)

    return call
