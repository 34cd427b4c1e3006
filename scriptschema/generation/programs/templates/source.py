"""Compiles templates to Python code, which runs for each use of a template.

A `Source` is code that builds a part of a template, for a maker and a frame. The enclosing part
includes the lines of this code, so most templates become a single function. This function is
compiled when it is first called, since few programs use more than a tenth of all templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from scriptschema.base import Message
from scriptschema.declaration import compile_source
from scriptschema.generation.programs.maker import Frame, Maker
from scriptschema.generation.programs.nodes import MAKERS
from scriptschema.generation.programs.scope import Variable
from scriptschema.luau.names import SELF

Build: TypeAlias = Callable[[Maker, Frame], Any]
"""A function that builds a part of a template, for one use of the template."""

_SCOPE: Final[dict[str, Any]] = {
    "SELF": SELF,
    "Variable": Variable,
    "partial": partial,
    **MAKERS,
}


class Source:
    """Python code that builds a part: lines, followed by an expression for the built part.

    The code uses `maker`, `frame` and the names in `scope`.
    """

    def __init__(self, lines: Sequence[str], result: str, scope: dict[str, Any]) -> None:
        self.lines = lines
        self.result = result
        self._scope = scope
        self._function: Build | None = None

    def __call__(self, maker: Maker, frame: Frame) -> Any:
        """Return the built part for one use of the template."""
        if self._function is None:
            self._function = self._compiled()
        return self._function(maker, frame)

    def _compiled(self) -> Build:
        inner = "".join(f"    {line}\n" for line in [*self.lines, f"return {self.result}"])
        compile_source(f"def build(maker, frame):\n{inner}", self._scope, f"template {id(self)}")
        function: Build = self._scope.pop("build")
        return function


class Writer:
    """Generates the sources of one template, which share a scope of names."""

    def __init__(self) -> None:
        self._scope = dict(_SCOPE)
        self._names = 0

    def name(self, value: Any = None) -> str:
        """Return an unused name. If `value` is given, the name refers to that value."""
        self._names += 1
        name = f"n{self._names}"
        if value is not None:
            self._scope[name] = value
        return name

    def literal(self, value: Any) -> str:
        """Return Python source for a value that is not a message: a literal, or a new name."""
        return repr(value) if type(value) in (int, bool, str, type(None)) else self.name(value)

    def taken(self, builds: Iterable[Build | str], lines: list[str]) -> list[str]:
        """Return an expression for each part in `builds`, in order.

        A string in `builds` is already an expression. Lines that must run first are added to
        `lines`.
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
        """Return a name or literal that can be used repeatedly for a part.

        If necessary, a line that assigns the part to this name is added to `lines`.
        """
        [result] = self.taken([build], lines)
        if result[-1] not in ")]":
            return result
        name = self.name()
        lines.append(f"{name} = {result}")
        return name

    def called(self, build: Build) -> str:
        """Return an expression that calls `build`, instead of including the code of `build`.

        A `Source` is then compiled separately, when it is first called.
        """
        return f"{self.name(build)}(maker, frame)"

    def source(self, lines: Sequence[str], result: str) -> Source:
        """Return a Source made up of `lines`, with `result` as its result expression."""
        return Source(lines, result, self._scope)

    def node(
        self, cls: type[Message], values: Iterable[Build | str], lines: Sequence[str] = ()
    ) -> Source:
        """Return a source that runs `lines` and then creates a `cls` from its slots' values."""
        before = [*lines]
        return self.source(before, f"make_{cls.__name__}({', '.join(self.taken(values, before))})")

    def wrapper(self, node: Any, inner: Build) -> Source:
        """Return a source that creates a message like `node`, but with the alternative `inner`."""
        name = f"make_{node.__class__.__name__}"
        held = f"make_{node.alternative.__class__.__name__}("
        if isinstance(inner, Source) and inner.result.startswith(held):
            arguments = inner.result.removeprefix(held)
            return self.source(inner.lines, f"{name}_{node.which}({arguments}")
        return self.node(node.__class__, [repr(node.which), inner])

    def items(self, builds: Iterable[tuple[bool, Build]]) -> Source:
        """Return a source that creates a list from (is_list, build) pairs. Lists are unpacked."""
        are_lists, parts = zip(*builds, strict=True) if builds else ((), ())
        lines: list[str] = []
        texts = self.taken(parts, lines)
        inner = (
            f"*{part}" if several else part for several, part in zip(are_lists, texts, strict=True)
        )
        return self.source(lines, f"[{', '.join(inner)}]")
