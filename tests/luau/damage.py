"""Damaged trees, as mutation and crossover produce them: parts replaced, swapped and duplicated."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator

import attrs

from scriptschema.base import Message, walk
from scriptschema.generation.trees import generate


@attrs.frozen(eq=False)
class Place:
    """A position in a tree that holds a message: a field and, in a list, the index."""

    holder: Message
    name: str
    index: int | None

    @property
    def kind(self) -> type[Message]:
        return self.holder.FIELDS[self.name].type

    def get(self) -> Message:
        value = getattr(self.holder, self.name)
        return value if self.index is None else value[self.index]

    def put(self, message: Message) -> None:
        if self.index is None:
            setattr(self.holder, self.name, message)
        else:
            getattr(self.holder, self.name)[self.index] = message


def damage(tree: Message, seed: int, times: int = 8) -> None:
    """Make up to `times` random changes to a tree, in place.

    The tree still conforms to the schema, and often becomes deeply nested.
    """
    choose = random.Random(seed)
    for _ in range(times):
        places = list(places_of(tree))
        place = choose.choice(places)
        other = choose.choice([found for found in places if found.kind is place.kind])
        match choose.randrange(5):
            case 0:
                size = choose.randrange(1, 60)
                place.put(generate(place.kind, seed=choose.randrange(2**32), size=size))
            case 1:
                place.put(copy(other.get()))
            case 2:
                one, two = copy(place.get()), copy(other.get())
                place.put(two)
                if other.get() is not two and contains(tree, other.holder):
                    other.put(one)
            case 3 if place.index is not None:
                items = getattr(place.holder, place.name)
                items.insert(choose.randrange(len(items) + 1), copy(other.get()))
            case 4 if place.index is not None:
                del getattr(place.holder, place.name)[place.index]
            case _:
                field = place.holder.FIELDS[place.name]
                if field.oneof or field.rule == "optional":
                    setattr(place.holder, place.name, None)


def places_of(tree: Message) -> Iterator[Place]:
    for message, _ in walk(tree):
        for name, field in message.FIELDS.items():
            value = getattr(message, name) if field.is_message else None
            if isinstance(value, list):
                yield from (Place(message, name, index) for index in range(len(value)))
            elif value is not None:
                yield Place(message, name, None)


def contains(tree: Message, message: Message) -> bool:
    return any(found is message for found, _ in walk(tree))


def copy(message: Message) -> Message:
    return pickle.loads(pickle.dumps(message))
