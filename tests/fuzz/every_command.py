"""Hands hostile captures and traces to every report, check, comparison, export, query and picture there is.

    python -m tests.fuzz.every_command [FILE …] [--mutated 200] [--first 0] [--work build/fuzz/every]

``--mutated`` are captures wrong in a few ways that can mostly be opened (`values_in_place`, `mutate_h5`), numbered
from ``--first``. Each command line runs in a fork with limits. An exception nobody foresaw, a message of two lines,
a crash, 15 s of the processor or 300 MB count as bad. Prints them and a table; 1 when there was one.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.fuzz.campaign import actions, campaign, fork_server, window_inputs
from tests.gui.sample import write_sample

from warpline.analysis.framework.registry import reports
from warpline.cli.dispatch import main as run_command_line
from warpline.model.errors import WarplineError

FORMATS = ("h5", "json", "json.gz", "csv", "parquet", "svg", "html", "png")
SQL = (
    "SELECT * FROM events",
    "SELECT kind, sum(duration_ns), max(name) FROM events GROUP BY kind",
    "SELECT * FROM tracks",
)


def command_lines(path: Path, good: Path, out: Path) -> Iterator[list[str]]:
    """Every command that reads a file, with every report and format; ``good`` is a sound capture beside it."""
    file = str(path)
    yield from (
        ["info", file],
        ["info", "--json", file],
        ["info", "--verify", file],
        ["stats", "--list", file],
    )
    for report in reports():
        for form in ("table", "json", "csv"):
            yield ["stats", "--report", report.name, "--format", form, file]
    for options in (["--thread-sep"], ["--range", "10%:60%"], ["--track", "*"]):
        yield ["stats", "--report", "all", *options, file]
    yield from (["check", "--all", file], ["check", "--json", file], ["check", "--md", "--all", file])
    for pair in ([file, str(good)], [str(good), file], [file, file]):
        for options in ([], ["--json"], ["--md", "--align", "start"], ["-o", str(out / "compare.html")]):
            yield ["compare", *options, *pair]
    for report in reports():
        yield ["compare", "--align", "start", "--report", report.name, file, str(good)]
    for form in FORMATS:
        yield ["export", file, str(out / f"out.{form}")]
        yield ["export", "--anonymize", file, str(out / f"hidden.{form}")]
    yield ["export", "--range", ":1ms", file, str(out / "part.h5")]
    yield ["export", file, str(out / "")]
    yield from (
        ["render", file, "-o", str(out / "x.png")],
        ["render", "--window", file, "-o", str(out / "w.png")],
    )
    yield from (["query", file, "--schema"], *(["query", file, sql] for sql in SQL))
    yield ["job", "--workers", "1", "--json", file, str(good)]


def run(words: list[str]) -> None:
    """Run a command line; raises RuntimeError for what no user should read."""
    said = io.StringIO()
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")  # JSON goes to its buffer
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(said):
        try:
            run_command_line(words)
        except WarplineError as error:
            if "\n" in str(error):
                raise RuntimeError(f"two lines: {error}") from error
            return
    text = said.getvalue()
    problems = [line for line in text.splitlines() if line.startswith("warpline: error:")]
    if "internal error" in text or "Traceback" in text or len(problems) > 1:
        raise RuntimeError(text)


def judge(path: Path, good: Path, work: Path, counts: Counter[str]) -> None:
    """Every command with one file; prints what ended badly."""
    out = work / "out"
    out.mkdir(exist_ok=True)
    lines = list(command_lines(path, good, out))
    outcomes = fork_server.judged_in_forks([partial(run, words) for words in lines])
    actions.empty(out)
    for words, outcome in zip(lines, outcomes, strict=True):
        counts[outcome["state"]] += 1
        if outcome["state"] not in campaign.GOOD:
            print(f"{path.name}: {' '.join(words)}\n  {campaign.signature(outcome)}", flush=True)
            if os.environ.get("SHOW"):
                print(outcome["message"], flush=True)


def mutated(number: int, seeds: list[Path], folder: Path) -> Path | None:
    """A capture wrong in a few ways, by its number; None where it cannot be made."""
    rng = random.Random(f"every {number}")
    made: list[Path] = []

    def make() -> None:
        window_inputs.make("h5", seeds, folder, rng)

    actions.empty(folder)
    (outcome,) = fork_server.judged_in_forks([make])
    made = sorted(folder.glob("*.h5"))
    if outcome["state"] != "ok" or not made:
        return None
    return made[0].rename(folder / f"every-{number}.h5")


def main() -> int:
    """Prints how all of it ended."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--mutated", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--work", type=Path, default=Path("build/fuzz/every"))
    options = parser.parse_args()
    work = options.work.absolute()
    inputs = work / "in"
    shutil.rmtree(inputs, ignore_errors=True)
    inputs.mkdir(parents=True)
    os.environ |= {
        "WARPLINE_DEBUG": "1",
        "XDG_CACHE_HOME": str(work / "cache"),
        "QT_QPA_PLATFORM": "offscreen",
    }
    actions.preload()
    good, counts = write_sample(work / "good.h5"), Counter[str]()
    for path in options.files:
        judge(path.absolute(), good, work, counts)
    seeds = campaign.seeds_of("h5", None, work) if options.mutated else []
    for number in range(options.first, options.first + options.mutated):
        path = mutated(number, seeds, inputs)
        if path is None:
            counts["not made"] += 1
        else:
            judge(path, good, work, counts)
    print(", ".join(f"{count:,} {state}" for state, count in sorted(counts.items())))
    return int(bool(set(counts) - {*campaign.GOOD, "not made"}))


if __name__ == "__main__":
    sys.exit(main())
