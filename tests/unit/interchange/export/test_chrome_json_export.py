"""Chrome JSON export, and importing it again."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.gui.core_sample import write_cores
from tests.gui.native_sample import write_native_sample
from tests.gui.wait_sample import write_wait_sample
from tests.unit.interchange.export.export_tools import (
    GENERIC,
    NSYS,
    TORCH,
    attributes_of,
    events_of,
    links_of,
    rows_of,
    samples_of,
    written,
)

from warpline.interchange import import_files
from warpline.interchange.export.chrome_json.text import microseconds
from warpline.interchange.export.exporting import export_capture
from warpline.model import Flag
from warpline.storage import Capture, CaptureBuilder, open_capture


@pytest.mark.parametrize("file", [*TORCH, *GENERIC])
def test_chrome_json_gives_the_same_capture_again(
    imported: dict[str, Capture], tmp_path: Path, file: str
) -> None:
    capture = imported[file]
    out = written(capture, tmp_path / "out.json.gz")
    with open_capture(import_files([out], tmp_path / "again.h5")) as again:
        assert events_of(again) == events_of(capture)
        assert links_of(again) == links_of(capture, loose=False)
        assert samples_of(again) == samples_of(capture)
        assert len(again.devices) == len(capture.devices)
        names = {thread.name for thread in again.threads}
        assert {thread.name for thread in capture.threads if thread.name} <= names


def test_the_load_of_a_core_is_labelled_as_the_systems(tmp_path: Path) -> None:
    with open_capture(write_cores(tmp_path / "cores.h5")) as capture:
        out = written(capture, tmp_path / "out.json")
        named = {event["name"] for event in json.loads(out.read_text())["traceEvents"] if event["ph"] == "C"}
        assert named == {"Core 0: whole system", "Core 1: whole system"}
        with open_capture(import_files([out], tmp_path / "again.h5")) as again:
            assert samples_of(again) == samples_of(capture)


@pytest.mark.parametrize("file", NSYS)
def test_chrome_json_of_an_nsight_capture_keeps_events_names_and_links(
    imported: dict[str, Capture], tmp_path: Path, file: str
) -> None:
    capture = imported[file]
    out = written(capture, tmp_path / "out.json")
    with open_capture(import_files([out], tmp_path / "again.h5")) as again:
        scheduling = {"thread_state", "cpu_slice"} & set(capture.kinds)
        shared = {
            "kernel",
            "memcpy",
            "memset",
            "sync",
            "cuda_api",
            "range",
            "sample",
            "overhead",
            *scheduling,
        }
        kept = events_of(capture, shared)
        assert kept <= events_of(again)
        # Other kinds have no category of their own there and come back as ranges.
        rest = Counter(event[1:] for event in (events_of(capture) - kept).elements())
        assert Counter(event[1:] for event in (events_of(again) - kept).elements()) == rest
        assert links_of(again) == links_of(capture)
        for kind in scheduling:
            assert attributes_of(again, kind) == attributes_of(capture, kind)
            assert rows_of(again, kind) == rows_of(capture, kind)
        if "sample" in capture.kinds:
            stacks = Counter(
                dict(key[1:]).get("stack") for key in attributes_of(capture, "sample").elements()
            )
            assert (
                Counter(dict(key[1:]).get("stack") for key in attributes_of(again, "sample").elements())
                == stacks
            )


def test_chrome_json_is_what_the_format_says(made: Capture, tmp_path: Path) -> None:
    document = json.loads(written(made, tmp_path / "out.json").read_bytes())
    events = document["traceEvents"]
    phases = Counter(event["ph"] for event in events)
    assert phases["X"] == 10 + 10 + 2 + 2
    assert (phases["b"], phases["e"], phases["i"], phases["P"]) == (3, 3, 1, 3)
    assert (phases["s"], phases["f"]) == (10, 10)
    assert phases["C"] == 19, "the gap is no value"
    kernel = next(event for event in events if event.get("cat") == "kernel")
    assert kernel["name"] == "kernel<int, 3>"
    assert (kernel["pid"], kernel["tid"], kernel["ts"], kernel["dur"]) == (0, 7, 0.05, 0.13)
    assert kernel["args"]["grid"] == [4, 2, 1]
    assert kernel["args"]["shared memory"] == 24
    assert kernel["args"]["est. achieved occupancy %"] == 50
    assert (kernel["args"]["device"], kernel["args"]["context"], kernel["args"]["stream"]) == (0, 1, 7)
    assert any(event["name"] == 'range "quoted"\n100 %' for event in events)
    frames = document["stackFrames"]
    sample = next(event for event in events if event["ph"] == "P")
    assert frames[frames[str(sample["sf"])]["parent"]]["name"] == "outer"
    processes = {e["args"]["name"]: e["pid"] for e in events if e["name"] == "process_name"}
    assert processes["python"] == 71
    assert processes["python again"] != 71, "two processes with one number stay two"
    # Correlation ids of two processes may be equal and must not be mistaken for each other.
    by_process: dict[int, set[int]] = {}
    for event in events:
        if event.get("cat") == "cuda_runtime":
            by_process.setdefault(event["pid"], set()).add(event["args"]["correlation"])
    first, second = by_process.values()
    assert not first & second
    # The other rank's clock is ahead by 1 us.
    assert {e["ts"] for e in events if e["pid"] == processes["python again"] and e["ph"] == "X"} == {0.1, 0.7}


def test_chrome_json_of_a_range_has_no_arrow_into_nothing(made: Capture, tmp_path: Path) -> None:
    document = json.loads(written(made, tmp_path / "out.json", 140, 460).read_bytes())
    events = document["traceEvents"]
    places = {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}
    points = [e for e in events if e["ph"] in "sf"]
    assert points
    assert all((e["pid"], e["tid"]) in places for e in points)
    assert Counter(e["id"] for e in points).most_common()[-1][1] == 2


@given(st.lists(st.integers(-(2**61), 2**61), max_size=20))
def test_microseconds_lose_no_nanosecond(times: list[int]) -> None:
    for time, text in zip(times, microseconds(np.array(times, np.int64)).tolist(), strict=True):
        whole, _, fraction = text.lstrip("-").partition(".")
        assert (-1 if text.startswith("-") else 1) * (int(whole) * 1000 + int(fraction)) == time
        assert len(fraction) == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_holistic_trace_analysis_sees_the_same_kernels(
    data_dir: Path, imported: dict[str, Capture], tmp_path: Path
) -> None:
    analysis = pytest.importorskip("hta.trace_analysis", reason="the extra hta is not installed")
    ours = written(imported[TORCH[0]], tmp_path / "ours.json.gz")
    tables = []
    for file in (data_dir / TORCH[0], ours):
        trace = analysis.TraceAnalysis(trace_files={0: str(file)}, trace_dir=str(tmp_path))
        kinds, kernels = trace.get_gpu_kernel_breakdown(visualize=False, num_kernels=10_000)
        times = trace.get_temporal_breakdown(visualize=False)
        kernels = kernels.sort_values(["kernel_type", "name"]).reset_index(drop=True)
        tables.append((kinds.to_dict(), kernels.to_dict(), times.to_dict()))
    assert tables[0] == tables[1]
    assert len(tables[0][1]["name"]) > 20


def test_causes_of_waits_survive_chrome_json(tmp_path: Path) -> None:
    """Calls that blocked, releases and reasons of states: all of it, with stacks."""
    with open_capture(write_wait_sample(tmp_path / "fight.h5", tmp_path / "fight.py")) as capture:
        out = written(capture, tmp_path / "out.json")
        with open_capture(import_files([out], tmp_path / "again.h5")) as again:
            for kind in set(capture.kinds) - {"range", "sample"}:
                assert attributes_of(again, kind) == attributes_of(capture, kind)
                assert rows_of(again, kind) == rows_of(capture, kind)
            assert events_of(again) == events_of(capture)


def test_what_ended_a_wait_survives_chrome_json(tmp_path: Path) -> None:
    path = tmp_path / "links.h5"
    with CaptureBuilder(path) as builder:
        process = builder.add_process(71, name="python")
        calls = {}
        for tid in (72, 73):
            thread = builder.add_thread(process, tid, name=f"thread {tid}")
            uri = f"process/71.1/thread/{tid}.1/osrt"
            calls[tid] = builder.track(uri, title="OS runtime", role="osrt", process=process, thread=thread)
        ids = {}
        for tid, kind, name, start, duration in (
            (72, "osrt", "sem_wait", 1000, 2000),
            (73, "release", "release", 2900, 0),
            (73, "osrt", "write", 4000, 200),
            (72, "osrt", "read", 3500, 900),
        ):
            flags = 0 if duration else int(Flag.INSTANT)
            row = builder.add_events(calls[tid], kind, [start], [duration], builder.string(name), flags=flags)
            ids[name] = int(row)
        builder.add_links("release", [ids["release"]], [ids["sem_wait"]])
        builder.add_links("data", [ids["write"]], [ids["read"]])
        builder.finish()
    with open_capture(path) as capture:
        out = written(capture, tmp_path / "out.json")
        with open_capture(import_files([out], tmp_path / "again.h5")) as again:
            assert links_of(again) == links_of(capture) != Counter()


def test_samples_on_a_core_survive_the_round_trip(tmp_path: Path) -> None:
    path = write_native_sample(tmp_path / "native.h5", tmp_path / "pack.py")
    with open_capture(path) as capture:
        out = written(capture, tmp_path / "out.json")
        with open_capture(import_files([out], tmp_path / "again.h5")) as again:
            assert events_of(again) == events_of(capture)
            for kind in ("sample", "cpu_sample"):
                assert attributes_of(again, kind) == attributes_of(capture, kind)
                assert rows_of(again, kind) == rows_of(capture, kind)


@pytest.mark.parametrize(
    ("highest", "is_room"), [((1 << 31) + 5, True), (1 << 40, True), ((1 << 63) - 2, False)]
)
def test_correlation_ids_of_two_processes_are_renumbered_if_they_fit(
    tmp_path: Path, highest: int, is_room: bool
) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        for pid in (1, 2):
            process = builder.add_process(pid, name="python")
            thread = builder.add_thread(process, pid)
            track = builder.track(f"process/{pid}.1/api", role="api", process=process, thread=thread)
            name = builder.string("cudaLaunchKernel")
            builder.add_events(track, "cuda_api", [pid], [1], [name], attributes={"correlation": [highest]})
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        export_capture(capture, tmp_path / "x.json")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    ids = [event["args"]["correlation"] for event in events if event.get("name") == "cudaLaunchKernel"]
    assert ids == ([highest, 2 * highest + 1] if is_room else [highest, highest])


def test_an_unknown_stack_is_left_out(made: Capture, tmp_path: Path) -> None:
    path = tmp_path / "damaged.h5"
    shutil.copy(made.path, path)
    with h5py.File(path, "r+") as file:
        file["kinds/sample/attributes/stack"][0] = 1 << 30
    with open_capture(path) as capture:
        document = json.loads(written(capture, tmp_path / "out.json").read_bytes())
    whole = json.loads(written(made, tmp_path / "whole.json").read_bytes())
    without = [
        sum(event["ph"] == "P" and "sf" not in event for event in one["traceEvents"])
        for one in (whole, document)
    ]
    assert without[1] == without[0] + 1
