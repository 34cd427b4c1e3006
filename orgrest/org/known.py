"""The known header arguments and their values: those of Org, and those of orgrest.

Sources: the Org manual ("Results of Evaluation", "Using Header Arguments") and ob-restclient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest import classes

if TYPE_CHECKING:
    from collections.abc import Mapping

# Mutually exclusive words of :results. The third group determines what becomes of the old result.
GROUPS = (
    frozenset({"file", "list", "vector", "table", "scalar", "verbatim"}),
    frozenset({"raw", "html", "latex", "org", "code", "pp", "drawer", "link", "graphics"}),
    frozenset({"replace", "silent", "none", "append", "prepend"}),
    frozenset({"output", "value"}),
)
# The defaults: for every language, and for requests (ob-restclient).
DEFAULTS = (
    (":session", "none"),
    (":results", "replace"),
    (":exports", "code"),
    (":cache", "no"),
    (":noweb", "no"),
    (":hlines", "no"),
    (":tangle", "no"),
)
REQUEST_DEFAULTS = ((":results", "raw"),)
HEADING_DEFAULTS = ((":wrap", "src ob-verb-response"),)  # as users of verb write on their blocks


@classes.frozen
class Known:
    """A known header argument: its one-line description, and the values that it may have.

    An `inert` argument is one of Org's arguments that orgrest ignores.
    """

    description: str
    values: Mapping[str, str] = classes.field(factory=dict)
    inert: bool = False


_YES_NO = {"yes": "Yes.", "no": "No."}

# By name without the colon.
KNOWN: Mapping[str, Known] = {
    "results": Known(
        "The form of the result, and where it is inserted.",
        {
            "raw": "Unchanged, not quoted.",
            "value": "Only the body, unchanged.",
            "output": "Body, status and headers.",
            "replace": "Replaces the previous result.",
            "append": "Appends the result after the previous one.",
            "prepend": "Inserts the result before the previous one.",
            "silent": "Not inserted.",
            "none": "Not inserted.",
            "code": "In a source block.",
            "drawer": "In a drawer.",
            "wrap": "The same as drawer.",
            "org": "In an Org source block.",
            "html": "In an HTML export block.",
            "latex": "In a LaTeX export block.",
            "verbatim": "As text: in an example block, or in lines that start with a colon.",
            "scalar": "The same as verbatim.",
            "pp": "Pretty-printed.",
            "table": "As an Org table.",
            "vector": "The same as table.",
            "list": "As a list.",
            "file": "In a file, with a link to it.",
            "link": "As a link to a file, without writing the file.",
            "graphics": "The same as link.",
        },
    ),
    "var": Known("A variable: NAME=value, or the name of a block, table or list."),
    "jq": Known("A jq program that computes the result from the response."),
    "jq-args": Known("Options for jq, such as -r."),
    "noheaders": Known("Leave out the response's headers.", _YES_NO),
    "headers": Known(
        "Whether the response's headers are shown.",
        {"yes": "Body and headers.", "no": "The body only.", "only": "The headers only."},
    ),
    "timeout": Known("Time limit in seconds."),
    "expect": Known(
        "The expected response: statuses, the result in the document, or both.",
        {
            "200": "The status 200; separate several statuses with spaces or commas.",
            "2xx": "A status from 200 to 299.",
            "same": "The same result as in the document, except for what :volatile lists.",
        },
    ),
    "openapi": Known("The OpenAPI description that requests and responses are checked against."),
    "volatile": Known(
        "What :expect same and --check ignore when they compare results: headers (X-Id), "
        "jq paths (.id), patterns (/[0-9]+ ms/)."
    ),
    "op": Known(
        "The operation of a verb block.",
        {
            "send": "Send it; the result is the whole response.",
            "send get-body": "Send it; the result is the response's body.",
            "send get-headers": "Send it; the result is the response's headers.",
        },
    ),
    "limit": Known(
        "The maximum size of a body that is shown, such as 64k or 2M. Files contain the whole body."
    ),
    "follow": Known("Whether redirects are followed.", _YES_NO),
    "requests": Known(
        "Which requests in the block are sent.", {"all": "All requests, not only the first."}
    ),
    "eval": Known(
        "Whether the block is evaluated.",
        {
            "yes": "Yes.",
            "no": "Never.",
            "never": "Never.",
            "query": "Only after confirmation.",
            "no-export": "Not during Org's export.",
            "never-export": "Not during Org's export.",
            "strip-export": "The same as yes.",
            "query-export": "During an export by Org, only after confirmation.",
        },
    ),
    "noeval": Known("Equivalent to :eval no, unless the block has :eval."),
    "cache": Known("Send only if the block has changed.", _YES_NO),
    "wrap": Known(
        "The block around the result.",
        {
            "example": "An example block.",
            "quote": "A quotation.",
            "src json": "A source block in JSON.",
        },
    ),
    "file": Known("The file that the body is written to."),
    "file-ext": Known("The suffix of the file for the body, if :file is missing."),
    "file-desc": Known("The text of the link to the file."),
    "output-dir": Known("The folder for files that results are written to."),
    "dir": Known("The folder that relative paths are resolved against."),
    "noweb": Known(
        "Whether <<name>> is replaced with the block of this name.",
        _YES_NO
        | {
            "eval": "Yes.",
            "tangle": "Only when tangled.",
            "no-export": "Yes, but not in Org's export.",
            "strip-export": "Yes, but the reference is removed in Org's export.",
        },
    ),
    "noweb-ref": Known("The name by which <<name>> refers to this block."),
    "prologue": Known("Lines inserted before those of the block."),
    "epilogue": Known("Lines inserted after those of the block."),
    "post": Known(
        "The block that processes the result; it gets the result as *this*. Only Emacs can process "
        "results that are links to files."
    ),
    "colnames": Known("Whether tables have column names.", _YES_NO),
    "exports": Known(
        "What Org exports.",
        {"code": "The block.", "results": "The result.", "both": "Both.", "none": "Neither."},
        inert=True,
    ),
    "session": Known("The interpreter session of the block.", {"none": "None."}, inert=True),
    "cmdline": Known("Arguments for a program that evaluates the block.", inert=True),
    "hlines": Known("Whether tables keep their horizontal lines.", _YES_NO, inert=True),
    "rownames": Known("Whether tables have row names.", _YES_NO, inert=True),
    "tangle": Known("The file that the block is tangled to.", _YES_NO, inert=True),
    "tangle-mode": Known("The mode of the tangled file.", inert=True),
    "mkdirp": Known("Whether tangling creates folders.", _YES_NO, inert=True),
    "comments": Known("Which comments tangling writes.", inert=True),
    "padline": Known("Whether tangling puts empty lines between blocks.", _YES_NO, inert=True),
    "shebang": Known("First line of the tangled file.", inert=True),
    "no-expand": Known("Tangle without replacing variables and <<name>>.", inert=True),
    "noweb-sep": Known("The separator between blocks with the same noweb-ref.", inert=True),
    "noweb-prefix": Known(
        "Whether the text before <<name>> is repeated on each line.", _YES_NO, inert=True
    ),
    "file-mode": Known("The mode of the file.", inert=True),
    "sep": Known("The column separator of tables in files.", inert=True),
}

_ASSERTING = dict.fromkeys(("assert", "assertion", "check", "status", "test"), "expect")


def resembled(name: str) -> str | None:
    """Return the header argument that an unknown `name` probably means, or None.

    `name` may be a misspelling, or a synonym such as `assert` for `expect`.
    """
    from difflib import get_close_matches

    words = {name: name for name in KNOWN} | _ASSERTING
    close = get_close_matches(name.lower(), words, 1, 0.8)
    return words[close[0]] if close else None
