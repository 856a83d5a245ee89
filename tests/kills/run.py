"""Kills recordings at random moments and looks at what is left: ``python -m tests.kills.run --count 1000``.

Who is killed: the recorder, the program, both, whoever finishes a recording, whoever recovers one, and a recorder that
has only begun. After each death there must be the capture or a spool that recovers, and at last the capture alone. A
table says how much was lost. Each death follows from the seed and its number; ``--add FILE`` keeps the figures of all
runs in a file and prints the table of them together.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.campaign.actions import verify_soundness

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_STAMP = struct.Struct("<QQQ")
# Of so many deaths: a recorder is what most is lost with.
VICTIMS = {"recorder": 5, "program": 2, "both": 2, "finaliser": 5, "recoverer": 4, "beginner": 2}
PATIENCE_S = 60.0
LONGEST_FINISH_S = 0.5
LONGEST_BEGIN_S = 0.3


@dataclass
class Death:
    """One recording that somebody was killed of: what was wrong afterwards, and how many milliseconds are missing."""

    victim: str
    number: int
    problems: list[str] = field(default_factory=list)
    lost_ms: dict[str, float] = field(default_factory=dict)
    nothing_begun: bool = False


def forked(work: Callable[[], int]) -> int:
    """The process that does the work, in a session of its own, without a word on the terminal."""
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        status = work()
    finally:
        os._exit(status)


def waited(pid: int) -> int | None:
    """The status with which a child ended, None when it does not in good time; it is killed then."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


class Recording:
    """A recording of the ticker in a folder of its own."""

    def __init__(self, folder: Path, ticker: Path, rng: random.Random, seconds: float) -> None:
        self.folder, self.output = folder / "kept", folder / "kept" / "run.h5"
        self.spool = self.folder / "run.h5.spool"
        self.folder.mkdir(parents=True)
        self._stamp, self._said = folder / "stamp", folder / "stderr"
        reader, writer = os.pipe()
        ring = ["--ring", "1s"] if rng.random() < 0.1 else []
        program = [str(ticker), str(self._stamp), str(seconds), str(rng.choice([50, 300, 2000]))]
        words = ["record", "-q", "--no-check", "-o", str(self.output), *ring, "--status-fd", str(writer)]
        words += ["--", *program, str(rng.choice([1, 2, 4, 8]))]

        def work() -> int:
            from warpline.cli import main

            os.close(reader)
            os.set_inheritable(writer, False)
            said = os.open(self._said, os.O_WRONLY | os.O_CREAT, 0o600)
            os.dup2(said, 2)
            return main(words)

        self.recorder = forked(work)
        os.close(writer)
        self._status = os.fdopen(reader, "rb", buffering=0)

    def wait_for(self, state: str) -> bool:
        """Until the recorder says so; False when it ends before."""
        held = b""
        while select.select([self._status], [], [], PATIENCE_S)[0]:
            data = self._status.read(65536)
            if not data:
                return False
            *lines, held = (held + data).split(b"\n")
            if any(json.loads(line)["state"] == state for line in lines):
                return True
        return False

    def stamped(self) -> tuple[int, int]:
        """When the program last closed a range (CLOCK_MONOTONIC ns), and its process; zeros before it has begun."""
        with contextlib.suppress(OSError, struct.error):
            last_ns, _closed, process = _STAMP.unpack(self._stamp.read_bytes()[: _STAMP.size])
            return last_ns, process
        return 0, 0

    def said(self) -> str:
        """What the recorder and its program wrote to standard error."""
        return self._said.read_text("utf-8", "replace") if self._said.exists() else ""

    def end(self) -> None:
        """Nobody of it goes on."""
        self._status.close()
        process = self.stamped()[1]
        if process:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            until = time.monotonic() + PATIENCE_S
            while _runs(process) and time.monotonic() < until:
                time.sleep(0.005)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def die(victim: str, number: int, seed: str, base: Path, ticker: Path) -> Death:
    """One death, and all that is to be true after it."""
    rng = random.Random(f"{seed} {number}")
    death = Death(victim, number)
    folder = base / str(number)
    shutil.rmtree(folder, ignore_errors=True)
    one = Recording(folder, ticker, rng, 0.3 + rng.random() if victim == "finaliser" else 20.0)
    try:
        moment = _kill(victim, one, rng, death)
        if waited(one.recorder) is None:
            death.problems.append("the recorder hangs")
        survivor = one.stamped()[1]
        if victim in ("recorder", "recoverer") and not _runs(survivor):
            death.problems.append("the program did not outlive its recorder")
        if "Traceback" in one.said():
            death.problems.append(one.said().strip().splitlines()[-1])
    finally:
        one.end()
    _look(death, one, rng)
    if moment and one.output.exists():
        death.lost_ms = lost_ms(one.output, victim, moment, one.stamped()[0])
    if not death.problems:
        shutil.rmtree(folder)
    return death


