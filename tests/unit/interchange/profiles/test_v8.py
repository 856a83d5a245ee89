"""Profiles of V8, alone and inside of Chrome traces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.interchange.import_tools import count, e, imported, rows, text_file, trace_file
from tests.unit.interchange.profiles.profile_seeds import call, v8_profile
from tests.unit.interchange.profiles.stack_tools import stacks

from warpline.interchange import detect

_DATA = "second/chrome"
LIGHTHOUSE = f"{_DATA}/GoogleChrome+lighthouse/core/test/fixtures/traces/cpu-profiler-m86.trace.json"
FIREFOX = f"{_DATA}/firefox-devtools+profiler/src/test/fixtures/upgrades/chrome-trace-issue-5429.json.gz"


def test_a_cpuprofile_holds_samples_with_stacks_and_times(tmp_path: Path) -> None:
    path = text_file(tmp_path, v8_profile(), "x.json")
    assert detect(path).name == "v8"
    capture = imported(tmp_path, path)
    track = "process/JavaScript.1/thread/main thread.1/samples"
    assert rows(capture) == [
        ("main (file:///a.js:1)", 1_010_000, 0, track),
        ("(anonymous) (file:///a.js:10)", 1_110_000, 0, track),
        ("(anonymous) (file:///a.js:10)", 1_210_000, 0, track),
        ("(idle)", 1_460_000, 0, track),
    ]
    assert stacks(capture) == [
        "main (file:///a.js:1)",
        *["main (file:///a.js:1);(anonymous) (file:///a.js:10)"] * 2,
        "(idle)",
    ]


def test_an_old_cpuprofile_nests_its_nodes_and_has_timestamps(tmp_path: Path) -> None:
    leaf = {"functionName": "work", "url": "a.js", "lineNumber": 4, "id": 2, "hitCount": 1, "children": []}
    head = {"functionName": "(root)", "id": 1, "hitCount": 0, "children": [leaf]}
    content = {"head": head, "startTime": 7.5, "endTime": 9, "samples": [2, 2], "timestamps": [5000, 6000]}
    capture = imported(tmp_path, text_file(tmp_path, json.dumps(content)))
    assert [row[:2] for row in rows(capture)] == [
        ("work (a.js:5)", 5_000_000),
        ("work (a.js:5)", 6_000_000),
    ]


def test_chunks_of_a_trace_are_samples_of_the_thread_that_was_profiled(tmp_path: Path) -> None:
    def chunk(ts: float, **data: Any) -> dict[str, Any]:
        return e("P", "ProfileChunk", ts, tid=9, id="0x2", args={"data": data})

    nodes = [
        {"id": 1, "callFrame": call("(root)")},
        {"id": 5, "parent": 1, "callFrame": call("f", 3, "b.js")},
    ]
    events = [
        e("P", "Profile", 90, tid=3, id="0x2", args={"data": {"startTime": 100}}),
        # Chunks may be written in another order.
        chunk(300, cpuProfile={"samples": [5]}, timeDeltas=[20], lines=[8]),
        chunk(200, cpuProfile={"nodes": nodes, "samples": [5, 77]}, timeDeltas=[10, 5]),
        e("P", "other", 50, tid=3),
    ]
    capture = imported(tmp_path, trace_file(tmp_path, events))
    track = "process/1.1/thread/3.1/samples"
    assert rows(capture) == [
        ("other", 50_000, 0, track),
        ("f (b.js:4)", 110_000, 0, track),
        ("(unknown)", 115_000, 0, track),
        ("f (b.js:8)", 135_000, 0, track),
    ]
    assert stacks(capture) == ["", "f (b.js:4)", "", "f (b.js:4)"]


@pytest.mark.parametrize("name", [LIGHTHOUSE, FIREFOX])
def test_real_traces_keep_every_sample(tmp_path: Path, data_dir: Path, name: str) -> None:
    content = (data_dir / name).read_bytes()
    trace = json.loads(gzip.decompress(content) if name.endswith(".gz") else content)
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    chunks = [event["args"]["data"] for event in events if event["name"] == "ProfileChunk"]
    samples = sum(len(chunk["cpuProfile"].get("samples", ())) for chunk in chunks)
    capture = imported(tmp_path, data_dir / name)
    assert samples == {LIGHTHOUSE: 50_294, FIREFOX: 206}[name] == count(capture, "sample")
    functions = {
        node["callFrame"]["functionName"] for chunk in chunks for node in chunk["cpuProfile"].get("nodes", ())
    }
    sampled = {frame.partition(" (")[0] for stack in stacks(capture) for frame in stack.split(";")}
    assert sampled <= functions | {"(anonymous)"}
    assert sum(bool(stack) for stack in stacks(capture)) == samples
