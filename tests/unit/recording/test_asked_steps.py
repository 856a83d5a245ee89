"""When the steps of a snapshot are over, as the recorder sees it."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from warpline.model.tracks import Source
from warpline.recording import named_threads
from warpline.recording.control_page import ControlPage, RecordingState
from warpline.recording.named_threads import NamedThreads
from warpline.recording.snapshots import AskedSteps, ask_for_steps

LIVING = (os.getpid(), threading.main_thread().native_id or 0)
DEAD = (os.getpid(), 1)
SECOND_NS = 1_000_000_000


@dataclass
class Page:
    """What the program has written of ten steps, from the fifth on."""

    steps: int
    threads_inside: list[tuple[int, int]] = field(default_factory=list)
    snapshot_began_ns: int = SECOND_NS
    steps_asked: tuple[int, int] | None = (5, 15)

    def asked(self) -> AskedSteps:
        return AskedSteps(cast("ControlPage", self), [])


@pytest.mark.parametrize(
    ("page", "is_over", "warnings"),
    [
        (Page(20, steps_asked=None), False, 0),
        (Page(3, snapshot_began_ns=0), False, 0),
        (Page(7, [LIVING]), False, 0),
        (Page(7, [LIVING, DEAD]), False, 0),
        (Page(15, [LIVING]), False, 0),
        (Page(15), True, 0),
        (Page(15, [DEAD]), True, 1),
        (Page(7, [DEAD, DEAD]), True, 2),
    ],
)
def test_steps_are_over_when_nobody_who_lives_is_in_them(page: Page, is_over: bool, warnings: int) -> None:
    asked = page.asked()
    assert asked.are_over(2 * SECOND_NS) is is_over
    assert len(asked.warnings) == warnings


@pytest.mark.skipif(shutil.which("unshare") is None, reason="unshare is not installed")
def test_a_thread_in_a_pid_namespace_is_found_by_its_id_there() -> None:
    """Its id is chosen: small ones also belong to what other tests run in namespaces meanwhile."""
    words = [
        "unshare",
        "--pid",
        "--fork",
        "--map-root-user",
        "sh",
        "-c",
        "echo 987654 >/proc/sys/kernel/ns_last_pid; sleep 600 & echo $!; read line; kill $!; wait",
    ]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        inside = int(process.stdout.readline() or 0)
        if inside < 987_654:
            pytest.skip("PID namespaces, or a choice of ids in them, are refused here")
        assert named_threads._in_a_namespace(inside, 1 << 30) is None
        threads = NamedThreads()
        here = named_threads._in_a_namespace(inside, inside)
        assert here is not None
        threads._known[1 << 30, 1 << 30] = here
        assert threads.lives(1 << 30, 1 << 30)
        process.stdin.close()
        process.wait(60)
    assert not threads.lives(1 << 30, 1 << 30)
    assert not threads.lives(os.getpid(), 1 << 30)


def test_a_request_that_was_taken_back_leaves_no_dead_threads(tmp_path: Path) -> None:
    page = ControlPage(tmp_path, RecordingState.PAUSED, 0)
    try:
        with (tmp_path / "control").open("r+b") as file:
            file.seek(64)
            file.write(struct.pack("<3Q", 5, DEAD[0] << 32 | 0x7FFF_FFFF, LIVING[0] << 32 | LIVING[1]))
        assert not ask_for_steps(page, {"next_steps": 3, "first": 7}, Source("steps", True))
        assert page.threads_inside == [LIVING]
        assert page.snapshot_began_ns == 0
        assert page.steps_asked == (7, 10)
    finally:
        page.close()


def test_a_thread_that_stops_training_is_left_behind() -> None:
    asked = Page(15, [LIVING]).asked()
    assert not asked.are_over(5 * SECOND_NS)
    assert not asked.are_over(5 * SECOND_NS + 39 * SECOND_NS)
    assert asked.are_over(5 * SECOND_NS + 41 * SECOND_NS)
    assert asked.warnings == [f"thread {LIVING[1]} of process {LIVING[0]} has not ended these steps"]
