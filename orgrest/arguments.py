"""Header arguments of source blocks: read, inherited and merged in Org's order of precedence.

From weak to strong: Org's defaults, the language's, ``header-args`` of the document and of the
headings above, ``header-args:LANGUAGE`` likewise, the block's own line, its ``#+HEADER:`` lines
(the first of which wins). ``:results`` merges word by word, where a word displaces the others of
its group; each ``:var`` stands for itself; everything else is replaced.

Nothing is evaluated: a value in Emacs Lisp is kept as `Lisp`, so that whoever needs it can say that
it is not run. Literals that Lisp quotes (``'("a" 1)``) are data and are read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha1
from typing import TYPE_CHECKING, TypeAlias

import attrs

from orgrest.lisp import (
    NUMBER,
    STRING,
    ArgumentError,
    Literal,
    Number,
    literal,
    understand,
    unquote,
    write,
    write_number,
    write_string,
)
from orgrest.org import REQUEST_LANGUAGES, Block, Call, Document, Heading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@attrs.frozen
class Lisp:
    """A value that Emacs would evaluate: orgrest does not."""

    text: str


@attrs.frozen
class Reference:
    """``NAME[indices](arguments)``, the value of something else in the document."""

    name: str
    indices: str = ""
    arguments: str | None = None


Value: TypeAlias = "str | Number | Lisp | Reference | list[Literal] | None"


@attrs.frozen
class Arguments:
    """The header arguments that hold for one block.

    `values` are the texts of all but ``:results`` and ``:var`` (None where only the name was
    given); `results` the words of ``:results``, `variables` the ``:var``s in their order.
    """

    values: Mapping[str, str | Lisp | None] = attrs.field(factory=dict)
    results: tuple[str, ...] = ()
    variables: Mapping[str, str] = attrs.field(factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def get(self, name: str, default: str = "") -> str:
        """Give the text of an argument, `default` where it is missing or empty.

        Raises ArgumentError where the value is Emacs Lisp.
        """
        value = self.values.get(name)
        if isinstance(value, Lisp):
            raise ArgumentError(
                f"header argument :{name} holds Emacs Lisp, which is not run: {value.text}"
            )
        return default if value is None else value

    @property
    def eval(self) -> str:
        """What ``:eval`` says; without one, ``:noeval`` means no.

        Raises ArgumentError where the value is Emacs Lisp.
        """
        return self.get("eval") or ("no" if "noeval" in self else "")

    def flag(self, name: str) -> bool:
        """Tell whether a yes-or-no argument says yes; a name alone does."""
        return name in self.values and self.get(name, "yes").lower() not in ("no", "nil")


# :results words that exclude each other (Org manual, "Results of Evaluation").
_GROUPS = (
    frozenset({"file", "list", "vector", "table", "scalar", "verbatim"}),
    frozenset({"raw", "html", "latex", "org", "code", "pp", "drawer", "link", "graphics"}),
    frozenset({"replace", "silent", "none", "append", "prepend"}),
    frozenset({"output", "value"}),
)
_DEFAULTS = (
    (":session", "none"),
    (":results", "replace"),
    (":exports", "code"),
    (":cache", "no"),
    (":noweb", "no"),
    (":hlines", "no"),
    (":tangle", "no"),
)
_LANGUAGE_DEFAULTS = ((":results", "raw"),)


@attrs.frozen
class Known:
    """A header argument that means something: in a line, and the values it may have.

    An `inert` one is Org's, and allowed, but changes nothing here.
    """

    description: str
    values: Mapping[str, str] = attrs.field(factory=dict)
    inert: bool = False


_YES_NO = {"yes": "Yes.", "no": "No."}

# By name without the colon (Org manual, "Results of Evaluation" and "Using Header Arguments").
KNOWN: Mapping[str, Known] = {
    "results": Known(
        "How the result is written, and where.",
        {
            "raw": "As it is, not quoted.",
            "value": "The body only, as it came.",
            "output": "Body, status and headers.",
            "replace": "In place of the old result.",
            "append": "Below the old result.",
            "prepend": "Above the old result.",
            "silent": "Not at all.",
            "none": "Not at all.",
            "code": "In a source block.",
            "drawer": "In a drawer.",
            "wrap": "The same as drawer.",
            "org": "In an Org source block.",
            "html": "In an HTML export block.",
            "latex": "In a LaTeX export block.",
            "verbatim": "As text: in an example block, or after colons.",
            "scalar": "The same as verbatim.",
            "pp": "Pretty-printed.",
            "table": "As an Org table.",
            "vector": "The same as table.",
            "list": "As a list.",
            "file": "In a file, with a link to it.",
            "link": "As a link to a file that is not written.",
            "graphics": "The same as link.",
        },
    ),
    "var": Known("A variable: NAME=value, or the name of a block, table or list."),
    "jq": Known("A jq program that picks from the response."),
    "jq-args": Known("Options for jq, such as -r."),
    "noheaders": Known("Leave the response's headers out.", _YES_NO),
    "headers": Known(
        "Whether the response's headers are shown.",
        {"yes": "Body and headers.", "no": "The body only.", "only": "The headers only."},
    ),
    "timeout": Known("Give up after so many seconds."),
    "follow": Known("Whether redirects are followed.", _YES_NO),
    "requests": Known("Which requests of the block are sent.", {"all": "All, not only the first."}),
    "eval": Known(
        "Whether the block is evaluated.",
        {
            "yes": "Yes.",
            "no": "Never.",
            "never": "Never.",
            "query": "Only after a question.",
            "no-export": "Not during Org's export.",
            "never-export": "Not during Org's export.",
            "strip-export": "Not during Org's export, where it is left out.",
            "query-export": "During Org's export only after a question.",
        },
    ),
    "noeval": Known("The same as :eval no, unless there is an :eval."),
    "cache": Known("Send only when the block has changed.", _YES_NO),
    "wrap": Known(
        "The block around the result.",
        {
            "example": "An example block.",
            "quote": "A quotation.",
            "src json": "A source block in JSON.",
        },
    ),
    "file": Known("The file that the body is written to."),
    "file-ext": Known("The extension of that file, where :file does not name it."),
    "file-desc": Known("The text of the link to the file."),
    "output-dir": Known("The folder for files that results are written to."),
    "dir": Known("The folder where paths start."),
    "noweb": Known(
        "Whether <<name>> stands for the block of this name.",
        _YES_NO
        | {
            "eval": "Yes.",
            "tangle": "Only when tangled.",
            "no-export": "Yes, but not in Org's export.",
            "strip-export": "Yes; taken out of Org's export.",
        },
    ),
    "noweb-ref": Known("The name under which <<name>> finds this block."),
    "prologue": Known("Lines put before the block's own."),
    "epilogue": Known("Lines put after the block's own."),
    "post": Known("The block that the result is handed to, as *this*."),
    "colnames": Known("Whether tables have column names.", _YES_NO),
    "exports": Known(
        "What Org exports.",
        {"code": "The block.", "results": "The result.", "both": "Both.", "none": "Neither."},
        inert=True,
    ),
    "session": Known("The session of an interpreter.", {"none": "None."}, inert=True),
    "cmdline": Known("Arguments for a program that evaluates the block.", inert=True),
    "hlines": Known("Whether tables keep their lines.", _YES_NO, inert=True),
    "rownames": Known("Whether tables have row names.", _YES_NO, inert=True),
    "tangle": Known("The file that the block is tangled to.", _YES_NO, inert=True),
    "tangle-mode": Known("The mode of the tangled file.", inert=True),
    "mkdirp": Known("Whether tangling makes folders.", _YES_NO, inert=True),
    "comments": Known("Which comments tangling writes.", inert=True),
    "padline": Known("Whether tangling separates blocks.", _YES_NO, inert=True),
    "shebang": Known("First line of the tangled file.", inert=True),
    "no-expand": Known("Tangle without expansion.", inert=True),
    "noweb-sep": Known("What stands between blocks of one noweb-ref.", inert=True),
    "noweb-prefix": Known("Whether what stands before <<name>> is repeated.", _YES_NO, inert=True),
    "file-mode": Known("The mode of the file.", inert=True),
    "sep": Known("The separator of tables in files.", inert=True),
}

Pairs: TypeAlias = "tuple[tuple[str, str | Lisp | None], ...]"


def split(text: str, first: str, then: str) -> list[str]:
    """Split `text` where a character of `first` is followed by one of `then`.

    With `then` empty, split at each character of `first`. Nothing is split within brackets and
    quotes; one that is never closed is an ordinary character.
    """
    parts: list[str] = []
    closing = _closing(text)
    start = at = 0
    while at < len(text):
        here = text[at]
        if at in closing:
            at = closing[at]
        elif here == '"' and (at == 0 or text[at - 1] != "\\"):
            if text[at + 1 : at + 2] == '"':
                at += 2
            else:
                close = _UNESCAPED_QUOTE.search(text, at + 1)
                at = close.end() if close else at + 1
        elif here in first and (not then or text[at + 1 : at + 2] in tuple(then)):
            parts.append(text[start:at])
            at += 2 if then else 1
            start = at
        else:
            at += 1
    parts.append(text[start:])
    return parts


def _closing(text: str) -> dict[int, int]:
    """Give, for each bracket that is closed, where it opens and what follows its end."""
    stack: list[tuple[str, int]] = []
    closing: dict[int, int] = {}
    for match in re.finditer(r"[][()]", text):
        here = match[0]
        if here in "([":
            stack.append((here, match.start()))
        elif stack and stack[-1][0] == {")": "(", "]": "["}[here]:
            closing[stack.pop()[1]] = match.end()
    return closing


@lru_cache(maxsize=4096)
def parse(text: str) -> Pairs:
    """Read header arguments as (name with colon, value) pairs, one for each variable of a ``:var``.

    Raises ArgumentError for a quote that never closes.
    """
    text = text.strip()
    if not text:
        return ()
    found: list[tuple[str, str | Lisp | None]] = []
    pieces = split(text, " \t", ":")
    for number, piece in enumerate(pieces):
        name, _, value = (piece if number == 0 else ":" + piece).strip().partition(" ")
        if "\t" in name:
            name, _, more = name.partition("\t")
            value = f"{more} {value}"
        value = value.strip()
        if name == ":var":
            found += ((":var", variable) for variable in _variables(value))
        else:
            found.append((name, _read(value, name) if value else None))
    return tuple(found)


def _variables(text: str) -> list[str]:
    """Split ``a=1 b = "two"`` (commas between are allowed) into assignments."""
    words = [word for word in split(text, " \t", "") if word.strip()]
    joined: list[str] = []
    for word in words:
        if joined and (word.startswith("=") or joined[-1].endswith("=")):
            joined[-1] += word
        else:
            joined.append(word)
    return [word[:-1] if word.endswith(",") else word for word in joined if word != ","]


def _read(text: str, name: str) -> str | Lisp:
    """Read one value: quotes taken away, Lisp marked as such."""
    if text[0] in "(`'":
        try:
            return understand(text, {})
        except ArgumentError:
            return Lisp(text)
    if text[0] == '"':
        match = STRING.match(text)
        if match is None:
            raise ArgumentError(f"header argument {name} has a quote that is never closed: {text}")
        if match.end() == len(text):
            return unquote(text)
    return text


_UNESCAPED_QUOTE = re.compile(r'[^\\]"')
_REFERENCE = re.compile(r"([^\s\[\]()\"]+)(\[[^\]]*\])?(\(.*\))?(\[[^\]]*\])?$", re.DOTALL)


def value(assignment: str) -> tuple[str, Value]:
    """Read ``name=value`` of a ``:var``.

    Raises ArgumentError where there is no value or it cannot be read.
    """
    name, equals, text = assignment.partition("=")
    name, text = name.strip(), text.strip()
    if not equals or not text:
        raise ArgumentError(f':var {name} has no value; write :var {name}="" for an empty one')
    if text[0] == '"':
        match = STRING.match(text)
        if match is None:
            raise ArgumentError(f":var {name} has a quote that is never closed: {text}")
        return name, unquote(match[0])
    if NUMBER.fullmatch(text):
        return name, Number(text)
    if text[0] == "'":
        items, end = literal(text, 1)
        if end != len(text):
            raise ArgumentError(f":var {name} has something after its value: {text[end:]}")
        return name, items
    if text[0] in "(`[":
        return name, Lisp(text)
    match = _REFERENCE.match(text)
    if match is None:
        raise ArgumentError(f":var {name} has a value that cannot be read: {text}")
    indices = (match[2] or match[4] or "")[1:-1]
    return name, Reference(match[1], indices, None if match[3] is None else match[3][1:-1])


@lru_cache(maxsize=256)
def merge(sources: tuple[Pairs, ...]) -> Arguments:
    """Merge header arguments, the weakest first."""
    values: dict[str, str | Lisp | None] = {}
    results: list[str] = []
    variables: dict[str, str] = {}
    for pairs in sources:
        for name, given in pairs:
            if name == ":var":
                text = str(given)
                variables[text.partition("=")[0].strip()] = text
            elif name == ":results":
                if isinstance(given, Lisp):
                    raise ArgumentError(
                        f"header argument :results holds Emacs Lisp, which is not run: {given.text}"
                    )
                for word in (given or "").split():
                    _displace(results, word)
            elif name.startswith(":"):
                values[name[1:]] = given
    return Arguments(values, tuple(results), variables)


def _displace(words: list[str], word: str) -> None:
    for group in _GROUPS:
        if word in group:
            words[:] = [other for other in words if other not in group]
    if word in words:
        words.remove(word)
    words.append(word)


def digest(arguments: Arguments, body: str, variables: Iterable[tuple[str, object]]) -> str:
    """Compute the hash of a cached block, the one that Org 9.5 writes for the same block.

    `variables` are the values of the ``:var``s, `body` the block's own text with them in front.
    """
    words = sorted(word for word in arguments.results if word not in _GROUPS[2])
    kind = "output" if "output" in words else "value"
    known: dict[str, str] = {
        name: _print(text) for name, text in arguments.values.items() if isinstance(text, str)
    }
    known["result-params"] = f"({' '.join(write_string(word) for word in words)})" if words else ""
    known["result-type"] = kind
    known["results"] = write_string(" ".join(words)) if words else ""
    shown = [text for _, text in sorted(known.items()) if text]
    shown += [f"({name} . {write(given)})" for name, given in variables]
    return sha1(f"{':'.join(shown)}-{body}".encode()).hexdigest()  # noqa: S324 - Org's choice


def _print(text: str) -> str:
    if not text:
        return ""
    return write_number(text) if NUMBER.fullmatch(text) else write_string(text)


class Inherited:
    """The header arguments that a document's keywords and property drawers give to its blocks."""

    def __init__(self, document: Document) -> None:
        """Look at the ``#+PROPERTY:`` lines of `document`."""
        found: dict[str, list[str]] = {}
        for key, text in document.keywords:
            if key == "property":
                name, _, rest = text.partition(" ")
                name = name.upper()
                if name.endswith("+"):
                    found.setdefault(name[:-1], []).append(rest)
                else:
                    found[name] = [rest]
        self._global = {name: " ".join(filter(None, parts)) for name, parts in found.items()}
        self._known: dict[tuple[int, str], Pairs] = {}

    def pairs(self, heading: Heading, language: str) -> tuple[Pairs, Pairs]:
        """Give what holds below `heading` for every language, and for this one."""
        general = self._lookup(heading, "HEADER-ARGS")
        if not language:
            return general, ()
        return general, self._lookup(heading, f"HEADER-ARGS:{language.upper()}")

    def _lookup(self, heading: Heading, key: str) -> Pairs:
        at = (heading.line, key)
        if at not in self._known:
            self._known[at] = parse(self._text(heading, key))
        return self._known[at]

    def _text(self, heading: Heading, key: str) -> str:
        parts: list[str] = []
        for here in heading.path():
            more = here.properties.get(key + "+")
            if more is not None:
                parts.insert(0, more)
            base = here.properties.get(key)
            if base is not None:
                parts.insert(0, base)
                return " ".join(parts)
        if key in self._global:
            parts.insert(0, self._global[key])
        return " ".join(parts)


