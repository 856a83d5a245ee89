"""What a `CaptureBuilder` refuses, and what it leaves behind when it does not finish."""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.unit.storage.scenario import KINDS

from warpline.model import Cancelled, KindSpec, StorageError
from warpline.model.errors import WarplineError
from warpline.recording.capture_of_session import check_output
from warpline.storage import CaptureBuilder, open_capture, verify
from warpline.storage.write import event_writer


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda b, t: b.add_events(t, "range", [1, 2], [1, -1], 0), "negative duration"),
        (lambda b, t: b.add_events(t, "range", [2**62 + 1], 1, 0), "beyond 2"),
        (lambda b, t: b.add_events(t, "range", [1], 1, 0, attributes={"nope": 1}), "no attribute 'nope'"),
        (lambda b, t: b.add_events(t, "nope", [1], 1, 0), "unknown kind 'nope'"),
        (lambda b, _: b.add_events(99, "range", [1], 1, 0), "no track 99"),
        (lambda b, t: b.add_events(t, "range", [1, 2], [1, 2, 3], 0), "3 durations for 2 events"),
        (lambda b, t: b.add_events(t, "range", [1, 2], 1, [0, 0, 0]), "3 names for 2 events"),
        (
            lambda b, t: b.add_events(t, "alpha", [1, 2], 1, 0, attributes={"id": [1, 2, 3]}),
            "3 values of id for 2",
        ),
        (lambda b, _: b.add_links("flow", [1, 2], [1]), "2 starts and 1 ends"),
        (lambda b, _: b.add_link_keys("flow", 0, "from", [1, 2], [1]), "2 keys for 1"),
        (lambda b, t: b.add_counter(t, "c", "", [1, 2], [1]), "2 times for 1"),
        (lambda b, t: b.add_counter(t, "c", "", [1], [1], interpolation="cubic"), "cubic"),
        (lambda b, _: b.add_kind(KindSpec("a/b", "", "", "")), "cannot be the name"),
        (lambda b, _: b.track("x", parent="nowhere"), "no track 'nowhere'"),
        (lambda b, _: b.track("x", clock=5), "no clock 5"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_the_builder_intact(
    tmp_path: Path, add: Callable[[CaptureBuilder, int], object], message: str
) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.add_kind(KINDS[0])
        track = builder.track("t")
        builder.add_events(track, "alpha", [5], 1, 0, attributes={"id": 1})
        with pytest.raises(StorageError, match=re.escape(message)):
            add(builder, track)
        builder.add_events(track, "alpha", [9], 1, 0, attributes={"id": 2})
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.events.start.tolist() == [5, 9]
        assert capture.kinds["alpha"].column("id")[0].tolist() == [1, 2]
        assert list(verify(capture)) == []


def test_a_lane_of_more_events_than_32_bits_count_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_writer, "MAX_LANE_EVENTS", 9)
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.add_events(builder.track("t"), "range", np.arange(10), 1, 0)
        with pytest.raises(StorageError, match="t has 10 events on one lane and at most 9"):
            builder.finish()
    assert list(tmp_path.iterdir()) == []


def test_leaving_without_finish_leaves_no_file(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5", memory_budget_bytes=100) as builder:
        builder.add_events(builder.track("t"), "range", np.arange(100_000), 1, 0)
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []


def test_cancelling_keeps_the_existing_file(tmp_path: Path) -> None:
    target = tmp_path / "x.h5"
    target.write_text("before")
    calls = itertools.count()
    steps: list[float] = []
    with CaptureBuilder(target) as builder:
        builder.add_events(builder.track("t"), "range", np.arange(1000), 1, 0)
        with pytest.raises(Cancelled):
            builder.finish(lambda fraction, _: steps.append(fraction), lambda: next(calls) > 3)
    assert len(steps) == 4
    assert steps == sorted(steps)
    assert [path.name for path in tmp_path.iterdir()] == ["x.h5"]
    assert target.read_text() == "before"


def test_an_existing_file_is_kept_when_asked(tmp_path: Path) -> None:
    target = tmp_path / "x.h5"
    target.write_text("before")
    with pytest.raises(StorageError, match="exists already"):
        CaptureBuilder(target, overwrite=False)
    with pytest.raises(StorageError, match="does not exist"):
        CaptureBuilder(tmp_path / "nowhere" / "x.h5")
    with pytest.raises(StorageError, match="is a directory"):
        CaptureBuilder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["x.h5"]


@pytest.mark.parametrize("write", [CaptureBuilder, check_output])
def test_what_is_not_a_regular_file_is_never_replaced(
    write: Callable[[Path], object], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with (tmp_path / "open").open("wb") as file:
        for path in (pipe, Path(os.devnull), Path(f"/dev/fd/{file.fileno()}")):
            with pytest.raises(WarplineError, match=re.escape(f"{path}") + ".* is not a regular file"):
                write(path)
    assert pipe.is_fifo()


def test_a_full_disk_is_told_before_anything_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.add_events(builder.track("t"), "range", np.arange(1000), 1, 0)
        usage = shutil.disk_usage(tmp_path)._replace(free=1 << 20)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
        with pytest.raises(StorageError, match="free some space"):
            builder.finish()
    assert list(tmp_path.iterdir()) == []
