"""The guards of this test suite notice the problems that they are meant to catch."""

import os
import subprocess
import sys
from pathlib import Path

CONFTEST = """
import sys; sys.path.append({tests!r})
from guards import Guards

def pytest_configure(config):
    config.pluginmanager.register(Guards({folder!r}))
"""
OFFENCES = {
    "import os; os.chdir('/')": "the working directory",
    "import os; os.umask(0o123)": "the umask",
    "import os; os.environ['HOME'] = '/x'": "the environment variable HOME",
    "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (99, 99))": "RLIMIT_NOFILE",
    "import signal as s; s.signal(s.SIGTERM, s.SIG_IGN)": "the handler of SIGTERM",
}


def run_tests(folder: Path, *bodies: str) -> subprocess.CompletedProcess[str]:
    conftest = CONFTEST.format(tests=str(Path(__file__).parent), folder=str(folder))
    (folder / "conftest.py").write_text(conftest)
    tests = [f"def test_{number}():\n    {body}\n" for number, body in enumerate(bodies)]
    (folder / "test_it.py").write_text("\n".join(tests))
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_test_that_leaves_its_process_changed_fails(tmp_path: Path) -> None:
    done = run_tests(tmp_path, "pass", *OFFENCES)
    assert done.returncode == 1, done.stdout
    assert f"{len(OFFENCES) + 1} passed, {len(OFFENCES)} errors" in done.stdout
    for complaint in OFFENCES.values():
        assert f"'{complaint}': (" in done.stdout


def test_a_run_that_leaves_a_module_half_written_fails(tmp_path: Path) -> None:
    compiled = "import py_compile as c; c.compile(__file__, {!r})".format(str(tmp_path / "a.pyc"))
    assert run_tests(tmp_path, compiled).returncode == 0
    done = run_tests(tmp_path, f"open({str(tmp_path / 'cut.pyc')!r}, 'wb').write(b'x' * 20)")
    assert done.returncode == 1, done.stdout
    assert "cut.pyc" in done.stdout
