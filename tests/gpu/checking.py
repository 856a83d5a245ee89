"""What checks on a machine with a GPU share: running and recording programs, and the rows of the table."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt
from tests.gpu.steps import Done, Steps
from tests.gpu.surroundings import PROGRAMS

from warpline.storage import Capture, open_capture

SECONDS = 60
"""A program that takes longer is killed, and its check has failed."""
NOT_HERE = 77
"""Exit status of a program that cannot run on this machine; the last line of its errors says why."""
LIBCUPTI = "libcupti in its processes"


class NotHere(Exception):
    """A check cannot run on this machine; the text says why."""


@dataclass(kw_only=True)
class Row:
    """One line of the table. ``is_good`` is None where nothing was compared because the check did not run."""

    check: str
    what: str
    expected: str
    seen: str
    is_good: bool | None


@dataclass(kw_only=True)
class Bench:
    """Runs the programs of one check and writes its rows as lines of JSON, each as soon as it is known."""

    check: str
    folder: Path
    rows: TextIO
    python: str = sys.executable
    until: float = float("inf")
    """By `time.monotonic`."""
    steps: Steps = field(default_factory=Steps)
    number: int = 0
    libcupti: set[str] = field(default_factory=set)
    """Every libcupti that processes of this check have used."""

    def write(self, what: str, expected: object, seen: object, is_good: bool | None) -> None:
        row = Row(check=self.check, what=what, expected=str(expected), seen=str(seen), is_good=is_good)
        self.rows.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
        self.rows.flush()

    def expect(self, what: str, expected: object, seen: object, is_good: bool | None = None) -> None:
        """One comparison; ``is_good`` None compares the two."""
        self.write(what, expected, seen, bool(seen == expected if is_good is None else is_good))

    def tell(self, what: str, seen: object) -> None:
        """A figure without a bar."""
        self.write(what, "–", seen, True)

    def remaining(self) -> float:
        """Seconds that the check still has."""
        return min(self.until - time.monotonic(), 3600.0)

    def program(self, name: str, *arguments: str) -> list[str]:
        return [self.python, str(PROGRAMS / name), *arguments]

    def run(
        self, command: Sequence[str], *, seconds: float = SECONDS, variables: Mapping[str, str] | None = None
    ) -> Done:
        """Run a program to its end.

        Raises NotHere when it cannot run on this machine, and TimeoutError.
        """
        seconds = min(seconds, self.remaining())
        if seconds <= 0:
            raise NotHere("no time was left")
        print("$", *command, flush=True)
        try:
            done = self.steps.run(command, seconds, {**os.environ, **(variables or {})})
        except OSError as error:
            raise NotHere(str(error)) from None
        print(
            done.output[-4000:], done.errors[-4000:], f"status {done.status}, {done.seconds:.1f} s", sep="\n"
        )
        # What was seen from outside, and what the programs say of themselves when they end.
        printed_paths = {
            line.partition("=")[2] for line in done.output.splitlines() if line.startswith("libcupti=")
        }
        if not (libcupti := done.libcupti | printed_paths) <= self.libcupti:
            self.libcupti |= libcupti
            self.tell(LIBCUPTI, " ".join(sorted(libcupti)))
        if done.leftovers and done.status is not None:
            self.expect("processes left behind", 0, done.leftovers)
        if done.status is None:
            print(done.threads)
            raise TimeoutError(f"killed after {done.seconds:.0f} s: {done.errors.strip()[-300:]}")
        if done.status == NOT_HERE:
            # The recorder's own line comes after the program's.
            lines = [line for line in done.errors.splitlines() if line and not line.startswith("warpline:")]
            raise NotHere(lines[-1] if lines else "not on this machine")
        return done

    def record(
        self,
        command: Sequence[str],
        *options: str,
        seconds: float = SECONDS,
        variables: Mapping[str, str] | None = None,
    ) -> tuple[Path, Done]:
        """``warpline record``; returns the capture's path, and what the program printed."""
        self.number += 1
        output = self.folder / f"{self.number:02d}.h5"
        recorder = [sys.executable, "-m", "warpline", "record", "-o", str(output)]
        trace = ("--trace", "cpu,nvml,nvtx,cuda")
        raw = {"WARPLINE_CUPTI_RAW": str(output.with_suffix(".raw"))}
        done = self.run(
            [*recorder, *trace, *options, "--", *command],
            seconds=seconds,
            variables={**raw, **(variables or {})},
        )
        if not output.exists():
            raise RuntimeError(f"no capture, status {done.status}: {done.errors.strip()[-400:]}")
        return output, done

    def record_and_open(
        self, command: Sequence[str], *options: str, seconds: float = SECONDS
    ) -> tuple[Capture, Done]:
        """Record a program that must succeed, and open the capture: source `cuda` is on and nothing was lost."""
        path, done = self.record(command, *options, seconds=seconds)
        self.expect("exit status", 0, done.status)
        capture = open_capture(path)
        cuda = source_state(capture, "cuda")
        self.expect("source cuda", "on", cuda, cuda.startswith("on"))
        self.expect("records lost", 0, lost(capture))
        tell_flushes(self, capture)
        return capture, done

    def alternate(
        self, command: Sequence[str], *options: str, keys: Sequence[str], rounds: int = 2
    ) -> tuple[Path, Done]:
        """Run a program plain, recorded, plain, recorded, and tell the ratio of the medians of what it prints.

        A key that the program does not print is left out.
        """
        plain: list[Done] = []
        recorded: list[Done] = []
        for _ in range(rounds):
            plain.append(self.run(command))
            path, done = self.record(command, *options)
            recorded.append(done)
        for key in keys:
            if not all(f"{key}=" in done.output for done in (*plain, *recorded)):
                continue
            before, after = ([float(printed(done, key)) for done in runs] for runs in (plain, recorded))
            self.tell(f"{key}, plain", " ".join(f"{value:.3f}" for value in before))
            self.tell(f"{key}, recorded", " ".join(f"{value:.3f}" for value in after))
            if statistics.median(before) > 0:
                ratio = statistics.median(after) / statistics.median(before)
                self.tell(f"{key}, recorded to plain", f"× {ratio:.3f}")
        return path, recorded[-1]


