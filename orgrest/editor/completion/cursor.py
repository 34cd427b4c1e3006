"""An offset in a text, and its surroundings: the line, the region and the lines above.

In Org, the block around the offset is extracted. The rest of the document is searched only on
demand.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from orgrest.editor import regions
from orgrest.editor.completion.model import Candidate, Context, Imported, Kind, Offer
from orgrest.http.parsing import dialects, request_file, restclient
from orgrest.http.parsing.lines import BLANKS
from orgrest.model import Source, Span, end_of_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from orgrest.description.model import Description
    from orgrest.http.syntax import LineState, ParsedRequest

# The endings of candidates, and patterns that match such an ending in the text after the offset.
_ENDS = [
    (": ", re.compile(r":[ \t]?")),
    ("}}", re.compile(r"[ \t]*\}\}")),
    ("()", re.compile(r"\(\)?")),
    ("(", re.compile(r"\(")),
    ("=", re.compile("=")),
    (" ", re.compile(r"[ \t]")),
]


class Cursor:
    """An offset in a text, its surroundings, and what the text can refer to.

    `code`, with LF line endings, is the text of the region around the offset, or the whole text if
    there is no region. `before` is the line up to the offset, and `after` is the rest of the line
    without trailing whitespace.
    """

    def __init__(
        self,
        text: str,
        offset: int,
        document: regions.Kind = "org",
        *,
        files: Callable[[str], Iterable[str]] = lambda _: (),
        environ: Iterable[str] = (),
        settings: Callable[[], Mapping[str, tuple[str, str]]] = dict,
        imported: Callable[[], Imported] = Imported,
        described: Callable[[str], Description | None] = lambda _: None,
        beside: Callable[[], Iterable[Description]] = tuple,
    ) -> None:
        """Find the surroundings of `offset` in `text`, the text of a `document` of this kind.

        - `files` returns the names in a folder, given the folder's path in the document. Names of
          subfolders end in a slash.
        - `environ` contains the names of environment variables.
        - `settings` returns the variables of the chosen environments, each with its value and
          source.
        - `imported` returns the names that other files define.
        - `described` returns the OpenAPI description in a file that the document names.
        - `beside` returns the OpenAPI descriptions near the document.

        Raises ValueError if the offset is outside the text.
        """
        if not 0 <= offset <= len(text):
            raise ValueError(
                f"offset {offset} is out of range: the text has {len(text)} characters"
            )
        self.files = files
        self.environ = environ
        self.settings = settings
        self.imported = imported
        self.described = described
        self.beside = beside
        self.given = offset
        self.within_crlf = text[offset - 1 : offset + 1] == "\r\n"
        if "\r\n" in text:
            offset -= text.count("\r\n", 0, offset)
            text = text.replace("\r\n", "\n")
        self.text, self.offset = text, offset
        self.document = document
        self.region: regions.Region | None = None
        self.code, at = text, offset
        self.indented = False
        if document == "org":
            self.region = regions.region_at(text, offset)
            if self.region is not None:
                self.code = self.region.text
                at = self.region.from_file(offset)
                self.indented = self.region.to_file(at) > offset
        self.start = self.code.rfind("\n", 0, at) + 1
        self.before = self.code[self.start : at]
        self.after = self.code[at : end_of_line(self.code, at)].rstrip(BLANKS)

    @cached_property
    def is_common(self) -> bool:
        """Whether the text is in the language of request files rather than restclient's.

        The line at the offset is ignored, because `{{` occurs in both languages.
        """
        block = self.region.block if self.region is not None else None
        if block is not None and block.language == "restclient":
            return False
        below = self.code[self.start + len(self.before) :].partition("\n")[2]
        return not request_file.is_restclient(self.code[: self.start] + below)

    @cached_property
    def above(self) -> str:
        """The lines of the region above the offset's line."""
        return self.code[: self.start].removesuffix("\n")

    @cached_property
    def state(self) -> LineState:
        """The parser's state after the lines above, which determines what the line can be."""
        if self.is_common:
            return request_file.read_above(self.above)
        return restclient.read_above(self.above)

    def request(self) -> ParsedRequest | None:
        """Return the request at the offset, or None. Only the part of the text around is parsed."""
        at = self.start + len(self.before)
        if self.region is not None:
            parsed = self.region.parse()
        else:
            is_restclients, starts = dialects.parts(self.code)
            ends = [*starts[1:], len(self.code)]
            part = bisect_right(starts, at) - 1
            span = Span(starts[part], ends[part])
            source = Source(self.code)
            parsed = dialects.read_part(source, span, is_restclients=is_restclients)
        request = parsed.request_at(at)
        return request if request and request.span.reaches(at) else None

    def is_comment(self, line: str) -> bool:
        """Return whether `line` would be parsed as a comment.

        In a restclient body, a `#` that is indented more than the body does not start a comment.
        """
        text = line.lstrip(" \t")
        if self.is_common:
            return text.startswith(("#", "//"))
        indented = self.state.part == "body" and len(line) - len(text) > self.state.indent
        return text.startswith("#") and not indented and self.state.part != "quoted"

    def candidate(self, here: Context, offer: Offer) -> Candidate:
        """Return the candidate for an offer.

        If the offer ends in text that already follows the offset, such as `}}`, that text is
        replaced.
        """
        end = here.span.end
        rest = self.after[end - self.given :]
        for ending, pattern in _ENDS:
            if offer.inserted.endswith(ending):
                follows = pattern.match(rest)
                end += follows.end() if follows else 0
                break
        span = Span(here.span.start, end)
        return Candidate(offer.text, here.kind, span, offer.inserted, offer.documentation)

    def here(self, kind: Kind, prefix: str, subject: str = "", rest: str = "") -> Context:
        """Return a context with the text `prefix`, which ends at the offset.

        The context's span also covers the match of the pattern `rest` after the offset.
        """
        follows = re.match(rest, self.after)
        end = self.given + (follows.end() if follows else 0)
        return Context(kind, Span(self.given - len(prefix), end), prefix, subject)

    @cached_property
    def lined(self) -> str:
        """The whole text, preceded by a newline."""
        return "\n" + self.text

    def others(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield the matches of `pattern` in the document, except one on the cursor's own line.

        `pattern` begins with the newline before a line.
        """
        own = self.text.rfind("\n", 0, self.offset) + 1
        return (match for match in pattern.finditer(self.lined) if match.start() != own)

    def lines(self, offsets: Iterable[int]) -> Iterator[int]:
        """Yield the document's line number for each offset into `code`.

        The offsets must be in ascending order.
        """
        line, at = 1, 0
        for offset in offsets:
            if self.region is not None:
                yield self.region.source.position(offset).line
                continue
            line, at = line + self.code.count("\n", at, offset), offset
            yield line
