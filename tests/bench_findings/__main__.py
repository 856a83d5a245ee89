"""``python -m tests.bench_findings [NAME…]``: records, checks, cures, measures, and prints the table."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.bench_findings.measuring import Outcome, try_healthy, try_pair
from tests.bench_findings.pairs import HEALTHY_PROGRAMS, PROGRAM_PAIRS
from tests.bench_findings.worlds import WORLD_PAIRS


def main(names: list[str]) -> int:
    """Prints a line for each pair and each healthy program, and how many were right."""
    pairs = [pair for pair in (*PROGRAM_PAIRS, *WORLD_PAIRS) if not names or pair.name in names]
    outcomes: list[Outcome] = []
    print("| program | group | first finding | named | line | predicted | measured | ratio | cured |")
    print("|---|---|---|---|---|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory(prefix="warpline-bench-") as folder:
        for pair in pairs:
            outcome = try_pair(pair, Path(folder))
            outcomes.append(outcome)
            line = ("yes" if outcome.is_placed else "no") if pair.has_line else "-"
            print(
                f"| {pair.name} | {pair.group} | {outcome.found} | {'yes' if outcome.is_named else 'no'} | {line} | "
                f"{outcome.predicted_ns / 1e6:.0f} ms | {outcome.measured_ns / 1e6:.0f} ms | {outcome.ratio:.2f} | "
                f"{', '.join(outcome.warnings) or 'silent'} |",
                flush=True,
            )
        alarms = {}
        for name in HEALTHY_PROGRAMS:
            if not names or name in names:
                alarms[name] = try_healthy(name, Path(folder))
    for name, found in alarms.items():
        print(f"{name}: {', '.join(found) or 'silent'}")
    print(_summary(outcomes))
    return 0


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
