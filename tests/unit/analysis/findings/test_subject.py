"""Whose time the findings explain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.scope import find_target
from warpline.analysis.framework.selection import View
from warpline.storage import CaptureBuilder, open_capture


@pytest.mark.parametrize(
    ("processes", "title"),
    [
        (("nsys-launcher", "./train"), "train (2)"),
        (("/opt/nsight/target-linux-x64/nsys-launcher", "./train"), "train (2)"),
        (("./train", "nsys-launcher"), "train (1)"),
        (("nsys-launcher",), "nsys-launcher (1)"),
    ],
)
def test_the_program_is_the_subject_and_not_nsights_launcher(
    tmp_path: Path, processes: tuple[str, ...], title: str
) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        for pid, name in enumerate(processes, 1):
            process = builder.add_process(pid, name=name)
            thread = builder.add_thread(process, pid, name=name.rpartition("/")[2])
            track = builder.track(
                f"process/{pid}/thread/{pid}/state", role="state", process=process, thread=thread
            )
            count = 9 if "launcher" in name else 2
            times = np.arange(count) * 10
            names = np.full(count, builder.string("running"))
            builder.add_events(track, "thread_state", times, np.full(count, 5), names)
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        target = find_target(View(capture))
        assert target is not None
        assert target.title == title


def test_events_of_another_clock_are_told_and_not_judged(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        process = builder.add_process(1)
        thread = builder.add_thread(process, 1)
        track = builder.track("process/1/thread/1/ranges", role="ranges", process=process, thread=thread)
        times = np.r_[np.arange(400) * 1_000, 26 * 86_400 * 10**9 + np.arange(4) * 1_000]
        names = np.full(len(times), builder.string("work"))
        builder.add_events(track, "range", times, np.full(len(times), 900), names)
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        diagnosis = diagnose(View(capture))
        assert diagnosis.budget is not None
        assert diagnosis.budget.stop_ns - diagnosis.budget.start_ns < 500_000
        assert "4 events lie 26 days later than the others" in diagnosis.notices
