"""Hostile inputs in the window: each is opened, moved about in, every panel shown, every command run.

``python -m tests.fuzz.campaign.window --work build/fuzz --seconds 600``. Inputs are those of
`window_inputs`; ``--kinds h5 --first 44 --count 1`` makes one again. A window is used for `BATCH` of them: what one
leaves open, or what is still at work after it, counts as bad. One that dies or holds up is followed by another.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import select
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.fuzz.campaign import actions, campaign, fork_server, window_inputs
from tests.fuzz.campaign.window_inputs import KINDS, WEIGHTS

BATCH = 60
PATIENCE_S = 900.0
"""A machine that others keep busy is slow; how long the processor may take is another matter."""
CPU_S = 60.0
GROWTH_MIB = 300


class Worker:
    """A window in another process, made when the first input is for it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self._done = 0

    def ask(self, path: Path, seed: int) -> dict[str, Any]:
        """How one input ended."""
        if self._process is None or self._done >= BATCH:
            self.end()
            self._process = self._begun()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._done += 1
        self._process.stdin.write(f"{seed} {path}\n")
        self._process.stdin.flush()
        is_there = select.select([self._process.stdout], [], [], PATIENCE_S)[0]
        line = self._process.stdout.readline() if is_there else ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            if answer["seconds"] > CPU_S:
                answer["state"] = "timeout"
            if answer["mib"] > GROWTH_MIB:
                answer["state"] = "memory"
            return answer
        if is_there:
            status = self._process.wait()
            message = (self._folder / "errors.txt").read_text(errors="replace")
            self.end()
            return {"state": "crashed", "message": f"status {status}\n{message[-2500:]}", "seconds": 0}
        self.end()
        return {"state": "timeout", "message": f"no answer in {PATIENCE_S:.0f} s", "seconds": PATIENCE_S}

    def _begun(self) -> subprocess.Popen[str]:
        home = self._folder / "home"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        environment = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
        with (self._folder / "errors.txt").open("w") as errors:
            words = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.campaign.window_worker"]
            return subprocess.Popen(
                [*words, str(home)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment,
            )  # fmt: skip

    def end(self) -> None:
        """The window, and its process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process, self._done = None, 0


def main() -> int:
    """Inputs of all kinds in turn, for as long as there is time; 1 when one ended badly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder with traces of other profilers")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=600)
    args = parser.parse_args()
    args.work = args.work.absolute()
    args.work.mkdir(parents=True, exist_ok=True)
    if "spool" in args.kinds:
        campaign.record_seeds(args.work)
    seeds = {
        kind: found for kind in args.kinds if (found := window_inputs.seeds_of(kind, args.data, args.work))
    }
    inputs = args.work / "window-in"
    shutil.rmtree(inputs, ignore_errors=True)
    inputs.mkdir()
    worker = Worker(args.work / "window")
    (args.work / "window").mkdir(exist_ok=True)
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in seeds}
    used: Counter[str] = Counter()
    weights = [WEIGHTS[KINDS.index(kind)] for kind in seeds]
    until = time.monotonic() + args.seconds
    try:
        for number in range(args.first, args.first + args.count):
            if time.monotonic() > until:
                break
            (kind,) = random.Random(number).choices(list(seeds), weights)
            outcome = attempt(worker, kind, seeds[kind], inputs, number, args.work)
            counts[kind][outcome["state"]] += 1
            used[kind] += outcome.get("seconds", 0)
    finally:
        worker.end()
        actions.empty(inputs)
    for kind, states in counts.items():
        ended = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
        each = used[kind] / max(1, sum(states.values()))
        print(f"window {kind:8} {sum(states.values()):6} inputs: {ended}; {each:.1f} s of the processor each")
    good = (*campaign.GOOD, "not made")
    return int(any(state not in good for states in counts.values() for state in states))


def attempt(
    worker: Worker, kind: str, seeds: list[Any], inputs: Path, number: int, work: Path
) -> fork_server.Outcome:
    """Make an input and have the window use it; what ends badly is kept in ``work``."""
    rng = random.Random(f"{kind} {number}")
    try:
        path, what = window_inputs.make(kind, seeds, inputs, rng)
    except campaign.MUTATORS_LIMITS:
        actions.empty(inputs)
        return {"state": "not made"}
    outcome = worker.ask(path, number) | {"what": what, "kind": kind, "number": number}
    if outcome["state"] not in campaign.GOOD:
        outcome["signature"] = campaign.signature(outcome)
        print(f"window {kind} {number}: {outcome['signature']}", file=sys.stderr)
        with (work / "found.jsonl").open("a") as file:
            file.write(json.dumps(outcome) + "\n")
        with suppress(shutil.Error):  # pipes stay behind
            shutil.copytree(inputs, work / "found" / f"window-{kind}-{number}", dirs_exist_ok=True)
    actions.empty(inputs)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
