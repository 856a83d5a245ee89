"""Repeated recordings of one program: how long each run took."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from warpline.analysis.compare.alignment import step_windows
from warpline.analysis.compare.variation import median_interval
from warpline.analysis.framework.selection import View
from warpline.model.errors import WarplineError
from warpline.model.progress import IsCancelled
from warpline.recording.again import series_files, series_id
from warpline.storage import open_capture

_MOST_RUNS = 200


@dataclass(frozen=True)
class SeriesRun:
    """One capture of a series, in ns: its length, and its median step with an interval around it (None: no steps)."""

    path: Path
    duration_ns: int
    step_ns: int | None
    step_interval_ns: tuple[float, float] | None
    exit_status: int | None


@dataclass(frozen=True)
class Series:
    """The captures of a series in one folder, oldest first."""

    id: str
    runs: tuple[SeriesRun, ...]

    @property
    def is_of_steps(self) -> bool:
        """Whether all runs have steps."""
        return bool(self.runs) and all(run.step_ns is not None for run in self.runs)

    def value_ns(self, run: SeriesRun) -> int:
        """The compared value of a run: its median step, or its length."""
        return run.step_ns if self.is_of_steps and run.step_ns is not None else run.duration_ns


def read_series(path: Path, is_cancelled: IsCancelled) -> Series:
    """The series of a capture; unreadable captures and those of other series are left out.

    Raises WarplineError when the capture itself cannot be read.
    """
    with open_capture(path) as capture:
        wanted = series_id(capture)
    runs = []
    for file in series_files(path)[-_MOST_RUNS:]:
        if is_cancelled():
            break
        try:
            with open_capture(file) as capture:
                if series_id(capture) != wanted:
                    continue
                windows = step_windows(View(capture))
                median, interval = None, None
                if windows is not None and len(windows):
                    median = int(np.median(windows.length))
                    interval = median_interval(windows.length)
                status = capture.meta.get("exit_status")
                runs.append(
                    SeriesRun(
                        file,
                        capture.duration_ns,
                        median,
                        interval,
                        status if isinstance(status, int) else None,
                    )
                )
        except WarplineError:
            continue
    return Series(wanted, tuple(runs))
