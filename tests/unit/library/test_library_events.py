"""`events`: which events, their columns, what is missing, and what they cost."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.library.library_tools import MS, STEPS
from tests.unit.storage.storage_tools import random_lane, write_lanes

import warpline
from warpline.storage import CaptureBuilder


def missing(table: warpline.EventFrame, column: str) -> npt.NDArray[np.bool_]:
    return np.ma.getmaskarray(table[column])


def test_events_of_a_kind_are_columns(run: warpline.CaptureReader) -> None:
    kernels = run.events("kernel")
    assert len(kernels) == STEPS
    assert kernels["start_ns"].tolist() == [step * 100 * MS + 20 * MS for step in range(STEPS)]
    assert kernels.duration_ns[:4].tolist() == [40 * MS, 10 * MS, 40 * MS, 10 * MS]
    assert kernels.stop_ns[0] == 60 * MS
    assert kernels["name"][:3].tolist() == ["gemm", "reduce", "gemm"]
    assert set(kernels["track"]) == {"gpu/0/process/71.1/context/1/stream/7"}
    assert kernels["kind"][0] == "kernel"
    assert kernels["process_id"][0] == 71
    assert kernels["stream"][0] == 7
    assert kernels["grid_x"].sum() == 64 * STEPS
    assert kernels["duration_ns"].dtype == np.int64


def test_what_was_not_recorded_is_masked(run: warpline.CaptureReader) -> None:
    kernels = run.events("kernel")
    registers = kernels["registers_per_thread"]
    assert isinstance(registers, np.ma.MaskedArray)
    assert registers.tolist() == [None if step % 5 == 0 else 32 for step in range(STEPS)]
    assert missing(kernels, "thread_id").all()


def test_several_kinds_share_columns(run: warpline.CaptureReader) -> None:
    both = run.events(["memcpy", "kernel"])
    assert len(both) == STEPS + STEPS // 2
    assert (np.diff(both.row) > 0).all()
    is_copy = both["kind"] == "memcpy"
    assert both["copy_kind"][is_copy].tolist() == ["host to device"] * (STEPS // 2)
    assert missing(both, "copy_kind").tolist() == (~is_copy).tolist()
    assert both["bytes"][is_copy].tolist() == [4096] * (STEPS // 2)
    assert missing(both, "grid_x").tolist() == is_copy.tolist()


def test_an_attribute_called_like_a_column_has_its_kind_before_it(run: warpline.CaptureReader) -> None:
    waits = run.events("sync")
    assert waits["sync_stream"].tolist() == [7]
    assert missing(waits, "stream").all()
    assert waits["sync_type"].tolist() == ["stream synchronize"]


def test_all_events_without_a_kind(run: warpline.CaptureReader) -> None:
    everything = run.events()
    assert len(everything) == run.info()["events"]
    assert everything.row.tolist() == list(range(len(everything)))
    assert "grid_x" not in everything
    assert set(everything["kind"]) == set(run.kinds)


@pytest.mark.parametrize(
    ("start", "stop", "steps"),
    [
        ("1.2s", "1.3s", [12]),
        (1200 * MS, 1300 * MS, [12]),
        (np.int64(1200 * MS), None, list(range(12, STEPS))),
        # Kernels last to 60 ms or 30 ms into a step: who reaches into the range counts, who touches it does not.
        ("59ms", "61ms", [0]),
        ("60ms", "110ms", []),
        (None, "20ms", []),
        (None, "20000001ns", [0]),
    ],
)
def test_a_range_takes_what_overlaps_it(
    run: warpline.CaptureReader, start: str | int | None, stop: str | int | None, steps: list[int]
) -> None:
    kernels = run.events("kernel", start=start, stop=stop)
    assert (kernels.start_ns // (100 * MS)).tolist() == steps


def test_tracks_and_names_select(run: warpline.CaptureReader) -> None:
    assert set(run.events(track="gpu/0/*")["kind"]) == {"kernel", "memcpy", "sync"}
    assert set(run.events(track=["*/stream/8", "*/api"])["kind"]) == {"memcpy", "cuda_api"}
    assert len(run.events(name="gemm")) == STEPS // 2
    assert len(run.events(name="gem")) == 0
    assert len(run.events(name="Memcpy*")) == STEPS // 2
    assert len(run.events(name=re.compile("e(m|d)"))) == STEPS + STEPS // 2
    assert len(run.events("kernel", name=["reduce", "step"])) == STEPS // 2


def test_a_name_with_brackets_is_found_as_it_is(tmp_path: Path) -> None:
    name = "void add<4>(float*, std::array<char*, 3ul>)[clone .kd]"
    with CaptureBuilder(tmp_path / "a.h5") as builder:
        builder.add_events(builder.track("a"), "range", [0, 10], [5, 5], builder.strings([name, "other"]))
        builder.finish()
    with warpline.open(tmp_path / "a.h5") as capture:
        assert capture.events(name=name)["name"].tolist() == [name]


@settings(max_examples=25)
@given(data=st.data())
def test_any_range_and_tracks_are_those_of_brute_force(
    data: st.DataObject, lanes_capture: warpline.CaptureReader
) -> None:
    length = lanes_capture.duration_ns
    moment = st.integers(0, length)
    start = data.draw(moment)
    stop = data.draw(st.integers(start, length))
    tracks = sorted(data.draw(st.sets(st.integers(0, 3), min_size=1)))
    found = lanes_capture.events("range", track=[f"lane/{index}" for index in tracks], start=start, stop=stop)
    everything = lanes_capture.events()
    begin, end = everything.start_ns, everything.stop_ns
    # An instant at the start of the range is in it.
    inside = (begin < stop) & ((end > start) | (begin >= start))
    inside &= np.isin(everything["track"], [f"lane/{index}" for index in tracks])
    assert found.row.tolist() == everything.row[inside].tolist()
    assert found["start_ns"].tolist() == begin[inside].tolist()
    assert found["track"].tolist() == everything["track"][inside].tolist()


@pytest.fixture(scope="module")
def lanes_capture(tmp_path_factory: pytest.TempPathFactory) -> warpline.CaptureReader:
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("lanes") / "lanes.h5"
    lanes = [random_lane(rng, 300, shape) for shape in ("uniform", "bursty", "adjacent", "instants")]
    # Another clock: times that are asked and answered are those of the capture all the same.
    write_lanes(path, lanes, offset_ns=12_345).close()
    return warpline.open(path)


def test_a_kind_the_capture_has_not_is_empty_and_an_unknown_one_an_error(run: warpline.CaptureReader) -> None:
    nothing = run.events("operator")
    assert len(nothing) == 0
    assert nothing["input_shapes"].tolist() == []
    assert len(nothing["start_ns"]) == 0
    assert len(run.events(["operator", "kernel"])) == STEPS
    assert missing(run.events(["operator", "kernel"]), "input_shapes").all()
    with pytest.raises(warpline.UsageError, match=r"no kind 'kernl'.*has .*kernel, memcpy"):
        run.events("kernl")


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"start": "1x"}, "not a time: '1x' .*1.5s"),
        ({"start": 1.5}, "not a time: 1.5; write a text with a unit"),
        ({"stop": True}, "not a time"),
        ({"start": "2s", "stop": "1s"}, "ends before it starts"),
        ({"start": "5s"}, "the capture lasts 2.000 s"),
        ({"track": "gpu/7"}, "no track matches 'gpu/7'; did you mean 'gpu/0'"),
    ],
)
def test_wrong_questions_are_one_helpful_line(
    run: warpline.CaptureReader, question: dict[str, object], said: str
) -> None:
    with pytest.raises(warpline.UsageError, match=said) as caught:
        run.events("kernel", **question)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_an_unknown_column_names_a_near_one(run: warpline.CaptureReader) -> None:
    with pytest.raises(warpline.UsageError, match="did you mean 'duration_ns'"):
        run.events()["duration"]


def test_rows_are_for_printing(run: warpline.CaptureReader) -> None:
    first = next(iter(run.events("kernel").rows()))
    assert first["name"] == "gemm"
    assert first["registers_per_thread"] is None
    assert len(list(run.events("kernel").rows(2, 5))) == 3


def test_columns_are_made_once_and_cost_no_object_for_each_event(tmp_path: Path) -> None:
    count = 200_000
    with CaptureBuilder(tmp_path / "large.h5") as builder:
        track = builder.track("lane")
        names = builder.strings([f"name {number}" for number in range(50)])
        starts = np.arange(count) * 10
        builder.add_events(
            track, "range", starts, 5, names[np.arange(count) % 50], attributes={"end_thread": 1}
        )
        builder.finish()
    with warpline.open(tmp_path / "large.h5") as capture:
        before = sys.getallocatedblocks()
        events = capture.events("range", name="name 1*")
        columns = dict(events)
        grown = sys.getallocatedblocks() - before
    assert len(events) == count // 50 * 11
    assert len({id(name) for name in columns["name"][:1000]}) == 11
    assert events.column("name") is events.column("name")
    assert grown < 5_000


def test_reading_ends_with_the_capture(run_path: Path) -> None:
    with warpline.open(run_path) as capture:
        events = capture.events("kernel")
        durations = events["duration_ns"]
    assert durations.sum() == (40 + 10) * MS * STEPS // 2
    assert events["duration_ns"].sum() == durations.sum()
    with pytest.raises(warpline.UsageError, match="is closed"):
        events["grid_x"]
    with pytest.raises(warpline.UsageError, match="is closed"):
        capture.events()
    assert "closed" in repr(capture)
    capture.close()
