"""``python -m tests.bench_findings [NAME…]``: records, checks, cures, measures, and prints the table.

``--all`` tries the strangers' programs, too, and every third program beside two busy loops; ``--captures DATA`` lists
what is said of each capture of a folder, ``--baseline FOLDER`` how closely the replay reproduces each.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench_findings.baseline import list_baselines
from tests.bench_findings.captures import list_captures
from tests.bench_findings.everything import summary, try_everything
from tests.bench_findings.measuring import Outcome, try_healthy, try_pair
from tests.bench_findings.pairs import HEALTHY_PROGRAMS, PROGRAM_PAIRS
from tests.bench_findings.worlds import WORLD_PAIRS

from warpline.model.errors import WarplineError

_FAILURES = (subprocess.SubprocessError, WarplineError, OSError, ValueError, LookupError)
"""Of one program: it is told in its line, and the others are tried all the same."""


def main(names: list[str]) -> int:
    """Prints a line for each pair and each healthy program, and how many were right; 1 where one could not be tried."""
    if names[:1] == ["--captures"]:
        print(list_captures(Path(names[1])))
        return 0
    if names[:1] == ["--baseline"]:
        print(list_baselines(Path(names[1])))
        return 0
    if names == ["--all"]:
        with tempfile.TemporaryDirectory(prefix="warpline-bench-") as folder:
            rows = try_everything(Path(folder), _FAILURES)
        print(summary(rows))
        return 1 if any(row.error for row in rows) else 0
    pairs = [pair for pair in (*PROGRAM_PAIRS, *WORLD_PAIRS) if not names or pair.name in names]
    outcomes: list[Outcome] = []
    failed: list[str] = []
    print("| program | group | first finding | named | line | predicted | measured | ratio | cured |")
    print("|---|---|---|---|---|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory(prefix="warpline-bench-") as folder:
        for pair in pairs:
            try:
                outcome = try_pair(pair, Path(folder))
            except _FAILURES as error:
                failed.append(pair.name)
                print(
                    f"| {pair.name} | {pair.group} | not tried: {_in_a_line(error)} | | | | | | |", flush=True
                )
                continue
            outcomes.append(outcome)
            line = ("yes" if outcome.is_placed else "no") if pair.has_line else "-"
            print(
                f"| {pair.name} | {pair.group} | {outcome.found} | {'yes' if outcome.is_named else 'no'} | {line} | "
                f"{outcome.predicted_ns / 1e6:.0f} ms | {outcome.measured_ns / 1e6:.0f} ms | {outcome.ratio:.2f} | "
                f"{', '.join(outcome.warnings) or 'silent'} |",
                flush=True,
            )
        for name in HEALTHY_PROGRAMS:
            if names and name not in names:
                continue
            try:
                print(f"{name}: {', '.join(try_healthy(name, Path(folder))) or 'silent'}", flush=True)
            except _FAILURES as error:
                failed.append(name)
                print(f"{name}: not tried: {_in_a_line(error)}", flush=True)
    print(_summary(outcomes))
    if failed:
        print(f"not tried, and counted nowhere above: {', '.join(failed)}")
    return 1 if failed else 0


def _in_a_line(error: Exception) -> str:
    """What went wrong, with what the program that failed last said of it where that was kept."""
    said = getattr(error, "stderr", None) or b""
    last = (said if isinstance(said, str) else said.decode("utf-8", "replace")).strip().splitlines()[-1:]
    return " ".join(": ".join((str(error), *last)).replace("|", "/").split())


def _summary(outcomes: list[Outcome]) -> str:
    placed = [outcome for outcome in outcomes if outcome.pair.has_line]
    return (
        f"named right: {sum(o.is_named for o in outcomes)} of {len(outcomes)}; "
        f"line right: {sum(o.is_placed for o in placed)} of {len(placed)}; "
        f"gain within 0.8-1.25: {sum(o.is_gain_right for o in outcomes)} of {len(outcomes)}; "
        f"cured and silent: {sum(not o.warnings for o in outcomes)} of {len(outcomes)}"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
