"""How long evaluating requests takes: `orgrest` compared with other tools that send requests.

A small server in a separate process answers immediately. Each contender sends the same requests to
it. Each run is a new process, so that start-up counts. The best of several runs is shown, with the
maximum memory of the process. Contenders that are not installed are left out, and named.

Ratios are comparable between machines; seconds are not. The goal for one request is at most 0.15 s
more than Python needs to start. The goal for each additional request is at most 1.5 times urllib3's
time.
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

from benchmarks import runs as test_runs
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
from orgrest.org.arguments import Inherited, of_block
from orgrest.org.document import OrgDocument
text = Path(sys.argv[1]).read_text()
start = time.perf_counter()
document = OrgDocument(text)
middle = time.perf_counter()
inherited = Inherited(document)
for block in document.blocks:
    of_block(block, inherited)
    result_of(document, block)
print(middle - start, time.perf_counter() - middle, len(document.blocks))
"""


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
    if shutil.which("curl"):
        script = f"for i in $(seq {count}); do curl -s -o {os.devnull} '{url}'; done"
        commands["curl, a process each"] = ["sh", "-c", script]
    if shutil.which("emacs"):
        commands["Emacs, url-retrieve"] = ["emacs", "--batch", "-Q", "-l", str(loop)]
    if shutil.which("httpyac"):
        # It refuses files outside the folder where it runs.
        inside = f"cd '{folder}' && exec httpyac send --all --silent {plain.name}"
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


def overhead(folder: Path, url: str, counts: tuple[int, int], runs: int) -> None:
    """Print the cost of each additional request, without start-up."""
    environment = surroundings()
    each: dict[str, float] = {}
    for name in ("plain urllib3", "orgrest"):
        few, many = (
            measure(contenders(folder, url, count)[name], runs, environment).seconds
            for count in counts
        )
        each[name] = (many - few) / (counts[1] - counts[0])
    added = each["orgrest"] / each["plain urllib3"] - 1
    print(
        f"\nEach additional request: plain urllib3 {each['plain urllib3'] * 1e3:.2f} ms, "
        f"orgrest {each['orgrest'] * 1e3:.2f} ms: it adds {added:.2f}x (reach: 1.5x)"
    )


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
        overhead(folder, url, (1, many), runs)
        request_file(folder, url, many, runs)
        parsing(folder, blocks)
        test_runs.compare(folder, url, PLAIN, runs)
        test_runs.many(folder, url, 8 if smoke else 500)


if __name__ == "__main__":
    main("--smoke" in sys.argv)
