"""What a corpus holds: how large and deep its trees are, and how often what is in them.

`CorpusStats.add` counts a tree; the rest reads the counts. Counted are messages, alternatives of
oneofs (and oneofs left unset), optional and repeated fields that are there, and values of enums.
Required fields, which every message has, would tell nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import IntEnum
from typing import Any, Final

import attrs

from scriptschema import wire
from scriptschema.base import Message, Path, walk
from scriptschema.generate import UNSET
from scriptschema.messages import MESSAGES

PERCENTILES: Final = (0, 10, 50, 90, 99, 100)

"""What a oneof holds that no alternative is set of."""


@attrs.define
class CorpusStats:
    """Counts of a corpus, by the schema's names."""

    trees: int = 0
    nodes: Counter[int] = attrs.field(factory=Counter)
    """How many trees have so many nodes (messages)."""
    depths: Counter[int] = attrs.field(factory=Counter)
    """How many trees are so deep: levels below the outermost message."""
    sizes: Counter[int] = attrs.field(factory=Counter)
    """How many trees take so many bytes in the binary format."""
    messages: Counter[str] = attrs.field(factory=Counter)
    """How often each message occurs: `Expr`."""
    alternatives: Counter[str] = attrs.field(factory=Counter)
    """How often each alternative of a oneof is set: `Expr.nil`; or none: `StatIf.unset`."""
    fields: Counter[str] = attrs.field(factory=Counter)
    """How often an optional field is set, or a repeated one not empty: `StatBlock.body`."""
    values: Counter[str] = attrs.field(factory=Counter)
    """How often each value of an enum occurs: `ExprBinary.Op.Pow`."""

    def add(self, tree: Message) -> None:
        """Count a tree. Raises wire.EncodeError, and then counts nothing."""
        size = len(wire.encode(tree))
        kinds: Counter[tuple[type[Message], str | None]] = Counter()
        present: Counter[str] = Counter()
        values: Counter[tuple[str, IntEnum]] = Counter()
        above: list[Path] = []  # the paths from the root to the message, which the walk has shown
        deepest = 0
        for message, path in walk(tree):
            while above and above[-1] is not path.parent:
                above.pop()
            deepest = max(deepest, len(above))
            above.append(path)
            kinds[message.__class__, message.which] += 1
            for name, label, is_enum in _EXTRAS[message.__class__]:
                value = getattr(message, name)
                if is_enum:
                    values[label, value] += 1
                elif value:
                    present[label] += 1
        self.trees += 1
        self.nodes[kinds.total()] += 1
        self.depths[deepest] += 1
        self.sizes[size] += 1
        for (cls, which), count in kinds.items():
            self.messages[cls.__name__] += count
            if cls.ONEOF:
                name = cls.FIELDS[which].schema_name if which else UNSET
                self.alternatives[f"{cls.__name__}.{name}"] += count
        self.fields += present
        for (enum, member), count in values.items():
            self.values[f"{enum}.{member.name}"] += count

    def never(self) -> dict[str, list[str]]:
        """What does not occur: names under `messages`, `alternatives`, `fields` and `values`.

        A message that does not occur stands for its parts.
        """
        return {
            kind: [
                name
                for name in known
                if not counts[name]
                and (kind == "messages" or self.messages[name.partition(".")[0]])
            ]
            for kind, known, counts in (
                ("messages", MESSAGES, self.messages),
                ("alternatives", ALTERNATIVES, self.alternatives),
                ("fields", FIELDS, self.fields),
                ("values", VALUES, self.values),
            )
        }

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON's types; counts of all names, 0 included, in the schema's order."""
        return {
            "trees": self.trees,
            "nodes": total(self.nodes),
            "bytes": total(self.sizes),
            "percentiles": {
                name: {str(p): percentile(counts, p) for p in PERCENTILES}
                for name, counts in self.distributions()
                if self.trees
            },
            "messages": {name: self.messages[name] for name in MESSAGES},
            "alternatives": {name: self.alternatives[name] for name in [*ALTERNATIVES, *UNSETS]},
            "fields": {name: self.fields[name] for name in FIELDS},
            "values": {name: self.values[name] for name in VALUES},
            "never": self.never(),
        }

    def distributions(self) -> Iterator[tuple[str, Counter[int]]]:
        """What is known of each tree: name, and how many trees have each value."""
        yield "nodes", self.nodes
        yield "depth", self.depths
        yield "bytes", self.sizes


def total(counts: Counter[int]) -> int:
    """The sum over all trees."""
    return sum(value * count for value, count in counts.items())


def percentile(counts: Counter[int], percent: float) -> int:
    """The least value that at least so many percent of the trees do not exceed (nearest rank)."""
    left = counts.total() * percent / 100
    for value in sorted(counts):
        left -= counts[value]
        if left <= 0:
            return value
    raise ValueError("there are no trees")


_ALL: Final = [field for cls in MESSAGES.values() for field in cls.FIELDS.values()]

ALTERNATIVES: Final = [f"{f.message}.{f.schema_name}" for f in _ALL if f.oneof]
"""The alternatives of all oneofs."""

UNSETS: Final = [f"{name}.{UNSET}" for name, cls in MESSAGES.items() if cls.ONEOF]

FIELDS: Final = [
    f"{f.message}.{f.schema_name}" for f in _ALL if not f.oneof and f.rule != "required"
]
"""The optional and the repeated fields."""

VALUES: Final = [
    f"{f.type_name}.{member.name}" for f in _ALL if issubclass(f.type, IntEnum) for member in f.type
]
"""The values of all enums."""

_EXTRAS: Final = {
    cls: tuple(
        (name, field.type_name, True)
        if issubclass(field.type, IntEnum)
        else (name, f"{field.message}.{field.schema_name}", False)
        for name, field in cls.FIELDS.items()
        if not field.oneof and (field.rule != "required" or issubclass(field.type, IntEnum))
    )
    for cls in MESSAGES.values()
}
"""What is looked at in each message beside its oneof."""
