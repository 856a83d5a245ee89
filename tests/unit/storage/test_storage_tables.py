"""Texts, stacks, processes, tracks, clocks: the small tables of a capture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warpline.model import StorageError
from warpline.storage import NO_STACK, CaptureBuilder, open_capture, verify


def test_stacks_and_strings_and_tables(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        texts = ["", "main", "läuft ☕", "\udcff undecodable", "a" * 100_000]
        ids = builder.strings(texts)
        assert builder.strings(texts).tolist() == ids.tolist()
        assert ids[0] == 0
        stack = NO_STACK
        for frame in ids.tolist():
            stack = builder.stack(frame, stack)
        assert builder.stack(ids[1], builder.stack(ids[0])) == 1
        process = builder.add_process(71, name="python", start_ns=5)
        builder.update_process(process, exit_status=3)
        thread = builder.add_thread(process, 72)
        builder.update_thread(thread, name="worker")
        device = builder.add_device(0, "GPU", properties={"sms": 132})
        builder.update_device(device, name="Better GPU")
        builder.add_source("perf", False, "not allowed", remedy="ask")
        builder.add_source("perf", True, lost=4)
        for _ in range(2):
            builder.add_skipped("events", 6, "no end")
            builder.add_warning("careful")
        builder.add_skipped("nothing", 0, "")
        builder.add_pause(5, 8)
        builder.meta["command_line"] = ["a", "b"]
        builder.meta["numbers"] = {"x": np.int64(3), 5: Path("/tmp")}
        builder.set_span(-5, 100)
        parent = builder.track("process/71.1", process=process, rank=3, clock=builder.add_clock("other", 1))
        child = builder.track("process/71.1/x", parent="process/71.1", sort_key=2, title="second")
        again = builder.track("process/71.1/x", title="ignored")
        for title in ("Stream 13", "Stream 7"):
            builder.track(f"process/71.1/{title}", parent=parent, title=title)
        assert child == again
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.stack_frames(stack)[-4:] == ["\ufffd undecodable", "läuft ☕", "main", ""]
        assert capture.stack_frames(NO_STACK) == []
        assert capture.strings.id("läuft ☕") == ids[2]
        assert capture.strings.id("unknown") is None
        assert capture.strings.find("LÄU").tolist() == [ids[2]]
        assert capture.strings.find("LÄU", case=True).tolist() == []
        assert ids[1] in capture.strings.find("^m.*n$", regex=True)
        assert (capture.processes[0].exit_status, capture.processes[0].start_ns) == (3, 5)
        assert capture.threads[0].name == "worker"
        assert capture.devices[0].name == "Better GPU"
        assert capture.devices[0].properties == (("sms", 132),)
        assert [(s.enabled, s.lost) for s in capture.sources] == [(True, 4)]
        assert [(s.what, s.count) for s in capture.skipped] == [("events", 12)]
        assert capture.warnings == ("careful",)
        assert capture.pauses.tolist() == [[5, 8]]
        assert capture.meta == {"command_line": ["a", "b"], "numbers": {"x": 3, "5": "/tmp"}}
        assert (capture.span, capture.duration_ns) == ((-5, 100), 105)
        track = capture.track("process/71.1/x")
        assert (track.title, track.rank, track.clock, track.parent) == ("second", 3, 1, 0)
        titles = [capture.tracks[index].title for index in capture.children(0)]
        assert titles == ["Stream 7", "Stream 13", "second"]
        with pytest.raises(KeyError):
            capture.track("nowhere")


def test_clock_offsets_can_be_changed_after_the_fact(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        clock = builder.add_clock("rank 1", 100, "steps", 5)
        track = builder.track("t", clock=clock)
        builder.add_events(track, "range", [150, 300], 10, 0)
        builder.add_counter(track, "c", "", [150], [1.0])
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.event_span(0) == (50, 60)
        moved = capture.with_clock_offsets({clock: 140})
        assert moved.event_span(0) == (10, 20)
        assert moved.counters[0].times.tolist() == [10]
        assert moved.query([0], 0, 30, 30).rect_start.tolist() == [10]
        assert capture.event_span(0) == (50, 60)


def test_tracks_nest_only_so_deep(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        track = None
        for depth in range(64):
            track = builder.track(f"t/{depth}", parent=track)
        with pytest.raises(StorageError, match="64 deep"):
            builder.track("t/64", parent=track)
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert len(capture.tracks) == 64


def test_an_empty_capture_is_a_capture(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert (len(capture.events), len(capture.lanes), len(capture.tracks)) == (0, 0, 0)
        assert capture.span == (0, 0)
        assert capture.kinds == {}
        assert capture.links.counts() == {}
        assert capture.counters == ()
        assert list(verify(capture)) == []
