"""Records, checks and compares the programs of the bench."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench_findings.pairs import HEALTHY, Pair, program_of, sick_lines
from tests.native.conftest import build_simulated_gpu, simulated_gpu_environment

from warpline.cli import main
from warpline.storage import open_capture

WARPLINE = [sys.executable, "-m", "warpline"]
LIMITS = (0.8, 1.25)


@dataclass(frozen=True)
class Outcome:
    """What came of a pair: the first finding, whether it and its line are right, what it promised and what came."""

    pair: Pair
    found: str
    is_named: bool
    is_placed: bool
    predicted_ns: int
    measured_ns: int
    warnings: tuple[str, ...]
    """Of the cured one."""

    @property
    def ratio(self) -> float:
        """Predicted by measured gain."""
        return self.predicted_ns / self.measured_ns if self.measured_ns > 0 else float("inf")

    @property
    def is_gain_right(self) -> bool:
        """Whether the gain was as promised."""
        return LIMITS[0] <= self.ratio <= LIMITS[1]


def record(program: Path, argument: str, capture: Path, on_gpu: bool = False) -> dict[str, Any]:
    """Runs a program under Warpline, if wanted with a GPU that is none; the diagnosis as JSON."""
    environment = dict(os.environ)
    if on_gpu:
        folder = capture.parent / "simulated"
        environment |= simulated_gpu_environment(folder if folder.is_dir() else build_simulated_gpu(folder))
    command = [
        *WARPLINE,
        "record",
        "-q",
        "--no-check",
        "-o",
        str(capture),
        "--",
        sys.executable,
        str(program),
    ]
    subprocess.run(
        [*command, argument], check=True, timeout=120, cwd=capture.parent, stdout=subprocess.DEVNULL,
        env=environment,
    )  # fmt: skip
    return check(capture)


def check(capture: Path) -> dict[str, Any]:
    """What ``warpline check --json`` says."""
    # In this process: a start of Python would cost three times what is asked.
    with redirect_stdout(io.StringIO()) as said:
        assert main(["check", "--json", str(capture)]) == 0
    found: dict[str, Any] = json.loads(said.getvalue())
    return found


def length(found: dict[str, Any], pair: Pair) -> int:
    """How long the range was, less what others on the machine took of it: who waits for cores, waits for neighbours."""
    start, stop = found["range_ns"]
    waited = sum(part["time_ns"] for part in found["budget"] if part["cause"] == "runnable")
    of_cores = {"waits_for_core", "few_cores"} & set(pair.ids)
    return int(stop - start) - (0 if of_cores else waited)


def _whole(capture: Path) -> int:
    """How long a capture is, warm-up included."""
    with open_capture(capture) as opened:
        start, stop = opened.span
        return stop - start


_UNITS = {"µs": 1_000, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def _left_out_ns(finding: dict[str, Any]) -> int:
    """How much longer the steps before the range are, as the sentence has it: the range itself gains nothing."""
    told = re.search(r" take ([\d.,]+) (\S+) longer ", finding.get("text", ""))
    return 0 if told is None else round(float(told[1].replace(",", "")) * _UNITS[told[2]])


def warnings(found: dict[str, Any]) -> tuple[str, ...]:
    """The findings of a diagnosis that are more than notes."""
    return tuple(finding["id"] for finding in found["findings"] if finding["severity"] != "note")


def try_pair(pair: Pair, folder: Path) -> Outcome:
    """Records the sick one and the cured one, or makes their captures, and compares."""
    sick_capture, cured_capture = folder / f"{pair.name}-sick.h5", folder / f"{pair.name}-cured.h5"
    if pair.make is not None:
        pair.make(sick_capture, True)
        pair.make(cured_capture, False)
        sick, cured = check(sick_capture), check(cured_capture)
    else:
        program = program_of(pair.name)
        sick = record(program, "sick", sick_capture, pair.on_gpu)
        cured = record(program, "cured", cured_capture, pair.on_gpu)
    nothing: dict[str, Any] = {"id": "nothing", "gain_ns": 0, "where": {}}
    first: dict[str, Any] = sick["findings"][0] if sick["findings"] else nothing
    where = first["where"]
    if pair.make is None:
        is_own = os.path.realpath(where.get("file", "")) == os.path.realpath(program)
        is_placed = is_own and where.get("line") in sick_lines(program)
    else:
        is_placed = f"{where.get('file')}:{where.get('line')}" == pair.place
    return Outcome(
        pair,
        first["id"],
        first["id"] in pair.ids,
        is_placed,
        _left_out_ns(first) if pair.is_left_out else first["gain_ns"],
        _whole(sick_capture) - _whole(cured_capture)
        if pair.is_left_out
        else length(sick, pair) - length(cured, pair),
        warnings(cured),
    )


def try_healthy(name: str, folder: Path) -> tuple[str, ...]:
    """Warnings about a healthy program."""
    return warnings(record(HEALTHY / f"{name}.py", "", folder / f"{name}.h5"))
