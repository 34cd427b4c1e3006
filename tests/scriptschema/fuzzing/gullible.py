"""A persistent target for tests that accepts any text, with bugs for sources that are not Luau.

A source with a lone `!` breaks an assertion, and one with a `$` is run. With the argument `strict`,
it refuses both. With `more`, a source with a `#` or a `|` is run, too. With `unbalanced`, a source
in which more brackets are closed than opened is run, too. Whatever scriptschema accepts as Luau is
run, and everything else is refused.
"""

import json
import re
import sys

from scriptschema.luau.parse import ParseError, parse

for line in sys.stdin:
    request = json.loads(line)
    source = request["source"]
    found = {"id": request["id"], "kind": "ok", "output": "", "error": ""}
    try:
        parse(source)
    except ParseError:
        found |= {"kind": "rejected", "error": "source:1: no program"}
        code = re.sub(r"(?s)--\[\[.*?\]\]|--[^\n]*|\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`", "", source)
        if "strict" not in sys.argv:
            if re.search(r"!(?!=)", code):
                found |= {"kind": "assertion", "error": "a token is expected"}
            elif (
                "$" in code
                or ("more" in sys.argv and re.search(r"[#|]", code))
                or ("unbalanced" in sys.argv and code.count(")") > code.count("("))
            ):
                found |= {"kind": "ok", "error": ""}
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
