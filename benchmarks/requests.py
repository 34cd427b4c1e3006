"""How long evaluating requests takes: `orgrest` compared with other tools that send requests.

A small server in a separate process answers immediately. Each contender sends the same requests to
it. Each run is a new process, so that start-up counts. The best of several runs is shown, with the
maximum memory of the process. Contenders that are not installed are left out, and named.

Ratios are comparable between machines; seconds are not. The goal for one request is at most 0.15 s
more than Python needs to start. (`ratios` measures each additional request.)

Then the same requests have assertions that both orgrest and httpyac understand, such as `?? status
== 200`. A second file, in which some assertions fail, shows that both reach the same verdicts.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.processes import measure, surroundings

SERVER = """
import asyncio
ANSWER = (b'HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\n'
          b'Content-Length: 27\\r\\n\\r\\n{"id": 1, "list": [1, 2.5]}')
async def serve(reader, writer):
    try:
        while True:
            if b' /slow' in await reader.readuntil(b'\\r\\n\\r\\n'):
                await asyncio.sleep(0.01)
            writer.write(ANSWER)
    except asyncio.IncompleteReadError:
        writer.close()
async def main():
    server = await asyncio.start_server(serve, '127.0.0.1', 0, backlog=128)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
"""A server of JSON documents; its answers below /slow take ten milliseconds."""
PLAIN = """
import sys, urllib3
client = urllib3.PoolManager()
for _ in range(int(sys.argv[2])):
    client.request('GET', sys.argv[1]).data
"""
EMACS = """
(require 'url)
(dotimes (_ (string-to-number (getenv "COUNT")))
  (let (done)
    (url-retrieve (getenv "URL") (lambda (&rest _) (setq done t) (kill-buffer)) nil t t)
    (while (not done) (accept-process-output nil 0.001))))
"""
PARSE = """
import sys, time
from pathlib import Path
from orgrest.org.results import result_of
from orgrest.org.arguments import of_block
from orgrest.org.document import OrgDocument
text = Path(sys.argv[1]).read_text()
start = time.perf_counter()
document = OrgDocument(text)
middle = time.perf_counter()
for block in document.blocks:
    of_block(document, block)
    result_of(document, block)
print(middle - start, time.perf_counter() - middle, len(document.blocks))
"""

COUNT = 40
"""The number of requests with assertions."""
HOLD = (
    "status == 200",
    "header content-type includes json",
    "body id == 1",
    "body list[1] == 2.5",
    "body list isArray",
    "duration < 60000",
)
FAIL = ("status == 404", "body id > 1", "body other exists", 'body contains "other"')


def document(url: str, count: int) -> str:
    """Return a document with `count` blocks."""
    block = f"* Request\n#+begin_src restclient :noheaders\nGET {url}\n#+end_src\n\n"
    return block * count


def contenders(folder: Path, url: str, count: int) -> dict[str, list[str]]:
    """Return the command of each contender that is installed, by name."""
    notes = folder / f"{count}.org"
    notes.write_text(document(url, count))
    plain = folder / f"{count}.http"
    plain.write_text("###\n".join([f"GET {url}\n\n"] * count))
    loop = folder / "loop.el"
    loop.write_text(EMACS)
    commands = {
        "python alone": [sys.executable, "-c", "pass"],
        "plain urllib3": [sys.executable, "-c", PLAIN, url, str(count)],
        "orgrest": [sys.executable, "-m", "orgrest", "--quiet", "--stdout", str(notes)],
    }
    if shutil.which("emacs"):
        commands["Emacs, url-retrieve"] = ["emacs", "--batch", "-Q", "-l", str(loop)]
    return commands | peers(plain, url, count)


def peers(path: Path, url: str, count: int) -> dict[str, list[str]]:
    """Return the commands of peers that are installed, for the requests of a file."""
    commands = {}
    if shutil.which("curl"):
        script = f"for i in $(seq {count}); do curl -s -o {os.devnull} '{url}'; done"
        commands["curl, a process each"] = ["sh", "-c", script]
    if shutil.which("httpyac"):
        # It refuses files outside the folder where it runs.
        inside = f"cd '{path.parent}' && exec httpyac send --all --silent {path.name}"
        commands["httpyac"] = ["sh", "-c", inside]
    return commands


def compare(folder: Path, url: str, count: int, runs: int) -> None:
    """Print the times that the contenders need for `count` requests."""
    environment = surroundings(COUNT=str(count), URL=url)
    commands = contenders(folder, url, count)
    measured = {name: measure(command, runs, environment) for name, command in commands.items()}
    plain = measured["plain urllib3"].seconds
    print(f"\n{count} request{'s' if count > 1 else ''}, best of {runs}:")
    print(f"  {'':22} {'s':>8} {'MB':>6} {'beside urllib3':>15}")
    for name, run in measured.items():
        ratio = f"{run.seconds / plain:14.2f}x"
        print(f"  {name:22} {run.seconds:8.3f} {run.megabytes:6.0f} {ratio}")
    more = measured["orgrest"].seconds - measured["python alone"].seconds
    if count == 1:
        print(f"  orgrest takes {more:.3f} s more than Python's own start (reach: 0.15 s)")
    missing = [name for name in ("curl", "emacs", "httpyac") if not shutil.which(name)]
    if missing:
        print(f"  not installed: {', '.join(missing)}")


