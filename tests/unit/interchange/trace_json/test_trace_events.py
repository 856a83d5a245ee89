"""Chrome and Perfetto JSON of any origin: what each phase becomes, what damage costs, what others print."""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds
from tests.unit.interchange.import_tools import (
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

from warpline.interchange import detect, import_files
from warpline.interchange.framework.columns import nanoseconds
from warpline.interchange.trace_json.json_repair import mend, save_events, scan_events
from warpline.interchange.trace_json.json_stream import EventStream
from warpline.interchange.trace_json.pairing import SliceIndex, match_borders, match_flows
from warpline.model import Flag, ImportFormatError

THREAD = "process/1.1/thread/1.1/ranges"


# The reader


def events_in(stream: EventStream) -> list[object]:
    events: list[object] = []
    for piece in stream:
        assert isinstance(piece, bytes), "there is no scanner"
        events.extend(json.loads(piece))
    return events


def events_of(path: Path, chunk_bytes: int = 1 << 20) -> list[object]:
    return events_in(EventStream(path, chunk_bytes))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.text(max_size=8)
    | st.sampled_from(['}, {"a', '],[{"', '\\"', "}]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.fuzz
@given(
    events=st.lists(st.dictionaries(st.text(max_size=5), json_values, max_size=4), max_size=12),
    indent=st.sampled_from([None, 0, 2]),
    chunk=st.integers(5, 200),
    wrapped=st.booleans(),
)
@example(events=[{"00]": None}, {"": [None, {"": None}, {"": None}]}], indent=None, chunk=21, wrapped=False)
@settings(max_examples=rounds(20, 5_000))
def test_pieces_hold_exactly_the_events_whatever_the_chunk(
    tmp_path_factory: pytest.TempPathFactory,
    events: list[object],
    indent: int | None,
    chunk: int,
    wrapped: bool,
) -> None:
    path = tmp_path_factory.getbasetemp() / "pieces.json"
    document = {"before": [{"x": 1}], "traceEvents": events, "after": [{"y": "]}"}]} if wrapped else events
    path.write_text(json.dumps(document, indent=indent))
    stream = EventStream(path, chunk)
    assert events_in(stream) == events
    assert stream.state.truncated == ""
    assert stream.state.header == ({"before": [{"x": 1}], "after": [{"y": "]}"}]} if wrapped else {})


@pytest.mark.fuzz
@given(st.lists(json_values.filter(lambda value: value != ""), min_size=1, max_size=6))
@settings(max_examples=rounds(40, 5_000))
def test_a_scan_finds_the_elements_of_an_array(values: list[object]) -> None:
    text = json.dumps(values).encode()[1:] + b"  trailing"
    scan = scan_events(text)
    assert scan.ended
    assert [json.loads(piece) for piece in scan.pieces] == values
    assert text[scan.used :] == b"  trailing"


def test_gzip_and_zip_are_unpacked(tmp_path: Path) -> None:
    content = json.dumps([x("work", 1, 2)]).encode()
    packed = text_file(tmp_path, gzip.compress(content), "a.bin")
    zipped = tmp_path / "b.bin"
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("readme.txt", "no")
        archive.writestr("trace.json", content)
    for path in (packed, zipped):
        assert rows(imported(tmp_path, path)) == [("work", 1000, 2000, THREAD)]


def test_a_cut_gzip_keeps_what_could_be_read(tmp_path: Path) -> None:
    events = [
        x(f"event {number}", number * 10, 5, args={"n": number * 7919 % 1000}) for number in range(20_000)
    ]
    whole = gzip.compress(json.dumps(events).encode())
    capture = imported(tmp_path, text_file(tmp_path, whole[: len(whole) // 2], "cut.json.gz"))
    assert 5_000 < len(capture.events) < 15_000
    assert any("the file is cut" in warning for warning in capture.warnings)
    names = [name for name, *_rest in rows(capture)]
    assert names == [f"event {number}" for number in range(len(names))]


@pytest.mark.parametrize("cut", [1, 7, 23, 40, 61])
def test_a_cut_file_keeps_every_whole_event(tmp_path: Path, cut: int) -> None:
    text = json.dumps([x("one", 1, 1), x("two", 2, 1), x("three", 3, 1)])
    capture = imported(tmp_path, text_file(tmp_path, text[:-cut]))
    whole = 3 if cut == 1 else 2
    assert [row[0] for row in rows(capture)] == ["one", "two", "three"][:whole]
    assert any("the file is cut" in warning for warning in capture.warnings)


def test_what_json_forbids_and_writers_write(tmp_path: Path) -> None:
    text = b"""[
      {"ph":"X","name":"fine: NaN, {not} changed,]","ts":1,"dur":1,"pid":1,"tid":1,"args":{"v":NaN,"w":-Infinity,},},
      {"ph":"X","name":"bad \xff byte","ts":2,"dur":1,"pid":1,"tid":1},
      {"ph":"X","name":"raw\ttab","ts":3,"dur":1,"pid":1,"tid":1},
      {"ph":"X","name":"lost","ts":4,"dur":1,"pid":1 "tid":1},
      {"ph":"X","name":"last","ts":5,"dur":1,"pid":1,"tid":1},
    ]"""
    capture = imported(tmp_path, text_file(tmp_path, text))
    assert [row[0] for row in rows(capture)] == [
        "fine: NaN, {not} changed,]",
        "bad \ufffd byte",
        "raw\ttab",
        "last",
    ]
    assert skipped(capture) == {"damaged pieces of JSON": 1}


def test_a_lone_quotation_mark_costs_one_event() -> None:
    good = [json.dumps(x(f"n{number}", number, 1)) for number in range(20)]
    good[7] = good[7].replace('"n7"', '"n7')
    saved, lost = save_events(("[" + ", ".join(good) + "]").encode())
    names = [event["name"] for event in json.loads(saved)]
    assert lost >= 1
    assert names[:7] == [f"n{number}" for number in range(7)]
    assert len(names) >= 17


@pytest.mark.parametrize(
    "text", ["", "   ", "hello", "{}", '{"a": 1}', "<html>", "{", '{"traceEvents": 5}', "\x00\x01\x02"]
)
def test_foreign_files_end_in_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(ImportFormatError) as error:
        imported(tmp_path, text_file(tmp_path, text, "foreign.json"))
    assert "foreign.json" in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "capture.h5").exists()


def test_mending_leaves_strings_alone() -> None:
    assert mend(b'{"a": "NaN, }", "b": NaN,}') == b'{"a": "NaN, }", "b": null}'
    assert mend(b'{"a" "b"}') is None


# Times


@pytest.mark.fuzz
@given(st.lists(st.integers(0, 2**43 * 1000), min_size=1, max_size=20))
def test_microseconds_keep_their_nanoseconds(times_ns: list[int]) -> None:
    ns, missing = nanoseconds([json.loads(f"{value // 1000}.{value % 1000:03d}") for value in times_ns])
    assert ns.tolist() == times_ns
    assert not missing.any()


def test_epoch_microseconds_with_a_fraction_lose_nothing(tmp_path: Path) -> None:
    text = '[{"ph":"X","name":"a","ts":1707417525509335.123,"dur":0.001,"pid":1,"tid":1}]'
    assert rows(imported(tmp_path, text_file(tmp_path, text))) == [("a", 1707417525509335123, 1, THREAD)]


def test_times_that_are_none(tmp_path: Path) -> None:
    events = [
        x("ok", "12.5", "1"),
        x("late", 1e300, 1),
        x("text", "soon", 1),
        x("back", 5, -1),
        e("X", "bare", 7),
    ]
    capture = imported(tmp_path, trace_file(tmp_path, events))
    assert rows(capture) == [("bare", 7000, 0, THREAD), ("ok", 12500, 1000, THREAD)]
    assert skipped(capture) == {"events without a time": 2, "events with a negative duration": 1}
    assert any("without a duration" in warning for warning in capture.warnings)


# Phases


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
    assert any(warning.startswith("1 event without an end") for warning in capture.warnings)


@pytest.mark.fuzz
@given(
    st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 2)), max_size=14),
)
@settings(max_examples=rounds(60, 5_000))
def test_matching_borders_equals_a_stack(borders: list[tuple[int, bool, int]]) -> None:
    key = np.array([border[0] for border in borders], np.int64)
    begin = np.array([border[1] for border in borders], bool)
    name = np.array([border[2] for border in borders], np.int64)
    pairs = match_borders(key, np.arange(len(borders)), begin, name)
    expected: dict[int, int] = {}
    lone = renamed = 0
    for thread in range(3):
        stack: list[int] = []
        for index in np.flatnonzero(key == thread).tolist():
            if begin[index]:
                stack.append(index)
                continue
            same = [place for place, opened in enumerate(stack) if name[opened] == name[index]]
            if same:
                expected[stack.pop(same[-1])] = index
            elif stack:
                renamed += 1
                expected[stack.pop()] = index
            else:
                lone += 1
    found = dict(zip(pairs.begin.tolist(), pairs.end.tolist(), strict=True))
    assert found == {index: expected.get(index, -1) for index in np.flatnonzero(begin).tolist()}
    assert (pairs.lone_ends, pairs.renamed) == (lone, renamed)


def test_instants_have_the_reach_they_say(tmp_path: Path) -> None:
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


def test_names_of_processes_and_threads_may_come_last(tmp_path: Path) -> None:
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


def test_local_ids_are_of_their_process(tmp_path: Path) -> None:
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


@pytest.mark.fuzz
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), min_size=1, max_size=25),
    st.lists(st.integers(-2, 45), min_size=1, max_size=10),
)
@settings(max_examples=rounds(40, 5_000))
def test_the_enclosing_event_is_the_innermost(slices: list[tuple[int, int]], times: list[int]) -> None:
    start = np.array([begin for begin, _length in slices])
    stop = start + np.array([length for _begin, length in slices])
    found = SliceIndex.of(start, stop, np.arange(len(slices))).enclosing(np.array(times))
    for time, event in zip(times, found.tolist(), strict=True):
        ends = np.maximum(stop, start + 1)
        around = np.flatnonzero((start <= time) & (time < ends))
        if not len(around):
            around = np.flatnonzero((start <= time) & (time <= ends))
        if not len(around):
            assert event == -1
        else:
            assert event in around
            assert start[event] == start[around].max()


