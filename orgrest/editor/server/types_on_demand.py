"""lsprotocol's types, each made when it is used first: half of the server's start.

lsprotocol declares 554 classes with `attrs.define`, which writes and compiles methods for each, and
resolves the annotations of all before the first message; a client needs about a hundred of them.
`load` imports its module with a decorator that waits until a class is instantiated, or asked for
its fields. The import, with the converter that reads messages, takes 0.12 s of CPU time instead of
0.43 s (Python 3.11). The module is executed with an `__import__` of its own, which gives it that
decorator as `attrs.define`; nobody else sees it. Should another release declare its types
otherwise, all of them are made when it is imported, as without this.
"""

from __future__ import annotations

import builtins
import sys
import threading
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import SimpleNamespace
from typing import Any, TypeVar

import attrs

_MODULE = "lsprotocol.types"
_FIELDS = "__attrs_attrs__"  # where attrs looks for the fields of a class
_Class = TypeVar("_Class", bound=type)
_making = threading.RLock()


def load() -> None:
    """Import lsprotocol's types, unless they are imported already. Call this in the main thread."""
    if _MODULE in sys.modules:
        return
    spec = find_spec(_MODULE)
    if spec is None or spec.loader is None:
        import_module(_MODULE)  # raises what it does
        return
    module = module_from_spec(spec)
    vars(module)["__builtins__"] = {**vars(builtins), "__import__": _import}
    sys.modules[_MODULE] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[_MODULE]
        raise
    package, _, name = _MODULE.rpartition(".")
    setattr(sys.modules[package], name, module)
    from lsprotocol import _hooks

    if hasattr(_hooks, "_resolved_forward_references"):  # `_make` resolves those of its class
        _hooks._resolved_forward_references = True


def waiting() -> list[str]:
    """Return the names of the classes that have not been made."""
    every = vars(sys.modules[_MODULE]).items()
    return [name for name, one in every if isinstance(one, type) and _waits(one)]


def _import(name: str, *given: Any, **named: Any) -> Any:
    """Import for the module: `attrs` with another `define`, anything else as it is."""
    found = builtins.__import__(name, *given, **named)
    return SimpleNamespace(**{**vars(found), "define": _postponed}) if found is attrs else found


class _Fields:
    """Stands for the fields of a class that is not made yet, and makes it."""

    def __get__(self, instance: object, owner: type) -> Any:
        _make_all(owner)
        return getattr(owner, _FIELDS)


def _postponed(one: Any = None, /, **options: Any) -> Any:
    if not isinstance(one, type) or options or one.__module__ != _MODULE:
        return attrs.define(one, **options)
    setattr(one, _FIELDS, _Fields())
    one.__init__ = _init  # type: ignore[misc]  # until it is made
    return one


def _init(self: Any, *given: Any, **named: Any) -> None:
    _make_all(type(self))
    self.__init__(*given, **named)


def _make_all(one: type) -> None:
    """Make a class and those that it is derived from."""
    with _making:
        for part in reversed(one.__mro__):
            if _waits(part):
                _make(part)


def _waits(one: type) -> bool:
    return isinstance(vars(one).get(_FIELDS), _Fields)


def _make(one: _Class) -> None:
    delattr(one, _FIELDS)
    del one.__init__  # type: ignore[misc]  # the one that waited
    attrs.define(one, slots=False)  # in place: others refer to it
    attrs.resolve_types(one, sys.modules[_MODULE].ALL_TYPES_MAP, {})
