"""Prints a tree in a style. `render` uses this module if a style is given.

A style is a source of choices. The table at the end of this module lists the messages that have
several spellings. The writer chooses only spellings that `luau.parse` reads as the same tree, and
also changes the white space between tokens. It does not change parentheses, or write `a["b"]` for
`a.b`, because the schema has ExprGroup and ExprIndexExpr for these.

There are two exceptions: `f"x"` for `f("x")`, and `["x"]: T` for `x: T`. If `luau.parse` is given a
Luau version, it records these spellings in extension fields (`ExprCall.parenless` and
`TypeTableItem.key_string`). Styles use them for every tree, because a tree does not say which
version it is for, and because parsers have separate code for these spellings.

The choices determine a key and, for each kind of spelling, the share of places that differ from the
plain spelling. The spelling at a place depends on the key and on the text nearby. So a tree keeps
its spelling when it is reduced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.choices import Choices
from scriptschema.luau.lexer import tokenize
from scriptschema.luau.names import Names
from scriptschema.luau.printing import spelling
from scriptschema.luau.printing.atoms import write_number, write_string
from scriptschema.luau.printing.expressions import (
    can_be_parenless,
    write_call,
    write_callee,
    write_interpolation,
)
from scriptschema.luau.printing.spelling import Near, in_brackets
from scriptschema.luau.printing.statements import write_stat
from scriptschema.luau.printing.type_annotations import (
    array_item,
    members,
    write_intersection,
    write_type,
    write_type_item,
    write_type_table,
    write_union,
)
from scriptschema.luau.printing.writer import Part, Write, Writer

Share: TypeAlias = int
"""The share of places, in 64ths, that do not have the plain spelling."""

_SHARES: Final = (0, 64, 16, 4)
_SHARES_OF_GAPS: Final = (0, 32, 4, 1)
_SHARES_OF_COMMENTS: Final = (0, 64, *(6,) * 3, *(1,) * 4, *(0,) * 7)
"""Possible shares of comments. The largest share is at index 1, because shrinking tries the choices
0 and 1 first. With the largest share, there are comments everywhere, no matter which text is
nearby."""

_SPACES: Final = (" ", "\t", "    ", " \v\f ")
_LINES: Final = ("\n", "\n\n", " \n\t", "\r\n")
_MANY_LINES: Final = "\n" * 300  # more lines than a byte can count
_COMMENTS: Final = (
    *("", " a comment", "-", " --", "[", "[=", "]]", " ]=] end", " \"'`{", " \\", " é\t中"),
    *(" local x = 1", "]==]--[[", "[ [x]]", " TODO: $%&"),
)
"""The contents of comments. A comment whose content begins with `!` is a directive."""
_DIRECTIVES: Final = (
    *("native", "optimize 0", "optimize 1", "optimize 2"),
    *("strict", "nonstrict", "nocheck", "nolint", "nolint LocalUnused"),
)
"""Directives for the first comments of a source, which say how to compile and type-check it.

