"""The template compiler. This module compiles messages that need no special treatment.

`HANDLERS` has the functions that compile other messages. `expressions.py`, `statements.py` and
`types.py` add most of these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar
from zlib import crc32

from scriptschema.base import Message, walk
from scriptschema.codec.compiling import indented
from scriptschema.generation.programs.maker import Frame, Maker, Template
from scriptschema.generation.programs.templates.source import Build, Writer
from scriptschema.luau.library import KINDS
from scriptschema.luau.names import DEFAULT, SELF, NameReader
from scriptschema.luau.parse import parse
from scriptschema.luau.validation.traversal import WRAPPERS
from scriptschema.messages import Expr, Local, LValue, Name, TableItem, Type
from scriptschema.versions import TODAY

_SHARED: Final = ("value", "update", "text")
"""The names of the fields and methods that every object has."""

OWN: Final = len(DEFAULT.customs)
"""The number of names for a program's own fields and globals."""

_LARGE: Final = 8
"""An alternative with at least this many nodes is compiled only when it is first chosen."""

Part: TypeAlias = tuple[Build, int, int, int]
"""An optional part, as (build, fixed, weight, heavy): the function that builds it, and numbers that
mean the same as in `Template`, but for this part only."""


TypeOf: TypeAlias = str | Build | None
"""The declared type of a variable: a kind, or a function that builds the type. The type of a
private variable may be None."""


