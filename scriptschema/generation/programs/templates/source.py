"""Compiles templates to Python, which is run for each use of a template.

A `Source` builds a part of a template, for a maker and a frame. The part around it includes its
lines, so that most of a template is one function. That is compiled when it is first called: few
programs use more than a tenth of all templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from scriptschema.base import Message
from scriptschema.declaration import compile_source
from scriptschema.generation.programs.maker import Frame, Maker
from scriptschema.generation.programs.nodes import MAKERS
from scriptschema.generation.programs.scope import SELF, Variable

Build: TypeAlias = Callable[[Maker, Frame], Any]
"""Builds a part of a template, for one use of it."""

_SCOPE: Final[dict[str, Any]] = {
    "SELF": SELF,
    "Variable": Variable,
    "partial": partial,
    **MAKERS,
}


class Source:
    """A Build in Python: lines, and then an expression whose value is the built part.

    They use `maker`, `frame` and the names of `scope`.
    """

    def __init__(self, lines: Sequence[str], result: str, scope: dict[str, Any]) -> None:
        self.lines = lines
        self.result = result
        self._scope = scope
        self._function: Build | None = None

    def __call__(self, maker: Maker, frame: Frame) -> Any:
        """Build the part."""
        if self._function is None:
            self._function = self._compiled()
        return self._function(maker, frame)

    def _compiled(self) -> Build:
        inner = "".join(f"    {line}\n" for line in [*self.lines, f"return {self.result}"])
        compile_source(f"def build(maker, frame):\n{inner}", self._scope, f"template {id(self)}")
        function: Build = self._scope.pop("build")
        return function


class Writer:
    """Generates the sources of one template, which share their names."""

    def __init__(self) -> None:
        self._scope = dict(_SCOPE)
        self._names = 0

    def name(self, value: Any = None) -> str:
        """Return an unused name: of a variable, or of a value for the lines to use."""
        self._names += 1
        name = f"n{self._names}"
        if value is not None:
            self._scope[name] = value
        return name

    def literal(self, value: Any) -> str:
        """Return an expression for a value that is not a message."""
        return repr(value) if type(value) in (int, bool, str, type(None)) else self.name(value)

    def taken(self, builds: Iterable[Build | str], lines: list[str]) -> list[str]:
        """Return expressions for the built parts and the given expressions, in order.

        Lines that must run before them are added to `lines`.
        """
        results: list[str] = []
        for build in builds:
            if isinstance(build, Source):
                if build.lines:  # they run before the expressions so far
                    results = [self.kept(result, lines) for result in results]
                    lines += build.lines
                results.append(build.result)
            elif isinstance(build, str):
                results.append(build)
            else:
                results.append(self.called(build))
        return results

    def kept(self, build: Build | str, lines: list[str]) -> str:
        """Add lines that store the built part in a variable; return its name, or a literal."""
        [result] = self.taken([build], lines)
        if result[-1] not in ")]":
            return result
        name = self.name()
        lines.append(f"{name} = {result}")
        return name

    def called(self, build: Build) -> str:
        """Return an expression that calls `build`, which is then compiled separately."""
        return f"{self.name(build)}(maker, frame)"

    def source(self, lines: Sequence[str], result: str) -> Source:
        """Return the source of these lines and an expression."""
        return Source(lines, result, self._scope)

    def node(
        self, cls: type[Message], values: Iterable[Build | str], lines: Sequence[str] = ()
    ) -> Source:
        """Return the source that creates a message from its slots, after some lines."""
        before = [*lines]
        return self.source(before, f"make_{cls.__name__}({', '.join(self.taken(values, before))})")

    def wrapper(self, node: Any, inner: Build) -> Source:
        """Return the source that creates a message with the same alternative as `node`."""
        name = f"make_{node.__class__.__name__}"
        held = f"make_{node.alternative.__class__.__name__}("
        if isinstance(inner, Source) and inner.result.startswith(held):
            arguments = inner.result.removeprefix(held)
            return self.source(inner.lines, f"{name}_{node.which}({arguments}")
        return self.node(node.__class__, [repr(node.which), inner])

    def items(self, builds: Iterable[tuple[bool, Build]]) -> Source:
        """Return the source of a list of the built parts; parts that are lists are unpacked."""
        many, parts = zip(*builds, strict=True) if builds else ((), ())
        lines: list[str] = []
        taken = self.taken(parts, lines)
        inner = (f"*{part}" if several else part for several, part in zip(many, taken, strict=True))
        return self.source(lines, f"[{', '.join(inner)}]")
