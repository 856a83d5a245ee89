"""Commands to a running recording, its status lines, delays, durations and pauses."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.recording.recording_tools import WARPLINE, States, needs_perf, python, record

from warpline.model.errors import RecordingError
from warpline.model.flags import Flag
from warpline.recording.control import (
    ControlServer,
    announced,
    find_recording,
    notes_folder,
    remove_notes_of_ended,
    send_command,
)
from warpline.recording.session import RecordingOptions, Session, load_session
from warpline.recording.spool.spool_to_tracks import AGENT_THREAD
from warpline.storage import open_capture

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")

# Wakes up every 5 ms, tells when told to by a line on its input, and ends with it.
PULSE = """
    import sys, threading, time
    def pulse():
        while True: time.sleep(0.005)
    threading.Thread(target=pulse, daemon=True).start()
    print("ready", flush=True)
    for line in sys.stdin:
        time.sleep(float(line)); print("slept", flush=True)
"""


class Running:
    """A recording of PULSE that is under way."""

    def __init__(
        self, process: subprocess.Popen[bytes], folder: Path, statuses: Any, started: dict[str, Any]
    ) -> None:
        self.process, self.folder, self.statuses, self.started = process, folder, statuses, started

    def let_it_run(self, seconds: float) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{seconds}\n".encode())
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"slept\n"

    def let_it_run_until(self, events: int) -> None:
        """And at least a moment: a busy machine lets it wake up more rarely."""
        self.let_it_run(0.3)
        while send_command(self.folder / "run.h5.spool", "status", timeout_s=60)["events"] < events:
            self.let_it_run(0.1)

    def control(self, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*WARPLINE, "control", *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done

    def finish(self) -> list[dict[str, Any]]:
        """Let the program end; returns the remaining status lines."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        rest = [json.loads(line) for line in self.statuses]
        assert self.process.wait(60) == 0
        return rest


@contextmanager
def running(folder: Path, *options: str) -> Iterator[Running]:
    read, write = os.pipe()
    words = [*WARPLINE, "record", "-o", "run.h5", "--status-fd", str(write), *options, "--", *python(PULSE)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        words, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=(write,)
    ) as process:
        os.close(write)
        with open(read) as statuses:
            started = json.loads(statuses.readline())
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            try:
                yield Running(process, folder, statuses, started)
            finally:
                if process.poll() is None:
                    process.kill()
                    try:
                        os.kill(started["target_pid"], signal.SIGKILL)
                    except ProcessLookupError:
                        pass


