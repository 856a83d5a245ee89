"""Programs with a known disease: the first finding names it, with the line, and healthy ones are left in peace."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.unit.recording.recording_tools import needs_perf, on_time_once

from warpline.cli import main

LOCK_HELD_WHILE_ASLEEP = """
    import threading, time
    lock, is_held = threading.Lock(), threading.Event()
    def hold():
        with lock:
            is_held.set()
            time.sleep(0.4)  # sick
    def want():
        with lock:
            pass
    holder = threading.Thread(target=hold, name="holder")
    holder.start()
    is_held.wait()
    waiter = threading.Thread(target=want, name="waiter")
    waiter.start()
    waiter.join()
"""
SLEEPS = """
    import time
    for _ in range(20):
        time.sleep(0.02)  # sick
        sum(range(100_000))
"""
CHILDREN_THAT_SLEEP = """
    import subprocess
    for _ in range(6):
        subprocess.run(["sleep", "0.2"])  # sick
"""
WORKERS_THAT_SLEEP = """
    import multiprocessing, time
    def work(_item):
        time.sleep(0.1)  # sick
    if __name__ == "__main__":
        with multiprocessing.get_context("fork").Pool(2) as pool:
            pool.map(work, range(8), chunksize=1)
"""
HEALTHY = """
    import time
    stop = time.monotonic() + 0.5
    while time.monotonic() < stop:
        sum(range(1000))
"""


def check(folder: Path, program: str) -> tuple[dict[str, Any], Path, int]:
    """What `warpline check --json` says of a program, its file, and the number of the line marked as sick."""
    path, capture = folder / "program.py", folder / "run.h5"
    path.write_text(textwrap.dedent(program))
    words = [sys.executable, "-m", "warpline"]
    record = [*words, "record", "-q", "-o", str(capture), "--", sys.executable, str(path)]
    subprocess.run(record, check=True, timeout=100)
    done = subprocess.run(
        [*words, "check", "--json", str(capture)], capture_output=True, check=True, timeout=100
    )
    lines = path.read_text().splitlines()
    sick = next((number for number, line in enumerate(lines, 1) if line.endswith("# sick")), 0)
    found: dict[str, Any] = json.loads(done.stdout)
    return found, path, sick


@needs_perf
@pytest.mark.parametrize(
    ("program", "kinds"),
    [
        (LOCK_HELD_WHILE_ASLEEP, {"waits_for_lock"}),
        (SLEEPS, {"waits_for_sleep"}),
        (CHILDREN_THAT_SLEEP, {"waits_for_child"}),
        # Both workers sleep while items queue: the pool is too small, which comes before what the workers wait for.
        (WORKERS_THAT_SLEEP, {"small_pool", "waits_for_sleep"}),
    ],
)
def test_the_disease_is_found_with_its_line(tmp_path: Path, program: str, kinds: set[str]) -> None:
    def look(folder: Path) -> None:
        found, path, sick = check(folder, program)
        start, stop = found["range_ns"]
        assert sum(part["time_ns"] for part in found["budget"]) == stop - start
        first = next(finding for finding in found["findings"] if finding["id"] in kinds)
        assert first["severity"] in ("critical", "warning")
        assert 0.2e9 < first["gain_ns"] <= first["time_ns"]
        places = {(hop.get("file"), hop.get("line")) for hop in first["chain"]}
        assert (str(path), sick) in places
        assert first["remedy"]

    on_time_once(tmp_path, look)


@needs_perf
def test_who_holds_the_lock_is_followed_to_what_he_does(tmp_path: Path) -> None:
    def look(folder: Path) -> None:
        found, path, sick = check(folder, LOCK_HELD_WHILE_ASLEEP)
        first = found["findings"][0]
        assert (first["where"]["file"], first["where"]["line"]) == (str(path), sick)
        assert "sleeps" in first["text"]
        assert_ranges_show(folder / "run.h5", first["id"])

    on_time_once(tmp_path, look)


@needs_perf
def test_a_recording_ends_with_what_stands_out_unless_nobody_wants_to_know(tmp_path: Path) -> None:
    def look(folder: Path) -> None:
        path = folder / "program.py"
        path.write_text(textwrap.dedent(SLEEPS))
        told = []
        for options in ([], ["--no-check"], ["--quiet"]):
            words = ["record", *options, "-o", "run.h5", "--", sys.executable, str(path)]
            done = subprocess.run(
                [sys.executable, "-m", "warpline", *words],
                cwd=folder, capture_output=True, text=True, check=True, timeout=100,
            )  # fmt: skip
            told.append(done.stderr.splitlines())
        first, unchecked, quiet = told
        assert first[0].startswith("warpline: run.h5: ")
        assert len(first) == 2
        assert "program.py:4" in first[1]
        assert first[1].endswith("(warpline check run.h5)")
        assert (len(unchecked), quiet) == (1, [])

    on_time_once(tmp_path, look)


@needs_perf
def test_a_healthy_program_gets_no_warning_about_waits(tmp_path: Path) -> None:
    def look(folder: Path) -> None:
        found, _path, _sick = check(folder, HEALTHY)
        # Others may have the cores of a busy machine; that is not the program's.
        assert [f for f in found["findings"] if f["severity"] != "note" and f["id"] != "waits_for_core"] == []

    on_time_once(tmp_path, look)


def test_loading_in_the_main_process_is_what_keeps_the_gpu_waiting(
    data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = next(data_dir.glob("torch/**/resnet50_num_workers_0/*.json.gz"))
    capture = tmp_path / "resnet.h5"
    assert main(["import", str(trace), "-o", str(capture)]) == 0
    capsys.readouterr()
    assert main(["check", "--json", str(capture)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["check", "--json", str(trace)]) == 0
    assert json.loads(capsys.readouterr().out) == found
    start, stop = found["range_ns"]
    assert sum(part["time_ns"] for part in found["budget"]) == stop - start
    assert found["findings"][0]["id"] == "gpu_data_loading"
    assert found["findings"][0]["severity"] == "critical"
    assert main(["check", str(capture), "--fail-on", "warning"]) == 3
    assert "Load in worker processes" in capsys.readouterr().out
    assert main(["check", str(capture), "--step", "nothing"]) == 2
    assert capsys.readouterr().err == f"warpline: error: {capture}: no range is named 'nothing'\n"
    assert_ranges_show(capture, "gpu_data_loading")


def assert_ranges_show(path: Path, finding_id: str) -> None:
    """The evidence of a finding holds its time, in order, on tracks that are there."""
    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.framework.selection import View
    from warpline.storage import open_capture

    with open_capture(path) as capture:
        found = diagnose(View(capture))
        finding = next(one for one in found.findings if one.id == finding_id)
        ranges = finding.evidence.ranges.tolist()
        assert ranges
        assert all(before[1] <= after[0] for before, after in pairwise(ranges))
        assert sum(stop - start for start, stop in ranges) >= finding.time_ns
        assert finding.evidence.tracks
        assert set(finding.evidence.tracks) <= {track.index for track in capture.tracks}
        assert all(hop.row >= 0 for hop in finding.chain)
