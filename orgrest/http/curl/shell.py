"""Words of a shell's command line, as bash and Windows' cmd find them."""

from __future__ import annotations

import re

from orgrest.http.curl.errors import CurlError

_PIECE = re.compile(
    r"""(?P<blank>[ \t\r\n]+)
    | \\\r?\n
    | '(?P<single>[^']*)'
    | \$'(?P<ansi>(?:[^'\\]|\\.)*)'
    | "(?P<double>(?:[^"\\]|\\.)*)"
    | \\(?P<escaped>.)
    | (?P<plain>[^ \t\r\n'"\\$]+|\$(?!'))""",
    re.VERBOSE | re.DOTALL,
)
_ANSI = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))"
    r"|([^\\]+)",
    re.DOTALL,
)
_ANSI_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
                 "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?"}  # fmt: skip


def split(command: str) -> list[str]:
    """Split a command into words as bash does; variables and operators stay as they are."""
    words: list[list[str]] = []
    open_word = False
    at = 0
    while at < len(command):
        match = _PIECE.match(command, at)
        if match is None:
            raise CurlError(
                "this is not a shell command: it ends inside a quote or after a backslash"
            )
        at = match.end()
        kind = match.lastgroup
        if kind is None:  # a line continuation
            continue
        if kind == "blank":
            open_word = False
            continue
        text = match[kind]
        if kind == "ansi":
            text = _read_ansi(text)
        elif kind == "double":
            text = re.sub(r'\\(\r?\n|[$`"\\])', lambda m: m[1].strip("\r\n"), text)
        if not open_word:
            words.append([])
        words[-1].append(text)
        open_word = True
    return ["".join(pieces) for pieces in words]


def _read_ansi(text: str) -> str:
    """Decode the content of ``$'...'`` (Bash manual, "ANSI-C Quoting")."""
    data = bytearray()
    for match in _ANSI.finditer(text):
        byte, octal, short, long, control, letter, plain = match.groups()
        if byte or octal:
            data.append(int(byte, 16) if byte else int(octal, 8) & 0xFF)
        elif short or long:
            code = int(short or long, 16)
            if code > 0x10FFFF:
                raise CurlError(f"{match[0]} is not a character")
            data += chr(code).encode("utf-8", "surrogatepass")
        elif control:
            data.append(ord(control) & 0x1F)
        else:
            found = plain or _ANSI_LETTERS.get(letter, f"\\{letter}")
            data += found.encode("utf-8", "surrogatepass")
    try:
        if 0 in data:
            raise ValueError
        halves = data.decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
        return halves.decode("utf-16-le")  # Chrome writes one character as two escapes
    except ValueError:
        raise CurlError("$'...' holds bytes that are no text: put them into a file") from None
