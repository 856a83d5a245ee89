"""A recording with a ring and a window in random use, for hours: is anything growing?  ``python -m tests.soak.run``

Prints what the recorder, the program and the window take as it goes on, and what grew between the second and the last
quarter of the time. Exits with 1 where something did.
"""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
SAMPLES = 120
"""Looks in the whole time."""
GROWTH, SLACK = (
    1.1,
    {"MiB": 24.0, "descriptors": 3.0, "threads": 2.0, "spool MiB": 8.0, "temporary files": 0.0},
)


@dataclass
class Watched:
    """A process (or a folder) and its figures, one list for each."""

    name: str
    figures: dict[str, list[float]] = field(default_factory=dict)

    def add(self, **values: float) -> None:
        for name, value in values.items():
            self.figures.setdefault(name.replace("_", " "), []).append(value)

    def grown(self) -> list[str]:
        """What is larger at the end than it was when everything had begun."""
        found = []
        for name, values in self.figures.items():
            quarter = max(1, len(values) // 4)
            early, late = (
                statistics.median(values[quarter : 2 * quarter]),
                statistics.median(values[-quarter:]),
            )
            if late > GROWTH * early + SLACK.get(name, 0.0):
                found.append(f"{self.name}: {name} grew from {early:g} to {late:g}")
        return found


def look_at(watched: Watched, pid: int) -> None:
    """Memory, descriptors and threads of a process. Raises SystemExit when it has ended."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    if "VmRSS" not in fields:
        raise SystemExit(f"{watched.name} has ended")
    watched.add(
        MiB=int(fields["VmRSS"].split()[0]) / 1024,
        descriptors=len(os.listdir(f"/proc/{pid}/fd")),
        threads=int(fields["Threads"]),
    )


def main() -> int:
    """The soak; its exit status."""
    hours = float(sys.argv[1]) if len(sys.argv) > 1 else 1 / 6
    seconds = hours * 3600
    ring_s = min(600, max(5, seconds / 10))
    with tempfile.TemporaryDirectory(prefix="warpline-soak-") as name:
        return soak(Path(name), seconds, ring_s)


def soak(folder: Path, seconds: float, ring_s: float) -> int:
    """Record, use a window, look at both, say what grew."""
    shown, output = folder / "shown.h5", folder / "run.h5"
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "TMPDIR": str(folder)}
    environment["PYTHONFAULTHANDLER"] = "1"
    warpline = [sys.executable, "-m", "warpline"]
    script = [sys.executable, str(HERE / "program.py")]
    subprocess.run(
        [*warpline, "record", "-q", "-o", str(shown), "--", *script, "5"], check=True, env=environment
    )
    window = subprocess.Popen(
        [sys.executable, str(HERE / "window.py"), str(shown), str(folder / "settings.ini")],
        stdin=subprocess.PIPE, env=environment,
    )  # fmt: skip
    recorder = subprocess.Popen(
        [*warpline, "record", "-o", str(output), "--ring", f"{ring_s:.0f}s", "--", *script, str(seconds + 60)],
        stdout=subprocess.PIPE, env=environment, text=True,
    )  # fmt: skip
    assert recorder.stdout is not None
    target = int(recorder.stdout.readline())
    processes = {"recorder": recorder.pid, "program": target, "window": window.pid}
    seen = {key: Watched(key) for key in (*processes, "disk")}
    try:
        begun = time.monotonic()
        for number in range(SAMPLES):
            time.sleep(max(0.0, begun + seconds * (number + 1) / SAMPLES - time.monotonic()))
            for key, pid in processes.items():
                look_at(seen[key], pid)
            spool = sum(path.stat().st_blocks * 512 for path in Path(f"{output}.spool").iterdir())
            temporary = sum(
                1 for path in folder.iterdir() if path.name.startswith((".warpline", "warpline-"))
            )
            seen["disk"].add(spool_MiB=spool / 2**20, temporary_files=temporary)
            if number % 10 == 9:
                print(
                    f"{time.monotonic() - begun:7.0f} s  " + "  ".join(map(line_of, seen.values())),
                    flush=True,
                )
    finally:
        with contextlib.suppress(ProcessLookupError):  # a program that ended by itself: the statuses tell
            os.kill(target, signal.SIGTERM)
        if window.stdin is not None:
            window.stdin.close()
        statuses = recorder.wait(120), window.wait(60)
    grown = [text for watched in seen.values() for text in watched.grown()]
    info = subprocess.run(
        [*warpline, "info", "--verify", str(output)], capture_output=True, text=True, check=False
    )
    left = sorted(
        path.name for path in folder.iterdir() if path.name.startswith((".warpline", "warpline-", "run.h5."))
    )
    if "is sound" not in info.stdout:
        grown.append(f"the capture is not sound: {info.stdout[-200:]}{info.stderr}")
    if left or statuses != (128 + signal.SIGTERM, 0):
        grown.append(f"left behind: {left}; statuses of recorder and window: {statuses}")
    print(*(info.stdout.splitlines()[:2]), *(grown or ["nothing grew"]), sep="\n")
    return 1 if grown else 0


def line_of(watched: Watched) -> str:
    """The figures of the last look."""
    return f"{watched.name}: " + ", ".join(
        f"{values[-1]:.0f} {name}" for name, values in watched.figures.items()
    )


if __name__ == "__main__":
    sys.exit(main())
