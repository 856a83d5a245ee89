"""Chrome JSON in pieces: every complete event is read once, whatever the size and damage."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds
from tests.unit.interchange.import_tools import (
    THREAD,
    e,
    imported,
    rows,
    skipped,
    text_file,
    trace_file,
    x,
)

from warpline.interchange.framework.columns import nanoseconds
from warpline.interchange.trace_json import json_repair
from warpline.interchange.trace_json.json_repair import mend, save_events, scan_events
from warpline.interchange.trace_json.json_stream import EventStream
from warpline.model import ImportFormatError


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


def test_a_truncated_gzip_file_keeps_what_could_be_read(tmp_path: Path) -> None:
    events = [
        x(f"event {number}", number * 10, 5, args={"n": number * 7919 % 1000}) for number in range(20_000)
    ]
    whole = gzip.compress(json.dumps(events).encode())
    capture = imported(tmp_path, text_file(tmp_path, whole[: len(whole) // 2], "cut.json.gz"))
    assert 5_000 < len(capture.events) < 15_000
    assert any("the file is incomplete" in warning for warning in capture.warnings)
    names = [name for name, *_rest in rows(capture)]
    assert names == [f"event {number}" for number in range(len(names))]


@pytest.mark.parametrize("cut", [1, 7, 23, 40, 61])
def test_a_truncated_file_keeps_every_complete_event(tmp_path: Path, cut: int) -> None:
    text = json.dumps([x("one", 1, 1), x("two", 2, 1), x("three", 3, 1)])
    capture = imported(tmp_path, text_file(tmp_path, text[:-cut]))
    whole = 3 if cut == 1 else 2
    assert [row[0] for row in rows(capture)] == ["one", "two", "three"][:whole]
    assert any("the file is incomplete" in warning for warning in capture.warnings)


def test_common_violations_of_json_are_accepted(tmp_path: Path) -> None:
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


def test_a_stray_quotation_mark_loses_one_event() -> None:
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


@pytest.mark.fuzz
@given(st.lists(st.integers(0, 2**43 * 1000), min_size=1, max_size=20))
def test_microseconds_keep_their_nanoseconds(times_ns: list[int]) -> None:
    ns, missing = nanoseconds([json.loads(f"{value // 1000}.{value % 1000:03d}") for value in times_ns])
    assert ns.tolist() == times_ns
    assert not missing.any()


def test_epoch_times_keep_their_nanoseconds(tmp_path: Path) -> None:
    text = '[{"ph":"X","name":"a","ts":1707417525509335.123,"dur":0.001,"pid":1,"tid":1}]'
    assert rows(imported(tmp_path, text_file(tmp_path, text))) == [("a", 1707417525509335123, 1, THREAD)]


def test_invalid_times_are_counted(tmp_path: Path) -> None:
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
    assert any("no duration" in warning for warning in capture.warnings)


def test_repair_does_not_rescan_the_rest_after_each_damaged_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = b",".join(b'{"name": "%d", "ts": }' % number for number in range(400))
    array = b'[{"name": "good"},' + events + b',{"name": "never ends'
    looked_at: list[int] = []

    def counted(text: bytes) -> bytes | None:
        looked_at.append(len(text))
        return mend(text)

    monkeypatch.setattr(json_repair, "mend", counted)
    saved, lost = save_events(array)
    assert json.loads(saved) == [{"name": "good"}]
    assert lost == 401
    assert sum(looked_at) < 4 * len(array)
