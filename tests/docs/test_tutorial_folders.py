"""The commands that create a tutorial's folder. `test_examples.py` follows the tutorials there."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = pytest.mark.parametrize(
    ("package", "status"), [("scriptschema", 1), ("orgrest", 2)], ids=["scriptschema", "orgrest"]
)


def tutorial(package: str, folder: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", package, "tutorial", folder]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@PROGRAMS
def test_an_empty_folder_is_taken(package: str, status: int, tmp_path: Path) -> None:
    del status  # of failures
    (tmp_path / "here").mkdir()
    done = tutorial(package, "here", tmp_path)
    assert done.returncode == 0, done.stderr
    [made] = (tmp_path / "here").iterdir()
    assert made.name in done.stdout
    compile(made.read_text(), str(made), "exec")


@PROGRAMS
def test_what_is_in_a_folder_stays_and_the_reason_is_reported(
    package: str, status: int, tmp_path: Path
) -> None:
    for name in ("minify.py", "tasks.py"):
        (tmp_path / name).write_text("mine\n")
    done = tutorial(package, ".", tmp_path)
    assert done.returncode == status
    assert "the folder is not empty: choose a new one" in done.stderr
    assert {path.read_text() for path in tmp_path.iterdir()} == {"mine\n"}


@PROGRAMS
def test_a_folder_that_cannot_be_made_is_an_error_without_a_traceback(
    package: str, status: int, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    done = tutorial(package, "file/below", tmp_path)
    assert done.returncode == status
    assert "file" in done.stderr
    assert "Traceback" not in done.stderr
