"""Writes a campaign as fast as it can until it is killed: killed.py FOLDER LOG ROUNDS.

LOG gets a line for each find and each tree of the corpus as soon as it is reported as written.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from scriptschema import wire
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Reduced, Suspect
from scriptschema.fuzzing.campaign.folder import Campaign
from scriptschema.fuzzing.campaign.fuzzer import Batch
from scriptschema.fuzzing.campaign.session import State
from scriptschema.fuzzing.corpora.folder import name_of
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets.description import Description
from scriptschema.generation.programs import program

TREES = [wire.encode(program(seed=seed, size=40)) for seed in range(200)]


def write(folder: Path, log: int, ready: int, number: int) -> None:
    def on_event(event: dict[str, object]) -> None:
        if event["event"] == "find":
            os.write(log, f"find {event['name']}\n".encode())
            os.write(ready, b"x")

    with Campaign(folder, Config(targets=(Description("command", "cat"),))) as campaign:
        state = State(campaign, on_event)
        os.write(ready, b"x")
        for data in TREES[number % 100 :]:
            number += 1
            batch = Batch(kept=[data])
            batch.interval.errors[f"error {number}"] = 1
            verdict = Verdict(Signature("assertion", f"x {number}"), "bad")
            batch.suspects.append(Suspect(data, verdict, [], {}))
            for kept in state.take(batch):
                os.write(log, f"tree {name_of(kept)}\n".encode())
            suspect = state.triage.next()
            if suspect is not None:
                done = Reduced(suspect.data, 3, suspect.verdict, [], frozenset(), frozenset(), 1)
                state.triage.reduced(suspect, done)
            state.triage.again(verdict.signature, 1)
            state.write()


def main() -> None:
    folder, log_path, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    delays = random.Random(1)
    for number in range(rounds):
        awaited, ready = os.pipe()
        child = os.fork()
        if not child:
            write(folder, log, ready, number * 7)
            os._exit(0)
        os.close(ready)
        for _ in range(1 + number % 4):  # so many things are there
            if not os.read(awaited, 1):
                raise SystemExit("the process that writes has failed")
        os.close(awaited)
        time.sleep(delays.uniform(0, 0.01))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


main()
