"""The compiled scanner and the decoder in Python read the same from every trace, whole or damaged."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds
from tests.unit.interchange.import_tools import x
from tests.unit.interchange.trace_json.test_hostile_traces import ASYNC, ROCM, SIMPLE, TORCH, mutated, seed

from warpline.interchange.framework.columns import nanoseconds
from warpline.interchange.torch import columns as torch_columns
from warpline.interchange.trace_json.decoding import CompiledDecoder, Decoder, TextDecoder
from warpline.interchange.trace_json.json_stream import EventStream
from warpline.interchange.trace_json.piece_columns import Group, Piece
from warpline.interchange.trace_json.scanner import Scanner, library
from warpline.interchange.trace_json.trace_format import CHROME
from warpline.model import ImportFormatError

FORMATS = {"torch": torch_columns.TORCH, "chrome": CHROME}

pytestmark = pytest.mark.skipif(library() is None, reason="the scanner is not compiled here")


def parts(piece: Piece | None) -> Iterator[Piece]:
    while piece is not None:
        yield piece
        piece = piece.also


def table(name: str, group: Group) -> list[tuple[Any, ...]]:
    """One tuple per event with everything that is known of it."""
    columns: list[list[Any]] = [
        [group.name.table[code] for code in group.name.codes],
        group.start.tolist(),
        group.duration.tolist(),
        [str(group.places[code] if group.places else group.threads[code]) for code in group.thread],
    ]
    if name not in torch_columns.GPU_GROUPS:
        columns.append([group.category.table[code] for code in group.category.codes])
    known: list[list[tuple[str, float]]] = [[] for _ in range(len(group))]
    for key, values in sorted(group.numbers.items()):
        mask = np.ma.getmaskarray(values)
        for row, value in enumerate(np.ma.getdata(values).tolist()):
            if not mask[row]:
                known[row].append((key, float(value)))
    columns.append(known)
    columns += [column for column in (group.phases, group.ids) if column]
    for key, column in sorted(group.texts.items()):
        # What had to be mended is written anew.
        table = [json.loads(text) if key == "payload" and text else text for text in column.table]
        columns.append([(key, repr(table[code])) for code in column.codes])
    return sorted(zip(*columns, strict=True), key=repr)


def content(*pieces: Piece) -> dict[str, Any]:
    found: dict[str, Any] = {"events": 0, "losses": Counter(), "metadata": []}
    for part in (part for piece in pieces for part in parts(piece)):
        found["events"] += part.events
        found["losses"] += part.losses
        found["metadata"] += part.metadata
        for name, group in part.groups.items():
            if len(group):
                found.setdefault(name, []).extend(table(name, group))
    return {name: sorted(rows, key=repr) if isinstance(rows, list) else rows for name, rows in found.items()}


def scanner() -> Scanner:
    lib = library()
    assert lib is not None
    return Scanner(lib)


def scanned(text: bytes, form: str) -> list[Piece]:
    """An array as the scanner reads it, and the decoder from where the scanner stops."""
    begin = text.index(b"[") + 1
    reader = scanner()
    decoder = CompiledDecoder(FORMATS[form], reader)
    scan = reader.scan(text, begin)
    if scan is None:
        return [decoder.piece(text)]
    found = [decoder.piece(scan)]
    if not scan.ended:
        found.append(decoder.piece(b"[" + text[scan.stop :]))
    return found


def both_ways(text: bytes, form: str) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """What the scanner and the decoder read, and whether the scanner took anything."""
    pieces = scanned(text, form)
    return content(*pieces), content(TextDecoder(FORMATS[form]).piece(text)), bool(pieces[0].groups)


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
        damaged = b"[" + mutated(text[begin:end], rng) + b"]"
        scanned, decoded, native = both_ways(damaged, "torch")
        taken += native
        if scanned["losses"] or decoded["losses"]:
            # Inside arguments nobody looks at, the scanner overlooks what the decoder counts.
            assert abs(scanned["events"] - decoded["events"]) <= 3
            continue
        assert scanned == decoded, number
    assert taken > 10


def whole_file(path: Path, decoder: Decoder, chunk: int) -> dict[str, Any]:
    stream = EventStream(path, chunk, decoder.scan)
    found = content(*[decoder.piece(part) for part in stream])
    return {**found, "header": stream.state.header, "cut": stream.state.truncated}


@pytest.mark.fuzz
@pytest.mark.parametrize("name", [TORCH, ROCM, SIMPLE, ASYNC])
def test_damaged_files_read_the_same_in_parts(data_dir: Path, tmp_path: Path, name: str) -> None:
    """However the file is damaged: what the decoder reads without a loss, the scanner reads as well."""
    form = FORMATS["torch" if name.startswith("torch") else "chrome"]
    path = tmp_path / "trace.json"
    compared = 0
    for number in range(rounds(12, 1_000)):
        rng = random.Random(f"{name} {number}")
        path.write_bytes(mutated(seed(data_dir, name, 30_000), rng))
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
def test_any_arguments_come_out_as_they_went_in(args: dict[str, Any]) -> None:
    text = json.dumps([x("name", 1, 2, args=args)]).encode()
    (piece,) = scanned(text, "chrome")
    (group,) = [part.groups["slices"] for part in parts(piece) if part.groups]
    payload = group.texts["payload"].table[group.texts["payload"].codes[0]]
    assert (json.loads(payload) if payload else {}) == json.loads(
        json.dumps(args, ensure_ascii=False).encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
    ) or "\\u" in payload


def test_what_is_unusual_goes_to_the_decoder() -> None:
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
def test_what_is_no_array_of_events_is_not_taken(text: bytes) -> None:
    scan = scanner().scan(text, 1)
    assert scan is None or not scan.ended
