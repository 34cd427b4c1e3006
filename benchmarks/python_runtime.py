"""The process in which `codec` measures protobuf's Python runtime; see `codec.PythonRuntime`.

It reads a line with the number of trees, the trees as a stream, and a line for each measurement,
`encode` or `decode`. It writes a line with the name of the runtime, and a line with the seconds of
each measurement.
"""

import sys
from itertools import islice

import spec
from google.protobuf.internal import api_implementation

from benchmarks.timing import clock
from scriptschema.files import read_delimited


def main() -> None:
    """Answer requests until the end of standard input."""
    source = sys.stdin.buffer
    count = int(source.readline())
    print(api_implementation.Type(), flush=True)
    data = [item for _, item in islice(read_delimited(source), count)]
    if len(data) < count:
        return
    runtime = spec.runtime_classes()["ModuleSet"]
    parsed = [runtime.FromString(item) for item in data]
    tasks = {
        b"encode": lambda: [item.SerializeToString() for item in parsed],
        b"decode": lambda: [runtime.FromString(item) for item in data],
    }
    for line in source:
        print(clock(tasks[line.strip()]), flush=True)


if __name__ == "__main__":
    main()
