"""The guards of this test suite notice what they are there for."""

import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
import sys; sys.path.append({tests!r})
from guards import Guards

def pytest_configure(config):
    config.pluginmanager.register(Guards({folder!r}))
"""


@pytest.mark.parametrize(
    ("test", "complaint"),
    [
        ("import os; os.chdir('/')", "the working directory"),
        ("import os; os.umask(0o123)", "the umask"),
        ("import os; os.environ['HOME'] = '/x'", "the environment variable HOME"),
        ("import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (99, 99))", "RLIMIT_NOFILE"),
        ("import signal as s; s.signal(s.SIGTERM, s.SIG_IGN)", "the handler of SIGTERM"),
        ("open('cut.pyc', 'wb').write(b'x' * 20)", "cut.pyc"),
        ("import py_compile; py_compile.compile(__file__, 'whole.pyc')", None),
    ],
)
def test_a_test_that_would_spoil_others_fails(
    tmp_path: Path, test: str, complaint: str | None
) -> None:
    conftest = CONFTEST.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_it.py").write_text(f"def test_it():\n    {test}\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    if complaint is None:
        assert done.returncode == 0, done.stdout
    else:
        assert done.returncode == 1, done.stdout
        assert complaint in done.stdout