def of_block(block: Block, inherited: Inherited) -> Arguments:
    """Give the header arguments of a source block or an inline one.

    Raises ArgumentError where they cannot be read.
    """
    return merge(tuple(_sources(block, inherited)))


def _sources(block: Block, inherited: Inherited) -> list[Pairs]:
    general, special = inherited.pairs(block.heading, block.language)
    language = _LANGUAGE_DEFAULTS if block.language in REQUEST_LANGUAGES else ()
    if block.kind == "inline":
        language = ((":results", "value"),)
    return [
        _DEFAULTS,
        language,
        general,
        special,
        parse(block.arguments),
        *(parse(text) for text in reversed(block.headers)),
    ]


def of_call(block: Block, call: Call, target: Block, inherited: Inherited) -> Arguments:
    """Give the header arguments with which `call`, that of `block`, evaluates `target`.

    Raises ArgumentError where they cannot be read.
    """
    sources = _sources(target, inherited)
    sources += inherited.pairs(block.heading, target.language)
    sources.append(parse(call.inside))
    sources.append(tuple((":var", text) for text in call_arguments(call.arguments)))
    sources.append(parse(call.end))
    if block.kind == "inline call":
        sources = [pairs for pairs in sources if pairs is not _LANGUAGE_DEFAULTS]
        sources.append(((":results", "value"),))
    return merge(tuple(sources))


def call_arguments(text: str) -> list[str]:
    """Split the arguments of a call at its commas.

    Raises ArgumentError for one without a name.
    """
    found = [part.strip() for part in split(text, ",", "") if part.strip()]
    for part in found:
        if not re.match(r"[^\s=]+\s*=", part):
            raise ArgumentError(f"an argument of a call needs a name (name=value): {part}")
    return found
