"""The compiled scanner and the decoder in Python agree on every trace, valid or damaged."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.fuzz.campaign.mutate_json import by_bytes
from tests.unit.effort import rounds
from tests.unit.interchange.import_tools import x
from tests.unit.interchange.trace_json.mutations import ASYNC, ROCM, SIMPLE, TORCH, seed
from tests.unit.interchange.trace_json.scanned_tools import (
    FORMATS,
    both_ways,
    parts,
    scanned,
    scanner,
    whole_file,
)

from warpline.interchange.framework.columns import nanoseconds
from warpline.interchange.trace_json.decoding import CompiledDecoder, TextDecoder
from warpline.interchange.trace_json.json_stream import EventStream
from warpline.interchange.trace_json.piece_columns import Piece
from warpline.interchange.trace_json.scanner import library
from warpline.model import ImportFormatError

pytestmark = pytest.mark.skipif(library() is None, reason="the scanner is not compiled here")


@pytest.mark.fuzz
def test_every_real_trace_reads_the_same(data_dir: Path) -> None:
    names = json.loads((data_dir / "expected_info.json").read_text())
    compared = 0
    for name in names:
        form = {"torch/": "torch", "chrome": "chrome"}.get(name[:6])
        if form is None:
            continue
        for number, text in enumerate(EventStream(data_dir / name, 300_000)):
            # The first piece of each, and some of the others.
            if number % rounds(75, 1):
                continue
            assert isinstance(text, bytes)
            scanned, decoded, taken = both_ways(text, form)
            assert scanned.keys() == decoded.keys(), name
            for key, rows in decoded.items():
                assert scanned[key] == rows, (name, key)
            compared += taken
    assert compared > 20


@pytest.mark.fuzz
def test_mutated_traces_read_the_same(data_dir: Path) -> None:
    seed = (
        data_dir / "torch/AMD-AGI+TraceLens/tests/traces/h100/gaunernst_bert-small-uncased__1016001.json.gz"
    ).read_bytes()
    text = next(iter(json_pieces(gzip.decompress(seed))))
    taken = 0
    for number in range(rounds(30, 2_000)):
        rng = random.Random(number)
        begin = rng.randrange(0, len(text) - 20_000)
        begin = text.index(b"{\n", begin)
        end = text.rindex(b"},", begin, begin + 20_000) + 1
        damaged = b"[" + by_bytes(text[begin:end], rng) + b"]"
        scanned, decoded, native = both_ways(damaged, "torch")
        taken += native
        if scanned["losses"] or decoded["losses"]:
            # Inside arguments nobody looks at, the scanner overlooks what the decoder counts.
            assert abs(scanned["events"] - decoded["events"]) <= 3
            continue
        assert scanned == decoded, number
    assert taken > 10


@pytest.mark.fuzz
@pytest.mark.parametrize("name", [TORCH, ROCM, SIMPLE, ASYNC])
def test_damaged_files_read_the_same_in_parts(data_dir: Path, tmp_path: Path, name: str) -> None:
    """Whatever the damage, the scanner reads what the decoder reads without a loss."""
    form = FORMATS["torch" if name.startswith("torch") else "chrome"]
    path = tmp_path / "trace.json"
    compared = 0
    for number in range(rounds(12, 1_000)):
        rng = random.Random(f"{name} {number}")
        path.write_bytes(by_bytes(seed(data_dir, name, 30_000), rng))
        chunk = rng.choice((64, 1_000, 7_777, 1 << 20))
        try:
            decoded = whole_file(path, TextDecoder(form), chunk)
        except ImportFormatError as error:
            with pytest.raises(ImportFormatError, match=re.escape(str(error))):
                whole_file(path, CompiledDecoder(form, scanner()), chunk)
            continue
        found = whole_file(path, CompiledDecoder(form, scanner()), chunk)
        if not decoded["losses"]:
            assert found == decoded, number
            compared += 1
        # What is lost is cut out along other borders: an event more or less.
        kept = [way["events"] - way["losses"].total() for way in (found, decoded)]
        assert kept[0] >= kept[1] - 3, number
    assert compared


def json_pieces(content: bytes) -> Iterator[bytes]:
    begin = content.index(b"[", content.index(b'"traceEvents"')) + 1
    yield content[begin : content.rindex(b"]")]


@pytest.mark.fuzz
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**60).map(lambda ns: f"{ns // 1000}.{ns % 1000:03d}"),
            st.one_of(
                st.integers(0, 10**9).map(str),
                st.decimals(0, 10**6, places=3).map(lambda number: f"{number:f}"),
            ),
        ),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=rounds(50, 5_000))
def test_times_are_exact(times: list[tuple[str, str]]) -> None:
    events = [f'{{"ph":"X","name":"n","ts":{ts},"dur":{dur},"pid":1,"tid":1}}' for ts, dur in times]
    (piece,) = scanned(f"[{','.join(events)}]".encode(), "chrome")
    (group,) = [part.groups["slices"] for part in parts(piece) if "slices" in part.groups]
    assert group.start.tolist() == nanoseconds([ts for ts, _dur in times])[0].tolist()
    assert group.duration.tolist() == nanoseconds([dur for _ts, dur in times])[0].tolist()


@pytest.mark.fuzz
@given(
    st.dictionaries(
        st.text(max_size=6),
        st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | st.lists(st.text()),
        max_size=4,
    )
)
@settings(max_examples=rounds(40, 5_000))
def test_any_arguments_survive_the_round_trip(args: dict[str, Any]) -> None:
    text = json.dumps([x("name", 1, 2, args=args)]).encode()
    (piece,) = scanned(text, "chrome")
    (group,) = [part.groups["slices"] for part in parts(piece) if part.groups]
    payload = group.texts["payload"].table[group.texts["payload"].codes[0]]
    assert (json.loads(payload) if payload else {}) == json.loads(
        json.dumps(args, ensure_ascii=False).encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
    ) or "\\u" in payload


def test_unusual_events_go_to_the_decoder() -> None:
    events = [
        x("plain", 1, 1),
        x("text time", "2", 1),
        x("no duration", 3, None),
        x("back", 4, -1),
        x("huge", 1e30, 1),
        {"ph": "X", "name": 5, "ts": 6, "dur": 1},
        {"ph": "i", "name": "moment", "ts": 7, "pid": 1, "tid": 1},
    ]
    (piece,) = scanned(json.dumps(events).encode(), "chrome")
    assert piece.groups["slices"].name.table == ["plain"]
    assert piece.also is not None
    rest = piece.also.groups["slices"]
    assert sorted(rest.name.table[code] for code in rest.name.codes) == ["5", "no duration", "text time"]
    assert piece.also.losses.total() == 2


@pytest.mark.parametrize(
    "text",
    [
        b"[",
        b"[{]",
        b'[{"a":1}',
        b'[{"a" 1}]',
        b'[{"ph":"X"},]',
        b"",
        b"{}",
        b"[1]",
        b'["' + b"x" * 50,
    ],
)
def test_text_without_an_array_of_events_is_not_scanned(text: bytes) -> None:
    scan = scanner().scan(text, 1)
    assert scan is None or not scan.ended


VALUES = st.one_of(st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=2))
NUMBERS = st.sampled_from((1, 2, 1.0, "a", None))
METADATA_EVENTS = st.fixed_dictionaries(
    {"ph": st.just("M"), "args": st.sampled_from(({"name": "a"}, {"name": "b"}, {"sort_index": 3}, {}))},
    optional={
        "name": st.sampled_from(("thread_name", "process_name", "thread_sort_index", "other", 7)),
        "pid": NUMBERS,
        "tid": NUMBERS,
        "ts": st.sampled_from((0, 1.5)),
    },
)


@settings(max_examples=rounds(30, 500), deadline=None)
@given(st.lists(METADATA_EVENTS, min_size=1, max_size=12), st.sampled_from((None, 1)))
def test_metadata_is_ordered_by_its_last_occurrence(events: list[dict[str, Any]], indent: int | None) -> None:
    text = json.dumps([x("work", 0, 1), *events], indent=indent).encode()
    found = [list(part.metadata.items()) for piece in scanned(text, "torch") for part in parts(piece)]
    decoded = list(TextDecoder(FORMATS["torch"]).piece(text).metadata.items())
    assert [one for part in found for one in part] == decoded


KEYS = st.sampled_from(
    ('"a"', '"b"', '""', '"b c"', '"\\u0061"', '"\xe9"', '"External id"', '"\\n"', '"a:,{"')
)
TEXTS = st.one_of(
    VALUES.map(json.dumps),
    VALUES.map(lambda value: json.dumps(value, ensure_ascii=False)),
    st.sampled_from(
        ('{"a": 1,"b":[ ]}', "1e5", "null", "-0.5", "NaN", "00", '"\\u0000"', '"\\x"', "tru", "[1 2]")
    ),
)
GAPS = st.sampled_from(("", " ", "\n"))
OBJECTS = st.lists(st.tuples(KEYS, TEXTS, GAPS, GAPS), max_size=5)


def object_text(members: list[tuple[str, str, str, str]]) -> str:
    return (
        "{"
        + ",".join(f"{left}{key}{left}:{right}{value}{right}" for key, value, left, right in members)
        + "}"
    )


@settings(max_examples=rounds(60, 5_000), deadline=None)
@given(st.lists(OBJECTS, min_size=1, max_size=6))
@example([[('"External id"', "00", "", "")]])
@example([[('"External id"', "-01", "", "")]])
def test_members_without_a_column_keep_their_exact_text(
    objects: list[list[tuple[str, str, str, str]]],
) -> None:
    """Also repeated, with escapes and outside ASCII; the decoder reads everything if one is damaged."""
    events = [
        f'{{"ph":"X","cat":"cpu_op","name":"n","pid":1,"tid":1,"ts":{at},"dur":1,"args":{object_text(members)}}}'
        for at, members in enumerate(objects)
    ]
    text = f"[{','.join(events)}]".encode("utf-8", "surrogatepass")
    (decoded,) = [TextDecoder(FORMATS["torch"]).piece(text)]
    found = [payload_at(part) for piece in scanned(text, "torch") for part in parts(piece)]
    assert {at: one for part in found for at, one in part.items()} == payload_at(decoded)


def payload_at(piece: Piece) -> dict[int, str]:
    """The payload of each operator by its time."""
    if "operator" not in piece.groups:
        return {}
    group = piece.groups["operator"]
    column = group.texts["payload"]
    return dict(zip(group.start.tolist(), (column.table[code] for code in column.codes), strict=True))


@settings(max_examples=rounds(60, 5_000), deadline=None)
@given(
    st.lists(
        st.one_of(
            st.floats(0, 1e12).map(repr),
            st.decimals(-(10**6), 10**6, places=17).map(lambda number: f"{number:f}"),
            st.sampled_from(
                ("0.08888888888888889", "-0.0", "00.12345678901234567", "12345678901234567890.5", "1.")
            ),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_fractions_are_read_as_python_reads_them(fractions: list[str]) -> None:
    events = [
        f'{{"ph":"X","cat":"kernel","name":"n","pid":1,"tid":1,"ts":{at},"dur":1,'
        f'"args":{{"device":0,"context":1,"stream":7,"memory bandwidth (GB/s)":{one}}}}}'
        for at, one in enumerate(fractions)
    ]
    scanned, decoded, _taken = both_ways(f"[{','.join(events)}]".encode(), "torch")
    assert decoded["losses"] or scanned == decoded


@pytest.mark.parametrize(
    "mark", [b'"M\xff\xfft"', b'"\xc3"', b'"a\x01b"', b'"\xed\xa0\x80"', b'"\\ud800"', b"5"]
)
@pytest.mark.parametrize("phase", [b'"i", "s"', b'"C", "s"', b'"f", "bp"'])
def test_damaged_optional_members_are_left_to_the_decoder(phase: bytes, mark: bytes) -> None:
    event = b'{"name": "n", "id": 1, "pid": 1, "tid": 1, "ts": 3, "ph": %s: %s}'
    sound = event % (b'"i", "s"', b'"t"')
    scanned, decoded, _taken = both_ways(b"[%s, %s]" % (event % (phase, mark), sound), "chrome")
    assert scanned == decoded


def test_members_are_numbered_as_texts_of_objects() -> None:
    """Objects with the same other members share one text, whatever comes between them."""
    args = ('{"External id":1,"a":1,"b":[2]}', '{"a" : 1, "External id":2, "b":[2]}', "{}", '{"b":[2]}')
    events = [
        f'{{"ph":"X","cat":"cpu_op","name":"n","pid":1,"tid":1,"ts":{at},"dur":1,"args":{one}}}'
        for at, one in enumerate(args)
    ]
    (piece,) = scanned(f"[{','.join(events)}]".encode(), "torch")
    column = piece.groups["operator"].texts["payload"]
    assert [column.table[code] for code in column.codes] == ['{"a": 1, "b": [2]}'] * 2 + ["", '{"b": [2]}']
    assert len(column.table) == 3
