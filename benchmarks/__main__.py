"""`python -m benchmarks`: runs the named benchmarks, or all of them."""

import argparse
import contextlib
import importlib
import io
import sys
from pathlib import Path

BENCHMARKS = {
    "ratios": "benchmarks.ratios",
    "codec": "benchmarks.codec",
    "generate": "benchmarks.generation",
    "distribution": "benchmarks.distribution",
    "programs": "benchmarks.programs",
    "corpora": "benchmarks.corpora",
    "power": "benchmarks.power",
    "mutation": "benchmarks.mutation",
    "reduction": "benchmarks.reduction",
    "campaign": "benchmarks.campaign",
    "requests": "benchmarks.requests",
    "editor": "benchmarks.editor",
}
"""The modules of the benchmarks by name; each has `main(smoke: bool) -> None`."""


def main() -> None:
    """Run the benchmarks that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}")
    parser.add_argument("--smoke", action="store_true", help="see that they run; no figures")
    options = parser.parse_args()
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    # The tests' hand-typed tables and plain pure-protobuf twins are peers here.
    sys.path.append(str(Path(__file__).parent.parent / "tests" / "scriptschema"))
    for name in options.names or BENCHMARKS:
        run = importlib.import_module(BENCHMARKS[name]).main
        if options.smoke:  # the figures of such a short run would mislead
            with contextlib.redirect_stdout(io.StringIO()):
                run(smoke=True)
            print(f"{name}: ran", flush=True)
        else:
            print(f"== {name} ==\n", flush=True)
            run(smoke=False)


if __name__ == "__main__":
    main()
