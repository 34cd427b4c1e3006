"""Random trees from each source of choices, beside idiomatic Hypothesis and hand-built trees."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from benchmarks.timing import Times, clock, in_turns, memory, noise, table, verdict
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
    by_hand, hand_nodes = construction([generate(seed=i, size=SIZE) for i in seeds])
    tasks: dict[str, Callable[[], tuple[float, int]]] = {
        "by hand": lambda: (clock(by_hand), hand_nodes),
        "RandomChoices": lambda: timed(lambda: [generate(seed=i, size=SIZE) for i in seeds]),
        "BytesChoices": lambda: timed(
            lambda: [generate(choices=BytesChoices(item), size=SIZE) for item in data]
        ),
        "RandomChoices, swarm": lambda: timed(
            lambda: [generate(seed=i, size=SIZE, swarm=True) for i in seeds]
        ),
        "Hypothesis": lambda: drawn(strategies.module_sets(), examples),
        "Hypothesis, idiomatic": lambda: drawn(IDIOMATIC[ModuleSet], examples),
    }
    nodes: dict[str, int] = {}

    def measure(name: str) -> float:
        """Return the seconds per node.

        The seconds alone are not comparable: Hypothesis makes different trees in each round.
        """
        seconds, nodes[name] = tasks[name]()
        return seconds / nodes[name]

    times = in_turns({n: lambda n=n: measure(n) for n in tasks}, 2 if smoke else 7)
    ours = times["RandomChoices"].best
    rows = [
        (
            name,
            f"{nodes[name]:,}",
            f"{taken.best * 1e6:.2f}",
            f"{1 / taken.best:,.0f}",
            f"{taken.best / ours:.2f}",
        )
        for name, taken in times.items()
    ]
    header = ("source", "nodes", "us a node", "nodes a second", "time, RandomChoices = 1")
    table(header, rows, f"trees of {SIZE} nodes (Hypothesis: up to {strategies.DEFAULT_SIZE})")
    made = memory(lambda: [generate(seed=i, size=SIZE) for i in seeds])
    count = sum(1 for i in seeds for _ in walk(generate(seed=i, size=SIZE)))
    print(f"memory of generated trees: {made / count:.0f} bytes a node\n")
    grown = growth(smoke)
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


def timed(make: Callable[[], list[Message]]) -> tuple[float, int]:
    """Return the seconds that making trees took, and their number of nodes."""
    made: list[Message] = []
    seconds = clock(lambda: made.extend(make()))
    return seconds, sum(1 for tree in made for _ in walk(tree))


def drawn(strategy: SearchStrategy[Any], examples: int) -> tuple[float, int]:
    """Return the seconds that a property test takes, and the number of nodes that it received.

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

    seconds = clock(property_test)
    return seconds, sum(1 for tree in trees for _ in walk(tree))


def construction(trees: list[ModuleSet]) -> tuple[Callable[[], None], int]:
    """Return a function that builds the trees with hand-written code, and their number of nodes."""
    lines = ["def build():"]
    count = 0
    for tree in trees:
        names: dict[int, str] = {}
        for index, (message, _) in enumerate(reversed(list(walk(tree)))):
            names[id(message)] = f"n{index}"
            arguments = [
                f"{name}={as_source(getattr(message, name), names)}"
                for name, field in message.FIELDS.items()
                if getattr(message, name) is not None and getattr(message, name) != []
            ]
            lines.append(f"    n{index} = {type(message).__name__}({', '.join(arguments)})")
            count += 1
    scope: dict[str, Any] = {**MESSAGES, **{n.replace(".", "_"): e for n, e in ENUMS.items()}}
    compile_source("\n".join(lines), scope, "benchmark")
    build: Callable[[], None] = scope["build"]
    return build, count


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


# Growth


def sizes(smoke: bool) -> Iterator[int]:
    """Yield sizes from 10 to a million nodes; with `smoke`, only small sizes."""
    yield from (10, 100) if smoke else (10, 100, 1_000, 10_000, 100_000, 1_000_000)


def growth(smoke: bool) -> dict[str, Times]:
    """Print how the time grows with the size of trees; return the times."""
    rows = []
    all_times = {}
    for size in sizes(smoke):
        repeat = 1 if smoke else max(1, 20_000 // size)
        trees = [generate(seed=i, size=size) for i in range(repeat)]
        data = [wire.encode(tree) for tree in trees]
        nodes = sum(1 for tree in trees for _ in walk(tree))
        times = in_turns(
            {
                "generate": lambda s=size, n=repeat: clock(
                    lambda: [generate(seed=i, size=s) for i in range(n)]
                ),
                "encode": lambda t=trees: clock(lambda: [wire.encode(tree) for tree in t]),
                "decode": lambda d=data: clock(lambda: [wire.decode(ModuleSet, i) for i in d]),
            },
            2 if smoke or size > 100_000 else 5,
        )
        all_times |= {f"{name} {size}": taken for name, taken in times.items()}
        figures = [f"{taken.best / nodes * 1e6:.2f}" for taken in times.values()]
        rows.append((f"{size:,}", f"{nodes / repeat:,.0f}", *figures))
        del trees, data
    table(("size", "nodes", "generate", "encode", "decode"), rows, "growth, us a node")
    return all_times
