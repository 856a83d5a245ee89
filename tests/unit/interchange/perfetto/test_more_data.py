"""What Perfetto traces hold beside track events: lists of switches, marks, memory, samples, GPU work and counters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.guided.formats import message
from tests.unit.interchange.import_tools import imported, rows, skipped
from tests.unit.interchange.profiles.stack_tools import stacks

from warpline.model import ImportFormatError
from warpline.storage import Capture


def packet(*fields: tuple[int, int | bytes]) -> bytes:
    return message((1, message(*fields)))


def capture_of(tmp_path: Path, *packets: bytes) -> Capture:
    path = tmp_path / "x.pftrace"
    path.write_bytes(b"".join(packets))
    return imported(tmp_path, path, format="perfetto")


def event(time: int, thread: int, field: int, *fields: tuple[int, int | bytes]) -> tuple[int, bytes]:
    return 2, message((1, time), (2, thread), (field, message(*fields)))


def bundle(*events: tuple[int, int | bytes], cpu: int = 0) -> bytes:
    return packet((10, 1), (1, message((1, cpu), *events)))


TREE = packet((10, 1), (2, message(
    (1, message((1, 70), (3, b"/usr/bin/app"), (3, b"--flag"))), (2, message((1, 71), (3, 70), (2, b"worker"))),
)))  # fmt: skip


def switch(time: int, before: int, state: int, after: int) -> tuple[int, bytes]:
    return event(time, before, 4, (2, before), (4, state), (6, after))


def test_a_woken_thread_waits_for_a_core_until_it_runs(tmp_path: Path) -> None:
    capture = capture_of(
        tmp_path, TREE,
        bundle(switch(100, 0, 0, 71), switch(200, 71, 1, 70), event(250, 70, 20, (2, 71)), switch(300, 70, 0, 71),
               switch(400, 71, 2, 0)),
    )  # fmt: skip
    assert [row[:3] for row in rows(capture, "thread_state") if "/thread/71." in row[3]] == [
        ("running", 100, 100), ("blocked", 200, 50), ("runnable", 250, 50), ("running", 300, 100),
    ]  # fmt: skip
    assert [row[:3] for row in rows(capture, "thread_state") if "/thread/70." in row[3]] == [
        ("running", 200, 100), ("runnable", 300, 100),
    ]  # fmt: skip
    assert [row[:3] for row in rows(capture, "cpu_slice") if row[3] == "cpu/0"] == [
        ("worker  71", 100, 100), ("Thread 70", 200, 100), ("worker  71", 300, 100),
    ]  # fmt: skip
    assert [(process.pid, process.name) for process in capture.processes] == [(70, "app")]


def test_a_list_of_no_switches_is_none(tmp_path: Path) -> None:
    compact = message((1, b""), (2, b""), (3, b""), (5, b"app"))
    with pytest.raises(ImportFormatError, match="holds no events"):
        capture_of(tmp_path, TREE, packet((10, 1), (1, message((1, 0), (4, compact)))))


def test_compact_switches_equal_plain_ones(tmp_path: Path) -> None:
    def packed(*values: int) -> bytes:
        return b"".join(
            bytes([value & 0x7F | 0x80, value >> 7]) if value > 127 else bytes([value]) for value in values
        )

    compact = message(
        (5, b"idle"), (5, b"worker"), (5, b"app"), (1, packed(100, 100, 100, 100)), (2, packed(0, 1, 0, 2)),
        (3, packed(71, 70, 71, 0)), (6, packed(1, 2, 1, 0)), (7, packed(250)), (8, packed(71)), (11, packed(1)),
    )  # fmt: skip
    capture = capture_of(tmp_path, TREE, packet((10, 1), (1, message((1, 0), (4, compact)))))
    assert [row[:3] for row in rows(capture, "thread_state") if "/thread/71." in row[3]] == [
        ("running", 100, 100), ("blocked", 200, 50), ("runnable", 250, 50), ("running", 300, 100),
    ]  # fmt: skip


def test_marks_of_programs_are_ranges_and_counters(tmp_path: Path) -> None:
    def mark(time: int, text: bytes) -> tuple[int, bytes]:
        return event(time, 71, 3, (2, text))

    capture = capture_of(
        tmp_path, TREE,
        bundle(mark(10, b"B|70|outer\n"), mark(20, b"B|70|inner"), mark(30, b"E|70"), mark(50, b"E|70"),
               mark(60, b"hello"), mark(15, b"C|70|queue|4"), mark(25, b"C|70|queue|6")),
    )  # fmt: skip
    assert [row[:3] for row in rows(capture, "range")] == [
        ("outer", 10, 40),
        ("inner", 20, 10),
        ("hello", 60, 0),
    ]
    (queue,) = capture.counters
    assert [queue.value_at(time) for time in (16, 26)] == [4, 6]


def test_memory_of_processes_and_frequencies_of_cores(tmp_path: Path) -> None:
    stats = packet((8, 500), (10, 1), (9, message((1, message((1, 70), (3, 2048))))))
    capture = capture_of(tmp_path, TREE, stats, bundle(event(400, 0, 11, (1, 1_200_000), (2, 3))))
    values = {counter.name: (counter.unit, counter.value_at(500)) for counter in capture.counters}
    assert values == {"Resident memory": ("bytes", 2048 * 1024), "Frequency": ("Hz", 1_200_000_000)}


def test_samples_have_their_stacks(tmp_path: Path) -> None:
    interned: list[tuple[int, int | bytes]] = [
        (5, message((1, 1), (2, b"main"))), (5, message((1, 2), (2, b"work"))),
        (6, message((1, 1), (2, 1))), (6, message((1, 2), (2, 2))), (6, message((1, 3), (3, 1), (4, 0x40))),
        (17, message((1, 1), (2, b"libm.so"))), (19, message((1, 1), (7, 1))),
        (7, message((1, 1), (2, 1), (2, 2), (2, 3))),
    ]  # fmt: skip
    capture = capture_of(
        tmp_path, TREE, packet((10, 2), (13, 1), (12, message(*interned))),
        packet((8, 600), (10, 2), (66, message((1, 3), (2, 70), (3, 71), (4, 1)))),
        packet((8, 700), (10, 2), (66, message((2, 70), (3, 71), (18, 2)))),
    )  # fmt: skip
    assert stacks(capture) == ["main;work;libm.so+0x40"]
    (sample,) = capture.kinds["sample"].rows.tolist()
    assert capture.kinds["sample"].at(sample)["cpu"] == 3


@pytest.mark.parametrize("interned", [True, False])
def test_render_stages_and_counters_of_a_gpu(tmp_path: Path, interned: bool) -> None:
    names: Any = message((24, message((1, 1), (2, b"compute"))), (24, message((1, 2), (2, b"shade"))),
                         (23, message((1, 9), (2, 70))))  # fmt: skip
    specs = message((2, message((1, b"compute"))), (3, message((1, b"shade"))))
    where = ((13, 1), (14, 2), (5, 9)) if interned else ((3, 0), (4, 0), (7, specs))
    capture = capture_of(
        tmp_path, packet((10, 2), (13, 1), (12, names)),
        packet((8, 300), (10, 2), (53, message((2, 50), (11, 1), *where))),
        packet((8, 310), (10, 2), (52, message((3, 1), (1, message((1, message((1, 4), (2, b"clock"))))),
                                               (2, message((1, 4), (2, 900)))))),
        packet((8, 320), (10, 2), (71, b"")),
    )  # fmt: skip
    assert [row[:3] for row in rows(capture, "gpu_event")] == [("shade", 300, 50)]
    assert any(track.title.startswith("compute") for track in capture.tracks if track.role == "stream")
    assert (capture.counters[0].name, capture.counters[0].value_at(310)) == ("clock", 900)
    assert skipped(capture) == {"packets: gpu_mem_total_event": 1}