@needs_perf
def test_pause_resume_and_status(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        target = run.started["target_pid"]
        run.let_it_run_until(51)
        assert run.control("status").stdout.startswith("recording for ")
        assert json.loads(run.control("pause", str(target), "--json").stdout)["state"] == "paused"
        before = json.loads(run.control("status", "run.h5", "--json").stdout)
        assert before["events"] > 50
        run.let_it_run(0.4)
        after = json.loads(run.control("status", "run.h5.spool", "--json").stdout)
        assert after["events"] == before["events"]
        assert after["elapsed_ns"] - before["elapsed_ns"] >= 400_000_000
        run.control("resume", str(run.process.pid))
        assert run.control("mark", "--name", "it goes on").stdout.startswith("marked after ")
        run.let_it_run_until(after["events"] + 200)
        rest = run.finish()
    assert {status["state"] for status in rest} == {"recording", "paused", "finalising", "done"}
    assert rest[-1]["path"] == str(tmp_path / "run.h5")
    states = States(tmp_path / "run.h5")
    assert len(states.pauses) == 1
    start, stop = states.pauses[0].tolist()
    assert stop - start >= 400_000_000
    with open_capture(tmp_path / "run.h5") as capture:
        (mark,) = np.flatnonzero(capture.events.name == capture.strings.id("it goes on")).tolist()
        assert capture.events.start[mark] >= stop
        assert capture.events.flags[mark] & Flag.INSTANT
    assert not ((states.start < stop) & (states.start + states.duration > start)).any()
    # The thread that samples Python's stacks is Warpline's.
    own = np.isin(states.thread, [i for i, t in enumerate(states.threads) if t.name == AGENT_THREAD])
    for moment, flag in ((start, Flag.CUT_END), (stop, Flag.CUT_START)):
        edge = states.start if flag == Flag.CUT_START else states.start + states.duration
        # The thread that waits for its input and the one that sleeps, both blocked on either side.
        at_border = (edge == moment) & ~own
        assert at_border.sum() == 2
        assert ((states.flags[at_border] & flag) != 0).all()
    later = (states.start > stop) & (states.name == "blocked")
    assert later.sum() > 20
    _name, _unit, memory = states.counters[f"process/{target}.1/counters/memory"]
    assert np.isnan(memory).sum() == 1


@needs_perf
def test_stop_writes_the_capture_and_the_program_runs_on(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        run.let_it_run(0.1)
        run.control("stop")
        states_seen = []
        for line in run.statuses:
            states_seen.append(json.loads(line)["state"])
            if states_seen[-1] == "done":
                break
        assert (tmp_path / "run.h5").exists()
        assert not (tmp_path / "run.h5.spool").exists()
        run.let_it_run(0.05)
        run.finish()
    states = States(tmp_path / "run.h5")
    assert states.meta["exit_status"] is None
    assert (states.flags & Flag.CUT_END).any()


@needs_perf
def test_stop_can_end_the_program_and_discard_the_recording(tmp_path: Path) -> None:
    with running(tmp_path) as run:
        send_command(tmp_path / "run.h5.spool", "stop", timeout_s=60, terminate=True, discard=True)
        assert [json.loads(line)["state"] for line in run.statuses][-1] == "discarded"
        assert run.process.wait(60) == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())


@needs_perf
def test_delay_and_duration_count_from_the_start(tmp_path: Path) -> None:
    """And end the recording: its program goes on until there is a capture. `test_recording_ranges` has the moments."""
    until_written = ["sh", "-c", "until [ -e run.h5 ]; do sleep 0.02; done"]
    done = record(tmp_path, *until_written, options=["--delay", "200ms", "--duration", "300ms"])
    assert done.returncode == 0
    states = States(tmp_path / "run.h5")
    assert states.pauses.shape == (1, 2)
    start, stop = states.pauses[0].tolist()
    assert start == 0
    assert stop >= 200_000_000
    assert states.span[1] >= stop + 300_000_000
    assert states.start.min() >= stop
    assert states.total("blocked") > 0
    assert states.processes[0].command.startswith("sh -c until")


@needs_perf
def test_duration_with_terminate_ends_the_program(tmp_path: Path) -> None:
    done = record(tmp_path, "sleep", "600", options=["--duration", "150ms", "--terminate"])
    assert done.returncode == 143
    assert 150e6 <= States(tmp_path / "run.h5").span[1] < 60e9


def test_one_line_names_the_capture_unless_quiet(tmp_path: Path) -> None:
    assert record(tmp_path, "true", options=["--quiet"]).stderr == b""
    assert record(tmp_path, "true", options=["--no-check"]).stderr.count(b"\n") == 1
    # What stands out is the only thing that may be said below it.
    first, *rest = record(tmp_path, "true").stderr.splitlines()
    assert first.startswith(b"warpline: run.h5: ")
    assert all(line.startswith(b"warpline: [") for line in rest)


def test_control_without_a_recording_is_one_line_and_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for words in (["status"], ["pause", "999999"], ["stop", str(tmp_path)], ["resume", "missing.h5"]):
        done = subprocess.run([*WARPLINE, "control", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("warpline: error: ")
        assert done.stderr.count("\n") == 1


def test_notes_of_killed_recorders_go_with_the_next_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = notes_folder()
    assert folder is not None
    ended = subprocess.Popen(["true"])
    ended.wait()
    other = subprocess.Popen(["true"])
    other.wait()
    (folder / f"{ended.pid}.json").write_text(
        json.dumps({"spool": str(tmp_path), "recorder": ended.pid, "target": 1})
    )
    (folder / f"{other.pid}.json").write_text('{"spo')  # killed while it wrote
    beginning = folder / f"{os.getppid()}.json"
    beginning.write_text(json.dumps({"spool": str(tmp_path), "recorder": os.getppid(), "target": 1}))
    with announced(tmp_path, os.getpid(), 111):
        assert {path.name for path in folder.iterdir()} == {beginning.name, f"{os.getpid()}.json"}
    beginning.unlink()
    (folder / f"{ended.pid}.json").write_text("{}")
    remove_notes_of_ended()
    assert not folder.exists()


def test_a_recording_is_found_by_either_process_id_and_only_if_unambiguous(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    first, second = tmp_path / "a.spool", tmp_path / "b.spool"
    for folder in (first, second):
        folder.mkdir()
        (folder / "control.sock").touch()
    me, parent = os.getpid(), os.getppid()
    with announced(first, me, 111):
        assert find_recording(None) == first
        with announced(second, parent, 222):
            assert find_recording(str(me)) == first
            assert find_recording("222") == second
            assert find_recording(str(second)) == second
            with pytest.raises(RecordingError, match="several"):
                find_recording(None)
            with pytest.raises(RecordingError, match="333"):
                find_recording("333")
    with pytest.raises(RecordingError, match="nothing is being recorded"):
        find_recording(None)


def test_a_folder_of_notes_that_others_can_write_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    folder = tmp_path / f"warpline-{os.getuid()}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    (folder / "1.json").write_text(json.dumps({"spool": "/", "recorder": 1, "target": 1}))
    with pytest.raises(RecordingError, match="no recording"):
        find_recording("1")


def test_nonsense_on_the_socket_gets_an_error_and_does_no_harm(tmp_path: Path) -> None:
    # Deeper than the address of a Unix socket can be.
    folder = tmp_path / ("d" * 100) / ("e" * 100)
    folder.mkdir(parents=True)
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        asked.append(request)
        return {"ok": True, "state": "recording"}

    server = ControlServer(folder, answer)
    descriptor = os.open(folder, os.O_PATH)
    replies = []
    for raw in (
        b"nonsense\n",
        b'{"command": "explode"}\n',
        b'["status"]\n',
        b'{"command": "status"}\n',
        b"x" * 10_000,
    ):
        client = socket.socket(socket.AF_UNIX)
        client.connect(f"/proc/self/fd/{descriptor}/control.sock")
        client.sendall(raw)
        for _ in range(4):
            server.serve()
        client.settimeout(60)
        try:
            replies.append(client.recv(4096))
        except ConnectionResetError:  # hung up on, with part of the flood unread
            replies.append(b"")
        client.close()
    os.close(descriptor)
    assert [json.loads(reply)["ok"] for reply in replies[:4]] == [False, False, False, True]
    assert replies[4] == b""
    assert asked == [{"command": "status"}]
    server.close()
    assert not (folder / "control.sock").exists()


def test_a_session_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    session = Session(
        directory=tmp_path,
        output=tmp_path / "x.h5",
        command=("python", "-c", "print('\u00e9')", ""),
        working_directory="/tmp",
        start_monotonic_ns=5,
        start_realtime_ns=1 << 60,
        recorder_pid=1,
        target_pid=2,
        options=RecordingOptions(
            trace=("cpu",),
            duration_ns=5,
            delay_ns=6,
            capture_range="nvtx:step",
            cuda_graphs="graph",
            terminate=True,
        ),
        host={"name": "x"},
        tool="warpline",
    )
    session.save()
    assert load_session(tmp_path) == session
    session.ended(99, 3).save()
    assert load_session(tmp_path).exit_status == 3
    assert "environ" not in (tmp_path / "session.json").read_text()
