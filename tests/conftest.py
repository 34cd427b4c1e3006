"""For all tests: how much Hypothesis does, and that nothing is skipped where nothing may be.

`pytest --long` runs the differential tests over 100,000 inputs and more. With the environment
variable SCRIPTSCHEMA_REQUIRE_REAL=1, as in `.ci/run`, a skipped test fails: there, every real
component that a test needs has been installed.
"""

import os
from collections.abc import Generator

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "normal", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("normal")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long mode of long tests")


@pytest.fixture
def long_mode(request: pytest.FixtureRequest) -> bool:
    """Whether the long mode was asked for."""
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
