"""Inputs by the million, guided by what code they reach: ``python -m tests.fuzz.guided.run --work FOLDER``.

Every target has its share of the time, in a process of its own that is begun anew when an input ends it. What ends
badly is kept in ``found`` with a line in ``found.jsonl``; ``worker --replay FILE`` runs it again. The folder keeps what
was learned: a later run goes on from there, and the table tells of all runs in it. The exit status is 1 when an input
ended badly in this one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.campaign.campaign import GOOD
from tests.fuzz.guided.engine import read_counts
from tests.fuzz.guided.registry import targets
from tests.fuzz.guided.worker import guide

REPOSITORY = Path(__file__).resolve().parents[3]
_COVERED = re.compile(r"cov: (\d+)")
_CRASHES = ("crash-", "timeout-", "oom-", "leak-")
_ENDED_BADLY = "ended by an input"


def fuzz(room: str, name: str, work: Path, seconds: float, rest: list[str]) -> Counter[str]:
    """One target for so long: how its inputs ended, and how much code they reach."""
    total: Counter[str] = Counter()
    until = time.monotonic() + seconds
    log = work / f"{name}.log"
    paths = str(REPOSITORY), os.environ.get("PYTHONPATH")
    while (left := until - time.monotonic()) > 0:
        words = [sys.executable, "-P", "-m", "tests.fuzz.guided.worker", room, name, "--work", str(work)]
        (work / f"{name}.counts").unlink(missing_ok=True)
        with log.open("wb") as out:
            status = subprocess.run(
                [*words, "--seconds", str(left), *rest],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
                stdout=out,
                stderr=subprocess.STDOUT,
                check=False,
            ).returncode
        counts = read_counts(work / f"{name}.counts")
        total.update(counts)
        covered = _COVERED.findall(log.read_text(errors="replace"))
        if covered:
            total["cov"] = int(covered[-1])
        if status:
            total[_ENDED_BADLY] += 1
            print(f"{name}: status {status}: {log.read_text(errors='replace')[-1500:]}", file=sys.stderr)
        if not counts.total():
            break
        if not status:
            break
    return total


def bad(counts: Counter[str]) -> int:
    """Inputs that did not end well."""
    return sum(count for state, count in counts.items() if state not in (*GOOD, "cov", "seconds"))


def show(name: str, counts: Counter[str]) -> str:
    """A row of the table."""
    done = sum(count for state, count in counts.items() if state not in ("cov", "seconds", _ENDED_BADLY))
    rate = done / max(1, counts["seconds"])
    text = (
        f"{name:14} {done:10,} inputs {rate:7,.0f} /s {counts['refused']:10,} refused {bad(counts):6,} badly"
    )
    return text + (f" {counts['cov']:6,} places" if counts["cov"] else "")


def main() -> int:
    """All targets, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = targets()
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=600, help="of all targets together")
    parser.add_argument("--data", type=Path, help="a folder with traces of other profilers")
    parser.add_argument("--targets", nargs="+", choices=list(known), default=list(known))
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    if guide() is None:
        print("atheris is not installed (pip install atheris): inputs are made from seeds, without guidance")
    rest = ["--data", str(args.data)] if args.data else []
    totals_file = args.work / "totals.json"
    totals = json.loads(totals_file.read_text()) if totals_file.exists() else {}
    failed = 0
    for name in args.targets:
        counts = Counter({"seconds": round(args.seconds / len(args.targets))})
        counts.update(
            fuzz(
                known[name][0],
                name,
                args.work,
                args.seconds / len(args.targets),
                [*rest, *_first(totals, name)],
            )
        )
        failed += bad(counts)
        before = Counter(totals.get(name, {}))
        before.pop("cov", None)
        totals[name] = before + counts
        totals_file.write_text(json.dumps(totals, indent=1))
        print(show(name, counts), flush=True)
    whole: Counter[str] = Counter()
    for counts in totals.values():
        whole.update({state: count for state, count in counts.items() if state != "cov"})
    print(show("all runs here", whole))
    return 1 if failed else 0


def _first(totals: dict[str, dict[str, int]], name: str) -> list[str]:
    """From which number on, without guidance: those before were done in runs before."""
    return [
        "--first",
        str(sum(count for state, count in totals.get(name, {}).items() if state not in ("cov", "seconds"))),
    ]


if __name__ == "__main__":
    sys.exit(main())
