"""The documents in `examples/` are valid: every request in them can be completed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from evaluated import Evaluated

from orgrest.files import File
from orgrest.http.values import Inputs

EXAMPLES = Path(__file__).parents[3] / "examples" / "orgrest"


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.org")))
def test_every_request_of_an_example_is_complete(name: str, tmp_path: Path) -> None:
    (tmp_path / "report.csv").write_text("a,b\n")
    environ = {**os.environ, "GITHUB_TOKEN": "token", "SHOP_PASSWORD": "password"}
    inputs = Inputs(directory=tmp_path, environ=environ)
    done = Evaluated(File.read(EXAMPLES / name).text, inputs, file=name, dry_run=True)
    assert len(done.plan.steps) >= 5
    outcomes = done.outcomes
    assert [str(outcome.reason) for outcome in outcomes if outcome.state == "failed"] == []
    sent = [exchange.request.url for outcome in outcomes for exchange in outcome.exchanges]
    assert all(url.startswith("http") for url in sent)
    assert len(sent) >= 5
