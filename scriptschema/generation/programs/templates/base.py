"""The compiler of templates: how plain messages are compiled.

`HANDLERS`, which `expressions.py` and `statements.py` fill, has how others are compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar
from zlib import crc32

import attrs

from scriptschema.base import Message
from scriptschema.generation.programs.maker import Frame, Maker, Said, Template
from scriptschema.generation.programs.nodes import MAKE
from scriptschema.generation.programs.scope import SELF, Variable
from scriptschema.luau.library import KINDS
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.parse import parse
from scriptschema.messages import Expr, Local, Name, TableItem, Type

_SHARED: Final = ("value", "update", "text")
"""What every object has."""

OWN: Final = len(DEFAULT.customs)
"""How many names of the program's own are used, for fields and globals."""


Build: TypeAlias = Callable[[Maker, Frame], Any]
"""Builds a part of a template, for one use of it."""

Part: TypeAlias = tuple[Build, int, int]
"""What may be left out, with the nodes that it always has and its holes' weight."""


@attrs.frozen
class TypeOf:
    """What a type in a template says: a kind, or if that is empty what `build` builds."""

    kind: str = ""
    build: Build | None = None


def said(types: Sequence[TypeOf | None]) -> Callable[[Maker, Frame], Sequence[Said]]:
    """Return what says what annotations are told of variables with these types."""
    kinds = [type_.kind if type_ else None for type_ in types]
    builds = [(n, type_.build) for n, type_ in enumerate(types) if type_ and type_.build]
    if not builds:
        return lambda maker, frame: kinds

    def say(maker: Maker, frame: Frame) -> list[Said]:
        found: list[Said] = [*kinds]
        for position, build in builds:
            found[position] = partial(build, maker, frame)
        return found

    return say


