"""What can only be seen on a machine with an NVIDIA GPU, as a table: what, expected, seen. README.md says more.

    python tests/gpu/run_gpu_checks.py {driver,torch,others,harness} [--output DIR] [--only NAME]… [--minutes M]

Each check runs in a process of its own, with a time limit. After each, `checks.json`, `checks.log` and
`evidence.tar.gz` in the output folder are up to date. This process needs the standard library only. Exit status: 1 when
something was not as expected, 2 when nothing could be checked here. The GPU's settings are left alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from tests.gpu import surroundings  # noqa: E402  # after the path
from tests.gpu.catalogue import CHECKS, GROUPS, HARNESS, Check  # noqa: E402
from tests.gpu.evidence import Evidence  # noqa: E402
from tests.gpu.steps import Done, Steps  # noqa: E402

MINUTES = 7.5
SHORTEST_S = 5
"""A check is not started when less time is left."""
SPARE_S = 6
"""A check ends its own programs this long before it is killed itself, so that it can still write rows; at most a third
of its time."""
LOG_OF_A_CHECK = 64 << 10
TOOK = "seconds"
"""What a row about the time of a check is about, whether it ran or not."""


class Report:
    """The files that come back, refreshed after each check."""

    def __init__(self, folder: Path, checks: int) -> None:
        self.folder = folder
        self.rows: list[dict[str, Any]] = []
        self.machine: dict[str, str] = {}
        self.evidence = Evidence(folder / "evidence.tar.gz", checks)
        self._log = folder / "checks.log"
        self._log.write_text("")

    def log(self, text: str) -> None:
        with self._log.open("a", encoding="utf-8", errors="replace") as file:
            file.write(text.rstrip() + "\n")

    def log_output(self, done: Done) -> None:
        self.log(
            done.output[-LOG_OF_A_CHECK:] + done.errors[-LOG_OF_A_CHECK:] + done.threads[-LOG_OF_A_CHECK:]
        )

    def add(self, check: str, what: str, seen: str, is_good: bool | None = True) -> None:
        row = {"check": check, "what": what, "expected": "–", "seen": seen, "is_good": is_good}
        self.rows.append(row)

    def write(self) -> None:
        """Write `checks.json`, whole or not at all."""
        part = self.folder / "checks.json.part"
        document = {"machine": self.machine, "rows": self.rows}
        part.write_text(json.dumps(document, indent=1, ensure_ascii=False), encoding="utf-8")
        os.replace(part, self.folder / "checks.json")


def run_check(
    check: Check, report: Report, steps: Steps, args: argparse.Namespace, work: Path, until: float
) -> None:
    """One check, its rows, and its files as evidence."""
    began = time.monotonic()
    limit = min(args.limit or check.limit_s, until - began)
    if limit < SHORTEST_S:
        report.add(check.name, "not run", "because: no time was left in this call", None)
        return
    folder = work / check.name
    folder.mkdir()
    rows = work / f"{check.name}.rows"
    command = [sys.executable, str(ROOT / "tests" / "gpu" / "run_one_check.py"), check.name]
    options = {
        "folder": folder,
        "rows": rows,
        "python": args.python,
        "seconds": limit - min(SPARE_S, limit / 3),
    }
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    done = steps.run([*command, *words], limit, args.variables)
    report.log(f"\n=== {check.name}")
    report.log_output(done)
    report.rows += read_rows(rows)
    if done.status is None:
        report.add(check.name, "failed", f"killed after {limit:.0f} s", False)
    elif done.status:
        lines = [
            line for line in done.errors.splitlines() if line and not line.startswith("Extension modules")
        ]
        last = lines[-1] if lines else "no message"
        how = signal.Signals(-done.status).name if done.status < 0 else f"status {done.status}"
        report.add(check.name, "failed", f"ended with {how}: {last[:300]}", False)
    left_out = report.evidence.add_check(folder)
    if left_out:
        report.log("not in the evidence, for its size: " + ", ".join(left_out))
    report.add(check.name, TOOK, f"{time.monotonic() - began:.1f}")
    shutil.rmtree(folder, ignore_errors=True)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows that a check wrote; the last line may be cut."""
    rows = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return rows


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    """The table; a mark in front of what was not as expected, and of what did not run."""
    head = {name: name for name in ("check", "what", "expected", "seen")} | {"is_good": True}
    columns = ("check", "what", "expected")
    widths = [max(len(row[name]) for row in (head, *rows)) for name in columns]
    for row in (head, *rows):
        mark = {True: " ", False: "✗", None: "–"}[row["is_good"]]
        cells = (row[name].ljust(width) for name, width in zip(columns, widths, strict=True))
        print(mark, *cells, row["seen"], sep="  ")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("--only", action="append", choices=CHECKS, help="run this check, of whatever group")
    parser.add_argument("--output", type=Path, default=Path("gpu-checks"))
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--limit", type=float, help="seconds for each check, instead of its own limit")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the recorded programs")
    parser.add_argument("--wheels", type=Path, default=ROOT / "wheels", help="folder with wheels to use")
    args = parser.parse_args()
    args.checks = [CHECKS[name] for name in args.only] if args.only else list(GROUPS[args.group])
    return args


def main() -> int:
    """Run a group of checks; returns the exit status."""
    args = parse()
    until = time.monotonic() + 60 * args.minutes
    args.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="warpline-gpu-", ignore_cleanup_errors=True) as scratch:
        work, steps = Path(scratch), Steps()
        args.variables = surroundings.environment(args.wheels, work / "wheels")
        report = Report(args.output.resolve(), len(args.checks))
        report.write()
        reason = prepare(report, steps, args, work)
        for check in args.checks:
            print(f"… {check.name}", file=sys.stderr, flush=True)
            if reason:
                report.add(check.name, "not run", f"because: {reason}", None)
            else:
                run_check(check, report, steps, args, work, until)
            report.write()
    return finish(report)


def prepare(report: Report, steps: Steps, args: argparse.Namespace, work: Path) -> str:
    """Describe the machine and try what all checks need; returns why none can run, or ""."""
    has_driver = args.group == HARNESS or surroundings.find_driver(steps, args.variables)
    report.machine = surroundings.describe(steps, args.python, args.variables)
    report.write()
    reason = surroundings.missing_packages(steps, args.variables)
    if not has_driver:
        reason = "no NVIDIA driver here: libcuda.so.1 cannot be loaded"
    elif not reason and args.group != HARNESS:
        reason = surroundings.warm_up(args.group, steps, args.python, work, args.variables)
        report.log(surroundings.doctor(steps, args.variables))
    if reason:
        print(reason, file=sys.stderr)
        report.log(reason)
        report.add("warm-up", "failed", reason.partition("\n")[0], None)
    return reason.partition("\n")[0]


def finish(report: Report) -> int:
    """Print what was seen; returns the exit status."""
    for key, value in report.machine.items():
        if key != "nvidia-smi":
            print(f"{key}: {value}")
    print_table(report.rows)
    bad = sum(row["is_good"] is False for row in report.rows)
    not_run = sum(row["is_good"] is None for row in report.rows)
    print(f"{len(report.rows)} rows, {bad} not as expected, {not_run} checks not run; {report.folder}")
    has_run = any(row["is_good"] is not None and row["what"] != TOOK for row in report.rows)
    return 1 if bad else 0 if has_run else 2


if __name__ == "__main__":
    sys.exit(main())
