"""Nothing that was recorded is lost: killed recorders, full disks, damaged spools."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.unit.recording.recording_tools import WARPLINE, States, needs_perf, python, record

from warpline.model.errors import RecordingError
from warpline.recording.finalise import finalise
from warpline.recording.perf_events.abi import MISC_SWITCH_OUT, MISC_SWITCH_OUT_PREEMPT
from warpline.recording.recover import recover, still_running
from warpline.recording.session import load_session
from warpline.recording.sources.perf.records import LOST, SWITCH, lost, switch
from warpline.recording.spool.reader import read_spools, rows_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

SWITCHES = """
    import threading, time
    def work():
        while True:
            time.sleep(0.0005)
    for _ in range(3):
        threading.Thread(target=work, daemon=True).start()
    print("ready", flush=True)
    time.sleep(600)
"""


def written_switches(spool: Path) -> tuple[int, int]:
    """Of the switches in a recording's files by now: how many began a wait, and when the last was, in its ns."""
    files, _problems = read_spools(spool)
    rows = rows_of(files, SWITCH, switch)
    waits = (rows["misc"] & (MISC_SWITCH_OUT | MISC_SWITCH_OUT_PREEMPT)) == MISC_SWITCH_OUT
    last_ns = int(rows["time_ns"].astype(np.int64).max(initial=0))
    return int(waits.sum()), last_ns - load_session(spool).start_monotonic_ns


def kill_recorder_after(folder: Path, delay_s: float) -> tuple[int, tuple[int, int]]:
    """Record, kill the recorder with SIGKILL once its program has run for a while.

    Returns the program's pid and the switches that had been written down by then: after a longer while, many.
    """
    read, write = os.pipe()
    words = [*WARPLINE, "record", "-o", "run.h5", "--status-fd", str(write), "--", *python(SWITCHES)]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, pass_fds=(write,)) as recorder:
        os.close(write)
        with open(read) as statuses:
            started = json.loads(statuses.readline())
            assert started["state"] == "started"
            time.sleep(delay_s)  # noqa: TID251 - the moment of the kill is the subject
            written = written_switches(Path(started["spool"]))
            while delay_s >= 0.3 and written[0] < 500:
                written = written_switches(Path(started["spool"]))
            recorder.kill()
            try:
                os.kill(started["target_pid"], signal.SIGKILL)
            except ProcessLookupError:
                pass
    return int(started["target_pid"]), written


@needs_perf
@pytest.mark.parametrize("trial", range(4))
def test_a_recorder_killed_at_a_random_moment_leaves_a_capture(tmp_path: Path, trial: int) -> None:
    delay = random.Random(trial).choice([0.0, 0.05, 0.3, 0.7])
    target, (waits, last_ns) = kill_recorder_after(tmp_path, delay)
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5.spool"]
    done = subprocess.run(
        [*WARPLINE, "recover", "run.h5.spool"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"{tmp_path}/run.h5: ")
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]
    states = States(tmp_path / "run.h5")
    assert states.processes[0].pid == target
    assert any("killed" in warning for warning in states.warnings)
    assert "killed" in states.sources["perf"].reason
    assert states.meta["exit_status"] is None
    if delay >= 0.3:
        assert states.span[1] >= last_ns
        assert (states.name == "blocked").sum() >= waits - len(states.threads)


@needs_perf
def test_a_running_recording_cannot_be_recovered(tmp_path: Path) -> None:
    words = [*WARPLINE, "record", "-o", "run.h5", "--terminate", "--", *python(SWITCHES)]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as recorder:
        assert recorder.stdout is not None
        recorder.stdout.readline()
        done = subprocess.run(
            [*WARPLINE, "recover", "run.h5.spool"], cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == 1
        assert b"still being recorded" in done.stderr
        again = record(tmp_path, "true")
        assert again.returncode == 125
        assert b"warpline recover" in again.stderr
        subprocess.run(
            [*WARPLINE, "control", "stop", "run.h5"], cwd=tmp_path, capture_output=True, check=True
        )
    assert recorder.returncode == 143
    assert States(tmp_path / "run.h5").slices > 0


def test_a_program_that_outlived_its_recorder_is_named(tmp_path: Path) -> None:
    read, write = os.pipe()
    waiting = python("import signal; print('ready', flush=True); signal.pause()")
    words = [*WARPLINE, "record", "-o", "run.h5", "--status-fd", str(write), "--", *waiting]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, pass_fds=(write,)) as recorder:
        os.close(write)
        assert recorder.stdout is not None
        with open(read) as statuses:
            pid = json.loads(statuses.readline())["target_pid"]
        try:
            assert recorder.stdout.readline()
            recorder.kill()
            recorder.wait()
            command = [*WARPLINE, "recover", "--keep", "run.h5.spool"]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        finally:
            os.kill(pid, signal.SIGKILL)
        recorder.stdout.read()  # until the program is gone, too
    assert f"process {pid} still runs" in done.stderr
    assert still_running(tmp_path / "run.h5.spool") == []