def counts(capture: Capture) -> dict[str, int]:
    return {name: len(table.rows) for name, table in capture.kinds.items() if len(table.rows)}


def names(capture: Capture, kind: str) -> npt.NDArray[np.str_]:
    """The name of each event of a kind."""
    if kind not in capture.kinds:
        return np.zeros(0, np.str_)
    codes = np.asarray(capture.events.name)[capture.kinds[kind].rows]
    distinct, inverse = np.unique(codes, return_inverse=True)
    return np.array([capture.strings[int(code)] for code in distinct], np.str_)[inverse]


def lost(capture: Capture) -> int:
    """Records that the capture says were lost."""
    return sum(source.lost for source in capture.sources)


def printed(done: Done, key: str) -> str:
    """The value of a ``key=value`` line of a program."""
    for line in done.output.splitlines():
        name, equals, value = line.partition("=")
        if equals and name == key:
            return value
    raise RuntimeError(f"the program did not print {key}: {done.errors.strip()[-200:]}")


def source_state(capture: Capture, name: str) -> str:
    for source in capture.sources:
        if source.name == name:
            return ("on" if source.enabled else "off") + (f", {source.reason}" if source.reason else "")
    return "absent"


def tell_flushes(bench: Bench, capture: Capture) -> None:
    """How long CUPTI's flushes of its buffers took, by its own records."""
    if "overhead" not in capture.kinds:
        return
    rows = capture.kinds["overhead"].rows[names(capture, "overhead") == "CUPTI buffer flush"]
    took = np.asarray(capture.events.duration)[rows] / 1e3
    if len(took):
        bench.tell(
            "flushes: number, median, longest", f"{len(took)}, {np.median(took):.0f} µs, {took.max():.0f} µs"
        )


def check_link_times(bench: Bench, capture: Capture) -> None:
    """A kernel starts after its launch starts, and every piece of GPU work has its launch."""
    events, links = capture.events, capture.links
    kinds = [capture.kinds[kind].rows for kind in ("kernel", "memcpy", "memset") if kind in capture.kinds]
    rows = np.concatenate([np.zeros(0, np.int64), *kinds])
    if not len(rows):
        bench.expect("GPU work", "some", "none", False)
        return
    linked = float(np.isin(rows, links.to_row).mean())
    bench.expect("GPU work with a launch", "≥ 99 %", f"{linked:.2%}", linked >= 0.99)
    calls, work = np.asarray(links.from_row), np.asarray(links.to_row)
    good = (calls >= 0) & (work >= 0) & np.isin(work, rows)
    wait = np.asarray(events.start)[work[good]] - np.asarray(events.start)[calls[good]]
    bench.expect("kernels that start before their launch", 0, int((wait < 0).sum()))
    if len(wait):
        bench.tell("median launch to start", f"{np.median(wait) / 1e3:.1f} µs")
