"""Recorders of a profiler that cannot be started."""

from __future__ import annotations

import gc
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from warpline.model.errors import RecordingError
from warpline.profiling.recordings import OwnRecording


def test_a_recorder_that_does_not_start_closes_its_pipe_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: Any, **_options: Any) -> None:
        raise OSError("no more processes")

    gc.collect()  # what others left would close its own below
    monkeypatch.setattr(subprocess, "run", refuse)
    closed: list[int] = []
    close = os.close

    def told(number: int) -> None:
        closed.append(number)
        close(number)

    monkeypatch.setattr(os, "close", told)
    with pytest.raises(RecordingError, match="no more processes"):
        OwnRecording(tmp_path, "run", ("cpu",)).prepare()
    gc.collect()
    assert len(closed) == 2
    assert len(set(closed)) == 2