class Compiler:
    """Compiles one template, and stores its sizes and requirements in `template`.

    `typed` means that a type checker must accept the program. `loops` is the number of enclosing
    loops. `guarded` has the ids of functions whose errors are caught. `given` has the kinds of the
    variables that statements in a REPEAT declare. Such variables need not be in scope before the
    template. `assigned` has the name indexes of the local variables that are assigned.
    """

    def __init__(self, template: Template, source: str, typed: bool, newer: bool) -> None:
        self.template = template
        self.typed = typed
        self.write = Writer()
        luau = TODAY if newer else None
        result = parse(source, names=NameReader(luau=luau), luau=luau)
        self.program = result.tree.program
        self.assigned = _assigned(result.tree)
        self.names = result.names
        self.customs: dict[str, int] = {}
        # Templates begin at different names, so that they rarely share a name by accident.
        self.first_own = len(_SHARED) + crc32(template.text.encode()) % (OWN - 20)
        self.loops = 0
        self.guarded: set[int] = set()
        self.given: set[str] = set()

    def hole(self, level: int, weight: int) -> None:
        """Record a hole of this weight, `level` levels below the template's root."""
        self.template.weight += weight
        self.template.levels = max(self.template.levels, level)

    def part(self, compiled: Callable[[], Build]) -> Part:
        """Call `compiled` to compile an optional part, and return the part.

        The template's `weight` includes the weight of the part's holes. The template's `fixed` and
        `heavy` do not include the part's nodes.
        """
        template = self.template
        fixed, weight, heavy = template.fixed, template.weight, template.heavy
        build = compiled()
        more = template.fixed - fixed, template.weight - weight, template.heavy - heavy
        template.fixed, template.heavy = fixed, heavy
        return build, *more

    def one_of(self, parts: Sequence[Part]) -> Build:
        """Return a function that builds one of the parts.

        Nodes that the chosen part does not use are available to other holes.
        """
        total = sum(weight for _, _, weight, _ in parts)
        self.template.heavy += sum(fixed + heavy for _, fixed, _, heavy in parts) // len(parts)

        write = self.write
        chosen, result_name = write.name(), write.name()
        lines = [f"{chosen} = maker.below({len(parts)})"]
        for position, (build, fixed, weight, _) in enumerate(parts):
            inner = [f"maker.made += {fixed}", f"frame.weight -= {total - weight}"]
            [result] = write.taken([build if fixed < _LARGE else write.called(build)], inner)
            lines.append(f"{'elif' if position else 'if'} {chosen} == {position}:")
            lines += indented([*inner, f"{result_name} = {result}"])
        return write.source(lines, result_name)

    def repetition(self, node: Any) -> tuple[list[Expr], tuple[int, int]] | None:
        """Return the repeated arguments and the bounds if `node` is a call to REPEAT, else None."""
        if node.which != "call" or self.custom_global(node.alternative.func) != "REPEAT":
            return None
        low, high, *repeated = node.alternative.args
        return repeated, (low.alternative.val, high.alternative.val)

    def repeated(self, compiled: Callable[[], Build], bounds: tuple[int, int]) -> Build:
        """Return a function that builds a list by repeating a part.

        Names such as `some_number` can refer to a different variable in each repetition.
        """
        low, high = bounds
        make, fixed, weight, heavy = self.part(compiled)
        self.template.heavy += (fixed + heavy) * (low + high) // 2

        write = self.write
        count, items_name = write.name(), write.name()
        lines = [f"{count} = maker.between({low}, {high})", f"maker.made += {fixed} * {count}"]
        lines += [f"frame.weight += {weight} * ({count} - 1)", f"{items_name} = []"]
        inner = ["frame.forget()"]
        [result] = write.taken([make], inner)
        lines += [f"for _ in range({count}):", *indented([*inner, f"{items_name} += {result}"])]
        return write.source(lines, items_name)

    def compile(self, node: Message, level: int) -> Build:
        """Return a function that builds a message `level` levels below the template's root."""
        special = HANDLERS.get(node.__class__)
        build = None if special is None else special(self, node, level)
        return build or self.plain(node, level)

    def plain(self, node: Message, level: int) -> Build:
        """Compile a message field by field, without using the handler for its class."""
        self.template.fixed += 1
        self.template.levels = max(self.template.levels, level)
        if node.__class__ in WRAPPERS and node.alternative is not None:
            return self.write.wrapper(node, self.compile(node.alternative, level + 1))
        values: list[Build | str] = []
        for slot in node._slots:
            value = getattr(node, slot)
            if isinstance(value, Message):
                values.append(self.compile(value, level + 1))
            elif isinstance(value, list):
                values.append(self.many(value, level + 1))
            else:
                values.append(self.write.literal(value))
        return self.write.node(node.__class__, values)

    def many(self, items: Sequence[Message], level: int) -> Build:
        """Return a function that builds a list."""
        items = self.wanted(items)
        return self.write.items([self.several(item, level) for item in items])

    def several(self, item: Any, level: int) -> tuple[bool, Build]:
        """Return (builds_list, build) for an item. `builds_list` is true for a REPEAT."""
        repetition = self.repetition(getattr(item, "value", item))
        if repetition is None:
            return False, self.compile(item, level)
        [repeated], bounds = repetition
        inner = TableItem(value=repeated) if isinstance(item, TableItem) else repeated
        return True, self.repeated(
            lambda: self.write.items([(False, self.compile(inner, level))]), bounds
        )

    def wanted(self, items: Sequence[Message]) -> Sequence[Message]:
        """Return the items of a list, without UNTYPED items if the program must be typed."""
        if not self.typed:
            return items
        return [item for item in items if not self.is_untyped(item)]

    def is_untyped(self, node: Any) -> bool:
        """Return whether a message is UNTYPED(...), or a table item with such a value."""
        if node.__class__ is TableItem:
            node = node.value
        if node.__class__ is not Expr or node.which != "call":
            return False
        return self.custom_global(node.alternative.func) == "UNTYPED"

    # Names and kinds

    def custom_global(self, node: Any) -> str:
        """Return the global's name if `node` is a global that Luau does not have, else ""."""
        if node.which == "global_" and node.alternative.name.which == "custom":
            text: str = self.names.customs[node.alternative.name.alternative]
            return text
        return ""

    def custom(self, text: str) -> int:
        """Return the index of the program's own name for `text`."""
        if text in _SHARED:
            return _SHARED.index(text)
        return self.customs.setdefault(text, (self.first_own + len(self.customs)) % OWN)

    def kind_of(self, type_: Type) -> str:
        """Return the kind that a type names, or "" if it does not name a kind."""
        inner: Any = type_.alternative
        if type_.which == "primitive":
            name = self.names.primitive(inner.kind)
        elif type_.which == "class_":  # a name that Luau does not know
            name = self.names.class_(inner.kind)
        else:
            return ""
        if name == "TYPE":
            return ""
        if name not in KINDS:
            raise ValueError(f"{name} is neither a kind nor a type: {self.template.text}")
        return name

    def type_of(self, type_: Type, level: int) -> str | Build:
        """Resolve a type in the template to a kind, or to a function that builds the type."""
        kind = self.kind_of(type_)
        if kind:
            return kind
        part, fixed, *_ = self.part(lambda: self.compile(type_, level))

        def build(maker: Maker, frame: Frame) -> Any:
            maker.made += fixed
            return part(maker, frame)

        return build

    def types_of(
        self, variables: Sequence[Local], types: Sequence[Type], level: int
    ) -> list[TypeOf]:
        """Return the declared type of each variable, or None if the variable is private."""
        meanings: list[TypeOf] = [self.type_of(each, level) for each in types[: len(variables)]]
        for variable in variables[len(meanings) :]:
            word = self.names.local(variable.name).split("_")[0]
            meanings.append(word if word in KINDS and not types else None)
        return meanings

    def said(self, types: Sequence[TypeOf]) -> str:
        """Return Python code that passes the kinds and types of variables to `Annotations`."""
        declarations = []
        for type_ in types:
            if callable(type_):
                declarations.append(f"partial({self.write.name(type_)}, maker, frame)")
            else:
                declarations.append(repr(type_))
        return f"({''.join(f'{each}, ' for each in declarations)})"

    def declare(self, variables: Sequence[Local], types: Sequence[TypeOf]) -> Build:
        """Return a function that brings variables into scope and returns their declarations."""
        self.template.fixed += len(variables)
        self.template.declares += len(variables)
        lines: list[str] = []
        names = []
        for variable, type_ in zip(variables, types, strict=True):
            if variable.name == SELF:  # the parameter `self`
                names.append("SELF")
                continue
            name = self.write.name()
            names.append(name)
            lines.append(f"{name} = frame.names[{variable.name}] = maker.scope.declare()")
            if isinstance(type_, str):
                published = f"Variable({name}, {type_!r}, cost=frame.cost)"
                lines.append(f"maker.scope.publish({published})")
        return self.write.source(lines, f"[{', '.join(f'make_Local({name})' for name in names)}]")


