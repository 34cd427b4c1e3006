"""`python -m benchmarks`: runs the benchmarks that are named, or all."""

import argparse
import importlib
import sys
from pathlib import Path

BENCHMARKS = {
    "codec": "benchmarks.codec",
    "generate": "benchmarks.generation",
    "distribution": "benchmarks.distribution",
    "programs": "benchmarks.programs",
    "requests": "benchmarks.requests",
    "editor": "benchmarks.editor",
}
"""The modules by name; each has `main(smoke: bool) -> None`."""


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}")
    parser.add_argument("--smoke", action="store_true", help="run briefly; figures mean nothing")
    options = parser.parse_args()
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    # The tests' hand-typed tables and plain pure-protobuf twins are peers here.
    sys.path.append(str(Path(__file__).parent.parent / "tests" / "scriptschema"))
    for name in options.names or BENCHMARKS:
        print(f"== {name} ==\n", flush=True)
        importlib.import_module(BENCHMARKS[name]).main(options.smoke)


if __name__ == "__main__":
    main()
