"""Documents as tests: `orgrest test` compared with httpyac, and a long run with many jobs.

Both read the same file of 40 requests with assertions that both understand, such as `?? status ==
200`. A second file, in which some assertions fail, shows that both reach the same verdicts.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.processes import measure, surroundings

COUNT = 40
HOLD = (
    "status == 200",
    "header content-type includes json",
    "body id == 1",
    "body list[1] == 2.5",
    "body list isArray",
    "duration < 60000",
)
FAIL = ("status == 404", "body id > 1", "body other exists", 'body contains "other"')


def document(url: str, count: int, *, failing: bool = False) -> str:
    """Return a file of requests with assertions; with `failing`, every third request fails."""
    requests = []
    for number in range(count):
        lines = [f"### r{number}", f"GET {url}?n={number}"]
        lines += [f"?? {assertion}" for assertion in HOLD]
        if failing and number % 3 == 0:
            lines.append(f"?? {FAIL[number // 3 % len(FAIL)]}")
        requests.append("\n".join(lines))
    return "\n\n".join(requests) + "\n"


def compare(folder: Path, url: str, plain: str, runs: int) -> None:
    """Print the time for 40 requests with assertions in one job, and whether the verdicts agree."""
    name = "tests.http"
    (folder / name).write_text(document(url, COUNT))
    environment = surroundings()
    ours = [sys.executable, "-m", "orgrest", "test", "--quiet", str(folder / name)]
    measured = {
        "plain urllib3": measure([sys.executable, "-c", plain, url, str(COUNT)], runs, environment),
        "orgrest test": measure(ours, runs, environment),
    }
    single = folder / "single.http"
    single.write_text(document(url, 1))
    start = measure([*ours[:-1], str(single)], runs, environment).seconds
    peer_start = measure([sys.executable, "-c", plain, url, "1"], runs, environment).seconds
    if shutil.which("httpyac"):
        # It refuses files outside the folder where it runs.
        command = ["sh", "-c", f"cd '{folder}' && exec httpyac send --all --silent {name}"]
        measured["httpyac"] = measure(command, runs, environment)
    print(f"\n{COUNT} requests with {len(HOLD)} assertions each, one job, best of {runs}:")
    for title, run in measured.items():
        print(f"  {title:22} {run.seconds:8.3f} s {run.megabytes:6.0f} MB")
    mine = measured["orgrest test"].seconds
    # The extra time of one request, compared with plain urllib3, is orgrest's start-up.
    allowed = 1.5 * measured["plain urllib3"].seconds + start - peer_start
    print(f"  beside 1.5 x plain urllib3 and start-up: {mine / allowed:.2f} (reach: 1)")
    if "httpyac" not in measured:
        print("  not installed: httpyac")
        return
    print(f"  beside httpyac: {mine / measured['httpyac'].seconds:.2f} (reach: 0.5)")
    (folder / name).write_text(document(url, COUNT, failing=True))
    same = _ours(folder, name) == _theirs(folder, name)
    print(f"  the same verdicts, where some do not hold: {'yes' if same else 'NO'}")


def _ours(folder: Path, name: str) -> list[list[bool]]:
    command = [sys.executable, "-m", "orgrest", "test", "--quiet", "--report-json", "-", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    requests = json.loads(done.stdout)["requests"]
    return [[test["passed"] for test in request["assertions"]] for request in requests]


def _theirs(folder: Path, name: str) -> list[list[bool]]:
    command = ["httpyac", "send", "--all", "--json", name]
    # Into a file: it leaves before a pipe has taken all of it.
    with (folder / "theirs.json").open("w") as out:
        subprocess.run(command, cwd=folder, stdout=out, check=False)
    requests = json.loads((folder / "theirs.json").read_text())["requests"]
    return [
        [test["status"] == "SUCCESS" for test in request["testResults"]] for request in requests
    ]


def many(folder: Path, url: str, documents: int, each: int = 20, jobs: int = 32) -> None:
    """Print how time and memory grow with the number of documents in a run with many jobs."""
    text = document(url, each)
    print(f"\n{jobs} jobs, {each} requests a document, JSON, JUnit and HTML reports:")
    for count in (documents // 4, documents // 2, documents):
        inside = folder / f"many{count}"
        inside.mkdir()
        for number in range(count):
            (inside / f"d{number:04}.http").write_text(text)
        command = [sys.executable, "-m", "orgrest", "test", "-q", "-j", str(jobs), str(inside)]
        for report in ("report-json", "junit", "html"):
            command += [f"--{report}", str(folder / f"report.{report.removeprefix('report-')}")]
        run = measure(command, 1, surroundings())
        total = count * each
        kept = json.loads((folder / "report.json").read_text())
        places = [(request["file"], request["line"]) for request in kept["requests"]]
        assert kept["summary"]["passed"] == len(places) == total
        assert places == sorted(places)
        print(
            f"  {total:6,} requests: {run.seconds:7.2f} s, {run.seconds / total * 1e3:.2f} ms "
            f"each, {run.megabytes:.0f} MB (reach: 150 MB), in order"
        )
