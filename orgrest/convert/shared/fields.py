"""Records which fields of a source's objects were read.

An importer reads the fields that it translates, and ignores fields that have no effect. `unread`
reports all other fields, so that no field is lost silently.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from orgrest.convert.shared.model import Note

_SHOWN = 60


def as_object(value: object) -> Mapping[str, Any]:
    """Return a value if it is an object, or else an empty object."""
    return value if isinstance(value, Mapping) else {}


class Fields:
    """An object in a source. `place` is its location, such as `api.json: item[3].request`."""

    def __init__(self, given: Mapping[str, Any], place: str) -> None:
        self.given = given
        self.place = place
        self._read: set[str] = set()
        self._parts: list[Fields] = []
        self._notes: list[Note] = []

    def __contains__(self, name: str) -> bool:
        return self.given.get(name) is not None

    def ignore(self, *names: str, begins: str | None = None) -> None:
        """Mark these fields as read, since they do not affect what is sent.

        Fields whose names begin with `begins` are also marked.
        """
        self._read.update(names)
        if begins is not None:
            self._read.update(name for name in self.given if str(name).startswith(begins))

    def any(self, name: str) -> Any:
        """Return the value of a field unchanged, and mark everything in the value as read."""
        self._read.add(name)
        return self.given.get(name)

    def text(self, name: str, default: str = "") -> str:
        """Return the string in a field, or `default` if the field is missing or has another type.

        A number or boolean is returned as JSON text.
        """
        value = self.given.get(name)
        if value is None:
            self._read.add(name)
            return default
        if not isinstance(value, str | int | float):
            return default
        self._read.add(name)
        return value if isinstance(value, str) else json.dumps(value)

    def flag(self, name: str, default: bool = False) -> bool:
        """Return whether a field is true, or `default` if the field is missing."""
        value = self.given.get(name, default)
        if isinstance(value, bool) or value is None:
            self._read.add(name)
            return bool(value)
        return default

    def object(self, name: str) -> Fields:
        """Return the object in a field, or an empty object if the field is missing."""
        value = self.given.get(name)
        if value is None:
            self._read.add(name)
        return self._part(name, name, as_object(value))

    def objects(self, name: str) -> list[Fields]:
        """Return the objects in a field that contains a list."""
        value = self.given.get(name)
        if value is None:
            self._read.add(name)
        if not isinstance(value, list):
            return []
        objects_found = []
        for index, item in enumerate(value):
            if isinstance(item, Mapping):
                objects_found.append(self._part(name, f"{name}[{index}]", item))
            else:
                self.note(f"{name}[{index}] is not an object")
        self._read.add(name)
        return objects_found

    def items(self) -> Iterator[tuple[str, Fields]]:
        """Yield the names and values of all fields that are objects."""
        for name, value in self.given.items():
            if isinstance(value, Mapping):
                yield str(name), self._part(str(name), str(name), value)

    def part(self, value: Mapping[str, Any], place: str) -> Fields:
        """Return the fields of `value`, and add them to the parts of this object.

        `unread` returns notes for the parts of an object, too.
        """
        fields = Fields(value, place)
        self._parts.append(fields)
        return fields

    def note(self, reason: str, *, blocks: bool = False) -> None:
        """Record a note that a part of this object is not translated. See `Note` for `blocks`."""
        self._notes.append(Note(self.place, reason, blocks))

    def unread(self) -> tuple[Note, ...]:
        """Return the recorded notes and a note for each unread field, without duplicates."""
        notes, self._notes = self._notes, []
        for name, value in self.given.items():
            if name not in self._read and value not in (None, "", [], {}):
                notes.append(Note(self.place, f"{name}: {_shown(value)}"))
        self._read.update(self.given)
        for part in self._parts:
            notes += part.unread()
        return tuple(notes)

    def _part(self, name: str, shown: str, value: Mapping[str, Any]) -> Fields:
        if isinstance(self.given.get(name), Mapping | list):
            self._read.add(name)
        for part in self._parts:
            if part.given is value:
                return part
        part = Fields(value, f"{self.place}{'.' if ': ' in self.place else ': '}{shown}")
        self._parts.append(part)
        return part


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