Source: https://luau.org/lint and https://luau.org/typecheck#type-inference-modes, Compiler.cpp.
"""

_BEFORE_GROUP: Final = [[text] for text in (": ", " :: ", "]: ", " = ", " | ", " & ", ") -> ")]
"""Strings after which a type may be in parentheses. `<` and `, ` are not among them, because there
the parentheses may enclose a pack."""

_CLOSING: Final = ")]}\"'`,;"
"""Characters that end a token, no matter which character follows."""


class StyledWriter(Writer):
    """Prints one tree in the style that `choices` select."""

    def __init__(
        self,
        write: Mapping[type[Message], Write],
        names: Names,
        types: bool,
        indent: str,
        choices: Choices,
    ) -> None:
        super().__init__(write, names, types, indent)
        share = choices.below
        self.strings = _SHARES[share(4)]
        self.numbers = _SHARES[share(4)]
        self.calls = _SHARES[share(4)]
        self.separators = _SHARES[share(4)]
        self.semicolons = _SHARES[share(4)]
        self.shorthands = _SHARES[share(4)]
        self.gaps = _SHARES_OF_GAPS[share(4)]
        self.comments = _SHARES_OF_COMMENTS[share(16)]
        self.near = Near(share(256) << 8 | share(256))
        self.directives = [
            _DIRECTIVES[share(len(_DIRECTIVES))] for _ in range(max(0, share(8) - 5))
        ]
        self.signs = _SHARES[share(4)]
        self.groups = _SHARES[share(4)]

    def differs(self, share: Share, near: str | None = None) -> bool:
        """Return whether the next part should differ from the plain spelling.

        This choice and the following choices depend on `near`, by default the text that was printed
        last.
        """
        if not share:
            return False
        self.near.at("".join(self.out[-1:]) if near is None else near)
        return self._is_one_of(share)

    def _is_one_of(self, share: Share) -> bool:
        return share > 0 and self.near.below(64) >= 64 - share

    def text(self, tree: Message) -> str:
        """Return the source of a tree in this style."""
        directives = self.directives if isinstance(tree, m.StatBlock) else ()
        text = super().text(tree)
        if self.gaps or self.comments or self.semicolons:
            text = self._respaced(text)
        return "".join(f"--!{directive}\n" for directive in directives) + text

    def separated(self, nodes: Sequence[Message]) -> list[Part]:
        """Return the items of a table, separated by `,` or `;`, which may also end the list."""
        parts: list[Part] = []
        last = self.differs(self.separators)
        for node in nodes:
            parts += (node, "; " if self._is_one_of(self.separators) else ", ")
        if parts and not last:
            parts.pop()
        return parts

    def _respaced(self, text: str) -> str:
        """Return the text with different white space and comments between its tokens."""
        tokens = tokenize(text)
        near, gaps, comments = self.near, self.gaps, 64 - self.comments
        out: list[str] = []
        end, before, before_kind = 0, "", ""
        after_types = 0
        for index, (kind, word, start) in enumerate(
            zip(tokens.kinds, tokens.texts, tokens.starts, strict=True)
        ):
            gap = text[end:start]
            # A line break before `(` would separate the `(` from the call.
            one_line = kind == "(" or index < after_types
            if kind == ":" and not one_line:
                after_types = _after_types_of_method(tokens.kinds, index)
            if kind == "error":  # the tree is not a program
                return "".join([*out, text[end:]])
            near.at(f"{before} {word}")
            case = near.below(64)
            if gap.strip() or before_kind == "@" or (kind == "(" and "\n" in gap):
                pass  # a comment of the writer, an attribute's name, or the start of a statement
            elif case >= comments:
                gap = self._with_comment(gap, kind, one_line=one_line)
            elif case < gaps:
                gap = self._space(gap, before, before_kind, word, kind, one_line=one_line)
            out.append(gap)
            if kind == "eof":
                break
            end = start + len(word)
            if kind != ";" or before_kind != ";":  # write only one of two `;` in a row
                out.append(word)
            before, before_kind = word, kind
        return "".join(out)

    def _space(
        self, gap: str, before: str, before_kind: str, word: str, kind: str, *, one_line: bool
    ) -> str:
        """Return white space to replace `gap`, without a line break if `one_line` is true."""
        below = self.near.below
        way = below(4)
        if way == 1 or (way == 2 and one_line):
            return _SPACES[below(len(_SPACES))]
        if way == 2:
            return _LINES[below(len(_LINES))] if below(32) < 31 else _MANY_LINES
        if way == 3:
            return "" if _may_touch(before, before_kind, word, kind) else " "
        return gap

    def _with_comment(self, gap: str, kind: str, *, one_line: bool) -> str:
        comment = self._comment(one_line=one_line)
        # A comment at the end of the source needs no line break.
        if kind == "eof" and self.near.below(2):
            return f"{gap or ' '}{comment.rstrip()}"
        return f"{gap or ' '}{comment}{gap}"

    def _comment(self, *, one_line: bool) -> str:
        below = self.near.below
        text = _COMMENTS[below(len(_COMMENTS))]
        way = below(4)
        if way == 0 and not one_line:
            return f"--{text}\n" if below(2) == 0 else f"--{text}\r\n"
        if way == 3 and not one_line:
            text += "\n" + _COMMENTS[below(len(_COMMENTS))]
        return "--" + in_brackets(text, below(3))


def _after_types_of_method(kinds: Sequence[str], colon: int) -> int:
    """Return the index of the token after the `<<types>>` in `:name<<types>>`, or 0 if none."""
    if kinds[colon + 1 : colon + 4] != ["name", "<", "<"]:
        return 0
    angles = parentheses = 0
    for index in range(colon + 2, len(kinds)):
        kind = kinds[index]
        parentheses += (kind == "(") - (kind == ")")
        if not parentheses:  # in parentheses, `<` may be an operator
            angles += (kind == "<") - (kind == ">")
            if kind == ">" and angles == 1:
                # A type after the `:`, such as `T<<U>(U) -> ()>`, does not end in `>>`.
                return index + 2 if kinds[index + 1] == ">" else 0
    return 0


def _may_touch(before: str, before_kind: str, word: str, kind: str) -> bool:
    """Return whether two tokens need no white space between them."""
    if not before or not word:  # the beginning or the end of the source
        return True
    starts_word = word[0].isalnum() or word[0] == "_"
    if before_kind == "number":
        return not starts_word and word[0] != "."
    if before[-1].isalnum() or before[-1] == "_":
        return not starts_word and kind != "number"
    return starts_word or before[-1] in _CLOSING


def _write_string(w: StyledWriter, node: m.ExprConstantString | m.TypeString) -> None:
    if w.level >= 0 and w.differs(w.strings, node.val):  # other spellings may have line breaks
        w.out.append(spelling.string(w.near, node.val))
    else:
        write_string(w, node)


def _write_number(w: StyledWriter, node: m.ExprConstantNumber) -> None:
    if node.double is None and w.differs(w.numbers, str(node.val)):
        w.out.append(spelling.number(w.near, node.val))
    else:
        write_number(w, node)


def _write_interpolation(w: StyledWriter, node: m.ExprInterpString) -> None:
    if w.level >= 0 and w.differs(w.strings):
        write_interpolation(w, node, partial(spelling.text_in_interpolation, w.near))
    else:
        write_interpolation(w, node)


def _write_call(w: StyledWriter, node: m.ExprCall) -> None:
    if can_be_parenless(node) and not node.parenless and w.differs(w.calls):
        write_callee(w, node)
        w.print(node.args[0])
    else:
        write_call(w, node)


def _write_table(w: StyledWriter, node: m.ExprTable) -> None:
    w.print("{", *w.separated(node.items), "}")


def _write_stat(w: StyledWriter, node: m.Stat) -> None:
    ended = w.differs(w.semicolons)
    write_stat(w, node)
    if ended:
        w.out.append(";")


def _write_type_item(w: StyledWriter, node: m.TypeTableItem) -> None:
    if node.access is None and node.key_string is None and w.differs(w.shorthands):
        name = spelling.string(w.near, w.names.field(node.key))
        w.print("[", name, "]: ", node.type)
    else:
        write_type_item(w, node)


def _write_type_table(w: StyledWriter, node: m.TypeTable) -> None:
    if array_item(w, node) is not None and not w.differs(w.shorthands):
        write_type_table(w, node)
    else:
        w.print("{", *w.separated(members(node)), "}")


def _write_type(w: StyledWriter, node: m.Type) -> None:
    may_stand = bool(w.groups) and w.out[-1:] in _BEFORE_GROUP
    if may_stand and w.differs(w.groups, f"{w.out[-2:]}{node.which}"):
        w.after = 0
        w.print("(", node, ")")
    else:
        write_type(w, node)


def _write_sign(w: StyledWriter, sign: str) -> None:
    if not w.after and w.differs(w.signs):
        w.out.append(sign)


def _write_intersection(w: StyledWriter, node: m.TypeIntersection) -> None:
    _write_sign(w, "& ")
    write_intersection(w, node)


def _write_union(w: StyledWriter, node: m.TypeUnion) -> None:
    _write_sign(w, "| ")
    write_union(w, node, shorthand=not w.differs(w.shorthands))


WRITE: Final[Mapping[type[Message], Write]] = {
    m.ExprConstantString: _write_string,
    m.TypeString: _write_string,
    m.ExprConstantNumber: _write_number,
    m.ExprInterpString: _write_interpolation,
    m.ExprCall: _write_call,
    m.ExprTable: _write_table,
    m.Stat: _write_stat,
    m.TypeTableItem: _write_type_item,
    m.TypeTable: _write_type_table,
    m.Type: _write_type,
    m.TypeUnion: _write_union,
    m.TypeIntersection: _write_intersection,
}
"""Maps each kind of message with several spellings to the function that prints it."""
