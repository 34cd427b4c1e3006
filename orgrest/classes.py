"""Data classes that look like attrs classes, but are compiled only when used often.

attrs compiles every class at import, but a command uses few of the classes that it imports, and
creates only one or two objects of most of them. Type checkers see attrs itself. Only type checkers
enforce `frozen`, not the classes at run time.
"""

from __future__ import annotations

from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attrs import Factory as Factory
    from attrs import astuple as astuple
    from attrs import define as define
    from attrs import evolve as evolve
    from attrs import field as field
    from attrs import frozen as frozen
else:
    from types import SimpleNamespace

    _MISSING = object()
    _OFTEN = 4  # compiling `__init__` takes as long as creating about 30 objects without it

    class Factory:
        """A function that returns a field's default.

        If `takes_self` is true, the new object is passed to the function.
        """

        def __init__(self, function, *, takes_self=False):
            self.function, self.takes_self = function, takes_self

    class field:  # noqa: N801 - the name in attrs
        """The options of a field, which mean the same as in attrs."""

        def __init__(
            self,
            *,
            default=_MISSING,
            factory=None,
            init=True,
            repr=True,  # noqa: A002 - the name in attrs
            eq=True,
            kw_only=False,
            converter=None,
        ):
            self.default = default if factory is None else Factory(factory)
            self.init, self.repr, self.eq = init, repr, eq
            self.kw_only, self.converter = kw_only, converter

    def define(cls=None, *, frozen=False, eq=True, kw_only=False):
        """Return the class, with methods that are generated from its fields."""
        if cls is None:
            return lambda cls: define(cls, frozen=frozen, eq=eq, kw_only=kw_only)
        cls._kw_only_ = kw_only
        methods = {"__init__": _compiled_later(cls), "__repr__": _repr}
        if eq:
            methods |= {"__eq__": _eq, "__hash__": _hash if frozen else None}
        for name, method in methods.items():
            if name not in cls.__dict__ or (name == "__hash__" and "__eq__" not in cls.__dict__):
                setattr(cls, name, method)
        return cls

    frozen = partial(define, frozen=True)

    @cache
    def _fields(cls):
        fields = {}
        for base in reversed(cls.__mro__):
            if "_kw_only_" in base.__dict__:
                for name, annotation in base.__annotations__.items():
                    if not str(annotation).startswith("ClassVar"):
                        default = base.__dict__.get(name, _MISSING)
                        options = default if type(default) is field else field(default=default)
                        options.kw_only |= base._kw_only_
                        fields.pop(name, None)
                        fields[name] = options
        names = [name for name, options in fields.items() if options.init]
        return SimpleNamespace(
            all=fields,
            parameters=[name.lstrip("_") for name in names],
            positional=[name.lstrip("_") for name in names if not fields[name].kw_only],
            values=_reader(names),
            compared=_reader([name for name, options in fields.items() if options.eq]),
        )

    def _reader(names):
        if len(names) > 1:
            return attrgetter(*names)
        return lambda value: tuple(getattr(value, name) for name in names)

    def _compiled_later(cls):
        uses = 0

        def __init__(self, *arguments, **named):  # noqa: N807 - tracebacks show it
            nonlocal uses
            uses += 1
            if uses >= _OFTEN or not _assign(self, cls, arguments, named):
                cls.__init__ = _compiled(cls)
                cls.__init__(self, *arguments, **named)

        return __init__

    def _assign(self, cls, arguments, named):
        """Assign the fields; return False if the arguments are not exactly as expected."""
        fields = _fields(cls)
        given = dict(zip(fields.positional, arguments, strict=False)) | named
        if len(given) != len(arguments) + len(named):
            return False
        for name, options in fields.all.items():
            default = options.default
            value = given.pop(name.lstrip("_"), _MISSING) if options.init else _MISSING
            if value is _MISSING:
                if type(default) is Factory:
                    value = default.function(self) if default.takes_self else default.function()
                elif default is not _MISSING:
                    value = default
                elif options.init:
                    return False
                else:
                    continue
            if options.converter is not None:
                value = options.converter(value)
            setattr(self, name, value)
        return not given

    def _compiled(cls):
        """Return the `__init__` that assigns the fields."""
        namespace = {"MISSING": _MISSING}
        parameters, named, lines = [], [], []
        for name, options in _fields(cls).all.items():
            argument, default = name.lstrip("_"), options.default
            value = argument if options.init else f"{name}_default"
            if type(default) is Factory:
                namespace[f"{name}_default"], default = default.function, _MISSING
                default_value = f"{name}_default({'self' if options.default.takes_self else ''})"
                value = (
                    f"{default_value} if {value} is MISSING else {value}"
                    if options.init
                    else default_value
                )
                optional = "=MISSING"
            else:
                namespace[f"{name}_default"] = default
                optional = "" if default is _MISSING else f"={name}_default"
            if options.converter is not None:
                namespace[f"{name}_converter"] = options.converter
                value = f"{name}_converter({value})"
            if options.init:
                (named if options.kw_only else parameters).append(argument + optional)
            if options.init or options.default is not _MISSING:
                lines.append(f"\n    self.{name} = {value}")
        if named:
            parameters += ["*", *named]
        source = f"def __init__({', '.join(['self', *parameters])}):{''.join(lines) or ' pass'}"
        exec(compile(source, f"<{cls.__qualname__}>", "exec"), namespace)  # noqa: S102 - built above
        namespace["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return namespace["__init__"]

    def _eq(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        compared = _fields(self.__class__).compared
        return compared(self) == compared(other)

    def _hash(self):
        return hash(_fields(self.__class__).compared(self))

    def _repr(self):
        shown = [name for name, options in _fields(self.__class__).all.items() if options.repr]
        values = ", ".join(f"{name}={getattr(self, name, _MISSING)!r}" for name in shown)
        return f"{self.__class__.__qualname__.rpartition('>.')[2]}({values})"

    def evolve(value, /, **changes):
        """Return a copy of an object in which some fields have other values."""
        fields = _fields(value.__class__)
        arguments = dict(zip(fields.parameters, fields.values(value), strict=True))
        return value.__class__(**arguments | changes)

    def astuple(value):
        """Return the values of an object's fields."""
        return tuple(getattr(value, name) for name in _fields(value.__class__).all)
