"""Records of switches as marks of threads: those that no machine writes are left out, and counted."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from warpline.recording.sources.perf.translate import _switch_marks
from warpline.storage import CaptureBuilder


def test_a_core_beyond_any_machines_is_damage(tmp_path: Path) -> None:
    columns = {
        "pid": np.array([7, 7, 7], np.uint32),
        "tid": np.array([7, 7, 0], np.uint32),
        "time_ns": np.array([10, 20, 30], np.uint64),
        "cpu": np.array([1, 520_627_911, 1], np.uint32),
        "misc": np.zeros(3, np.uint16),
    }
    spool = SimpleNamespace(columns=lambda _type, _dtype, names: [columns[name] for name in names])
    threads = SimpleNamespace(lookup=lambda pid, _tid, _time: np.zeros(len(pid), np.int64))
    translation = SimpleNamespace(start_ns=0, stop_ns=100, threads=threads)
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        marks = _switch_marks(cast("Any", translation), [cast("Any", spool)], builder)
        (skipped,) = builder.contents().skipped
    assert marks.cpu.tolist() == [1]
    assert skipped.count == 2
