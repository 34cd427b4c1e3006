"""Determines where a collection's variables are set.

It gives variables of folders and requests their own names, for request files.

In a request file, a definition counts in the whole file. It would therefore replace the value that
an environment has for the requests outside of the folder or request that the definition is for.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from orgrest import classes
from orgrest.convert.shared import texts
from orgrest.convert.shared.authorization import OAUTH2
from orgrest.convert.shared.model import Folder, Request
from orgrest.convert.shared.texts import Variable

if TYPE_CHECKING:
    from orgrest.convert.shared.requests import Pairs

_WORD: Final = re.compile(r"(?<![\w.$-])[\w-][\w.-]*")
_READ: Final = re.compile(
    r"(?P<start>\bpm\.(?:environment|globals|collectionVariables|variables)\.(?:get|has)\(\s*"
    r"(?P<quote>[\"'`]))(?P<name>[\w.-]+)(?=(?P=quote))"
)
_SET: Final = re.compile(
    r"\.set(?:Environment|Global)?(?:Variable)?\(\s*[\"'`](?P<name>[\w.-]+)[\"'`]"
)
_NAME: Final = re.compile(r"[\w.-]+")
_ARGUMENT: Final = re.compile(r"\((\w+)\)")
"""Matches the variable in an expression such as `encodeURIComponent(name)`."""


def separated(folder: Folder, elsewhere: frozenset[str]) -> Folder:
    """Return a folder in which no subfolder or request defines a variable named in `elsewhere`.

    Such a variable has another name in the whole subfolder or request instead.
    """
    own = {name for each in _scopes(folder) for name, _ in each if name in elsewhere}
    own -= _set_by_scripts(folder)  # then the value of the script counts everywhere
    if not own:
        return folder
    taken = {*elsewhere, *_names(folder)}
    renamed = {}
    for name in sorted(own):
        number = 2
        while f"{name}_{number}" in taken:
            number += 1
        renamed[name] = f"{name}_{number}"
    return classes.evolve(folder, items=tuple(_separated(item, renamed) for item in folder.items))


def unset(folder: Folder, known: Iterable[str], *, org: bool) -> list[str]:
    """Return the variables that have no value when requests use them, in order of first use.

    The requests are assumed to be sent in order. `known` contains the names of other variables. If
    `org` is true, the document is an Org document: a request's variables count only in its block.
    """
    known, missing = set(known), dict[str, None]()
    if not org:
        known.update(name for each in _scopes(folder) for name, _ in each)
    referred = cache(lambda text: frozenset(_referred(text)))

    def visit(folder: Folder, around: ChainMap[str, str], seen: set[str]) -> None:
        """Add the variables of a folder to `missing`. Those in `seen` were already followed."""
        if folder.variables:
            around, seen = around.new_child(dict(folder.variables)), set()
        for item in folder.items:
            if isinstance(item, Folder):
                visit(item, around, seen)
                continue
            known.update(_set_by(item.before))
            own, followed = around, seen
            if item.definitions:
                own, followed = around.new_child(dict(item.definitions)), set()
            left = [piece for piece in item.body or () if isinstance(piece, str)]
            left += [item.url, *chain(*item.headers)]
            logins = {value.split()[-1] for _, value in item.headers if value.startswith("oauth2 ")}
            settings = (f"{login}_{name}" for login in logins for name in OAUTH2)
            left += [own[name] for name in settings if name in own]
            without = set[str]()
            while left:
                new = referred(left.pop()) - followed
                followed |= new
                for name in new:
                    if name in own:
                        left.append(own[name])
                    elif not known & {name, name.split(".")[0]}:
                        without.add(name)
            missing.update(dict.fromkeys(sorted(without)))
            known.update(_set_by(item.after), (name for name, *_ in item.captures))

    visit(folder, ChainMap(), set())
    return list(missing)


def _referred(text: str) -> Iterator[str]:
    """Yield the names of the variables to which a string refers."""
    for piece in texts.pieces(text):
        if isinstance(piece, Variable):
            name = piece.name
            yield from [name] if _NAME.fullmatch(name) else _ARGUMENT.findall(name)


def _separated(item: Folder | Request, names: Mapping[str, str]) -> Folder | Request:
    if isinstance(item, Request):
        own = {name: names[name] for name, _ in item.definitions if name in names}
        return _in_request(item, own) if own else item
    own = {name: names[name] for name, _ in item.variables if name in names}
    item = _in_folder(item, own) if own else item
    return classes.evolve(item, items=tuple(_separated(each, names) for each in item.items))


def _scopes(folder: Folder) -> Iterator[Pairs]:
    """Yield the definitions of each subfolder and request."""
    for item in folder.items:
        if isinstance(item, Request):
            yield item.definitions
        else:
            yield item.variables
            yield from _scopes(item)


def _set_by_scripts(folder: Folder) -> set[str]:
    """Return the names of the variables that scripts in a folder set."""
    return {name for each in folder.requests() for name in _set_by((*each.before, *each.after))}


def _set_by(scripts: Iterable[str]) -> Iterator[str]:
    return (match["name"] for script in scripts for match in _SET.finditer(script))


def _names(folder: Folder) -> Iterator[str]:
    """Yield the names of all variables that are defined or used in a folder."""
    for each in (folder.variables, *_scopes(folder)):
        for name, value in each:
            yield name
            yield from _used(value)
    for request in folder.requests():
        body = [piece for piece in request.body or () if isinstance(piece, str)]
        for text in (request.url, *sum(request.headers, ()), *body, *request.assertions):
            yield from _used(text)


def _used(text: str) -> Iterator[str]:
    for piece in texts.pieces(text):
        if isinstance(piece, Variable):
            yield from _WORD.findall(piece.name)


def _in_folder(folder: Folder, names: Mapping[str, str]) -> Folder:
    items = tuple(
        _in_request(item, names) if isinstance(item, Request) else _in_folder(item, names)
        for item in folder.items
    )
    return classes.evolve(folder, items=items, variables=_defined(folder.variables, names))


def _in_request(request: Request, names: Mapping[str, str]) -> Request:
    text, script = partial(_in_text, names=names), partial(_in_script, names=names)
    body = request.body
    return classes.evolve(
        request,
        url=text(request.url),
        headers=tuple((text(name), text(value)) for name, value in request.headers),
        body=body and tuple(text(each) if isinstance(each, str) else each for each in body),
        assertions=tuple(map(text, request.assertions)),
        before=tuple(map(script, request.before)),
        after=tuple(map(script, request.after)),
        definitions=_defined(request.definitions, names),
    )


def _defined(variables: Pairs, names: Mapping[str, str]) -> Pairs:
    return tuple((names.get(name, name), _in_text(value, names)) for name, value in variables)


def _in_text(text: str, names: Mapping[str, str]) -> str:
    if not any(name in text for name in names):
        return text
    return texts.written(
        piece
        if isinstance(piece, str) or piece.name.startswith("$")
        else Variable(_WORD.sub(lambda word: names.get(word[0], word[0]), piece.name))
        for piece in texts.pieces(text)
    )


def _in_script(script: str, names: Mapping[str, str]) -> str:
    return _READ.sub(lambda match: match["start"] + names.get(match["name"], match["name"]), script)
