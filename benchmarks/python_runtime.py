"""The process in which `codec.python_runtime` measures protobuf's Python runtime.

Its arguments are the number of rounds, and tasks, `encode` or `decode`. It reads the trees as a
stream from standard input. It writes a line with the name of the runtime, and then a line for each
task with the seconds of each round.
"""

import sys

import spec
from google.protobuf.internal import api_implementation

from benchmarks.timing import in_turns
from scriptschema.files import read_delimited


def main(rounds: str, *names: str) -> None:
    """Measure the tasks, if this is the runtime in Python."""
    print(api_implementation.Type())
    data = [item for _, item in read_delimited(sys.stdin.buffer)]
    if api_implementation.Type() != "python":
        return
    runtime = spec.runtime_classes()["ModuleSet"]
    parsed = [runtime.FromString(item) for item in data]
    tasks = {
        "encode": lambda: [item.SerializeToString() for item in parsed],
        "decode": lambda: [runtime.FromString(item) for item in data],
    }
    for times in in_turns({name: tasks[name] for name in names}, int(rounds)).values():
        print(*times.seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
