"""Puts orgrest into `bundled/libs`, with what its server imports: pure Python, for any machine.

Run by `npm run package`, with uv on the PATH. Exits with a message if a compiled file would come
along that the package cannot do without.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ORGREST = ROOT / "orgrest"
LIBS = HERE / "bundled" / "libs"
NEEDED = {
    "attrs", "click", "elementpath", "pygls", "python-dotenv", "python-jsonpath", "pyyaml",
    "urllib3", "websockets",
}  # fmt: skip
"""What the server, `orgrest test`, `history` and `import` import of orgrest's dependencies."""
FASTER = {"websockets/speedups", "yaml/_yaml"}
"""Compiled modules without which their packages do the same in Python."""
COMPILED = {".so", ".pyd", ".dylib", ".dll"}
LEFT_OUT = (
    ".lock",
    "bin",
    "_yaml",
    "**/tests",
    "**/__pycache__",
    "**/*.pyi",
    "**/*.c",
)


def main() -> None:
    """Make `bundled/libs` anew."""
    shutil.rmtree(LIBS, ignore_errors=True)
    project = tomllib.loads((ORGREST / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[^\w.-]", one, maxsplit=1)[0]: one for one in project["dependencies"]}
    install = ["uv", "pip", "install", "--quiet", "--python", sys.executable, "--target", str(LIBS)]
    install += ["--constraint", str(ROOT / ".ci" / "constraints.txt")]
    for more in ([names[name] for name in sorted(NEEDED)], ["--no-deps", str(ORGREST)]):
        subprocess.run([*install, *more], check=True)  # noqa: S603 - of this project's own names
    for pattern in LEFT_OUT:
        for path in LIBS.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in LIBS.rglob("*"):
        if path.suffix in COMPILED:
            name = path.relative_to(LIBS).as_posix().split(".")[0]
            if name not in FASTER:
                sys.exit(f"{path} is compiled: it would run on this kind of machine alone")
            path.unlink()
    for name in ("LICENSE", "CHANGELOG.md"):
        shutil.copyfile(ROOT / name, HERE / name)


main()
