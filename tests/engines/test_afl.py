"""AFL++ with the custom mutator, on the toy interpreter: finds, queue and statistics."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import attr
import pytest

import scriptschema
from scriptschema.fuzzing.operators import OPERATORS
from scriptschema.fuzzing.targets import leftovers

# AFL++'s own Python finds modules by PYTHONPATH only.
PATHS = {str(Path(module.__file__ or "").parents[1]) for module in (scriptschema, attr)}
OURS = {
    "AFL_PYTHON_MODULE": "scriptschema.fuzzing.afl",
    "AFL_CUSTOM_MUTATOR_ONLY": "1",
    "PYTHONPATH": os.pathsep.join(PATHS),
    "PYTHONDONTWRITEBYTECODE": "1",
}
EVERYWHERE = {
    "AFL_NO_UI": "1",
    "AFL_NO_AFFINITY": "1",
    "AFL_SKIP_CPUFREQ": "1",
    "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1",
}


@pytest.fixture(scope="session")
def afl_toy(build: Any) -> Path:
    return build("afl", "afl-cc")


def start(
    seeds: Path, out: Path, toy: Path, seconds: int, **settings: str
) -> subprocess.Popen[bytes]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    with log_of(out).open("wb") as log:
        return subprocess.Popen(
            ["afl-fuzz", "-i", seeds, "-o", out, "-t", "1000", "-V", str(seconds), "--", toy],
            env={**clean, **EVERYWHERE, **settings, leftovers.OWNER: leftovers.engine_mark()},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def log_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.log")


def fuzz(seeds: Path, out: Path, toy: Path, seconds: int, **settings: str) -> dict[str, str]:
    """Run AFL++ until it ends, and return its statistics."""
    process = start(seeds, out, toy, seconds, **settings)
    try:
        process.wait(timeout=seconds + 60)
    finally:
        end(process)
    assert process.returncode == 0, log_of(out).read_text(errors="replace")[-2000:]
    lines = (out / "default" / "fuzzer_stats").read_text().splitlines()
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill AFL++ and its target, which is in another session and may be stopped."""
    process.kill()
    process.wait()
    leftovers.end_marked(leftovers.engine_mark())


def test_a_bug_behind_nested_constructs_is_found_which_byte_havoc_does_not_reach(
    afl_toy: Path, toy: Path, seeds: Path, tmp_path: Path, long_mode: bool
) -> None:
    started = time.monotonic()
    found = fuzz(seeds, tmp_path / "ours", afl_toy, 120, **OURS, AFL_BENCH_UNTIL_CRASH="1")
    took = 120 if long_mode else int(time.monotonic() - started) + 1
    crashes = [*(tmp_path / "ours" / "default" / "crashes").glob("id:*")]
    assert crashes
    assert float(found["stability"].rstrip("%")) > 90
    # A crash replays as it is.
    with crashes[0].open("rb") as source:
        assert subprocess.run([toy], stdin=source).returncode == -signal.SIGABRT

    havoc = fuzz(seeds, tmp_path / "havoc", afl_toy, min(took, 120), AFL_BENCH_UNTIL_CRASH="1")
    assert havoc["saved_crashes"] == "0"


def test_a_killed_run_continues_and_its_folder_tells_what_the_operators_did(
    afl_toy: Path, seeds: Path, tmp_path: Path
) -> None:
    (seeds / "no Luau").write_bytes(b"\xff\x00 end ((")
    instance = tmp_path / "out" / "default"
    process = start(seeds, tmp_path / "out", afl_toy, 300, **OURS)

    def queue() -> list[str]:
        return [path.name for path in instance.glob("queue/id:*")]

    def by_operators(names: list[str]) -> list[str]:
        return [name for name in names if any(operator.name in name for operator in OPERATORS)]

    try:
        # Chance decides which operator is useful first, so the run continues until one was.
        while len(before := queue()) < 30 or not by_operators(before):
            assert process.poll() is None, log_of(tmp_path / "out").read_text(errors="replace")
            time.sleep(0.1)
    finally:
        end(process)

    fuzz(seeds, tmp_path / "out", afl_toy, 3, **OURS, AFL_AUTORESUME="1")
    after = queue()
    assert len(after) >= len(before)
    assert by_operators(after)
    table = (instance / "scriptschema.txt").read_text()
    assert "operator " in table
    assert "sources read" in table
