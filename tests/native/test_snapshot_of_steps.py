"""An idle recorder: steps of a training that somebody asks for, on a stand-in for PyTorch."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Self

import pytest
from tests.unit.recording.recording_tools import UNTIL_HOOKED, WARPLINE
from tests.waiting import wait_until

import warpline
from warpline.model.errors import RecordingError
from warpline.recording.control import Refused, send_command
from warpline.recording.control_page import RecordingState

STANDIN = Path(__file__).parent / "standin"
# Trains until there is a file; with `two` and its child each step has two optimisers, and waits for the other process.
# With `scaled` a scaler calls the optimiser. With `dies` the child kills itself in the step FATAL, where the program
# forks another one, too, which ends after some steps; both wait before it until there is a file `asked`.
FATAL = 20
PROGRAM = f"""{UNTIL_HOOKED}
import os, signal, subprocess, sys, time
import torch, torch.amp.grad_scaler
class Net(torch.nn.Module):
    def forward(self, x): time.sleep(0.001)
end, mode = sys.argv[1:]
model, optimizers = Net(), [torch.optim.SGD() for _ in range(2 if mode in ("two", "child") else 1)]
scaler = torch.amp.grad_scaler.GradScaler() if mode == "scaled" else None
pipe = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
child = None
if mode in ("two", "dies"):
    child_mode = "child" if mode == "two" else "dying"
    child = subprocess.Popen([sys.executable, "loop.py", end, child_mode], **pipe)
def all_reduce():
    if mode in ("child", "dying"):
        os.write(1, b"x")
        return os.read(0, 1)
    is_over = os.path.exists(end)
    if child and child.stdout.read(1):
        child.stdin.close() if is_over else child.stdin.write(b"x")
    return not is_over
count = 0
while True:
    model(0)
    torch.autograd.backward(0.002)
    if not all_reduce(): break
    for optimizer in optimizers: scaler.step(optimizer) if scaler else optimizer.step()
    count += 1
    while count == {FATAL} - 10 and mode in ("dies", "dying") and not os.path.exists("asked"): time.sleep(0.001)
    if count == {FATAL} and mode == "dying": os.kill(os.getpid(), signal.SIGKILL)
    if count == {FATAL} and mode == "dies":
        if os.fork() == 0:
            for _ in range(2): optimizers[0].step()
            os._exit(0)
        os.wait()