def request_file(folder: Path, url: str, count: int, runs: int) -> None:
    """Print the cost of variables and environments in a request file."""
    environment = surroundings()
    origin, _, path = url.rpartition("/")
    (folder / "http-client.env.json").write_text(json.dumps({"dev": {"origin": origin}}))
    (folder / "none.http").write_text(f"###\nGET {url}?a=1\nX-Id: 1\n\n" * count)
    using = "###\n@id = 1\nGET {{base}}/{{path}}?a={{id}}\nX-Id: {{id}}\n\n" * count
    (folder / "many.http").write_text(f"@base = {{{{origin}}}}\n@path = {path}\n{using}")
    command = [sys.executable, "-m", "orgrest", "--quiet"]
    without = measure([*command, str(folder / "none.http")], runs, environment)
    uses = measure([*command, "--env", "dev", str(folder / "many.http")], runs, environment)
    print(
        f"\n{count} requests of a file: {without.seconds:.3f} s, with variables and an environment "
        f"{uses.seconds:.3f} s: {uses.seconds / without.seconds:.2f}x (reach: 1.5x)"
    )


def parsing(folder: Path, counts: tuple[int, ...]) -> None:
    """Print the time that only reading documents takes."""
    print("\nReading only (find the blocks; their header arguments and results):")
    for count in counts:
        path = folder / "parse.org"
        path.write_text(document("http://127.0.0.1/", count))
        done = subprocess.run(
            [sys.executable, "-c", PARSE, str(path)], capture_output=True, text=True, check=True
        )
        blocks, rest, found = done.stdout.split()
        print(f"  {found:>6} blocks: {float(blocks):.3f} s + {float(rest):.3f} s")


def with_assertions(url: str, count: int, *, failing: bool = False) -> str:
    """Return a file of requests with assertions; with `failing`, every third request fails."""
    requests = []
    for number in range(count):
        lines = [f"### r{number}", f"GET {url}?n={number}"]
        lines += [f"?? {assertion}" for assertion in HOLD]
        if failing and number % 3 == 0:
            lines.append(f"?? {FAIL[number // 3 % len(FAIL)]}")
        requests.append("\n".join(lines))
    return "\n\n".join(requests) + "\n"


def compare_tests(folder: Path, url: str, runs: int) -> None:
    """Print the time for 40 requests with assertions in one job, and whether the verdicts agree."""
    name = "tests.http"
    (folder / name).write_text(with_assertions(url, COUNT))
    environment = surroundings()
    ours = [sys.executable, "-m", "orgrest", "test", "--quiet", str(folder / name)]
    measured = {
        "plain urllib3": measure([sys.executable, "-c", PLAIN, url, str(COUNT)], runs, environment),
        "orgrest test": measure(ours, runs, environment),
    }
    single = folder / "single.http"
    single.write_text(with_assertions(url, 1))
    start = measure([*ours[:-1], str(single)], runs, environment).seconds
    peer_start = measure([sys.executable, "-c", PLAIN, url, "1"], runs, environment).seconds
    commands = peers(folder / name, url, COUNT)
    if "httpyac" in commands:  # curl checks no assertions
        measured["httpyac"] = measure(commands["httpyac"], runs, environment)
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
    (folder / name).write_text(with_assertions(url, COUNT, failing=True))
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


def many_tests(folder: Path, url: str, documents: int, each: int = 20, jobs: int = 32) -> None:
    """Print how time and memory grow with the number of documents in a run with many jobs."""
    text = with_assertions(url, each)
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


@contextmanager
def serving() -> Iterator[tuple[Path, str]]:
    """Run the server; yield a temporary folder and the URL of a JSON document on the server."""
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        with tempfile.TemporaryDirectory() as name:
            yield Path(name), f"http://127.0.0.1:{int(server.stdout.readline())}/json"
    finally:
        server.kill()
        server.communicate()


def main(smoke: bool) -> None:
    """Print all figures; with `smoke`, only check that the measurement works."""
    runs, many, blocks = (1, 5, (50, 200)) if smoke else (5, 500, (5_000, 20_000))
    with serving() as (folder, url):
        compare(folder, url, 1, runs)
        compare(folder, url, many, runs if smoke else 3)
        request_file(folder, url, many, runs)
        parsing(folder, blocks)
        compare_tests(folder, url, runs)
        many_tests(folder, url, 8 if smoke else 500)
