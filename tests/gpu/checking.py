"""What checks on a machine with a GPU share: running and recording programs, and the rows of the table."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from warpline.storage import Capture

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().parent / "programs"
SECONDS = 90
"""A program that takes longer is ended, and its check has failed."""


class NotHere(Exception):
    """A check cannot run on this machine; the text says why."""


@dataclass
class Row:
    """One line of the table."""

    check: str
    what: str
    expected: str
    seen: str
    is_good: bool | None


@dataclass
class Bench:
    """Where things go, and what was seen."""

    folder: Path
    python: str = sys.executable
    until: float = float("inf")
    rows: list[Row] = field(default_factory=list)
    check: str = ""
    number: int = 0

    def expect(self, what: str, expected: object, seen: object, is_good: bool | None = None) -> None:
        """One comparison; ``is_good`` None compares the two."""
        good = seen == expected if is_good is None else is_good
        self.rows.append(Row(self.check, what, str(expected), str(seen), bool(good)))

    def tell(self, what: str, seen: object) -> None:
        """A figure without a bar."""
        self.rows.append(Row(self.check, what, "–", str(seen), True))

    def program(self, name: str, *arguments: str) -> list[str]:
        return [self.python, str(PROGRAMS / name), *arguments]

    def run(self, command: Sequence[str], **variables: str) -> tuple[subprocess.CompletedProcess[str], float]:
        began = time.monotonic()
        seconds = min(SECONDS, self.until - began)
        if seconds <= 0:
            raise NotHere("no time was left")
        process = subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": str(ROOT / "capture"), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            # The program that is recorded, too.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            raise TimeoutError(f"ended after {seconds:.0f} s: {errors.strip()[-300:]}") from None
        done = subprocess.CompletedProcess(command, process.returncode, output, errors)
        if done.returncode == 77:
            # The program's own words; the recorder's line comes after them.
            words = [line for line in errors.splitlines() if line and not line.startswith("warpline:")]
            raise NotHere(words[-1] if words else "not on this machine")
        return done, time.monotonic() - began

    def record(
        self, command: Sequence[str], *options: str, variables: Mapping[str, str] | None = None
    ) -> tuple[Path, subprocess.CompletedProcess[str], float]:
        """``warpline record``; the capture's path, what the program printed, and the seconds it took."""
        self.number += 1
        output = self.folder / f"{self.number:02d}-{self.check}.h5"
        trace = ("--trace", "cpu,nvml,nvtx,cuda")
        recorder = [
            sys.executable,
            "-m",
            "warpline",
            "record",
            "-o",
            str(output),
            *trace,
            *options,
            "--",
            *command,
        ]
        raw = {"WARPLINE_CUPTI_RAW": str(output.with_suffix(".raw"))}
        done, seconds = self.run(recorder, **raw, **(variables or {}))
        if not output.exists():
            raise RuntimeError(f"no capture, status {done.returncode}: {done.stderr.strip()[-400:]}")
        return output, done, seconds


def counts(capture: Capture) -> dict[str, int]:
    return {name: len(table.rows) for name, table in capture.kinds.items() if len(table.rows)}


def printed(done: subprocess.CompletedProcess[str], key: str) -> str:
    """The value of a ``key=value`` line of a program."""
    for line in done.stdout.splitlines():
        name, equals, value = line.partition("=")
        if equals and name == key:
            return value
    raise NotHere(f"the program did not print {key}: {done.stderr.strip()[-200:]}")


def source_state(capture: Capture, name: str) -> str:
    for source in capture.sources:
        if source.name == name:
            return ("on" if source.enabled else "off") + (f", {source.reason}" if source.reason else "")
    return "absent"
