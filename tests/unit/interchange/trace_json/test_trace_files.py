"""Real Chrome and Perfetto traces."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from tests.unit.interchange.import_tools import (
    imported,
    nesting,
    text_file,
)

from warpline.interchange import detect, import_files
from warpline.model import ImportFormatError


def expected(data_dir: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = json.loads((data_dir / "expected_info.json").read_text())
    return {name: values for name, values in found.items() if name.startswith("chrome_generic/")}


def test_real_files_lose_nothing(data_dir: Path, tmp_path: Path) -> None:
    for name, values in expected(data_dir).items():
        if name.endswith("trace-with-bad-world-bounds.json"):
            continue  # names and an object snapshot: see the next test
        capture = imported(tmp_path, data_dir / name)
        assert detect(data_dir / name).name == "chrome", name
        if "events" not in values:
            continue
        document = json.loads(
            (gzip.decompress if name.endswith("gz") else bytes)((data_dir / name).read_bytes())
        )
        events = document if isinstance(document, list) else document["traceEvents"]
        phases = [event["ph"] for event in events]
        spans = phases.count("X") + phases.count("B") + sum(phases.count(phase) for phase in "bSiInTpP")
        assert len(capture.events) == spans, name
        assert sum(len(counter.times) for counter in capture.counters) == values["counter_events"], name
        assert f"{values['events']:,} events" in capture.sources[0].reason
        capture.close()


def test_a_real_file_without_timeline_events_names_its_content(data_dir: Path, tmp_path: Path) -> None:
    (name,) = (name for name in expected(data_dir) if name.endswith("trace-with-bad-world-bounds.json"))
    with pytest.raises(ImportFormatError, match="timeline: object snapshot"):
        imported(tmp_path, data_dir / name)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[]", "list of events is empty"),
        ('{"traceEvents": []}', "list of events is empty"),
        ('{"traceEvents": [{}]}', "list of events is empty"),
        ('[{"ph": "X", "name": "n"}]', r"events without a time: 1 \("),
        ('[{"ph": "X", "name": "n", "ts": 5, "dur": -1}]', "events with a negative duration: 1"),
        (
            '[{"ph": "X", "name": "n", "ts": NaN}, {"ph": "?", "ts": 1}]',
            "phase .*; events without a time: 1",
        ),
        (
            '[{"ph": "X", "name": "n", "ts": 1e400, "dur": 1}, {"ph": "M", "name": "process_name"}]',
            "without a time",
        ),
        ("[", "the list of events is not closed"),
        ('{"traceEvents": [{"ph": "X", "na', "it ends inside an event"),
    ],
)
def test_a_trace_without_a_usable_event_ends_in_one_line(tmp_path: Path, content: str, reason: str) -> None:
    path = text_file(tmp_path, content)
    with pytest.raises(ImportFormatError, match=f"timeline: .*{reason}") as caught:
        import_files([path], tmp_path / "out.h5", format="chrome")
    assert "\n" not in str(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def snapshot_stacks(text: str, file: str) -> list[dict[str, int]]:
    """Per profile of a speedscope snapshot: the total time of each name, in ns (recursion counted once)."""
    found = []
    for block in re.split(r"(?=// sample/)", text):
        if f"/{file}\n" not in block.partition("exports")[0] + "\n" or '"stacks": [' not in block:
            continue
        if "chunked" in block:
            continue
        totals: dict[str, int] = {}
        for stack, value in re.findall(r'^    "(.*) ([\d.]+)µs",$', block, re.MULTILINE):
            for name in {re.sub(r" \{.*\}$", "", part) for part in stack.split(";")}:
                totals[name] = totals.get(name, 0) + round(float(value) * 1000)
        found.append(totals)
    return found


@pytest.mark.parametrize(
    "file",
    [
        "matching-x.json",
        "out-of-order.json",
        "simple-partial.json",
        "not-enough-end-events.json",
        "zero-duration-events.json",
        "multiprocess.json",
    ],
)
def test_nesting_is_that_of_speedscope(data_dir: Path, tmp_path: Path, file: str) -> None:
    snapshot = (data_dir / "expected_speedscope/trace-event.snap.txt").read_text()
    wanted = snapshot_stacks(snapshot, file)
    assert wanted, "the snapshot has no profile of this file"
    folder = data_dir / "chrome_generic/jlfwong+speedscope/sample/profiles/trace-event"
    capture = imported(tmp_path, folder / file)
    found = []
    for track in capture.tracks:
        if track.role != "ranges":
            continue
        totals: dict[str, int] = {}
        lane = capture.track_lanes(track.index)
        covered: dict[str, list[tuple[int, int]]] = {}
        for number in lane:
            first = int(capture.lanes.first[number])
            for row in range(first, first + int(capture.lanes.count[number])):
                begin = int(capture.events.start[row])
                covered.setdefault(capture.strings[int(capture.events.name[row])], []).append(
                    (begin, begin + int(capture.events.duration[row]))
                )
        for name, intervals in covered.items():
            reach = -1
            for begin, end in sorted(intervals):
                totals[name] = totals.get(name, 0) + max(0, end - max(begin, reach))
                reach = max(reach, end)
        found.append({name: total for name, total in totals.items() if total})
    assert found == wanted


def test_equal_events_nest_in_the_order_of_the_file(data_dir: Path, tmp_path: Path) -> None:
    folder = data_dir / "chrome_generic/jlfwong+speedscope/sample/profiles/trace-event"
    capture = imported(tmp_path, folder / "matching-x.json")
    assert nesting(capture, "process/0.1/thread/0.1/ranges") == [
        (0, "alpha"), (1, "beta"), (2, "gamma"), (1, "gamma"), (2, "beta"),
    ]  # fmt: skip
