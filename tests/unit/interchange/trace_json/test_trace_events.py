"""Each phase of the Chrome JSON format becomes the right events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.interchange.import_tools import (
    THREAD,
    attributes,
    count,
    e,
    imported,
    links,
    named,
    nesting,
    rows,
    skipped,
    text_file,
    trace_file,
    x,
)

from warpline.model import Flag
from warpline.storage import CaptureBuilder


def test_begin_and_end_with_merged_arguments(tmp_path: Path) -> None:
    events = [
        e("B", "outer", 0, args={"a": 1}),
        e("B", "inner", 1),
        e("E", "", 2),
        e("E", "outer", 9, args={"b": 2}),
    ]
    capture = imported(tmp_path, trace_file(tmp_path, events))
    assert rows(capture) == [("outer", 0, 9000, THREAD), ("inner", 1000, 1000, THREAD)]
    assert json.loads(attributes(capture, "outer")["payload"]) == {"a": 1, "b": 2}
    assert attributes(capture, "inner")["payload"] is None


def test_missing_ends_and_begins_are_counted(tmp_path: Path) -> None:
    capture = imported(
        tmp_path, trace_file(tmp_path, [e("E", "early", 0), e("B", "open", 1), x("last", 4, 6)])
    )
    assert rows(capture) == [("open", 1000, 9000, THREAD), ("last", 4000, 6000, THREAD)]
    assert int(capture.events.flags[named(capture, "open")]) == Flag.CUT_END
    assert skipped(capture) == {"ends of events (E)": 1}
    assert any(warning.startswith("1 event has no end") for warning in capture.warnings)


def test_instants_follow_their_scope(tmp_path: Path) -> None:
    events = [
        e("i", "thread", 1, s="t"),
        e("I", "process", 2, s="p"),
        e("i", "all", 3, s="g"),
        e("i", "default", 4),
    ]
    capture = imported(tmp_path, trace_file(tmp_path, events))
    assert [(name, uri) for name, _start, _duration, uri in rows(capture)] == [
        ("thread", THREAD),
        ("process", "process/1.1/instants"),
        ("all", "instants"),
        ("default", THREAD),
    ]
    assert set(capture.events.flags.tolist()) == {int(Flag.INSTANT)}


def test_counters_are_series_of_numbers(tmp_path: Path) -> None:
    events = [
        e("C", "memory", 1, args={"used": 5, "free": 1}),
        e("C", "memory", 2, args={"used": "6", "free": 1e400}),
        e("C", "load", 3, args={"value": 0.5}),
        e("C", "load", 4, args={"value": "high"}),
    ]
    text = json.dumps(events).replace("Infinity", "1e999")
    capture = imported(tmp_path, text_file(tmp_path, text))
    found = {counter.name: (counter.times.tolist(), counter.values.tolist()) for counter in capture.counters}
    assert found == {
        "memory used": ([1000, 2000], [5.0, 6.0]),
        "memory free": ([1000], [1.0]),
        "load": ([3000], [0.5]),
    }
    assert skipped(capture) == {"counter events without a value": 1}


def test_process_and_thread_names_may_follow_their_events(tmp_path: Path) -> None:
    events = [
        x("work", 0, 1, pid=71, tid="main"),
        e("M", "process_name", 0, pid=71, tid=0, args={"name": "trainer"}),
        e("M", "thread_name", 0, pid=71, tid="main", args={"name": "loop"}),
    ]
    capture = imported(tmp_path, trace_file(tmp_path, events))
    assert [(process.pid, process.name) for process in capture.processes] == [(71, "trainer")]
    assert [thread.name for thread in capture.threads] == ["loop"]
    assert capture.track("process/71.1").title == "trainer [71]"
    assert capture.track("process/71.1/thread/main.1").title == "loop"


def test_of_repeated_names_the_last_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    update = CaptureBuilder.update_thread

    def counting(builder: CaptureBuilder, index: int, **changes: object) -> None:
        given.append(index)
        update(builder, index, **changes)

    monkeypatch.setattr(CaptureBuilder, "update_thread", counting)
    names = [f"loop {number}" for number in range(50)] * 40 + ["the last", "", " "]
    events = [x("work", 0, 1), *(e("M", "thread_name", 0, args={"name": name}) for name in names)]
    other = [e("M", "trace_tool", number % 2) for number in range(7)]
    capture = imported(tmp_path, trace_file(tmp_path, [*events, *other]))
    assert [thread.name for thread in capture.threads] == ["the last"]
    assert given == [0]
    assert skipped(capture) == {"metadata (M)": 7}


def test_nestable_async_events_pair_by_category_id_and_name(tmp_path: Path) -> None:
    events = [
        e("b", "outer", 0, cat="net", id="0x1"),
        e("b", "inner", 1, cat="net", id="0x1", tid=2),
        e("b", "outer", 2, cat="disk", id="0x1"),
        e("n", "moment", 3, cat="net", id="0x1"),
        e("e", "inner", 4, cat="net", id="0x1"),
        e("e", "outer", 7, cat="disk", id="0x1"),
        e("e", "outer", 9, cat="net", id="0x1"),
        e("e", "other", 9, cat="net", id="0x1"),
    ]
    capture = imported(tmp_path, trace_file(tmp_path, events))
    assert rows(capture) == [
        ("outer", 0, 9000, "process/1.1/async/net"),
        ("inner", 1000, 3000, "process/1.1/async/net"),
        ("outer", 2000, 5000, "process/1.1/async/disk"),
        ("moment", 3000, 0, "process/1.1/async/net"),
    ]
    assert skipped(capture) == {"ends of asynchronous events (e, F)": 1}


def test_local_ids_match_only_within_their_process(tmp_path: Path) -> None:
    events = [
        e("b", "request", 0, cat="c", id2={"local": "1"}),
        e("b", "request", 1, cat="c", id2={"local": "1"}, pid=2),
        e("e", "request", 5, cat="c", id2={"local": "1"}),
        e("e", "request", 9, cat="c", id2={"local": "1"}, pid=2),
    ]
    capture = imported(tmp_path, trace_file(tmp_path, events))
    assert [(start, duration) for _name, start, duration, _uri in rows(capture)] == [(0, 5000), (1000, 8000)]


def test_legacy_async_events(tmp_path: Path) -> None:
    events = [
        e("S", "job", 0, cat="c", id=1),
        e("S", "other", 1, cat="c", id=1),
        e("T", "job", 2, cat="c", id=1, args={"step": "half"}),
        e("F", "job", 5, cat="c", id=1),
    ]
    capture = imported(tmp_path, trace_file(tmp_path, events))
    assert rows(capture) == [
        ("job", 0, 5000, "process/1.1/async/c"),
        ("other", 1000, 0, "process/1.1/async/c"),
        ("job", 2000, 0, "process/1.1/async/c"),
    ]


def test_flows_join_the_events_they_lie_in(tmp_path: Path) -> None:
    events = [
        x("sender", 0, 10),
        x("inside sender", 2, 3),
        x("step", 20, 5, tid=2),
        x("next", 40, 5, tid=3),
        x("enclosing", 38, 20, tid=4),
        e("s", "f", 3, id=1, cat="c"),
        e("t", "f", 21, id=1, cat="c", tid=2),
        e("f", "f", 39, id=1, cat="c", tid=3),
        e("f", "f", 39, id=1, cat="c", tid=4, bp="e"),
        e("s", "f", 3, id=2, cat="c"),
        e("s", "f", 3, id=3, cat="c"),
        e("f", "f", 100, id=3, cat="c", tid=9),
    ]
    capture = imported(tmp_path, trace_file(tmp_path, events))
    assert links(capture, "flow") == {("inside sender", "step"), ("step", "next"), ("step", "enclosing")}
    assert skipped(capture) == {"flow points (s, t, f)": 1, "flows": 1}


def test_stack_samples_get_their_frames(tmp_path: Path) -> None:
    frames = {"1": {"name": "main"}, "2": {"name": "leaf", "parent": "1"}}
    capture = imported(
        tmp_path, trace_file(tmp_path, [e("P", "tick", 1, sf=2), e("P", "tock", 2)], stackFrames=frames)
    )
    assert count(capture, "sample") == 2
    assert capture.stack_frames(attributes(capture, "tick")["stack"]) == ["leaf", "main"]
    assert attributes(capture, "tock")["stack"] is None


def test_unsupported_phases_are_counted(tmp_path: Path) -> None:
    events = [
        e("O", "object", 1),
        e("v", "dump", 1),
        e("?", "odd", 1),
        {"name": "no phase", "ts": 1},
        {},
        None,
        5,
    ]
    capture = imported(tmp_path, trace_file(tmp_path, [x("work", 0, 1), *events]))
    assert skipped(capture) == {
        "object snapshot (O)": 1,
        "memory dump (v)": 1,
        "events of phase '?'": 1,
        "events without a phase": 1,
        "values that are not events": 2,
    }


def test_broken_nesting_keeps_durations_and_takes_another_lane(tmp_path: Path) -> None:
    capture = imported(tmp_path, trace_file(tmp_path, [x("alpha", 0, 10), x("beta", 5, 10)]))
    assert rows(capture) == [("alpha", 0, 10000, THREAD), ("beta", 5000, 10000, THREAD)]
    assert nesting(capture, THREAD) == [(0, "alpha"), (1, "beta")]


def test_interleaved_events_stay_on_their_threads(tmp_path: Path) -> None:
    """Also with ids repeated as text (another thread), and arrows that bind to the enclosing event."""
    tids: list[int | str] = [*range(1, 30), "a", "b"]
    events = [
        x(f"{tid} {turn}", 10 * turn + place % 3, 5, tid=tid, args={"of": f"{tid} {turn}"})
        for turn in range(4)
        for place, tid in enumerate(tids)
    ]
    events += [e("s", "arrow", 12, tid=2, id=1), e("f", "arrow", 22.5, tid=3, id=1, bp="e")]
    with imported(tmp_path, trace_file(tmp_path, events)) as capture:
        found: dict[str, list[str]] = {}
        for name, _start, _duration, uri in rows(capture, "range"):
            found.setdefault(uri, []).append(name)
            assert json.loads(attributes(capture, name)["payload"]) == {"of": name}
        assert sorted(found.values()) == sorted([f"{tid} {turn}" for turn in range(4)] for tid in tids)
        assert links(capture, "flow") == {("2 1", "3 2")}
