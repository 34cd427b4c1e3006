"""The candidates for each kind of context. `OFFERS` maps each kind to a generator."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from orgrest.editor.completion import assertions, openapi, request_files
from orgrest.editor.completion.cursor import Cursor
from orgrest.editor.completion.model import Context, Kind, Offer
from orgrest.editor.completion.variables import offers as variable_offers
from orgrest.http import registry
from orgrest.http.parsing import grammar
from orgrest.http.values.expressions import FUNCTIONS
from orgrest.org.blocks import REQUEST_LANGUAGES
from orgrest.org.known import KNOWN
from orgrest.org.syntax import NAME_KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_REQUESTS = re.compile(rf"\n[ \t]*+{grammar.REQUEST.pattern}")
_MORE_URL = re.compile(r"\n[ \t]*+(?P<target>[?&]\S.*)")
_QUERY_NAME = re.compile(r"[?&]([^\s?&=#]+)=")
# A URL may contain blanks between double braces, as in `{{$processEnv %name}}`.
_TARGET = re.compile(r"(?:\{\{.*?\}\}|(?!\{\{)\S)+")
_HOST = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*://)(?:\{\{.*?\}\}|[^/?#\s])+|:[^\s:/?#]+|\{\{[^{}]+\}\}"
)
_LANGUAGES = re.compile(r"\n[ \t]*+#\+(?i:begin_src)[ \t]+(\S+)")
_NAMED = re.compile(
    rf"\n[ \t]*+#\+(?i:{'|'.join(sorted(NAME_KEYWORDS))}|results(?:\[.*\])?):"
    r"[ \t]*([^\s()\[\]]+)[ \t]*(?:\n[ \t]*#\+(?!(?i:begin_)).*)*(?:\n[ \t]*(.*))?"
)


_FREQUENT = (
    "Content-Type", "Authorization", "Accept", "User-Agent", "Cookie", "Cache-Control",
    "Accept-Encoding", "Accept-Language", "If-None-Match", "If-Match", "Origin", "Referer",
    "Connection", "Content-Length", "Host", "Idempotency-Key", "Prefer", "Range",
)  # fmt: skip
"""The most common request headers, most frequent first."""
_FREQUENCY = {name: number / 100 for number, name in enumerate(_FREQUENT, 1)}


def _rank(entry: registry.Entry) -> float:
    return 2 if entry.obsolete else 0 if entry.common else 1


def _about(entry: registry.Entry) -> str:
    obsolete = "Obsolete. " if entry.obsolete else ""
    return f"{obsolete}{entry.description}\n\n{entry.source}"


def _methods(_: Cursor, __: Context) -> Iterator[Offer]:
    for name, method in registry.methods().items():
        yield Offer(name, _about(method), f"{name} ", _rank(method))


def _headers(cursor: Cursor, here: Context) -> Iterator[Offer]:
    yield from openapi.headers(cursor, here)
    lower = here.prefix != "" and here.prefix == here.prefix.lower()
    for canonical, header in registry.headers().items():
        name = canonical.lower() if lower else canonical
        response = header.used == "response"
        about = ("For responses. " if response else "") + _about(header)
        rank = _FREQUENCY.get(canonical, 3 if response else _rank(header) or 0.5)
        yield Offer(name, about, f"{name}: ", rank)


def _values(cursor: Cursor, here: Context) -> Iterator[Offer]:
    if here.kind == "value":
        yield from openapi.header_values(cursor, here)
    header = registry.header(here.subject)
    if header is not None:
        for entry in header.values if here.kind == "value" else header.parameters:
            yield Offer(entry.name.strip(), _about(entry), entry.name, _rank(entry))


def _urls(cursor: Cursor, here: Context) -> Iterator[Offer]:
    yield from openapi.urls(cursor, here)
    targets = (_TARGET.match(match["target"]) for match in cursor.others(_REQUESTS))
    urls = Counter(target[0] for target in targets if target is not None)
    hosts = Counter[str]()
    for url, count in urls.items():
        if host := _HOST.match(url):
            hosts[host[0]] += count
    for url, count in (hosts | urls).items():
        if url != here.prefix:
            often = "once" if count == 1 else f"{count} times"
            yield Offer(url, f"Used {often} in this document.")
    for scheme in ("https", "http"):
        yield Offer(f"{scheme}://", f"An {scheme} URL.", rank=2)


def _query_names(cursor: Cursor, here: Context) -> Iterator[Offer]:
    yield from openapi.query_names(cursor, here)
    names = Counter[str]()
    for pattern in (_REQUESTS, _MORE_URL):
        for match in cursor.others(pattern):
            names.update(_QUERY_NAME.findall(match["target"]))
    for name in names:
        yield Offer(name, "A parameter in this document's URLs.", f"{name}=")


def _versions(_: Cursor, __: Context) -> Iterator[Offer]:
    yield Offer("HTTP/1.1", "The HTTP version; optional.\n\nRFC 9112, section 2.3")


def _functions(_: Cursor, __: Context) -> Iterator[Offer]:
    for name, function in FUNCTIONS.items():
        insert = f"{name}(" if function.most else f"{name}()"
        yield Offer(insert, f"{function.usage}: {function.description}")


def _files(cursor: Cursor, here: Context) -> Iterator[Offer]:
    for name in cursor.files(here.subject):
        if not name.startswith(".") or here.prefix.startswith("."):
            yield Offer(name, "A folder." if name.endswith("/") else "A file.")


def _environment(cursor: Cursor, _: Context) -> Iterator[Offer]:
    for name in cursor.environ:
        yield Offer(name, "Environment variable.")


def _hooks(_: Cursor, here: Context) -> Iterator[Offer]:
    about = "-> jq-set-var :NAME EXPRESSION: after the response, set a variable with jq."
    arrow = "-> " if here.prefix.startswith("-") else ""
    yield Offer(f"{arrow}jq-set-var", about, f"{arrow}jq-set-var :")


def _languages(cursor: Cursor, _: Context) -> Iterator[Offer]:
    for name in sorted(REQUEST_LANGUAGES):
        yield Offer(name, "Requests, evaluated by orgrest.", rank=0)
    for name in sorted({match[1] for match in cursor.others(_LANGUAGES)} - REQUEST_LANGUAGES):
        yield Offer(name, "Used in this document.")


def _properties(_: Cursor, __: Context) -> Iterator[Offer]:
    yield Offer("header-args", "Header arguments of all blocks.", "header-args ", 0)
    for name in sorted(REQUEST_LANGUAGES):
        about = f"Header arguments of all {name} blocks."
        yield Offer(f"header-args:{name}", about, f"header-args:{name} ")


def _argument_names(_: Cursor, __: Context) -> Iterator[Offer]:
    for name, known in KNOWN.items():
        note = " An Org setting; orgrest ignores it." if known.inert else ""
        rank = 2 if known.inert else 1
        yield Offer(f":{name}", known.description + note, f":{name} ", rank)


def _argument_values(_: Cursor, here: Context) -> Iterator[Offer]:
    known = KNOWN.get(here.subject)
    for rank, (value, about) in enumerate(known.values.items() if known else ()):
        yield Offer(value, about, rank=rank)


def _references(cursor: Cursor, _: Context) -> Iterator[Offer]:
    seen: set[str] = set()
    for match in cursor.others(_NAMED):
        name, below = match[1], match[2] or ""
        if name.lower() in seen:
            continue
        seen.add(name.lower())
        block = re.match(r"(?i:#\+begin_src)[ \t]+(\S+)", below)
        what = f"Block in {block[1]}" if block else "Table" if below.startswith("|") else "Element"
        yield Offer(name, f"{what}, line {cursor.text.count(chr(10), 0, match.start()) + 1}.")


OFFERS: Mapping[Kind, Callable[[Cursor, Context], Iterable[Offer]]] = {
    "method": _methods,
    "url": _urls,
    "query": _query_names,
    "query value": openapi.query_values,
    "version": _versions,
    "header": _headers,
    "value": _values,
    "parameter": _values,
    "variable": variable_offers,
    "function": _functions,
    "environment": _environment,
    "file": _files,
    "field": openapi.fields,
    "field value": openapi.field_values,
    "hook": _hooks,
    "language": _languages,
    "property": _properties,
    "argument": _argument_names,
    "argument value": _argument_values,
    "reference": _references,
    "directive": request_files.directives,
    "request": request_files.requests,
    "script": request_files.names_of_scripts,
    "subject": assertions.subjects,
    "operator": assertions.operators,
    "path": assertions.paths,
    "expected": openapi.expected,
}
