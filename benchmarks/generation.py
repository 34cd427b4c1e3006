"""Random trees from each source of choices, beside idiomatic Hypothesis and hand-built trees."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from benchmarks.timing import (
    Case,
    clock,
    count,
    growth,
    in_turns,
    memory,
    noise,
    table,
    verdict,
)
from scriptschema import strategies, wire
from scriptschema.base import FieldInfo, Message, walk
from scriptschema.choices import BytesChoices
from scriptschema.declaration import compile_source
from scriptschema.generation.trees import generate
from scriptschema.messages import ENUMS, MESSAGES, ModuleSet

SIZE = 200


def main(smoke: bool) -> None:
    """Print all figures."""
    seeds = range(3 if smoke else 100)
    data = [random.Random(i).randbytes(4096) for i in seeds]
    examples = 5 if smoke else 100
    tasks: dict[str, Callable[[], Sequence[Message]]] = {
        "by hand": construction([generate(seed=i, size=SIZE) for i in seeds]),
        "RandomChoices": lambda: [generate(seed=i, size=SIZE) for i in seeds],
        "BytesChoices": lambda: [generate(choices=BytesChoices(i), size=SIZE) for i in data],
        "RandomChoices, swarm": lambda: [generate(seed=i, size=SIZE, swarm=True) for i in seeds],
        "Hypothesis": lambda: drawn(strategies.module_sets(), examples),
        "Hypothesis, idiomatic": lambda: drawn(IDIOMATIC[ModuleSet], examples),
    }
    times = in_turns(tasks, 2 if smoke else 7, per_node)
    ours = times["RandomChoices"].best
    rows = [
        (name, f"{taken.best * 1e6:.2f}", f"{1 / taken.best:,.0f}", f"{taken.best / ours:.2f}")
        for name, taken in times.items()
    ]
    header = ("source", "us a node", "nodes a second", "time, RandomChoices = 1")
    table(header, rows, f"trees of {SIZE} nodes (Hypothesis: up to {strategies.DEFAULT_SIZE})")
    generated = tasks["RandomChoices"]
    bytes_a_node = memory(generated) / count(*generated())
    print(f"memory of generated trees: {bytes_a_node:.0f} bytes a node\n")
    sizes = (10, 100) if smoke else (10, 100, 1_000, 10_000, 100_000, 1_000_000)
    grown = growth("growth", ("size", "nodes"), map(case, sizes), 2 if smoke else 5)
    noise(times, grown)
    verdict(
        "RandomChoices, us a node more than by hand",
        (ours - times["by hand"].best) * 1e6, 2.5, least=False,
    )  # fmt: skip
    verdict(
        "Hypothesis, times as fast as idiomatic strategies",
        times["Hypothesis, idiomatic"].best / times["Hypothesis"].best, 20, least=True,
    )  # fmt: skip
    print()


def per_node(make: Callable[[], Sequence[Message]]) -> float:
    """Return the seconds that making trees takes for each node.

    The seconds alone are not comparable: Hypothesis makes different trees in each round.
    """
    made: list[Message] = []
    seconds = clock(lambda: made.extend(make()))
    return seconds / count(*made)


def drawn(strategy: SearchStrategy[Any], examples: int) -> list[Message]:
    """Return the trees that a property test receives.

    Examples that Hypothesis abandons because they grow too large take time as well.
    """
    trees: list[Message] = []

    @seed(1)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def property_test(tree: Message) -> None:
        trees.append(tree)

    property_test()
    return trees


def construction(trees: list[ModuleSet]) -> Callable[[], list[Message]]:
    """Return a function that builds the trees with hand-written code."""
    lines = ["def build():"]
    roots = []
    for tree in trees:
        names: dict[int, str] = {}
        for index, (message, _) in enumerate(reversed(list(walk(tree)))):
            names[id(message)] = f"n{index}"
            arguments = [
                f"{name}={as_source(getattr(message, name), names)}"
                for name, field in message.FIELDS.items()
                if getattr(message, name) is not None and getattr(message, name) != []
            ]
            name = f"tree{len(roots)}" if message is tree else f"n{index}"
            lines.append(f"    {name} = {type(message).__name__}({', '.join(arguments)})")
        roots.append(name)
    lines.append(f"    return [{', '.join(roots)}]")
    scope: dict[str, Any] = {**MESSAGES, **{n.replace(".", "_"): e for n, e in ENUMS.items()}}
    compile_source("\n".join(lines), scope, "benchmark")
    build: Callable[[], list[Message]] = scope["build"]
    return build


def as_source(value: Any, names: dict[int, str]) -> str:
    """Return the source of a field's value, in which other messages are variables."""
    if isinstance(value, Message):
        return names[id(value)]
    if isinstance(value, list):
        return f"[{', '.join(as_source(item, names) for item in value)}]"
    if type(value) in ENUMS.values():
        return f"{type(value).__qualname__.replace('.', '_')}.{value.name}"
    return repr(value)


# The schema as idiomatic strategies: a strategy for each message, deferred since they recurse


def _idiomatic(cls: type[Message]) -> SearchStrategy[Any]:
    fields = [field for field in cls.FIELDS.values() if not field.oneof]
    options = {field.name: _field_strategy(field) for field in fields}
    if not cls.ONEOF:
        return st.builds(cls, **options)
    return st.one_of(
        st.builds(cls, **{field.name: _value_strategy(field)}, **options)
        for field in sorted(cls.FIELDS.values(), key=_simplest_first)
        if field.oneof
    )


def _simplest_first(field: FieldInfo) -> int:
    return len(field.type.FIELDS) if field.is_message else 0


def _field_strategy(field: FieldInfo) -> SearchStrategy[Any]:
    strategy = _value_strategy(field)
    if field.rule == "repeated":
        return st.lists(strategy, max_size=3)
    return st.none() | strategy if field.rule == "optional" else strategy


def _value_strategy(field: FieldInfo) -> SearchStrategy[Any]:
    if field.is_message:
        return IDIOMATIC[field.type]
    scalars: dict[type, SearchStrategy[Any]] = {
        int: st.integers(-(2**31), 2**31 - 1),
        bool: st.booleans(),
        str: st.text(max_size=20),
    }
    if field.type in scalars:
        return scalars[field.type]
    return st.sampled_from(list(field.type))


IDIOMATIC: dict[type, SearchStrategy[Any]] = {
    cls: st.deferred(lambda cls=cls: _idiomatic(cls)) for cls in MESSAGES.values()
}


def case(size: int) -> Case:
    """Return the tasks for trees of a size."""
    repeat = max(1, 20_000 // size)
    trees = [generate(seed=i, size=size) for i in range(repeat)]
    data = [wire.encode(tree) for tree in trees]
    nodes = count(*trees)
    tasks = {
        "generate": lambda: [generate(seed=i, size=size) for i in range(repeat)],
        "encode": lambda: [wire.encode(tree) for tree in trees],
        "decode": lambda: [wire.decode(ModuleSet, item) for item in data],
    }
    return (f"{size:,}", f"{nodes / repeat:,.0f}"), nodes, tasks
