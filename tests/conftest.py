"""Settings for all tests: which examples Hypothesis draws, and the summary of skipped tests.

Hypothesis draws the same examples in every run, so that results can be reproduced. With
`--long`, it draws different examples each time, and twice as many. `--long` also runs the long
modes: differential tests over 100,000 inputs and more, and tests with the mark `long`.
`--few-examples` is for runs that measure coverage or compare versions of Python, while another run
tries all examples.

Tests with the mark `slow` take half of the time of all tests. They run with `--slow`, with `--long`
and in CI (SCRIPTSCHEMA_REQUIRE_REAL). Otherwise they are skipped, and the summary says so.

`.ci/run` first runs the tests on a bare machine, where the environment variable
SCRIPTSCHEMA_SKIPPED names a file to which the names of skipped tests are appended, one per line.
`--only FILE` then runs those tests on a machine that has every real component. There,
SCRIPTSCHEMA_REQUIRE_REAL=1 makes a skipped test fail.
"""

import os
import shutil
import signal
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest
from guards import Guards

FEW = 10

hypothesis.settings.register_profile(
    "long",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=False,  # in CI, Hypothesis's own default is True
)
hypothesis.settings.register_profile(
    "repeatable",
    hypothesis.settings.get_profile("long"),
    max_examples=50,
    derandomize=True,
    database=None,
)

# A shell starts a job in the background with Ctrl-C's signal ignored, and every program that the
# tests start would inherit that: tests that press Ctrl-C would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Measuring the programs that the tests start, too, doubles what a run takes: only where it is asked
# for. In the main process the variable stays, by which the workers are measured.
if "PYTEST_XDIST_WORKER" in os.environ and "SCRIPTSCHEMA_COVER_PROCESSES" not in os.environ:
    os.environ.pop("COVERAGE_PROCESS_CONFIG", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long mode of long tests")
    parser.addoption("--slow", action="store_true", help="run slow tests, too, as CI does")
    parser.addoption("--only", type=Path, metavar="FILE", help="run the tests that FILE lists")
    parser.addoption(
        "--few-examples",
        action="store_true",
        help=f"let Hypothesis try at most {FEW} examples of each property",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: only runs with --long")
    config.addinivalue_line("markers", "slow: only runs with --slow or --long, and in CI")
    hypothesis.settings.load_profile("long" if config.getoption("--long") else "repeatable")
    config.pluginmanager.register(Guards(sysconfig.get_path("purelib")))
    # Tests neither read nor change the home of the user who runs them. All servers are on this
    # machine, which a proxy would not reach.
    for name in list(os.environ):
        if name.startswith("XDG_") or name.lower().endswith("_proxy"):
            del os.environ[name]
    os.environ["HOME"] = home = tempfile.mkdtemp(prefix="home-of-tests-")
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    if only := config.getoption("--only"):
        # A module that was skipped as a whole is listed by its path.
        listed = set(only.read_text(encoding="utf-8").splitlines())
        items[:] = [i for i in items if not listed.isdisjoint({i.nodeid, i.nodeid.split("::")[0]})]
    if not (
        config.getoption("--slow")
        or config.getoption("--long")
        or os.environ.get("SCRIPTSCHEMA_REQUIRE_REAL")
    ):
        skip = pytest.mark.skip(reason="slow; run with: tox -e tests -- --slow")
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(skip)
    if not config.getoption("--few-examples"):
        return
    for item in items:
        test = getattr(item, "obj", None)
        test = getattr(test, "__func__", test)  # of a method
        own = getattr(test, "_hypothesis_internal_use_settings", None)
        if own is not None and own.max_examples > FEW:
            few = hypothesis.settings(own, max_examples=FEW)
            test._hypothesis_internal_use_settings = few


@pytest.fixture
def long_mode(request: pytest.FixtureRequest) -> bool:
    """Return whether the long mode was requested."""
    return bool(request.config.getoption("--long"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if (
        report.skipped
        and not hasattr(report, "wasxfail")
        and os.environ.get("SCRIPTSCHEMA_REQUIRE_REAL")
    ):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped where nothing may be: {report.longrepr}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the missing components at the end, one per line, with the command that installs each."""
    reasons: Counter[str] = Counter()
    skipped = terminalreporter.stats.get("skipped", [])
    if file := os.environ.get("SCRIPTSCHEMA_SKIPPED"):
        with Path(file).open("a", encoding="utf-8") as names:
            names.writelines(f"{report.nodeid}\n" for report in skipped)
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        # Of a property's example, Hypothesis adds lines that describe it.
        reasons[str(reason).removeprefix("Skipped: ").partition("\n")[0]] += 1
    if reasons:
        terminalreporter.section("not tried here")
        for reason, count in sorted(reasons.items()):
            tests = f"{count} test{'' if count == 1 else 's'}"
            terminalreporter.write_line(f"{tests:>10}  {reason}")
