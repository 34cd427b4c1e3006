"""Runs the official Luau implementation (pluau from PyPI) as a service.

    python pluau_service.py

`persistent.py` describes the protocol. To start quickly, this module imports nothing from this
package, and only the extension module of pluau. (The Python code of pluau 0.1.2 needs Python 3.12.)
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

PRELUDE = """
local write = ...
local concat, tostring, pack = table.concat, tostring, table.pack
local size = 0
return function(...)
  local texts = pack(...)
  for position = 1, texts.n do texts[position] = tostring(texts[position]) end
  write(concat(texts, "\\t"))
end
"""

LEVELS = {"-O0": 0, "-O1": 1, "-O2": 2}
MOST = 1_000_000


class _Over(Exception):  # noqa: N818  # ends a program, not an error
    """The program exceeded its time or output limit."""


def load() -> Any:
    """Return the extension module of pluau. Raises ImportError."""
    for folder in map(Path, sys.path):
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = folder / "pluau" / f"_pluau{suffix}"
            if path.is_file():
                spec = importlib.util.spec_from_file_location("_pluau", path)
                if spec is not None and spec.loader is not None:
                    module = importlib.util.module_from_spec(spec)
                    spec.loader.exec_module(module)
                    return module
    raise ImportError("pluau is not installed")


def run(pluau: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Run the program of a request, and return the answer."""
    printed: list[str] = []
    size = 0
    over = ""
    answer = {"id": request["id"], "kind": "ok", "output": "", "error": ""}
    end = time.monotonic() + request["milliseconds"] / 1000

    def write(_lua: Any, arguments: Any) -> None:
        data = bytes(arguments[0].as_bytes())
        nonlocal size, over
        size += len(data) + 1
        if size > MOST:
            over = "flood"
            raise _Over("printed more than a megabyte")
        printed.append(
            "".join(chr(b) if 32 <= b < 127 or b in (9, 10) else f"\\x{b:02x}" for b in data)
        )

    def interrupt(_lua: Any) -> Any:
        nonlocal over
        if over or time.monotonic() > end:
            over = over or "hang"
            raise _Over("ran for too long")
        return pluau.VmState.Continue

    lua = pluau.Lua()
    lua.set_memory_limit(request["megabytes"] << 20)
    level = LEVELS.get(request["variant"], 1)
    lua.set_compiler(pluau.Compiler(level, 1, 0, 0))
    [own_print] = lua.load_chunk(PRELUDE, name="=prelude").call(lua.create_function(write))
    lua.globals().set("print", own_print)
    loaded: list[Any] = []

    def require(own: Any, _path: Any) -> Any:  # a reference to `lua` would keep it alive
        if request["module"] is None:
            raise RuntimeError("the program has no module")
        if not loaded:
            loaded.extend(own.load_chunk(request["module"], name="=module").call())
        return loaded[0]

    lua.globals().set("require", lua.create_function(require))
    # Before the program is loaded: code loaded earlier cannot assign to globals.
    lua.sandbox(enabled=True)
    try:
        program = lua.load_chunk(request["source"], name="=source")
    except Exception as error:
        return {**answer, "kind": "rejected", "error": _message_of(error)}
    lua.set_interrupt(interrupt)
    try:
        program.call()
    except Exception as error:
        answer.update(kind=over or "error", error=_message_of(error))
    loaded.clear()
    answer["output"] = "".join(line + "\n" for line in printed)
    return answer


def _message_of(error: Exception) -> str:
    """Return Luau's message without pluau's prefix and suffix."""
    text = str(error).partition("\nstack traceback:")[0]
    for prefix in ("runtime error: ", "syntax error: "):
        text = text.removeprefix(prefix)
    return text


def main() -> None:
    """Answer requests until the end of standard input."""
    try:
        pluau = load()
    except ImportError as error:
        sys.exit(str(error))
    answers = os.fdopen(os.dup(1), "w")  # pluau itself prints to standard output
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        answers.write(json.dumps(run(pluau, json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
