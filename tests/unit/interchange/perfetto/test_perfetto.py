"""Perfetto traces: counts, names and times equal what Perfetto's own reader gives for the same files."""

from __future__ import annotations

import json
import struct
import zlib
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fuzz.guided.formats import message
from tests.unit.interchange.import_tools import attributes, count, imported, links, rows, skipped

from warpline.interchange import detect
from warpline.interchange.framework.messages.message_tables import MessageReader, count_or_zero
from warpline.interchange.perfetto.schemas import PACKET
from warpline.storage import Capture

FOLDER = "perfetto/microsoft+Microsoft-Performance-Tools-Linux-Android/TestData/Perfetto"
SCHED, CHROME = f"{FOLDER}/test_trace.perfetto-trace", f"{FOLDER}/chrome.pftrace"


@pytest.fixture(scope="module")
def expected(data_dir: Path) -> dict[str, Any]:
    everything = json.loads((data_dir / "expected_unittest.json").read_text())
    return {
        name: everything[f"TestData/Perfetto/{name}"]
        for name in ("test_trace.perfetto-trace", "chrome.pftrace")
    }


@pytest.fixture(scope="module")
def sched(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Capture:
    copy = tmp_path_factory.mktemp("sched") / "renamed.bin"
    copy.write_bytes((data_dir / SCHED).read_bytes())
    assert detect(copy).name == "perfetto"
    return imported(copy.parent, copy)


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Capture:
    return imported(tmp_path_factory.mktemp("chrome"), data_dir / CHROME)


def switches(path: Path) -> dict[int, list[tuple[int, int, int]]]:
    """(time, previous, next thread) of each core's switches, in order."""
    found: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    with path.open("rb") as file:
        for tables in MessageReader(file, PACKET):
            event = "record.ftrace.event"
            parent = tables.parent(f"{event}.switch")
            cpu = count_or_zero(tables["record.ftrace.cpu"])[tables.parent(event)][parent]
            columns = (
                tables[f"{event}.time"][parent],
                *(count_or_zero(tables[f"{event}.switch.{name}"]) for name in ("prev", "next")),
            )
            for core, *row in zip(cpu.tolist(), *(column.tolist() for column in columns), strict=True):
                found[core].append((row[0], row[1], row[2]))
    return {core: sorted(rows) for core, rows in found.items()}


def test_every_switch_of_a_core_begins_or_ends_a_slice(
    sched: Capture, expected: dict[str, Any], data_dir: Path
) -> None:
    cores = switches(data_dir / SCHED)
    figures = expected["test_trace.perfetto-trace"]
    assert sum(map(len, cores.values())) == figures["cpu_sched_events"] == 15267
    begin = min(own[0][0] for own in cores.values())
    for core, own in cores.items():
        # The thread that the first switch takes off its core has run since the beginning.
        times = [begin, *(time for time, _, _ in own)]
        threads = [own[0][1], *(following for _, _, following in own)]
        slices = [row for row in rows(sched, "cpu_slice") if row[3] == f"cpu/{core}"]
        mine = [(start, tid) for start, tid in zip(times, threads, strict=True) if tid]
        if times[0] == times[1]:
            mine = [row for place, row in enumerate(mine) if place or threads[0] == 0 or row[0] != begin]
        assert [row[1] for row in slices] == [start for start, _ in mine]
        assert [int(row[0].rpartition(" ")[2]) for row in slices] == [tid for _, tid in mine]


def test_frequencies_and_idle_states_are_counters_of_cores(sched: Capture, expected: dict[str, Any]) -> None:
    samples = sum(len(counter.times) for counter in sched.counters)
    assert samples == expected["test_trace.perfetto-trace"]["cpu_frequency_and_idle_events"]


def test_a_track_event_stands_on_its_thread(sched: Capture, expected: dict[str, Any]) -> None:
    figures = expected["test_trace.perfetto-trace"]["track_event_0"]
    ((name, _start, _duration, uri),) = rows(sched, "range")
    assert name == figures["name"]
    thread = sched.tracks[sched.track(uri).parent]
    assert thread.title.split() == figures["thread"].replace("(", "").replace(")", "").split()


def test_states_fill_the_time_of_a_thread_from_its_first_slice(sched: Capture) -> None:
    states: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for _name, start, duration, uri in rows(sched, "thread_state"):
        states[uri].append((start, start + duration))
    assert len(states) == 162
    for own in states.values():
        assert all(before[1] == after[0] for before, after in pairwise(own))
    assert ("running", "blocked") in links(sched, "wakeup")


def test_slices_instants_and_older_events_equal_perfettos_count(
    chrome: Capture, expected: dict[str, Any]
) -> None:
    figures = expected["chrome.pftrace"]
    assert count(chrome, "range") == figures["slices_and_instants"] == 147906
    assert len(chrome.processes) == figures["processes"] - 1  # Perfetto counts the idle process
    assert skipped(chrome)["fields of track events: log_message"] == figures["android_logs"]


def test_a_slice_has_the_place_and_times_that_perfetto_prints(
    chrome: Capture, expected: dict[str, Any]
) -> None:
    figures = expected["chrome.pftrace"]["slice[98715]"]
    events = chrome.events
    (row,) = [
        row
        for row in np.flatnonzero(events.duration == figures["dur_ns"]).tolist()
        if chrome.strings[int(events.name[row])] == figures["name"]
    ]
    assert chrome.strings[int(events.name[chrome.parent_of_row(row)])] == figures["parent"]
    track = chrome.tracks[chrome.track_of_row(row)]
    assert chrome.tracks[track.parent].title == "CrRendererMain  28380"
    assert chrome.tracks[chrome.tracks[track.parent].parent].title == "Renderer [27768]"
    inside = chrome.events.duration[
        [child for child in chrome.nested_rows(row) if chrome.parent_of_row(child) == row]
    ]
    assert figures["dur_ns"] - int(inside.sum()) == figures["self_ns"]


def packet(*fields: tuple[int, int | bytes]) -> bytes:
    return message((1, message(*fields)))


def test_annotations_of_every_type_keep_their_values(tmp_path: Path) -> None:
    interned = message((3, message((1, 4), (2, b"by number"))), (29, message((1, 6), (2, b"text by number"))))
    notes: list[tuple[int | bytes, tuple[int, int | bytes]]] = [
        (4, (17, 6)), (b"yes", (2, 1)), (b"big", (3, (1 << 64) - 1)), (b"less", (4, (1 << 64) - 5)),
        (b"half", (3, 1 << 63)), (b"least", (4, 1 << 63)),
        (b"address", (7, 255)), (b"text", (6, b'a "b"')), (b"json", (9, b"{}")), (b"twice", (4, 1)), (b"twice", (4, 2)),
        (b"object", (11, message((10, b"x"), (4, 1)))), (b"list", (12, message((4, 7)))),
        (b"nested", (8, message((2, b"k"), (3, message((5, 9)))))), (b"none", (99, 1)),
    ]  # fmt: skip
    annotations = [
        (4, message((1, name) if isinstance(name, int) else (10, name), value)) for name, value in notes
    ]
    reals = [
        (4, b"\x52\x04%s\x29" % name + struct.pack("<d", value))
        for name, value in ((b"real", 0.25), (b"zero", -0.0))
    ]
    event = message((9, 3), (11, 5), (23, b"a"), *annotations, *reals)
    path = tmp_path / "x.pftrace"
    path.write_bytes(
        packet((10, 1), (13, 1), (12, interned)) + packet((8, 100), (10, 1), (13, 2), (11, event))
        + packet((8, 200), (10, 1), (13, 2), (11, message((9, 3), (11, 5), (23, b"b"), annotations[1])))
    )  # fmt: skip
    capture = imported(tmp_path, path)
    payload = json.loads(attributes(capture, "a")["payload"])
    assert str(payload.pop("zero")) == "-0.0"
    assert payload == {
        "half": 1 << 63, "least": -1 << 63, "big": (1 << 64) - 1, "less": -5,
        "by number": "text by number", "yes": True, "address": "0xff",
        "text": 'a "b"', "json": "{}", "twice": 2, "object": {"x": 1}, "list": [7], "nested": {"k": 9}, "none": None,
        "real": 0.25,
    }  # fmt: skip
    assert json.loads(attributes(capture, "b")["payload"]) == {"yes": True}


def test_compressed_packets_arguments_flows_and_counters(tmp_path: Path) -> None:
    thread = packet((10, 1), (13, 1), (60, message((1, 5), (4, message((1, 7), (2, 8), (5, b"worker"))))))
    counter = packet((10, 1), (60, message((1, 6), (5, 5), (2, b"load"), (8, message((3, 3))))))
    first = packet(
        (8, 100),
        (10, 1),
        (11, message((9, 1), (11, 5), (23, b"a"), (36, 9), (4, message((10, b"n"), (4, 3))))),
    )
    end = packet((8, 150), (10, 1), (11, message((9, 2), (11, 5))))
    second = packet((8, 200), (10, 1), (11, message((9, 3), (11, 5), (23, b"b"), (42, 9))))
    value = packet((8, 120), (10, 1), (11, message((9, 4), (11, 6), (30, 17))))
    path = tmp_path / "x.pftrace"
    path.write_bytes(thread + counter + packet((50, zlib.compress(first + value + end + second)), (10, 1)))
    capture = imported(tmp_path, path)
    assert [row[:3] for row in rows(capture)] == [("a", 100, 50), ("b", 200, 0)]
    assert json.loads(attributes(capture, "a")["payload"]) == {"n": 3}
    assert links(capture, "flow") == {("a", "b")}
    (load,) = capture.counters
    assert (load.name, load.unit, load.value_at(130)) == ("load", "bytes", 17)


def test_a_cut_trace_opens_up_to_the_cut(tmp_path: Path, data_dir: Path) -> None:
    path = tmp_path / "cut"
    path.write_bytes((data_dir / SCHED).read_bytes()[:300_001])
    capture = imported(tmp_path, path)
    assert count(capture, "cpu_slice")
    assert any("ends early" in warning for warning in capture.warnings)
