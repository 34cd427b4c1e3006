"""The known header arguments with their values: Org's and orgrest's own.

One table, used by completion, hover, diagnostics and the merging of arguments (Org manual,
"Results of Evaluation" and "Using Header Arguments"; ob-restclient; the README for orgrest's own).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping

# Mutually exclusive words of :results; the third group selects how old and new result are joined.
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
HEADING_DEFAULTS = ((":wrap", "src ob-verb-response"),)  # as verb's users write it on their blocks


@attrs.frozen
class Known:
    """A known header argument: a one-line description, and the values it may have.

    An `inert` argument is Org's: it is accepted but has no effect here.
    """

    description: str
    values: Mapping[str, str] = attrs.field(factory=dict)
    inert: bool = False


_YES_NO = {"yes": "Yes.", "no": "No."}

# By name without the colon.
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
    "expect": Known(
        "What the response is to be: statuses, the result that stands here, or both.",
        {
            "200": "The status 200; several may stand here, with blanks or commas.",
            "2xx": "A status from 200 to 299.",
            "same": "The result is the one that stands here, but for what :volatile names.",
        },
    ),
    "openapi": Known("The OpenAPI description that requests and responses are checked against."),
    "volatile": Known(
        "What may differ where :expect same or --check compare results: headers (X-Id), "
        "jq paths (.id), patterns (/[0-9]+ ms/)."
    ),
    "op": Known(
        "What a block of verb is to do.",
        {
            "send": "Send it; the whole response is the result.",
            "send get-body": "Send it; the body is the result.",
            "send get-headers": "Send it; the headers are the result.",
        },
    ),
    "limit": Known("How much of a body is shown: 64k, 2M; a file takes all of it."),
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
