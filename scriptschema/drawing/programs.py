"""Runnable programs, generated from choices that Hypothesis draws."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from scriptschema.drawing.choices import CHUNK_SIZE, DrawnChoices
from scriptschema.generation.programs import make_program
from scriptschema.generation.programs.grammar import Grammar
from scriptschema.generation.programs.maker import Maker
from scriptschema.messages import Expr, ModuleSet, Stat


class _DrawnMaker(Maker):
    """Draws each statement and each larger expression as a separate unit."""

    choices: DrawnChoices

    def next_statement(self, size: int, room: int) -> list[Stat] | None:
        make = super().next_statement
        statements: list[Stat] | None = self.choices.apart("Part", lambda: make(size, room))
        return statements

    def expression(self, kind: str, size: int, room: int, *, risky: bool = False) -> Expr:
        make = super().expression
        if size < CHUNK_SIZE:
            return make(kind, size, room, risky=risky)
        expression: Expr = self.choices.apart("Part", lambda: make(kind, size, room, risky=risky))
        return expression


@st.composite
def drawn_programs(
    draw: DrawFn,
    grammar: Grammar,
    swarm: bool,
    size: int,
    max_depth: int,
    with_module: bool,
) -> ModuleSet:
    """Return a program that Hypothesis draws. The options are those of `strategies.programs`."""
    choices = DrawnChoices(draw)
    if swarm:
        grammar = grammar.swarm(choices)
    return make_program(choices, grammar, size, max_depth, with_module=with_module, cls=_DrawnMaker)
