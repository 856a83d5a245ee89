"""Scripts with a profiler inside, in real frameworks: its steps, and the phases that Paddle's own profiler tells.

Needs a Python that has the frameworks, as the tests of untouched scripts do. It has no Warpline: a profiler inside a
recording needs the standard library alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.frameworks.test_untouched_scripts import PYTHON, needs, program

import warpline
from warpline.interchange.export.paddle_pb.trees import export_paddle
from warpline.profiling.older_report import older_report
from warpline.profiling.results import ProfilerResult

PACKAGE = Path(__file__).parents[2] / "capture"
RECORDED = [3, 4, 5]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(not PYTHON, reason="WARPLINE_FRAMEWORKS_PYTHON names no Python with the frameworks"),
]


def run(folder: Path, *words: str) -> str:
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PACKAGE), "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def recorded(folder: Path, what: str, *options: str) -> tuple[str, warpline.CaptureReader]:
    """What the script printed, and its recording."""
    record = (sys.executable, "-m", "warpline", "record", "-q", *options, "-o", str(folder / "run.h5"), "--")
    printed = run(folder, *record, PYTHON, program("profiled.py"), what)
    assert "steps: 8" in printed
    return printed, warpline.open(folder / "run.h5")


@pytest.mark.parametrize(
    ("what", "package", "batches"), [("lightning", "lightning", 1), ("hugging-face", "transformers", 2)]
)
def test_a_callback_makes_the_trainers_steps_the_profilers(
    tmp_path: Path, what: str, package: str, batches: int
) -> None:
    needs(package)
    _printed, capture = recorded(tmp_path, what)
    with capture:
        assert [row["step"] for row in capture.report("steps").rows(0, 9)] == RECORDED
        rows = {row["name"]: row["count"] for row in capture.report("model").rows(0, 9)}
        waits = capture.events("phase", name="DataLoader.__next__")
    assert rows["ProfileStep"] == rows["Optimization"] == 3
    assert rows["Forward"] == rows["Backward"] == 3 * batches
    assert len(waits) >= 3 * batches


def test_paddles_phases_are_those_of_its_own_profiler(tmp_path: Path) -> None:
    needs("paddle")
    printed, capture = recorded(tmp_path, "paddle")
    with capture:
        rows = {row["name"]: row for row in capture.report("model").rows(0, 9)}
    line = re.compile(r"^ *(\w+) +(\d+) +([\d.]+) (?:/ [\d.]+ ){3}/ [\d.]+ ", re.MULTILINE)
    own = {name: (int(calls), float(total)) for name, calls, total in line.findall(printed)}
    assert set(own) == {"ProfileStep", "Dataloader", "Forward", "Backward", "Optimization"}
    (clock_ms,) = (json.loads(text) for text in printed.splitlines() if text.startswith('{"'))
    for name, (calls, total_ms) in own.items():
        assert rows[name]["count"] == calls, name
        if name == "ProfileStep":
            continue  # one profiler begins its recording in the other's first step
        # Whatever the machine does in between: Paddle marks inside of our phase, the script's clock is around it.
        assert total_ms - 0.01 <= rows[name]["cpu_total_ns"] / 1e6 <= clock_ms[name], name


def lines_of(report: str) -> dict[tuple[str, ...], tuple[int, float]]:
    """Calls and total time in ms of each path of names in an older report."""
    found: dict[tuple[str, ...], tuple[int, float]] = {}
    path: list[str] = []
    for line in report.rpartition("Event Summary")[2].splitlines():
        match = re.match(r"( *)(.*?) {2,}(\d+) +([\d.e-]+) ", line)
        if match:
            path[len(match[1]) // 2 :] = [match[2]]
            found[tuple(path)] = int(match[3]), float(match[4])
    return found


def test_the_older_report_is_that_of_paddles_own_printer_on_the_same_events(tmp_path: Path) -> None:
    needs("paddle")
    printed, capture = recorded(tmp_path, "paddle-older", "--trace", "paddle")
    capture.close()
    window = json.loads(next(line for line in printed.splitlines() if line.startswith("[")))
    result = ProfilerResult(lambda: tmp_path / "run.h5", (window[0], window[1]))
    own, ours = lines_of(printed), lines_of(older_report(result, "total", "CPU"))
    assert len(own) > 20
    # Paddle marks launches for its newer profiler alone, which is not on.
    calls = {path: calls for path, (calls, _) in ours.items() if not path[-1].endswith(" kernel launch")}
    assert calls == {path: calls for path, (calls, _) in own.items()}
    for path, (_, total) in own.items():
        # Ours begin before Paddle's and end after them.
        assert ours[path][1] >= total * (1 - 1e-5), path
    heads = [
        text.partition("Total time")[0].partition("Place")[2]
        for text in (printed, older_report(result, "total", "CPU"))
    ]
    assert heads[0] == heads[1]


def test_shapes_and_memory_of_paddle_are_recorded_and_paddle_reads_our_file(
    tmp_path: Path,
) -> None:
    needs("paddle")
    _printed, capture = recorded(tmp_path, "paddle-details", "--trace", "paddle,nvtx,steps")
    (path,) = (tmp_path / "theirs").glob("*.json")
    with capture, warpline.open(path) as own:
        # Paddle 3.3 writes no shapes into its own file, so these are what the program's layers are given.
        shapes = {row["name"].replace(" ", "") for row in capture.report("operator_shapes").rows(0, 999)}
        assert '{"input":[[4,3,32,32]],"filter":[[16,3,3,3]]}' in shapes
        allocations = [len(one.events("memory", name="alloc*")) for one in (capture, own)]
        assert allocations[0] >= allocations[1] > 10
        counts = {kind: len(capture.events(kind)) for kind in ("operator", "memory")}
        export_paddle(capture.storage, tmp_path / "ours.pb")
    printed = run(tmp_path, PYTHON, program("profiled.py"), "paddle-reads", str(tmp_path / "ours.pb"))
    found = json.loads(next(line for line in printed.splitlines() if line.startswith("{")))
    assert found["Operator"] + found["OperatorInner"] == counts["operator"]
    assert found["memory"] == counts["memory"]
    assert found["shapes"] > 10


@pytest.mark.parametrize("framework", ["torch", "paddle"])
def test_networks_are_shown_without_a_run(tmp_path: Path, framework: str) -> None:
    needs(framework)
    needs("h5py")
    run(tmp_path, PYTHON, program("networks.py"), framework, str(tmp_path / "net.h5"))
    with warpline.open(tmp_path / "net.h5") as capture:
        rows = list(capture.report("modules").rows(0, 9))
    shown = [(row["name"], row["parameters"], row["output_shapes"]) for row in rows]
    assert shown == [
        ("Net", 72_234, "[1, 10]"),
        ("body", 224, "[1, 7200]"),
        ("body.0", 224, "[1, 8, 30, 30]"),
        ("body.1", 0, "[1, 8, 30, 30]"),
        ("body.2", 0, "[1, 7200]"),
        ("head", 72_010, "[1, 10]"),
    ]