def _kill(victim: str, one: Recording, rng: random.Random, death: Death) -> int:
    """Kill who is to die; the moment (CLOCK_MONOTONIC ns), 0 where nothing is to be missing."""
    if victim == "beginner":
        time.sleep(rng.random() * LONGEST_BEGIN_S)
        os.kill(one.recorder, signal.SIGKILL)
        return 0
    if victim == "finaliser":
        if one.wait_for("finalising"):
            time.sleep(rng.random() * LONGEST_FINISH_S)
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.recorder, signal.SIGKILL)
        return 0
    if not one.wait_for("started"):
        death.problems.append(f"did not begin: {one.said().strip()}")
        return 0
    time.sleep(0.1 + rng.random())
    process = one.stamped()[1]
    moment = time.monotonic_ns()
    if victim != "program":
        os.kill(one.recorder, signal.SIGKILL)
    if victim in ("program", "both") and process:
        os.kill(process, signal.SIGKILL)
    return moment


def _look(death: Death, one: Recording, rng: random.Random) -> None:
    """Whether the capture or the spool is there, what recovering does, and what is left at last."""
    if problem := unsound(one.output):
        death.problems.append(f"a capture that is not sound: {problem}")
    begun = one.stamped()[1] != 0
    if begun and not one.output.exists() and not one.spool.exists():
        death.problems.append("neither capture nor spool")
    if death.victim == "recoverer":
        again = forked(lambda: recover(one.spool))
        time.sleep(rng.random() * LONGEST_FINISH_S)
        os.kill(again, signal.SIGKILL)
        os.waitpid(again, 0)
        if problem := unsound(one.output):
            death.problems.append(f"who recovered left what is not sound: {problem}")
        if not one.output.exists() and not one.spool.exists():
            death.problems.append("who recovered left neither capture nor spool")
    if one.spool.exists() and waited(forked(lambda: recover(one.spool))):
        death.problems.append("does not recover")
    if begun and not one.output.exists():
        # What was begun and holds nothing yet has no capture, and says so.
        death.nothing_begun = death.victim == "beginner"
        if not death.nothing_begun:
            death.problems.append("no capture at last")
    elif problem := unsound(one.output):
        death.problems.append(f"recovered and not sound: {problem}")
    left = sorted(path.name for path in one.folder.iterdir() if path != one.output)
    if left:
        death.problems.append(f"left behind: {', '.join(left)}")


def recover(spool: Path) -> int:
    """``warpline recover``, in a process of its own; its status."""
    from warpline.cli import main

    return main(["recover", str(spool)])


def unsound(output: Path) -> str:
    """Why a capture is none; empty where it is sound, or not there."""
    if not output.exists():
        return ""
    try:
        verify_soundness(output)
    except Exception as error:
        return " ".join(str(error).split())
    return ""