class Compiler:
    """Compiles one template; `template` collects what is found out on the way.

    `typed`: for programs that a type checker accepts. `loops` counts the enclosing loops, `guarded`
    has the functions whose errors are caught, by `id`, `given` the kinds of variables that REPEAT
    declares, before anything uses them.
    """

    def __init__(self, text: str, source: str, typed: bool) -> None:
        self.template = Template(text)
        self.typed = typed
        result = parse(source)
        self.program = result.tree.program
        self.names = result.names
        self.customs: dict[str, int] = {}
        # So that templates do not use the same names for different things too often.
        self.first_own = len(_SHARED) + crc32(text.encode()) % (OWN - 20)
        self.loops = 0
        self.guarded: set[int] = set()
        self.given: set[str] = set()

    def finish(self, build: Build) -> Template:
        """Return the template whose root `build` builds."""
        self.template._build = build
        return self.template

    def hole(self, level: int, weight: int) -> None:
        """Record a hole."""
        self.template.weight += weight
        self.template.levels = max(self.template.levels, level)

    def part(self, compiled: Callable[[], Build]) -> Part:
        """Compile something that may be left out."""
        template = self.template
        fixed, weight = template.fixed, template.weight
        build = compiled()
        found = build, template.fixed - fixed, template.weight - weight
        template.fixed = fixed
        return found

    def one_of(self, parts: Sequence[Part]) -> Build:
        """Build one of the parts; what the others would have spent is for the rest."""
        total = sum(weight for *_, weight in parts)
        self.template.heavy += sum(fixed for _, fixed, _ in parts) // len(parts)

        def build(maker: Maker, frame: Frame) -> Any:
            chosen, fixed, weight = parts[maker.below(len(parts))]
            maker.made += fixed
            frame.weight -= total - weight
            return chosen(maker, frame)

        return build

    def repetition(self, node: Any) -> tuple[list[Expr], tuple[int, int]] | None:
        """What a call of REPEAT repeats, and how often at least and at most; else None."""
        if node.which != "call" or self.custom_global(node.alternative.func) != "REPEAT":
            return None
        low, high, *repeated = node.alternative.args
        return repeated, (low.alternative.val, high.alternative.val)

    def repeated(self, compiled: Callable[[], Build], bounds: tuple[int, int]) -> Build:
        """Build a list several times; each time other variables stand for `some_...`."""
        low, high = bounds
        heavy = self.template.heavy
        make, fixed, weight = self.part(compiled)
        self.template.heavy = heavy + (fixed + self.template.heavy - heavy) * (low + high) // 2

        def build(maker: Maker, frame: Frame) -> list[Any]:
            count = maker.between(low, high)
            maker.made += fixed * count
            frame.weight += weight * (count - 1)
            made: list[Any] = []
            for _ in range(count):
                frame.names = {n: v for n, v in frame.names.items() if not isinstance(n, str)}
                made += make(maker, frame)
            return made

        return build

    def compile(self, node: Message, level: int) -> Build:
        """Return the function that builds a message; `level` is below the template's root."""
        special = HANDLERS.get(node.__class__)
        build = None if special is None else special(self, node, level)
        return build or self.plain(node, level)

    def plain(self, node: Message, level: int) -> Build:
        """Build the message as it is, with its parts."""
        self.template.fixed += 1
        self.template.levels = max(self.template.levels, level)
        make = MAKE[node.__class__]
        values = [getattr(node, slot) for slot in node._slots]
        parts: list[tuple[int, Build]] = []
        for position, value in enumerate(values):
            if isinstance(value, Message):
                parts.append((position, self.compile(value, level + 1)))
            elif isinstance(value, list):
                parts.append((position, self.many(value, level + 1)))
        if not parts:
            return lambda maker, frame: make(*values)
        if len(values) == 2 and [position for position, _ in parts] == [1]:
            which, inner = values[0], parts[0][1]
            return lambda maker, frame: make(which, inner(maker, frame))

        def build(maker: Maker, frame: Frame) -> Any:
            arguments = values.copy()
            for position, part in parts:
                arguments[position] = part(maker, frame)
            return make(*arguments)

        return build

    def many(self, items: Sequence[Message], level: int) -> Build:
        """Build a list."""
        items = self.wanted(items)
        if not any(self.repetition(getattr(item, "value", item)) for item in items):
            parts = [self.compile(item, level) for item in items]
            return lambda maker, frame: [part(maker, frame) for part in parts]
        lists = [self.several(item, level) for item in items]
        return lambda maker, frame: [made for part in lists for made in part(maker, frame)]

    def several(self, item: Any, level: int) -> Build:
        """Build an item of a list as a list: itself, or what REPEAT says."""

        def single(item: Message) -> Build:
            one = self.compile(item, level)
            return lambda maker, frame: [one(maker, frame)]

        found = self.repetition(getattr(item, "value", item))
        if found is None:
            return single(item)
        [repeated], bounds = found
        inner = TableItem(value=repeated) if isinstance(item, TableItem) else repeated
        return self.repeated(lambda: single(inner), bounds)

    def wanted(self, items: Sequence[Message]) -> Sequence[Message]:
        """The items of a list without those that are UNTYPED if this is to be typed."""
        if not self.typed:
            return items
        return [item for item in items if not self.is_untyped(item)]

    def is_untyped(self, node: Any) -> bool:
        """Whether a message is UNTYPED(...), or a table's item of that value."""
        if node.__class__ is TableItem:
            node = node.value
        if node.__class__ is not Expr or node.which != "call":
            return False
        return self.custom_global(node.alternative.func) == "UNTYPED"

    # Names and kinds

    def custom_global(self, node: Any) -> str:
        """The name of a global that Luau does not know, if `node` holds one; else nothing."""
        if node.which == "global_" and node.alternative.name.which == "custom":
            text: str = self.names.customs[node.alternative.name.alternative]
            return text
        return ""

    def custom(self, text: str) -> int:
        """The index of a name of the program's own."""
        if text in _SHARED:
            return _SHARED.index(text)
        return self.customs.setdefault(text, (self.first_own + len(self.customs)) % OWN)

    def kind_of(self, type_: Type) -> str:
        """The kind that a type names, none if it is another type."""
        inner: Any = type_.alternative
        if type_.which == "primitive":
            name = self.names.primitive(inner.kind)
        elif type_.which == "class_":  # what Luau does not know
            name = self.names.class_(inner.kind)
        else:
            return ""
        if name == "TYPE":
            return ""
        if name not in KINDS:
            raise ValueError(f"{name} is neither a kind nor a type: {self.template.text}")
        return name

    def type_of(self, type_: Type, level: int) -> TypeOf:
        """What a type says."""
        kind = self.kind_of(type_)
        if kind:
            return TypeOf(kind)
        part, fixed, _ = self.part(lambda: self.compile(type_, level))

        def build(maker: Maker, frame: Frame) -> Any:
            maker.made += fixed
            return part(maker, frame)

        return TypeOf(build=build)

    def types_of(
        self, variables: Sequence[Local], types: Sequence[Type], level: int
    ) -> list[TypeOf | None]:
        """What is said of variables; None: nothing, it is the template's own."""
        found: list[TypeOf | None] = [
            self.type_of(type_, level) for type_ in types[: len(variables)]
        ]
        for variable in variables[len(found) :]:
            word = self.names.local(variable.name).split("_")[0]
            found.append(TypeOf(word) if word in KINDS and not types else None)
        return found

    def declare(self, variables: Sequence[Local], types: Sequence[TypeOf | None]) -> Build:
        """Declare variables; the function returns them."""
        self.template.fixed += len(variables)
        self.template.declares += len(variables)
        indexes = [variable.name for variable in variables]
        make = MAKE[Local]

        def build(maker: Maker, frame: Frame) -> list[Local]:
            made = []
            for index, type_ in zip(indexes, types, strict=True):
                if index == SELF:  # a parameter of this name
                    made.append(make(SELF))
                    continue
                name = frame.names[index] = maker.scope.declare()
                made.append(make(name))
                if type_ is not None and type_.kind:
                    maker.scope.publish(Variable(name, type_.kind, cost=frame.cost))
            return made

        return build


HandlerT = TypeVar("HandlerT", bound=Callable[[Compiler, Any, int], Build | None])

HANDLERS: Final[dict[type[Message], Callable[[Compiler, Any, int], Build | None]]] = {}
"""How messages are compiled that are not plain; None: this one is."""


def handles(*classes: type[Message]) -> Callable[[HandlerT], HandlerT]:
    """Let a function compile messages of these classes."""

    def register(handler: HandlerT) -> HandlerT:
        HANDLERS.update(dict.fromkeys(classes, handler))
        return handler

    return register


@handles(Name)
def name(compiler: Compiler, node: Name, _: int) -> Build | None:
    """A name of the program's own."""
    if node.which != "custom":
        return None
    compiler.template.fixed += 1
    make, index = MAKE[Name], compiler.custom(compiler.names.customs[node.alternative])
    return lambda maker, frame: make("custom", index)


@handles(Local)
def local(compiler: Compiler, node: Local, _: int) -> Build:
    """A use of a variable; declarations are built where they stand."""
    compiler.template.fixed += 1
    make, index = MAKE[Local], node.name
    if index == SELF:
        return lambda maker, frame: make(SELF)
    return lambda maker, frame: make(frame.names[index])