child and child.wait()
"""


class Training:
    """A recording of `PROGRAM` that is under way."""

    def __init__(self, folder: Path, *options: str, mode: str = "one") -> None:
        self.folder, self.spool = folder, folder / "run.h5.spool"
        (folder / "loop.py").write_text(PROGRAM)
        self._environment = {**os.environ, "PYTHONPATH": str(STANDIN)}
        words = [*WARPLINE, "record", *options, "--no-check", "-o", "run.h5", "--"]
        words += [sys.executable, "loop.py", "end", mode]
        self._process = subprocess.Popen(
            words, cwd=folder, env=self._environment, stderr=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        wait_until(lambda: self.steps() >= 2, "the training does not begin")
        return self

    def __exit__(self, *_error: object) -> None:
        (self.folder / "end").touch()
        self._process.wait(60)
        assert self._process.stderr is not None
        self._process.stderr.close()

    def steps(self) -> int:
        try:
            return int(send_command(self.spool, "status", timeout_s=60)["steps"])
        except RecordingError:
            return 0

    def control(self, action: str, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*WARPLINE, "control", action, str(self.spool), *options],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def end(self) -> str:
        (self.folder / "end").touch()
        errors = self._process.communicate(timeout=60)[1]
        assert self._process.returncode == 0, errors
        return errors


@pytest.mark.parametrize(("mode", "processes"), [("one", 1), ("two", 2), ("scaled", 1)])
def test_nothing_is_recorded_before_the_steps_that_were_asked_for(
    tmp_path: Path, mode: str, processes: int
) -> None:
    """One process with one optimiser, two processes with two, and one with a scaler around it."""
    options = ("--ring", "10m", "--wait", "--trace", "cpu,steps")
    with Training(tmp_path, *options, mode=mode) as training:
        status = send_command(training.spool, "status", timeout_s=60)
        assert (status["state"], status["events"], status["snapshot"]) == ("paused", 0, None)
        refused = training.control("snapshot")
        assert refused.returncode == 1
        assert "ask for steps to come: --next-steps 3" in refused.stderr
        done = training.control("snapshot", "--next-steps", "3", "--json")
        assert done.returncode == 0, done.stderr
        (answer,) = json.loads(done.stdout)
        # The program goes on when the capture is there.
        wait_until((tmp_path / "run.h5").exists, "there is no capture", 60)
        training.end()
    first, until = answer["snapshot"]
    assert first > status["steps"]
    assert until == first + 3
    with warpline.open(tmp_path / "run.h5") as capture:
        steps = capture.report("steps").to_pandas()
        phases = capture.events("phase").to_pandas()
    assert steps.step.tolist() == [first, first + 1, first + 2] * processes
    assert mode == "two" or (steps.forward_ns > 0).all()
    assert not list(tmp_path.glob("run.h5.*"))
    assert (phases.start_ns >= 0).all()
    assert (phases.name == "Optimizer.step: SGD").sum() in range(3 * processes**2, 3 * processes**2 + 4)


def test_what_dies_in_the_steps_does_not_keep_the_snapshot_open(tmp_path: Path) -> None:
    """A child that is killed, and one that is forked there and takes steps of its own."""
    with Training(tmp_path, "--wait", "--trace", "steps", mode="dies") as training:
        send_command(training.spool, "snapshot", timeout_s=60, next_steps=6, first=FATAL - 2)
        (tmp_path / "asked").touch()
        wait_until((tmp_path / "run.h5").exists, "there is no capture", 60)
        training.end()
    with warpline.open(tmp_path / "run.h5") as capture:
        assert sum("ended within these steps" in warning for warning in capture.warnings) == 2
        steps = capture.report("steps").to_pandas()
    assert set(range(FATAL - 2, FATAL + 4)) <= set(steps.step)


@pytest.mark.parametrize("asks_again", [True, False])
def test_steps_that_are_being_recorded_can_be_taken_back(tmp_path: Path, asks_again: bool) -> None:
    """The next request has nothing of them, and without one there is no capture."""
    with Training(tmp_path, "--wait", "--trace", "cpu,steps") as training:
        send_command(training.spool, "snapshot", timeout_s=60, next_steps=100_000)

        def words(first: int, count: int) -> tuple[int, ...]:
            page = (training.spool / "control").read_bytes()
            return struct.unpack_from(f"<{count}Q", page, first)

        wait_until(lambda: any(words(72, 400)), "no thread begins the steps")
        send_command(training.spool, "snapshot", timeout_s=60, next_steps=0)
        wait_until(lambda: not any(words(72, 400)), "a thread stays in the steps")
        wait_until(lambda: words(8, 1)[0] >> 32 == RecordingState.PAUSED, "the recording goes on")
        if not asks_again:
            assert "nobody asked for a snapshot" in training.end()
            assert not list(tmp_path.glob("run.h5*"))
            return
        first = send_command(training.spool, "snapshot", timeout_s=60, next_steps=3)["snapshot"][0]
        wait_until((tmp_path / "run.h5").exists, "there is no capture", 60)
        training.end()
    with warpline.open(tmp_path / "run.h5") as capture:
        steps = capture.report("steps").to_pandas()
        starts = [capture.events(kind).to_pandas().start_ns.min() for kind in ("phase", "thread_state")]
    assert steps.step.tolist() == [first, first + 1, first + 2]
    assert min(starts) >= 0


def test_without_a_request_there_is_no_capture(tmp_path: Path) -> None:
    with Training(tmp_path, "--wait", "--trace", "steps") as training:
        assert "nobody asked for a snapshot" in training.end()
    assert not list(tmp_path.glob("run.h5*"))


def test_a_ring_has_what_was_before_the_steps_too(tmp_path: Path) -> None:
    with Training(tmp_path, "--ring", "10m", "--trace", "steps") as training:
        done = training.control("snapshot", "--next-steps", "2", "--json")
        assert done.returncode == 0, done.stderr
        wait_until((tmp_path / "run.h5").exists, "there is no capture", 60)
        training.end()
    with warpline.open(tmp_path / "run.h5") as capture:
        steps = capture.report("steps").to_pandas().step.tolist()
    assert steps == list(range(json.loads(done.stdout)[0]["snapshot"][1]))


def test_what_cannot_be_asked_for_is_refused(tmp_path: Path) -> None:
    with Training(tmp_path, "--wait", "--trace", "steps") as training:

        def refusal(**fields: int) -> dict[str, object]:
            with pytest.raises(Refused) as error:
                send_command(training.spool, "snapshot", timeout_s=60, **fields)
            return {"why": str(error.value).split(": ")[1], "is_late": error.value.is_late}

        assert refusal(next_steps=2, first=1)["is_late"]
        assert not refusal(next_steps=-1)["is_late"]
        send_command(training.spool, "snapshot", timeout_s=60, next_steps=5, first=1 << 40)
        send_command(training.spool, "snapshot", timeout_s=60, next_steps=0)
        assert send_command(training.spool, "status", timeout_s=60)["snapshot"] is None