@needs_perf
def test_any_damage_to_a_spool_gives_a_capture_or_one_line(tmp_path: Path) -> None:
    kill_recorder_after(tmp_path, 0.2)
    spool = tmp_path / "run.h5.spool"
    whole = {path: path.read_bytes() for path in spool.iterdir() if path.is_file()}
    rng = np.random.default_rng(5)
    outcomes = set()
    for trial in range(12):
        for path, raw in whole.items():
            changed = bytearray(raw)
            if raw and path.suffix == ".spool":
                used = min(len(raw), 20_000)
                for where in rng.integers(0, used, 6 if trial % 2 else 40):
                    changed[where] = rng.integers(0, 256)
                if trial % 3 == 0:
                    changed = changed[: int(rng.integers(0, len(changed)))]
            path.write_bytes(changed)
        try:
            done = recover(spool, tmp_path / f"out{trial}.h5", keep=True)
        except RecordingError:
            outcomes.add("refused")
        else:
            assert done is not None
            States(done.path)
            outcomes.add("recovered")
    assert "recovered" in outcomes


def test_a_directory_that_is_not_a_spool_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"not a spool directory"):
        recover(tmp_path)
    (tmp_path / "run.h5").touch()
    with pytest.raises(RecordingError, match=r"run.h5: not a spool directory"):
        recover(tmp_path / "run.h5")
    (tmp_path / "session.json").write_text("{}")
    with pytest.raises(RecordingError, match="damaged"):
        recover(tmp_path)
    (tmp_path / "session.json").write_text("[1, 2")
    with pytest.raises(RecordingError, match="cannot be read"):
        finalise(tmp_path, tmp_path / "x.h5")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one and a half megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    command = ["mount", "-t", "tmpfs", "-o", "size=1536k", "none", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this container may not mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


MANY_SWITCHES = """
    import os
    read, write = os.pipe(); back_read, back_write = os.pipe()
    if os.fork() == 0:
        for _ in range(30_000): os.read(read, 1); os.write(back_write, b"x")
        os._exit(0)
    for _ in range(30_000): os.write(write, b"x"); os.read(back_read, 1)
    os.wait()
"""


@needs_perf
def test_a_full_disk_loses_records_by_count_and_keeps_the_rest(tmp_path: Path, small_disk: Path) -> None:
    options = ["--trace", "cpu", "--spool", str(small_disk / "spool")]
    done = record(tmp_path, *python(MANY_SWITCHES), options=options)
    assert done.returncode == 0, done.stderr
    states = States(tmp_path / "run.h5")
    perf = states.sources["perf"]
    assert perf.lost > 1000
    assert "No space left on device" in perf.reason
    assert f"{perf.lost:,} records lost".encode() in done.stderr
    assert b"No space left on device" in done.stderr
    assert len(states.name) > 5_000
    assert not (small_disk / "spool").exists()


@needs_perf
def test_a_capture_that_does_not_fit_keeps_the_spool_and_says_how_to_recover(
    tmp_path: Path, small_disk: Path
) -> None:
    output = small_disk / "run.h5"
    spool = tmp_path / "spool"
    done = record(tmp_path, *python(MANY_SWITCHES), options=["-o", str(output), "--spool", str(spool)])
    assert done.returncode == 125
    assert done.stderr.count(b"\n") == 1
    assert f"warpline recover {spool}".encode() in done.stderr
    assert list(small_disk.iterdir()) == []
    # What the kernel dropped while a busy machine held the recorder up.
    files, _problems = read_spools(spool)
    dropped = int(rows_of(files, LOST, lost)["count"].sum())
    done_elsewhere = recover(spool, tmp_path / "elsewhere.h5")
    assert done_elsewhere is not None
    assert done_elsewhere.events + dropped > 50_000
    assert States(tmp_path / "elsewhere.h5").sources["perf"].lost == dropped
    assert not spool.exists()
