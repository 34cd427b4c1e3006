"""The values in an OpenAPI description, each with its location, and the references between them.

A reference may point to another JSON or YAML file, if the document that uses the description may
read that file. The number and size of these files and the length of a chain of references are
limited. Source: the OpenAPI specification 3.1.1, section 4.6; RFC 6901.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

from orgrest import classes, structured
from orgrest.files import Stamp, stamp
from orgrest.model import OrgrestError
from orgrest.structured import LARGEST

_MOST_REFERENCES = 50
_MOST_FILES = 5_000
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NAMES = (".json", ".yaml", ".yml")

Read: TypeAlias = Callable[[str, Path], tuple[Path, bytes]]
"""A function that returns a file's path and content, given its path relative to another file.

It raises OrgrestError if the file cannot or must not be read.
"""


class Documents:
    """The files of one OpenAPI description. This class is thread-safe.

    `path` is the main file's path, and `name` is its name in messages. `stamps` contains the stamp
    of each other file, even if the file could not be read.
    """

    def __init__(
        self,
        whole: Any,
        name: str,
        path: Path | None = None,
        read: Read | None = None,
        largest: int = LARGEST,
    ) -> None:
        self.name = name
        self.whole = whole
        self.stamps: dict[str, Stamp] = {}
        self._path = path
        self._read = read
        self._left = largest
        self._lock = threading.RLock()
        self._found: dict[tuple[Path | None, str], Path | str] = {}
        self._targets: dict[tuple[Path | None, str], Node] = {}
        self._contents: dict[Path | None, Any] = {path: whole}

    def at(self, pointer: str) -> Node:
        """Return the node at a JSON pointer in the main file."""
        return self._at(self._path, pointer, pointer, 0)

    def followed(self, node: Node, depth: int = 0) -> Node:
        """Return a node or, for a reference, the node at the end of its chain of references."""
        while (reference := node.reference) is not None:
            depth += 1
            if depth > _MOST_REFERENCES:
                return self._unresolved(node, reference, "refers to itself")
            node = self.target(node, reference, depth)
        return node

    def _unresolved(self, node: Node, reference: str, why: str) -> Node:
        return Node(None, self, node.file, node.pointer, f"{reference} {why}")

    def target(self, node: Node, reference: str, depth: int = 0) -> Node:
        """Return the node that a reference in `node` leads to, which may be a reference itself."""
        key = node.file, reference
        target = self._targets.get(key)
        if target is None:
            name, _, pointer = reference.partition("#")
            file: Path | str | None = self._file(node.file, unquote(name)) if name else node.file
            if isinstance(file, str):
                target = self._unresolved(node, reference, file)
            else:
                target = self._at(file, pointer, reference, depth)
            self._targets[key] = target
        return target

    def _at(self, file: Path | None, pointer: str, reference: str, depth: int) -> Node:
        """Return the node at a pointer in a file. Follow all references on the way."""
        node = Node(self._contents[file], self, file, "")
        why = f"{reference} does not exist"
        if pointer and not pointer.startswith("/"):
            return Node(None, self, file, pointer, why)
        for step in steps(pointer):
            node = self.followed(node, depth)
            if not node.why:
                node = node.plain_child(step)
            if node.value is None:
                return classes.evolve(node, why=node.why or why)
        return node

    def _file(self, base: Path | None, name: str) -> Path | str:
        """Return the file that `base` refers to as `name`, or the reason why it cannot be read."""
        with self._lock:
            file = self._found.get((base, name))
            if file is None:
                file = self._found[base, name] = self._new_file(base, name)
            return file

    def _new_file(self, base: Path | None, name: str) -> Path | str:
        if _SCHEME.match(name) or name.startswith(("/", "\\", "~")):
            return "was not read: only files beside the description are read"
        if not name.lower().endswith(_NAMES):
            return f"was not read: the name must end in one of {', '.join(_NAMES)}"
        if self._read is None or base is None:
            return "was not read: this description cannot refer to other files"
        if len(self._contents) > _MOST_FILES:
            return f"was not read: the description refers to more than {_MOST_FILES} files"
        expected = str(base.parent / name)
        self.stamps[expected] = stamp(expected)
        try:
            path, data = self._read(name, base)
            if path not in self._contents:
                self._left -= len(data)
                if self._left < 0:
                    return "was not read: the files of this description are too large"
                self._contents[path] = structured.read(data, name)
        except OrgrestError as error:
            return f"could not be read: {error.reason}"
        except ValueError:  # an unpaired surrogate
            return "is not a valid file name"
        return path

    def shown(self, file: Path | None) -> str:
        """Return the name of one of the description's files for use in messages."""
        if file is None or self._path is None or file == self._path:
            return self.name
        return os.path.relpath(file, self._path.parent)


@classes.frozen(eq=False)
class Node:
    """A value and its location: a file of `documents`, and a JSON pointer (RFC 6901).

    The pointer is encoded for a URI fragment. If there is nothing at the location, `value` is None,
    and `why` is the reason, or "" if the reason is unknown.
    """

    value: Any
    documents: Documents = classes.field(repr=False)
    file: Path | None = classes.field(repr=False)
    pointer: str
    why: str = ""

    @property
    def place(self) -> tuple[Path | None, str]:
        """The location of the node, which serves as its identity."""
        return self.file, self.pointer

    @property
    def object(self) -> Mapping[Any, Any]:
        """The value if it is an object, else {}."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def reference(self) -> str | None:
        """The target of the reference, or None if the node is not a reference."""
        target = self.object.get("$ref")
        return target if isinstance(target, str) else None

    def plain_child(self, step: str) -> Node:
        """Return the child called `step`. If the child is a reference, it is not followed.

        If there is no such child, the returned node's value is None.
        """
        value = None
        if isinstance(self.value, Mapping):
            value = self.value.get(step)
            if value is None and _is_number(step):
                value = self.value.get(int(step))
        elif isinstance(self.value, list) and _is_number(step) and int(step) < len(self.value):
            value = self.value[int(step)]
        return Node(value, self.documents, self.file, f"{self.pointer}/{escaped(step)}")

    def child(self, *names: str) -> Node:
        """Return the descendant at the path `names`, following all references on the way."""
        node = self
        for step in names:
            node = self.documents.followed(node.plain_child(step))
        return node

    def children(self) -> Iterator[tuple[str, Node]]:
        """Yield (name or index, child) for each child of an object or list. Follow references."""
        if isinstance(self.value, Mapping):
            names = [str(key) for key in self.value]
        else:
            names = [str(index) for index in range(len(self.value))] if self.is_list else []
        for name in names:
            yield name, self.child(name)

    @property
    def is_list(self) -> bool:
        """Whether the value is a list."""
        return isinstance(self.value, list)

    def first_line(self, *names: str) -> str:
        """Return the first line of the first non-empty field in `names`, or "" if all are empty."""
        text = next((str(self.object[name]) for name in names if self.object.get(name)), "")
        return text.strip().split("\n")[0][:200]


def steps(pointer: str) -> Iterator[str]:
    """Yield the decoded reference tokens of a JSON pointer (RFC 6901) in a URI fragment."""
    for step in pointer.split("/")[1:]:
        yield unquote(step).replace("~1", "/").replace("~0", "~")


def escaped(step: str) -> str:
    """Return a reference token of a JSON pointer (RFC 6901), encoded for a URI fragment."""
    return step.replace("%", "%25").replace("~", "~0").replace("/", "~1")


def _is_number(step: str) -> bool:
    return step.isascii() and step.isdigit() and len(step) < 10
