"""Builds the extension's packages: `orgrest.vsix` for this machine, or those of the given targets.

Run by `npm run package [-- TARGET...]`, with uv on the PATH. A package for one kind of machine
contains uv, and the wheels of orgrest and its dependencies for each supported Python. The package
`universal`, for all other machines, contains orgrest and its pure Python dependencies.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ORGREST = ROOT / "orgrest"
BUNDLED = HERE / "bundled"
CONSTRAINTS = ROOT / ".ci" / "constraints.txt"
PYTHONS = "3.11", "3.12", "3.13", "3.14"
"""The versions that `src/python.ts` accepts for the extension's own environment."""
LINUX = "manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014"
TARGETS = {
    "linux-x64": ("x86_64-manylinux_2_28", *(f"{tag}_x86_64" for tag in LINUX)),
    "linux-arm64": ("aarch64-manylinux_2_28", *(f"{tag}_aarch64" for tag in LINUX)),
    "darwin-x64": ("x86_64-apple-darwin", "macosx_13_0_x86_64"),
    "darwin-arm64": ("aarch64-apple-darwin", "macosx_13_0_arm64"),
    "win32-x64": ("x86_64-pc-windows-msvc", "win_amd64"),
}
"""For each target of VS Code: uv's name of it, and the tags of the wheels that run on it."""
NEEDED = {
    "attrs", "click", "elementpath", "pygls", "python-dotenv", "python-jsonpath", "pyyaml",
    "urllib3", "websockets",
}  # fmt: skip
"""The dependencies of orgrest that the server, `orgrest test`, `history` and `import` need."""
ACCELERATORS = {"websockets/speedups", "yaml/_yaml"}
"""Compiled modules that their packages can replace with Python code."""
COMPILED = {".so", ".pyd", ".dylib", ".dll"}
EXCLUDED = (".lock", "bin", "_yaml", "**/tests", "**/__pycache__", "**/*.pyi", "**/*.c")
TIMESTAMP = (1980, 1, 1, 0, 0, 0)
"""The time of each file in `libs.zip`; it is fixed so that packages are reproducible."""


def run(*command: object) -> str:
    """Return the output of a command; exit with its messages if it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, check=False, capture_output=True, text=True)  # noqa: S603 - of this file
    if done.returncode:
        sys.exit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def main() -> None:
    """Build the packages that the command line names."""
    for name in ("LICENSE", "CHANGELOG.md"):
        shutil.copyfile(ROOT / name, HERE / name)
    text = (HERE / "package.json").read_text()
    for name in re.findall(r"walkthrough/(vscode-\w+\.png)", text):
        shutil.copyfile(ROOT / "docs" / name, HERE / "walkthrough" / name)
    manifest = json.loads(text)
    is_hosted = "repository" in manifest  # otherwise, pictures in the README have no URL
    unhosted = [] if is_hosted else ["--allow-missing-repository", "--no-rewrite-relative-links"]
    targets = sys.argv[1:]
    for target in targets or [this_machine()]:
        shutil.rmtree(BUNDLED, ignore_errors=True)
        BUNDLED.mkdir()
        with tempfile.TemporaryDirectory() as folder:
            if target == "universal":
                put_pure(Path(folder))
            else:
                put_wheels(target, Path(folder))
        digest = hashlib.sha256()
        for path in sorted(BUNDLED.rglob("*")):
            digest.update(path.relative_to(BUNDLED).as_posix().encode())
            digest.update(path.read_bytes() if path.is_file() else b"")
        # When this changes, the extension creates a new environment.
        (BUNDLED / "digest").write_text(digest.hexdigest()[:16])
        package = HERE / (f"orgrest-{target}.vsix" if targets else "orgrest.vsix")
        for_target = [] if target == "universal" else ["--target", target]
        vsce = HERE / "node_modules" / "@vscode" / "vsce" / "vsce"
        run("node", vsce, "package", "--no-dependencies", *unhosted, *for_target, "--out", package)
        with zipfile.ZipFile(package) as archive:
            files = len(archive.infolist())
        size = package.stat().st_size / 1e6
        sys.stdout.write(f"{package.name}: {files} files, {size:.1f} MB\n")


def this_machine() -> str:
    """Return VS Code's name for the platform of this machine, or `universal`."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower())
    name = f"{sys.platform}-{machine or platform.machine()}"
    return name if name in TARGETS else "universal"


def put_wheels(target: str, folder: Path) -> None:
    """Put uv, and wheels for each Python, into `bundled`."""
    uv_platform, *tags = TARGETS[target]
    wheels = BUNDLED / "wheels"
    run("uv", "build", "--quiet", "--wheel", "--no-create-gitignore", "--out-dir", wheels, ORGREST)
    uv = re.search(r"^uv==.*$", CONSTRAINTS.read_text(), re.MULTILINE)
    if uv is None:
        sys.exit(f"{CONSTRAINTS} has no version of uv")
    options = ["--no-deps", "--only-binary", ":all:", *(f"--platform={tag}" for tag in tags)]
    download = [sys.executable, "-m", "pip", "download", "--quiet", *options]
    run(*download, "--dest", folder, uv[0])
    put_uv(next(folder.glob("uv-*.whl")))
    for_target = ["--quiet", "--python-platform", uv_platform, "--only-binary", ":all:"]
    for python in PYTHONS:
        needed = folder / f"{python}.txt"
        options = [*for_target, "--python-version", python]
        run("uv", "pip", "compile", *options, "--constraint", CONSTRAINTS, "--no-emit-index-url",
            "--output-file", needed, ORGREST / "pyproject.toml")  # fmt: skip
        run(*download, "--dest", wheels, "--python-version", python, "--requirement", needed)
        # The same as at a user's first start, except that no wheel is unpacked.
        run("uv", "pip", "install", "--dry-run", *options, "--target", folder,
            "--no-index", "--find-links", wheels, "orgrest")  # fmt: skip


def put_uv(wheel: Path) -> None:
    """Put the program in the wheel of uv, and its licences, into `bundled`."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            match = re.search(r"/scripts/(uv(?:\.exe)?)$|/licenses/(LICENSE.*)$", name)
            if match:
                path = BUNDLED / (match[1] or f"uv.{match[2]}")
                path.write_bytes(archive.read(name))
                path.chmod(0o755 if match[1] else 0o644)


def put_pure(folder: Path) -> None:
    """Put orgrest and its pure Python dependencies into `bundled/libs.zip`."""
    project = tomllib.loads((ORGREST / "pyproject.toml").read_text())["project"]
    requirements = {
        re.split(r"[^\w.-]", line, maxsplit=1)[0]: line for line in project["dependencies"]
    }
    install = ["uv", "pip", "install", "--quiet", "--python", sys.executable, "--target", folder]
    install += ["--constraint", CONSTRAINTS]
    run(*install, *(requirements[name] for name in sorted(NEEDED)))
    run(*install, "--no-deps", ORGREST)
    for pattern in EXCLUDED:
        for path in list(folder.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    with zipfile.ZipFile(BUNDLED / "libs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.suffix in COMPILED and name.split(".")[0] not in ACCELERATORS:
                sys.exit(f"{path} is compiled, so it would only run on this kind of machine")
            if path.is_file() and path.suffix not in COMPILED:
                archive.writestr(
                    zipfile.ZipInfo(name, TIMESTAMP), path.read_bytes(), zipfile.ZIP_DEFLATED
                )


main()