def test_a_flow_id_used_again_begins_a_new_chain() -> None:
    found = match_flows(np.zeros(4, np.int64), np.array([0, 5, 10, 15]), np.array([0, 2, 0, 2], np.uint8))
    assert list(zip(found.source.tolist(), found.target.tolist(), strict=True)) == [(0, 1), (2, 3)]
    assert found.loose == 0


def test_stack_samples_get_their_frames(tmp_path: Path) -> None:
    frames = {"1": {"name": "main"}, "2": {"name": "leaf", "parent": "1"}}
    capture = imported(
        tmp_path, trace_file(tmp_path, [e("P", "tick", 1, sf=2), e("P", "tock", 2)], stackFrames=frames)
    )
    assert count(capture, "sample") == 2
    assert capture.stack_frames(attributes(capture, "tick")["stack"]) == ["leaf", "main"]
    assert attributes(capture, "tock")["stack"] is None


def test_what_has_no_place_on_a_timeline_is_counted(tmp_path: Path) -> None:
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
        "values that are no events": 2,
    }


def test_broken_nesting_keeps_durations_and_takes_another_lane(tmp_path: Path) -> None:
    capture = imported(tmp_path, trace_file(tmp_path, [x("alpha", 0, 10), x("beta", 5, 10)]))
    assert rows(capture) == [("alpha", 0, 10000, THREAD), ("beta", 5000, 10000, THREAD)]
    assert nesting(capture, THREAD) == [(0, "alpha"), (1, "beta")]


# Files of others


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


def test_a_real_file_without_a_place_on_a_timeline_says_what_is_in_it(data_dir: Path, tmp_path: Path) -> None:
    (name,) = (name for name in expected(data_dir) if name.endswith("trace-with-bad-world-bounds.json"))
    with pytest.raises(ImportFormatError, match="timeline: object snapshot"):
        imported(tmp_path, data_dir / name)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[]", "it has none"),
        ('{"traceEvents": []}', "it has none"),
        ('{"traceEvents": [{}]}', "it has none"),
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
        ("[", "the list of events has no end"),
        ('{"traceEvents": [{"ph": "X", "na', "the file ends inside an event"),
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
