"""A persistent target for tests that does not run Luau: words in the source determine its answer.

Bugs occur only with the variant -O2. `print(n)` prints, `error` ends with an error; `die`,
`leave` and the like in a string constant or comment make the service misbehave. With the argument
`cover`, it also reports what the program covers: each pair of consecutive words.
"""

import base64
import json
import os
import re
import signal
import sys
import time
import zlib
from itertools import pairwise

BUGS = {
    r"\brepeat\b": ("assertion", "reg < 255"),
    r"(?s)\bwhile\b.*\.\.": ("internal error", "no block 7 for 'x'"),
}


def say(text, file=sys.stdout):
    file.write(f"{text}\n")
    file.flush()


def answer(request):
    source, variant = request["source"], request["variant"]
    if "say-noise" in source:
        say("noise")
        say("[" * 9_000)
        say('{"id": 0}')
    if "end-quietly" in source:
        sys.exit(0)
    if "end-badly" in source:
        say("what is this", file=sys.stderr)
        sys.exit(5)
    if "end-silently" in source:
        sys.exit(6)
    if "abort" in source:
        say("a.cpp(3): ASSERTION FAILED: x > 0", file=sys.stderr)
        os.kill(os.getpid(), signal.SIGABRT)
    if "segfault" in source:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "close-output" in source:
        os.close(1)
        time.sleep(60)
    if "sleep-long" in source:
        time.sleep(60)
    if "say-nothing" in source:
        return {"id": request["id"]}
    if "say-frames" in source:
        return {"id": request["id"], "kind": "crash", "frames": 7}
    if "say-surrogates" in source:
        text = "a\ud800"
        texts = {"output": text, "error": text, "frames": [text], "report": text}
        return {"id": request["id"], "kind": "crash", **texts}
    if "print-much" in source:
        return {"id": request["id"], "kind": "ok", "output": "x" * 2_000_000}
    if "much-memory" in source:
        return {"id": request["id"], "kind": "error", "error": "not enough memory"}
    found = {"id": request["id"], "kind": "ok", "output": "", "error": ""}
    for number in re.findall(r"print\((\d+)\)", source):
        found["output"] += f"{number}\n"
    if variant == "-O2":
        if re.search(r"//", source):
            found["output"] += "wrong\n"
        for pattern, (kind, error) in BUGS.items():
            if re.search(pattern, source):
                found.update(kind=kind, error=error)
    if COVERS:
        words = re.findall(r"[a-z]+|[^\sa-z]", source)
        numbers = {zlib.crc32(" ".join(two).encode()) % 5000 for two in pairwise(words)}
        if request["id"] % 2:
            found["coverage"] = sorted(numbers)
        else:
            bitmap = sum(1 << number for number in numbers).to_bytes(625, "little")
            found["coverage"] = base64.b64encode(bitmap).decode()
    if "module" in source:
        found["output"] += f"{request['module']}\n"
    return found


COVERS = "cover" in sys.argv
pause = float(sys.argv[1]) if len(sys.argv) > 1 and not COVERS else 0
for line in sys.stdin:
    request = json.loads(line)
    if pause:
        end = time.perf_counter() + pause
        while time.perf_counter() < end:
            pass
    say(json.dumps(answer(request)))
    if "then-end" in request["source"]:
        sys.exit(0)
