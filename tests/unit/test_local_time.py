"""Times of day are those of the clock on the wall; what is stored is UTC."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from warpline.storage import CaptureBuilder, open_capture

EAST = "WLT-9:30"
"""A zone of its own, nine and a half hours ahead, as POSIX writes that."""
AHEAD = timedelta(hours=9, minutes=30)

pytestmark = pytest.mark.skipif(not hasattr(time, "tzset"), reason="no time zones by environment here")


@pytest.fixture
def far_east() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", EAST)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.skipif(sys.platform != "linux", reason="recording works on Linux only")
def test_a_recording_is_named_by_the_clock_on_the_wall_and_keeps_utc(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "warpline", "record", "-q", "--trace", "nvml", "--", "true"]
    before = datetime.now(UTC)
    subprocess.run(command, cwd=tmp_path, env={**os.environ, "TZ": EAST}, check=True, timeout=60)
    after = datetime.now(UTC)
    (path,) = tmp_path.glob("true-*.h5")
    named = datetime.strptime(path.stem, "true-%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    assert before - timedelta(seconds=1) <= named - AHEAD <= after
    info = [sys.executable, "-m", "warpline", "info", str(path), "--json"]
    told = json.loads(subprocess.run(info, capture_output=True, check=True).stdout)
    assert told["duration_ns"] > 0
    with open_capture(path) as capture:
        started = datetime.fromtimestamp(capture.meta["start_utc_ns"] / 1e9, UTC)
    assert before <= started <= after


@pytest.mark.usefixtures("far_east")
def test_the_window_tells_when_it_was_recorded_by_the_clock_on_the_wall(tmp_path: Path) -> None:
    pytest.importorskip("PySide6")
    from warpline_app.panels.sources.panel import run_facts

    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.meta["start_utc_ns"] = 86_400 * 10**9
        builder.set_span(0, 1000)
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert dict(run_facts(capture))["Started"] == "1970-01-02 09:30:00 WLT"
