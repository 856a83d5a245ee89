"""All programs of the bench in one table: our pairs, those of strangers, healthy ones; a third beside busy loops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench_findings.measuring import LIMITS, Outcome, try_healthy, try_pair
from tests.bench_findings.pairs import HEALTHY_PROGRAMS, PROGRAM_PAIRS, Pair
from tests.bench_findings.worlds import WORLD_PAIRS

STRANGERS = Path(__file__).parent / "strangers"
_EVERY = 3
_LOOPS = 2
_LOOP = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(100_000))"
"""Ends with the bench, however that ends."""
_COLUMNS = ("cause", "line", "gain", "cured", "healthy")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A program: what came first, and for each column whether it was right (None: not asked)."""

    group: str
    name: str
    found: str = ""
    cause: bool | None = None
    line: bool | None = None
    gain: bool | None = None
    ratio: float | None = None
    cured: bool | None = None
    healthy: bool | None = None
    loud: tuple[str, ...] = ()
    is_crowded: bool = False
    error: str = ""


def row_of_pair(outcome: Outcome) -> Row:
    """The row of one of our pairs."""
    return Row(
        group="ours", name=outcome.pair.name, found=outcome.found, cause=outcome.is_named,
        line=outcome.is_placed if outcome.pair.has_line else None, gain=outcome.is_gain_right, ratio=outcome.ratio,
        cured=not outcome.warnings, loud=outcome.warnings,
    )  # fmt: skip


def row_of_stranger(result: dict[str, Any]) -> Row:
    """The row of a result of ``strangers/score.py --cured``."""
    name = result["name"]
    if "error" in result:
        return Row(group="strangers", name=name, error=result["error"])
    loud = tuple(result["loud"])
    if "silent" in result:
        return Row(group="strangers", name=name, healthy=result["silent"], loud=loud)
    verdict = result["verdict"]
    ratio = verdict["gain_quotient"]
    return Row(
        group="strangers", name=name, found=result["findings"][0]["id"] if result["findings"] else "nothing",
        cause=verdict["cause_guess"], line=verdict["line_ok"],
        gain=ratio is not None and LIMITS[0] <= ratio <= LIMITS[1], ratio=ratio, cured=not loud, loud=loud,
    )  # fmt: skip


def score_stranger(name: str, folder: Path) -> Row:
    """Record and score one program of the strangers, sick and cured."""
    answer = folder / "score.json"
    subprocess.run(
        [sys.executable, str(STRANGERS / "score.py"), "--cured", "--json", str(answer), name],
        check=True, capture_output=True, timeout=400,
    )  # fmt: skip
    return row_of_stranger(json.loads(answer.read_text("utf-8"))[0])


@contextmanager
def busy_loops() -> Iterator[None]:
    """Two programs that compute all the time."""
    loops = [subprocess.Popen([sys.executable, "-c", _LOOP, str(os.getpid())]) for _ in range(_LOOPS)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def programs() -> list[tuple[str, bool, Callable[[Path], Row]]]:
    """Name of each program, whether it is recorded (rather than made), and what tries it."""
    strangers = [
        *sorted(path.parent.name for path in STRANGERS.glob("*/truth.json")),
        *sorted(f"healthy/{path.stem}" for path in (STRANGERS / "healthy").glob("*.py")),
    ]
    return [
        *(
            (pair.name, pair.make is None, partial(_try_pair, pair))
            for pair in (*PROGRAM_PAIRS, *WORLD_PAIRS)
        ),
        *((name, True, partial(_try_healthy, name)) for name in HEALTHY_PROGRAMS),
        *((name, True, partial(score_stranger, name)) for name in strangers),
    ]


def _try_pair(pair: Pair, folder: Path) -> Row:
    return row_of_pair(try_pair(pair, folder))


def _try_healthy(name: str, folder: Path) -> Row:
    loud = try_healthy(name, folder)
    return Row(group="ours", name=name, healthy=not loud, loud=loud)


def try_everything(folder: Path, failures: tuple[type[Exception], ...]) -> list[Row]:
    """Try all programs, every third recorded one beside busy loops, and print a line for each."""
    rows = []
    recorded = 0
    print("| set | program | first finding | cause | line | gain | ratio | cured | healthy | beside loops |")
    print("|---|---|---|---|---|---|---:|---|---|---|")
    for name, is_recorded, attempt in programs():
        recorded += is_recorded
        is_crowded = is_recorded and recorded % _EVERY == 0
        try:
            with busy_loops() if is_crowded else nullcontext():
                row = attempt(folder)
        except failures as error:
            row = Row(group="", name=name, error=str(error))
        rows.append(replace(row, is_crowded=is_crowded))
        print(_line(rows[-1]), flush=True)
    return rows


def _line(row: Row) -> str:
    if row.error:
        return (
            f"| {row.group} | {row.name} | not tried: {' '.join(row.error.replace('|', '/').split())} |||||||"
        )
    marks = {key: {None: "-", True: "yes", False: "NO"}[getattr(row, key)] for key in _COLUMNS}
    if row.loud:
        marks["healthy" if row.healthy is not None else "cured"] = ", ".join(row.loud)
    ratio = "-" if row.ratio is None else f"{row.ratio:.2f}"
    cells = (row.group, row.name, row.found, marks["cause"], marks["line"], marks["gain"], ratio, marks["cured"],
             marks["healthy"], "yes" if row.is_crowded else "")  # fmt: skip
    return f"| {' | '.join(cells)} |"


def summary(rows: Sequence[Row]) -> str:
    """How many were right: of our programs, of the strangers', of those beside busy loops, and of all."""
    parts = {
        "ours": [row for row in rows if row.group == "ours"],
        "strangers": [row for row in rows if row.group == "strangers"],
        "beside loops": [row for row in rows if row.is_crowded],
        "all": list(rows),
    }
    lines = [f"| | programs | {' | '.join(_COLUMNS)} |", f"|---|---:|{'---:|' * len(_COLUMNS)}"]
    for title, part in parts.items():
        tried = [row for row in part if not row.error]
        cells = []
        for key in _COLUMNS:
            asked = [getattr(row, key) for row in tried if getattr(row, key) is not None]
            cells.append(f"{sum(asked)} of {len(asked)}")
        lines.append(f"| {title} | {len(tried)} | {' | '.join(cells)} |")
    return "\n".join(lines)
