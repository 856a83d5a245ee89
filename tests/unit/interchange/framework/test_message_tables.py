"""Tables of protocol buffers: the compiled loop and its twin agree, on valid and on damaged files."""

from __future__ import annotations

import io
import random
from typing import Any
from unittest import mock

import pytest
from tests.fuzz.campaign import mutate_pb

from warpline.interchange.framework.messages import message_tables
from warpline.interchange.framework.messages.message_tables import MISSING, MessageReader
from warpline.interchange.framework.messages.schema import Schema, layouts

INNER = Schema(numbers={1: "size", 2: "ratio"}, texts={3: "label"}, count_others=True)
SCHEMA = Schema(
    numbers={1: "time"},
    texts={2: "name"},
    messages={3: ("part", INNER)},
    repeated_numbers={4: "flow"},
    repeated_texts={5: "tag"},
    count_others=True,
)


def message(*fields: tuple[int, int | bytes]) -> bytes:
    wired: list[tuple[int, int, int | bytes]] = [
        (number, 0 if isinstance(value, int) else 2, value) for number, value in fields
    ]
    return mutate_pb.pack(wired, random.Random(0), 0)


def records(count: int) -> bytes:
    return b"".join(
        message(
            (1, message(
                (1, number), (2, b"name %d" % (number % 3)), (9, 7),
                (3, message((1, 2**64 - 1), (3, b"label"))), (3, message((1, 5), (8, b"?"))),
                (4, number), (4, b"\x01\x80\x01"), (5, b"a"), (5, b"b"),
            )),
            (6, b"header"), (7, number),
        )
        for number in range(count)
    )  # fmt: skip


def contents(data: bytes, *, compiled: bool, piece_bytes: int = 1 << 20) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with mock.patch.object(message_tables, "library", message_tables.library if compiled else lambda: None):
        reader = MessageReader(io.BytesIO(data), SCHEMA, piece_bytes=piece_bytes)
        for tables in reader:
            found.setdefault("positions", []).extend(tables.positions.tolist())
            for layout in layouts(SCHEMA, "record"):
                for column in layout.columns:
                    values = tables[f"{layout.name}.{column}"].tolist()
                    if column in ("name", "label") or layout.name == "record.tag":
                        values = [tables.text(code) for code in values]
                    found.setdefault(f"{layout.name}.{column}", []).extend(values)
                found.setdefault(layout.name, []).append(tables.parent(layout.name).tolist())
    problem = bool(reader.problem)
    return {**found, "damaged": reader.damaged, "problem": problem, "header": reader.header,
            "others": (reader.others("record"), reader.others("record.part"))}  # fmt: skip


@pytest.mark.skipif(message_tables.library() is None, reason="the loop is not compiled")
def test_fields_become_columns_and_repeated_fields_tables() -> None:
    found = contents(records(3), compiled=True)
    assert found["record.time"] == [0, 1, 2]
    assert found["record.name"] == ["name 0", "name 1", "name 2"]
    assert found["record.part.size"] == [-1, 5] * 3
    assert found["record.part.label"] == ["label", ""] * 3
    assert found["record.part.ratio"] == [MISSING] * 6
    assert found["record.part"] == [[0, 0, 1, 1, 2, 2]]
    assert found["record.flow.value"] == [0, 1, 128, 1, 1, 128, 2, 1, 128]
    assert found["record.tag.value"] == ["a", "b"] * 3
    assert found["header"] == {6: b"header", 7: 2}
    assert found["others"] == ({9: 3}, {8: 3})
    assert (found["damaged"], found["problem"]) == (0, False)


@pytest.mark.skipif(message_tables.library() is None, reason="the loop is not compiled")
def test_a_damaged_record_is_left_out_and_counted() -> None:
    broken = message((1, b"\x08"))
    found = contents(records(1) + broken + records(1), compiled=True)
    assert (found["record.time"], found["damaged"]) == ([0, 0], 1)
    found = contents(records(2)[:-30], compiled=True)
    assert (found["record.time"], found["problem"]) == ([0], True)


@pytest.mark.skipif(message_tables.library() is None, reason="the loop is not compiled")
def test_a_record_with_more_rows_than_there_is_room_for_is_read() -> None:
    many = message((1, message((1, 1), (4, b"\x01" * 200_000))))
    assert len(contents(many + records(1), compiled=True)["record.flow.value"]) == 200_003


@pytest.mark.fuzz
@pytest.mark.skipif(message_tables.library() is None, reason="the loop is not compiled")
def test_the_loop_and_its_twin_agree_on_damaged_files() -> None:
    rng = random.Random(5)
    for number in range(400):
        data = mutate_pb.mutate(records(4), rng)[0]
        both = [contents(data, compiled=compiled, piece_bytes=1 << 20) for compiled in (True, False)]
        assert both[0] == both[1], number
