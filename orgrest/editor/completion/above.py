"""What the lines above a line of a request text say about it, and the variables set in them.

Nothing is parsed: the lines are gone over once, by a regular expression that stops only at lines
that begin something.
"""

from __future__ import annotations

import re

import attrs

from orgrest.http import grammar

BLANKS = " \t\r"

# What these search has a line end put before it: a line is found where it starts in the original.
_LINES = re.compile(
    r"\n(?P<indent>[ \t]*+)(?:(?P<comment>#.*)"
    rf"|{grammar.DEFINITION.pattern}|{grammar.REQUEST.pattern}|{grammar.HOOK.pattern}"
    rf"|{grammar.BODY_HERE.pattern}(?=[ \t\r]*(?:\n|\Z)))"
)
_HEAD_END = re.compile(r"\n[ \t\r]*(?=\n)|(?=\n[ \t]*(?:[\[<]|\{(?!\{)))")
_COMMENTS = re.compile(r"(?:\n[ \t]*#(?!##).*)+(?P<gap>(?:\n[ \t\r]*(?=\n))*)\n[ \t]*(?P<below>.*)")
_MORE_THAN_URL = re.compile(r"\n[ \t]*[^?&#\s]")


@attrs.frozen
class Definition:
    """A variable that is set: to `value`, or to what `note` says.

    `offset` is where in the request text, or else `where` says it. `computed` tells that the value
    is an expression.
    """

    name: str
    offset: int
    value: str = ""
    note: str = ""
    where: str = ""
    computed: bool = False


def picked(expression: str) -> str:
    """Tell what a captured variable holds."""
    return f"what jq {expression.rstrip(BLANKS)} picks from the response"


class Above:
    """What the lines of a request text above one of its lines say about that line.

    `state` is what the line belongs to: ``start`` (no request yet), ``head`` (below a request
    line), ``body``, or ``here`` (a here-document). `also_head` tells that the comment right above
    may stand among headers. `definitions` are the variables set so far.
    """

    def __init__(self, text: str, line: int) -> None:
        """Go over the lines of `text` above the one that starts at `line`."""
        self.state = "start"
        self.also_head = False
        self.definitions: list[Definition] = []
        self._text = "\n" + text
        self._line = line
        self._indent = 0  # of the open request
        self._request = -1  # where its line ends
        self._body = -1  # where its body starts, if that is known
        self._searched = 0  # how far that was looked for
        self._passed = 0  # how far comments are known to end no request
        at = 0
        while match := _LINES.search(self._text, at, line):
            at = self._read(match)
            if at > line:
                self.state = "here"
                return
        if self._request >= 0:
            self.state = "body" if self._in_body(line) else "head"

    @property
    def headers(self) -> bool:
        """Whether there is more than the URL above the line."""
        return _MORE_THAN_URL.search(self._text, self._request, self._line) is not None

    def comments(self, line: str) -> bool:
        """Whether `line` would be a comment: further to the right, a body may hold a `#`."""
        text = line.lstrip(" \t")
        indented = self.state == "body" and len(line) - len(text) > self._indent
        return text.startswith("#") and not indented and self.state != "here"

    def _read(self, match: re.Match[str]) -> int:
        """Take in a line; return where what it begins ends, if that is further down."""
        if match["comment"] is not None:
            if self._request >= 0 and self._ends(match):
                self._request = -1
        elif match["method"] is not None:
            if self._request < 0:
                self._request = self._searched = match.end()
                self._body = -1
                self._indent = len(match["indent"])
        elif match["name"] is not None:
            if self._request < 0:
                return self._define(match)
        elif match["hook"] is not None:
            self._capture(match)
        elif self._request >= 0 and (
            not self._in_body(match.start()) or self._body == match.start()
        ):  # the first line of a body
            return self._here_end(match["word"], match) or match.end()
        return match.end()

    def _in_body(self, line: int) -> bool:
        """Whether the line that starts at `line` belongs to the body of the open request."""
        if self._body < 0:
            match = _HEAD_END.search(self._text, self._searched, line + 1)
            self._body = match.end() if match else -1
            self._searched = line
        return 0 <= self._body <= line

    def _ends(self, comment: re.Match[str]) -> bool:
        """Whether a comment ends the open request: not every one among the headers does."""
        if self._in_body(comment.start()):
            return len(comment["indent"]) <= self._indent
        if comment["comment"].startswith("###"):
            return True
        if comment.start() < self._passed:
            return False
        match = _COMMENTS.match(self._text, comment.start(), self._line + 1)
        if match is None:
            return True
        if match.start("below") > self._line:  # the line that is being typed
            self.also_head = not match["gap"] and comment["comment"].strip(BLANKS) != "#"
            return True
        below = match["below"].rstrip(BLANKS)
        if (
            below.startswith("#")
            or grammar.is_request_line(below)
            or grammar.DEFINITION.fullmatch(below) is not None
        ):
            return True
        self._passed = match.start("below")
        return False

    def _define(self, match: re.Match[str]) -> int:
        value, note, end = match["value"].rstrip(BLANKS), "", match.end()
        if here := grammar.HERE.fullmatch(value):
            value, note = "", "several lines"
            end = self._here_end(here[1], match) or len(self._text)
        computed = match["operator"] == ":="
        self.definitions.append(
            Definition(match["name"], match.start(), value, note, computed=computed)
        )
        return end

    def _capture(self, match: re.Match[str]) -> None:
        if self._request < 0 or self._in_body(match.start()):
            return
        found = grammar.SET_VAR.fullmatch((match["rest"] or "").rstrip(BLANKS))
        if found and match["hook"] == "jq-set-var":
            one = Definition(found[1], match.start(), note=picked(found[2]))
            self.definitions.append(one)

    def _here_end(self, word: str | None, match: re.Match[str]) -> int | None:
        """Find the end of the here-document that a line opens."""
        end = rf"{word}[ \t\r]*(?=\n|\Z)" if word else "#.*"
        blanks = rf"[ \t]{{0,{len(match['indent'])}}}"
        found = re.compile(rf"\n{blanks}{end}").search(self._text, match.end())
        return found.end() if found else None
