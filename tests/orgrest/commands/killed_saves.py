"""Kills a save at each of its function calls and returns: killed_saves.py FILE.

Prints the number of kills, and a line for each kill after which the file contained neither the old
nor the new text, or after which the next save left another file in the folder.
"""

import os
import signal
import sys
from itertools import count
from pathlib import Path

from orgrest.files import File, temporary

OLD, NEW = b"old\n" * 5000, b"new text\n" * 9000


def save_until(path: Path, moment: int) -> None:
    """Save the document, but kill this process at a function call or return.

    `moment` is the number of this call or return, counted from 1. Calls of C functions count, too.
    """
    file = File.read(path)
    events = count(1)

    def step(*_: object) -> None:
        if next(events) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(step)
    file.save(NEW.decode())
    sys.setprofile(None)


def main() -> None:
    path = Path(sys.argv[1])
    damaged = []
    for moment in count(1):
        path.write_bytes(OLD)
        temporary._leftovers.cache_clear()
        child = os.fork()
        if not child:
            save_until(path, moment)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            break
        if path.read_bytes() not in (OLD, NEW):
            damaged.append(f"damaged at {moment}")
        File.read(path).save("another\n")
        if left := [one.name for one in path.parent.iterdir() if one != path]:
            damaged.append(f"left at {moment}: {left}")
    sys.stdout.write("\n".join((str(moment - 1), *damaged)))


main()
