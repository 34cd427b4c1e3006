"""Creates each lsprotocol type on first use, which halves the server's startup time.

lsprotocol declares 554 classes with `attrs.define`, which generates and compiles methods for each
class. It also resolves the annotations of all classes. A client needs only about a hundred of these
classes. `load` imports lsprotocol's module with a decorator that postpones this work until a class
is instantiated or its fields are read. The import, together with the converter that reads messages,
takes 0.12 s of CPU time instead of 0.43 s (Python 3.11).

A special `__import__` replaces `attrs.define` only in lsprotocol's module. If another release
declares its types differently, all types are created during the import, as usual.
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
    """Import the types of lsprotocol unless they are imported already.

    This must be called in the main thread.
    """
    if _MODULE in sys.modules:
        return
    spec = find_spec(_MODULE)
    if spec is None or spec.loader is None:
        import_module(_MODULE)  # raises the usual error
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

    if hasattr(_hooks, "_resolved_forward_references"):  # `_make` resolves them for its class
        _hooks._resolved_forward_references = True


def waiting() -> list[str]:
    """Return the names of the lsprotocol classes that have not been created yet."""
    every = vars(sys.modules[_MODULE]).items()
    return [name for name, member in every if isinstance(member, type) and _waits(member)]


def _import(name: str, *given: Any, **named: Any) -> Any:
    """Import a module for lsprotocol, with another `define` if the module is `attrs`."""
    module = builtins.__import__(name, *given, **named)
    return SimpleNamespace(**{**vars(module), "define": _postponed}) if module is attrs else module


class _Fields:
    """A descriptor for a class's attrs fields. Reading the fields applies `attrs.define`."""

    def __get__(self, instance: object, owner: type) -> Any:
        _make_all(owner)
        return getattr(owner, _FIELDS)


def _postponed(cls: Any = None, /, **options: Any) -> Any:
    if not isinstance(cls, type) or options or cls.__module__ != _MODULE:
        return attrs.define(cls, **options)
    setattr(cls, _FIELDS, _Fields())
    # Replaced when the class is created. mypy objects because a subclass could have another one.
    cls.__init__ = _init  # type: ignore[misc]
    return cls


def _init(self: Any, *given: Any, **named: Any) -> None:
    _make_all(type(self))
    self.__init__(*given, **named)


def _make_all(cls: type) -> None:
    with _making:
        for part in reversed(cls.__mro__):
            if _waits(part):
                _make(part)


def _waits(cls: type) -> bool:
    return isinstance(vars(cls).get(_FIELDS), _Fields)


def _make(cls: _Class) -> None:
    delattr(cls, _FIELDS)
    del cls.__init__  # type: ignore[misc]  # the placeholder
    attrs.define(cls, slots=False)  # in place, because others refer to it
    attrs.resolve_types(cls, sys.modules[_MODULE].ALL_TYPES_MAP, {})
