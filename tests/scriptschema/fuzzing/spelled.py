"""A persistent target for tests, with deliberate bugs that depend on how a program is written.

A hexadecimal or binary number, outside of strings, fails with the variant -O2, and so does a
`repeat`. With the argument `old`, it refuses such numbers. With the argument `levels`, a program
that contains `print` prints something else at -O2, and a directive such as `--!optimize 2` selects
the level.
"""

import json
import re
import sys

NUMBER = r"\b0[xXbB][0-9A-Fa-f_]"
STRING = r"(?s)\[(=*)\[.*?\]\1\]|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"

for line in sys.stdin:
    request = json.loads(line)
    source = re.sub(STRING, "''", request["source"])
    found = {"id": request["id"], "kind": "ok", "output": "", "error": ""}
    if "levels" in sys.argv:
        directive = re.search(r"--!optimize (\d)", request["source"])
        level = f"-O{directive[1]}" if directive else request["variant"]
        wrong = level == "-O2" and "--codegen" not in request["variant"] and "print" in source
        found["output"] = "wrong" if wrong else "right"
    elif "old" in sys.argv:
        if re.search(NUMBER, source):
            found |= {"kind": "rejected", "error": "program:1: malformed number"}
    elif request["variant"] == "-O2":
        for pattern, error in ((NUMBER, "the number has no digits"), (r"\brepeat\b", "reg < 255")):
            if re.search(pattern, source):
                found |= {"kind": "assertion", "error": error}
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
