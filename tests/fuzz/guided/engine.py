"""Runs inputs of a target, counts how they end and keeps those that end badly; with guidance and without."""

from __future__ import annotations

import hashlib
import json
import mmap
import random
import struct
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from tests.fuzz.campaign import fork_server
from tests.fuzz.campaign.campaign import GOOD, KEPT, MUTATORS_LIMITS, signature
from tests.fuzz.guided.target import Target

STATES = fork_server.CLASSES
_COUNTS = struct.Struct(f"<{len(STATES)}Q")
_HUNG_SECONDS = 240
"""By the clock, for one input; others may keep the machine busy, so the processor's time decides before that."""
_UNFIT = (*MUTATORS_LIMITS, LookupError)
"""What changing an input may end in that is none of its kind any more."""
_BY_MEANING = 0.5
"""Of changes, those of what an input means; the others are of its bytes."""


class Counts:
    """How inputs ended, in a file that outlives a crash."""

    def __init__(self, path: Path) -> None:
        with path.open("w+b") as file:
            file.truncate(_COUNTS.size)
            self._map = mmap.mmap(file.fileno(), _COUNTS.size)
        self._values = [0] * len(STATES)

    def add(self, state: str) -> None:
        """One more."""
        self._values[STATES.index(state)] += 1
        _COUNTS.pack_into(self._map, 0, *self._values)


def read_counts(path: Path) -> Counter[str]:
    """What `Counts` left."""
    raw = path.read_bytes()[: _COUNTS.size] if path.exists() else b""
    values = _COUNTS.unpack(raw) if len(raw) == _COUNTS.size else [0] * len(STATES)
    return Counter(dict(zip(STATES, values, strict=True)))


class Judge:
    """Runs inputs, counts how they end, and keeps those that end badly."""

    def __init__(self, target: Target, work: Path) -> None:
        self._target = target
        self._work = work
        self._counts = Counts(work / f"{target.name}.counts")
        self._notes = work / "found.jsonl"
        self._seen: Counter[str] = Counter()
        if self._notes.exists():
            self._seen.update(json.loads(line)["signature"] for line in self._notes.read_text().splitlines())

    def __call__(self, data: bytes, origin: str = "") -> str:
        """How one input ended."""
        outcome = fork_server.judged(lambda: self._target.run(data))
        state: str = outcome["state"]
        self._counts.add(state)
        if state not in GOOD:
            self._keep(data, outcome, origin)
        return state

    def _keep(self, data: bytes, outcome: dict[str, Any], origin: str) -> None:
        name = f"{self._target.name} {signature(outcome)}"
        self._seen[name] += 1
        if self._seen[name] > KEPT:
            return
        path = self._work / "found" / f"{self._target.name}-{hashlib.sha1(data).hexdigest()[:12]}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        note = outcome | {"signature": name, "file": path.name, "origin": origin}
        with self._notes.open("a") as file:
            file.write(json.dumps(note) + "\n")


def blind(target: Target, seeds: list[bytes], number: int) -> bytes:
    """The input of a number: a seed, changed."""
    rng = random.Random(f"{target.name} {number}")
    data = rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 2, 4))):
        try:
            data = (target.mutate or by_bytes)(data, rng)[: target.most_bytes]
        except _UNFIT:
            data = by_bytes(data, rng)
    return data


def by_bytes(data: bytes, rng: random.Random) -> bytes:
    """Some bytes are others, more or fewer."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 2, 8))):
        at = rng.randrange(len(out) + 1)
        action = rng.randrange(4)
        if action == 0:
            out[at:at] = rng.randbytes(rng.choice((1, 4, 8)))
        elif action == 1:
            del out[at : at + rng.choice((1, 2, 16))]
        elif action == 2:
            out[at : at + 1] = bytes((rng.choice((0, 1, 127, 128, 255, rng.randrange(256))),))
        else:
            piece = out[at : at + rng.choice((2, 8, 40))]
            out[at:at] = piece
    return bytes(out)


def guided(target: Target, seeds: list[bytes], work: Path, seconds: float, atheris: Any) -> None:
    """libFuzzer's loop, which ends the process."""
    corpus, found = work / "corpus" / target.name, work / "found"
    for folder in (corpus, found):
        folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        path = corpus / hashlib.sha1(seed).hexdigest()
        if not path.exists():
            path.write_bytes(seed[: target.most_bytes])
    words = work / f"{target.name}.dict"
    words.write_text(
        "".join('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in target.words if word)
    )
    judge = Judge(target, work)

    def one(data: bytes) -> None:
        judge(data)

    def change(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if target.mutate is not None and rng.random() < _BY_MEANING:
            try:
                return target.mutate(data, rng)[:most]
            except _UNFIT:
                pass
        changed: bytes = atheris.Mutate(data, most)
        return changed

    options = [
        f"-max_total_time={max(1, round(seconds))}",
        f"-max_len={target.most_bytes}",
        f"-timeout={_HUNG_SECONDS}",
        f"-artifact_prefix={found}/{target.name}-",
        "-rss_limit_mb=0",
        "-reload=0",
    ]
    if target.words:
        options.append(f"-dict={words}")
    atheris.Setup([sys.argv[0], str(corpus), *options], one, custom_mutator=change)
    atheris.Fuzz()


def unguided(target: Target, seeds: list[bytes], work: Path, first: int, count: int, seconds: float) -> None:
    judge, until = Judge(target, work), time.monotonic() + seconds
    for number in range(first, first + count):
        judge(blind(target, seeds, number), f"number {number}")
        if time.monotonic() > until:
            return


def replay(target: Target, paths: list[Path]) -> int:
    """Run files, or all in a folder; 1 when one ended badly."""
    bad = 0
    files = [file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    for file in files:
        data = file.read_bytes()
        outcome = fork_server.judged(partial(target.run, data))
        if outcome["state"] not in GOOD:
            bad += 1
            print(f"{file}: {outcome['state']}\n{outcome['message']}")
    print(f"{target.name}: {len(files)} inputs, {bad} ended badly")
    return int(bad > 0)
