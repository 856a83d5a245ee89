"""Hostile inputs by the thousand, in process, which is a fork: ``python -m tests.fuzz.campaign.campaign``.

Each input is made from its kind and its number alone: ``--kinds json --first 4711 --count 1`` makes one again. What
does not end well is kept in ``--work``, with a line in ``found.jsonl``; a table of how the inputs ended is printed, and
the exit status is 1 when one ended badly.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from tests.fuzz.campaign import (
    actions,
    fork_server,
    format_seeds,
    mutate_h5,
    mutate_json,
    mutate_spool,
    mutate_sqlite,
    small_seeds,
    values_in_place,
)

KINDS = ("h5", "json", "sqlite", "pb", "profile", "spool", "other")
GOOD = ("ok", "refused")
MUTATORS_LIMITS = (ValueError, TypeError, KeyError, OSError, AttributeError, RecursionError)
FORMATS = Path(__file__).resolve().parents[2] / "data" / "format"
# Threads that wait and compute, ranges, a child: something of each in the spool.
_PROGRAM = """
import subprocess, threading, time
def work():
    for _ in range(5):
        sum(range(2000)); time.sleep(0.001)
threads = [threading.Thread(target=work) for _ in range(2)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
subprocess.run(["true"])
print(flush=True)
time.sleep(20)
"""
KEPT = 3
"""Inputs of one signature; of more only the number is told."""


MAKING = ".making"
"""A file beside an input while it is made: HDF5 crashes when it changes what an earlier change has damaged."""


def signature(outcome: dict[str, Any]) -> str:
    """The same for the same defect: the last frame of ours, and the exception without its numbers."""
    lines = outcome["message"].strip().splitlines()
    frames = re.findall(r'File "[^"]*?/(warpline(?:_app)?/[^"]+)", line (\d+)', outcome["message"])
    last = re.sub(r"[0-9]+", "#", lines[-1])[:160] if lines else ""
    return f"{outcome['state']} {':'.join(frames[-1]) if frames else ''} {last}"


def seeds_of(kind: str, data: Path | None, work: Path) -> list[Any]:
    """What inputs of a kind are made from: captures and spools of ours, traces of others in ``data``."""
    folder = work / "seeds"
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "h5":
        return [*small_seeds.captures(folder) * 8, *sorted(FORMATS.glob("*.h5"))]
    if kind == "spool":
        return [*small_seeds.spools(folder), *sorted(folder.glob("killed*.spool"))]
    if kind == "json":
        others = mutate_json.seeds(data, small_seeds.JSON_BYTES) if data else []
        return small_seeds.own_traces() + others
    if kind == "pb":
        return format_seeds.protobuf(data)
    if kind == "profile":
        return format_seeds.profiles()
    if kind == "sqlite":
        return format_seeds.databases(folder) + (small_seeds.small_databases(data, folder) if data else [])
    return small_seeds.small_files(data) if data else []


def record_seeds(work: Path) -> None:
    """The spool of a recording whose recorder was killed, and then its program."""
    spool = work / "seeds" / "killed.h5.spool"
    if spool.exists():
        return
    spool.parent.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-P", "-m", "warpline", "record", "-q", "-o", str(spool.with_suffix(""))]
    with subprocess.Popen(
        [*words, "--", sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, start_new_session=True
    ) as recorder:
        assert recorder.stdout is not None
        recorder.stdout.readline()
        os.killpg(recorder.pid, signal.SIGKILL)


def make(kind: str, seeds: list[Any], folder: Path, rng: random.Random) -> tuple[Path, str]:
    """Write an input of a kind into a folder; returns it and what was done to its seed."""
    seed = rng.choice(seeds)
    if kind == "h5":
        path = folder / "x.h5"
        # What the library has to write takes ten times as long, and is refused more often.
        mutator = mutate_h5 if rng.random() < 0.25 else values_in_place
        return path, f"{seed.name}: {mutator.mutate(seed, path, rng)}"
    if kind == "other":
        path = folder / seed.name
        path.write_bytes(mutate_json.by_bytes(seed.read_bytes(), rng))
        return path, seed.name
    if kind == "json":
        content, what = mutate_json.mutate(seed[1], rng)
        path = folder / rng.choice(["x.json", "x.json", "rank3.json", "x.pt.trace.json.gz"])
        path.write_bytes(content)
        return path, f"{seed[0]}: {what}"
    if kind == "sqlite":
        path = folder / f"x{seed.suffix}"
        return path, f"{seed.name}: {mutate_sqlite.mutate(seed, path, rng)}"
    if kind in ("pb", "profile"):
        path = folder / seed.file_name
        path.write_bytes(seed.mutate(seed.content, rng))
        return path, seed.name
    path = folder / "x.h5.spool"
    return path, f"{seed.name}: {mutate_spool.mutate(seed, path, rng)}"


ACTIONS: dict[str, Callable[[Path, random.Random, Path], None]] = {
    "h5": actions.exercise,
    "spool": actions.recovered,
}


def attempt(kind: str, seeds: list[Any], inputs: Path, out: Path, number: int) -> fork_server.Outcome:
    """Make one input, do with it what is done with its kind, and tell how that ended and what was done to its seed."""
    rng = random.Random(f"{kind} {number}")
    making = inputs / MAKING
    actions.empty(inputs)
    making.touch()
    try:
        path, what = make(kind, seeds, inputs, rng)
        making.unlink()
    except MUTATORS_LIMITS:
        actions.empty(inputs)
        return {"state": "not made", "message": "", "what": "", "seconds": 0}
    outcome = fork_server.judged(lambda: ACTIONS.get(kind, actions.convert)(path, rng, out))
    left = [name for name in actions.empty(out) if not re.match(r"made\.h5$|export", name)]
    if left and outcome["state"] in GOOD:
        outcome.update(state="left behind", message=", ".join(left))
    actions.empty(inputs)
    return outcome | {"what": what}


def run_kind(kind: str, seeds: list[Any], work: Path, first: int, count: int, seconds: float) -> Counter[str]:
    """How so many inputs of a kind ended, or those that ``seconds`` are enough for."""
    inputs, out = work / f"{kind}-in", work / f"{kind}-out"
    for folder in (inputs, out):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    counts: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    until = time.monotonic() + seconds
    of_number = partial(attempt, kind, seeds, inputs, out)
    for number, outcome in fork_server.attempts(of_number, first, first + count):
        # Only who was ended stands still: others are at the next input by now.
        if outcome["state"] in ("crashed", "timeout") and (inputs / MAKING).exists():
            outcome["state"] = "not made"
        counts[outcome["state"]] += 1
        if outcome["state"] not in (*GOOD, "not made"):
            seen[signature(outcome)] += 1
            if seen[signature(outcome)] <= KEPT:
                _keep(work, kind, number, seeds, outcome)
        if time.monotonic() > until:
            break
    for folder in (inputs, out):
        actions.empty(folder)
    for text, times in seen.items():
        print(f"{times:6} times: {text}", file=sys.stderr)
    return counts


def _keep(work: Path, kind: str, number: int, seeds: list[Any], outcome: fork_server.Outcome) -> None:
    """Note an outcome, and make its input once more to lie beside the note."""
    outcome |= {"kind": kind, "number": number, "signature": signature(outcome)}
    with (work / "found.jsonl").open("a") as file:
        file.write(json.dumps(outcome) + "\n")
    print(f"{kind} {number}: {outcome['signature']}", file=sys.stderr)
    folder = work / "found" / f"{kind}-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with suppress(*MUTATORS_LIMITS):
        make(kind, seeds, folder, random.Random(f"{kind} {number}"))


def main() -> int:
    """The whole campaign, each kind for its share of the time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--data", type=Path, help="a folder with traces of other profilers")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--no-recording", action="store_true", help="without a seed that is recorded here")
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=600, help="of all kinds together")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    os.environ["XDG_CACHE_HOME"] = str(args.work / "cache")
    if "spool" in args.kinds and not args.no_recording:
        record_seeds(args.work)
    seeds = {kind: seeds_of(kind, args.data, args.work) for kind in args.kinds}
    kinds = [kind for kind in args.kinds if seeds[kind]]
    actions.preload()
    bad = 0
    for kind in kinds:
        counts = run_kind(kind, seeds[kind], args.work, args.first, args.count, args.seconds / len(kinds))
        bad += sum(count for state, count in counts.items() if state not in (*GOOD, "not made"))
        ended = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
        print(f"{kind:8} {sum(counts.values()):8} inputs: {ended}")
    for kind in sorted(set(args.kinds) - set(kinds)):
        print(f"{kind:8} nothing to make inputs from (--data)")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