def _assigned(tree: Message) -> set[int]:
    indexes: set[int] = set()
    for node, _ in walk(tree):
        if isinstance(node, LValue) and node.local is not None:
            indexes.add(node.local.var.name)
    return indexes


HandlerT = TypeVar("HandlerT", bound=Callable[[Compiler, Any, int], Build | None])

HANDLERS: Final[dict[type[Message], Callable[[Compiler, Any, int], Build | None]]] = {}
"""Functions that compile certain messages in a special way, by class.

If a function returns None, the message is compiled as usual.
"""


def handles(*classes: type[Message]) -> Callable[[HandlerT], HandlerT]:
    """Return a decorator that registers a function for messages of these classes."""

    def register(handler: HandlerT) -> HandlerT:
        HANDLERS.update(dict.fromkeys(classes, handler))
        return handler

    return register


@handles(Name)
def name(compiler: Compiler, node: Name, _: int) -> Build | None:
    """Compile the use of one of the program's own names."""
    if node.which != "custom":
        return None
    text = compiler.names.customs[node.alternative]
    if text.isupper():
        raise ValueError(f"{text} is not a hole here: {compiler.template.text}")
    compiler.template.fixed += 1
    index = compiler.custom(text)
    return compiler.write.node(Name, [repr("custom"), repr(index)])


@handles(Local)
def local(compiler: Compiler, node: Local, _: int) -> Build:
    """Compile the use of a variable. Declarations are compiled by `Compiler.declare`."""
    compiler.template.fixed += 1
    name = "SELF" if node.name == SELF else f"frame.names[{node.name}]"
    return compiler.write.node(Local, [name])
