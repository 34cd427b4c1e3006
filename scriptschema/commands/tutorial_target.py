"""A small minifier for Luau that contains a bug: the target of scriptschema's tutorial.

    python3 minify.py program.luau

prints the program without comments or unnecessary whitespace. It reports unclosed blocks. Needs
nothing but Python.
"""

import re
import sys
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<blank>\s+|--\[(?P<long>=*)\[.*?\](?P=long)\]|--[^\n]*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<number>0[xXbB][\w]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?[\d_]+)?)
    |(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|\[(?P<level>=*)\[.*?\](?P=level)\])
    |(?P<mark>\.\.\.|\.\.=|//=|\.\.|//|::|->|[<>=~]=|[-+*/%^]=|[^\w\s])""",
    re.VERBOSE | re.DOTALL,
)

# An `if` after any of these is an expression, which has no `end`.
BEFORE_EXPRESSION = {
    *("=", ",", "[", "{", "return", "and", "or", "not", "in", "while", "until"),
    *("+", "-", "*", "/", "//", "%", "^", "..", "#", "<", ">", "<=", ">=", "==", "~="),
    *("+=", "-=", "*=", "/=", "//=", "%=", "^=", "..="),
}
# Two characters that together would be read as one token, or as different tokens.
TOGETHER = re.compile(r"\w\w|--|\.\.|\[\[|==|\d\.|\[=|[<>~]=")


class Blocks:
    """The open blocks and `if` expressions."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.before = ""

    def take(self, word: str) -> None:
        """Process the next token."""
        if word == "if":
            expression = self.before in BEFORE_EXPRESSION
            self.open.append("expression" if expression else "if")
        elif word in ("then", "elseif", "else") and self.open[-1:] == ["expression"]:
            if word == "else":
                self.open.pop()
            word = "="  # what follows is an expression
        elif word in ("function", "do", "repeat"):
            self.open.append(word)
        elif word in ("end", "until"):
            if not self.open:
                raise RuntimeError(f"internal error: no block is open at {word}")
            self.open.pop()
        self.before = word


def minify(source: str) -> str:
    """Return the program without comments or unnecessary whitespace."""
    blocks, written, at = Blocks(), "", 0
    while at < len(source):
        token = TOKEN.match(source, at)
        if token is None:
            raise RuntimeError(f"no token begins with {source[at]}")
        at = token.end()
        if token["blank"]:
            continue
        text = token[0]
        apart = TOGETHER.search(written[-1:] + text[0])
        written += f" {text}" if apart else text
        blocks.take(text)
    if blocks.open:
        raise RuntimeError("internal error: a block is open at the end")
    return written


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "-"
    source = sys.stdin.read() if name == "-" else Path(name).read_text()
    try:
        print(minify(source))  # noqa: T201  # a program of its own
    except RuntimeError as error:
        sys.exit(f"minify.py: {error}")
