"""Statistics of a corpus: the sizes and depths of its trees, and frequencies of their parts.

`CorpusStats.add` counts a tree. `add_scan` counts a tree's scan from `wire.scan`, in a quarter of
the time. Messages, alternatives of oneofs, unset oneofs and enum values are counted. So are
optional and repeated fields that are present, but not required fields, because every message has
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import attrs

from scriptschema import wire
from scriptschema.base import UNSET, Message
from scriptschema.codec.scanning import parts
from scriptschema.messages import Schema, schema
from scriptschema.versions import Version

PERCENTILES: Final = (0, 10, 50, 90, 99, 100)


@attrs.define
class CorpusStats:
    """The statistics of a corpus, with names from the schema.

    `luau` is the version of Luau that the trees are for, which determines the schema.
    """

    trees: int = 0
    nodes: Counter[int] = attrs.field(factory=Counter)
    """The number of trees by number of nodes (messages)."""
    depths: Counter[int] = attrs.field(factory=Counter)
    """The number of trees by depth, which is the number of levels below the outermost message."""
    sizes: Counter[int] = attrs.field(factory=Counter)
    """The number of trees by size in bytes, in the binary format."""
    parts: Counter[int] = attrs.field(factory=Counter)
    """The number of occurrences of each part in `codec.scanning.parts()`, by the part's number."""
    luau: Version | None = attrs.field(default=None, kw_only=True)

    def add(self, tree: Message) -> None:
        """Count a tree. Raises wire.EncodeError, in which case nothing is counted."""
        data = wire.encode(tree, luau=self.luau)
        self.add_scan(wire.scan(tree.__class__, data, luau=self.luau))

    def add_scan(self, scan: wire.Scan) -> None:
        """Count a tree, given its scan from `wire.scan` in the schema of `luau`."""
        self.trees += 1
        self.nodes[sum(map(_node_counts(schema(scan.luau)).__getitem__, scan.parts))] += 1
        self.depths[scan.depth] += 1
        self.sizes[scan.size] += 1
        self.parts.update(scan.parts)

    @property
    def messages(self) -> Counter[str]:
        """The number of occurrences of each message, such as `Expr`."""
        return self._count("messages")

    @property
    def alternatives(self) -> Counter[str]:
        """The number of uses of each alternative of a oneof, such as `Expr.nil`.

        An unset oneof is counted under a name such as `StatIf.unset`.
        """
        return self._count("alternatives")

    @property
    def fields(self) -> Counter[str]:
        """The number of occurrences of each optional or repeated field, such as `StatBlock.body`.

        Empty repeated fields are not counted.
        """
        return self._count("fields")

    @property
    def values(self) -> Counter[str]:
        """The number of occurrences of each value of an enum, such as `ExprBinary.Op.Pow`."""
        return self._count("values")

    def _count(self, kind: str) -> Counter[str]:
        known = parts(schema(self.luau))
        counts: Counter[str] = Counter()
        for number, count in self.parts.items():
            for name in getattr(known[number], kind):
                counts[name] += count
        return counts

    def never(self) -> dict[str, list[str]]:
        """Return the names of everything in the schema that does not occur in the corpus.

        The keys are `messages`, `alternatives`, `fields` and `values`. The alternatives, fields and
        values of a message that does not occur are not listed.
        """
        messages = self.messages
        never = {}
        for kind, names in _known(schema(self.luau)).items():
            counts = self._count(kind)
            never[kind] = [
                name
                for name in names
                if not (counts[name] or name.endswith(f".{UNSET}"))
                and (kind == "messages" or messages[name.partition(".")[0]])
            ]
        return never

    def as_json(self) -> dict[str, Any]:
        """Return all counts as JSON data, including zeros, in the order of the schema."""
        counts = {}
        for kind, names in _known(schema(self.luau)).items():
            counted = self._count(kind)
            counts[kind] = {name: counted[name] for name in names}
        return {
            "trees": self.trees,
            "nodes": total(self.nodes),
            "bytes": total(self.sizes),
            "percentiles": {
                name: {str(p): percentile(counts, p) for p in PERCENTILES}
                for name, counts in self.distributions()
                if self.trees
            },
            **counts,
            "never": self.never(),
        }

    def distributions(self) -> Iterator[tuple[str, Counter[int]]]:
        """Yield (name, counter) pairs for the number of nodes, the depth, and the size in bytes.

        Each counter maps a value to the number of trees that have it.
        """
        yield "nodes", self.nodes
        yield "depth", self.depths
        yield "bytes", self.sizes


def total(counts: Counter[int]) -> int:
    """Return the sum of a property, such as the number of nodes, over all trees.

    `counts` maps each value of the property to the number of trees that have it.
    """
    return sum(value * count for value, count in counts.items())


def percentile(counts: Counter[int], percent: float) -> int:
    """Return a percentile of a distribution by the nearest-rank method.

    This is the smallest value that at least `percent` % of the trees do not exceed. Raises
    ValueError if there are no trees.
    """
    left = counts.total() * percent / 100
    for value in sorted(counts):
        left -= counts[value]
        if left <= 0:
            return value
    raise ValueError("no trees")


@cache
def _known(schema: Schema) -> dict[str, list[str]]:
    """Return the names that `CorpusStats` counts, in the schema's order."""
    every = [field for fields in schema.fields.values() for field in fields.values()]
    others = [f for f in every if not f.oneof and f.rule != "required"]
    unset = [f"{name}.{UNSET}" for name, cls in schema.messages.items() if cls.ONEOF]
    return {
        "messages": [*schema.messages],
        "alternatives": [*(f"{f.message}.{f.schema_name}" for f in every if f.oneof), *unset],
        "fields": [f"{f.message}.{f.schema_name}" for f in others],
        "values": [f"{name}.{value.name}" for name, enum in schema.enums.items() for value in enum],
    }


@cache
def _node_counts(schema: Schema) -> list[int]:
    return [len(part.messages) for part in parts(schema)]