def lost_ms(output: Path, victim: str, moment_ns: int, last_ns: int) -> dict[str, float]:
    """What is missing at the end: CPU states up to the moment of the kill, ranges up to the last that was closed."""
    from warpline.model import Flag
    from warpline.storage import open_capture

    found: dict[str, float] = {}
    with open_capture(output) as capture:
        begun_ns = int(capture.meta["start_monotonic_ns"])
        for kind in ("thread_state", "range"):
            table = capture.kinds.get(kind)
            if table is None or not len(table):
                continue
            rows = table.rows[(capture.events.flags[table.rows] & (Flag.CUT_END | Flag.TRUNCATED)) == 0]
            if not len(rows):
                continue
            stop_ns = begun_ns + int((capture.events.start[rows] + capture.events.duration[rows]).max())
            # The program goes on without its recorder, and its ranges are written by itself.
            expected_ns = last_ns if kind == "range" or victim == "program" else min(moment_ns, last_ns)
            found[kind] = max(0.0, (expected_ns - stop_ns) / 1e6)
    return found


def table(deaths: list[dict[str, Any]]) -> str:
    """Markdown: of each victim how many deaths, what was wrong, what was lost."""
    lines = [
        "| killed | times | something wrong | CPU states lost, median and worst | ranges lost, worst |",
        "|---|---:|---:|---|---|",
    ]
    for victim in VICTIMS:
        of_victim = [death for death in deaths if death["victim"] == victim]
        if not of_victim:
            continue
        states, ranges = (
            [death["lost_ms"][kind] for death in of_victim if kind in death["lost_ms"]]
            for kind in ("thread_state", "range")
        )
        of_states = f"{statistics.median(states):.1f} ms, {max(states):.1f} ms" if states else ""
        of_ranges = f"{max(ranges):.2f} ms" if ranges else ""
        wrong = sum(1 for death in of_victim if death["problems"])
        lines.append(f"| {victim} | {len(of_victim)} | {wrong} | {of_states} | {of_ranges} |")
    return "\n".join(lines)


def preload() -> None:
    """Import what recording, recovering and reading use, so that forks share it."""
    from warpline.recording.sources.registry import recording_sources

    recording_sources()


def main() -> int:
    """So many deaths, and the table; 1 when one of them was not survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--victims", nargs="+", choices=VICTIMS, default=list(VICTIMS))
    parser.add_argument("--add", type=Path, help="a file of lines that this run's deaths are added to")
    args = parser.parse_args()
    preload()
    deaths: list[dict[str, Any]] = []
    if args.add is not None and args.add.exists():
        deaths = [json.loads(line) for line in args.add.read_text().splitlines()]
    until = time.monotonic() + args.seconds
    with tempfile.TemporaryDirectory(prefix="warpline-kills-") as name:
        base = Path(name)
        os.environ["XDG_CACHE_HOME"] = str(base / "cache")
        runtime = base / "runtime"
        runtime.mkdir(mode=0o700)
        os.environ["XDG_RUNTIME_DIR"] = str(runtime)
        ticker = base / "ticker"
        source = Path(__file__).with_name("ticker.c")
        subprocess.run(["gcc", "-O2", "-pthread", str(source), "-o", str(ticker), "-ldl"], check=True)
        for number in range(args.first, args.first + args.count):
            if time.monotonic() > until:
                break
            rng = random.Random(f"{args.seed} {number} victim")
            (victim,) = rng.choices(args.victims, [VICTIMS[one] for one in args.victims])
            death = vars(die(victim, number, args.seed, base, ticker))
            deaths.append(death)
            for problem in death["problems"]:
                print(f"{victim} {number}: {problem}", file=sys.stderr, flush=True)
            if args.add is not None:
                with args.add.open("a") as file:
                    file.write(json.dumps(death) + "\n")
        # Each recording removes the notes of recorders that were killed before it.
        notes = len(list(runtime.rglob("*.json")))
    print(table(deaths))
    print(f"{notes} notes of killed recorders are left")
    print(f"{sum(death['nothing_begun'] for death in deaths)} of the beginners had nothing to keep")
    return 1 if notes > 1 or any(death["problems"] for death in deaths) else 0


if __name__ == "__main__":
    sys.exit(main())
