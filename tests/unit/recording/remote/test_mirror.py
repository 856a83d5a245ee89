"""The mirror of a spool takes what a spool may hold, and refuses everything else."""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline.recording.remote.far.machine_files import machine_files
from warpline.recording.remote.far.tail import Tail
from warpline.recording.remote.frames import (
    MAX_BODY_BYTES,
    MAX_DATA_BYTES,
    FrameError,
    FrameReader,
    FrameType,
    file_of,
    packed,
    packed_file,
    values_of,
)
from warpline.recording.remote.near.fetched_files import FetchedFiles
from warpline.recording.remote.near.local_streams import LocalOutput
from warpline.recording.remote.near.mirror import Mirror
from warpline.recording.session import SESSION_BEGINS
from warpline.recording.spool import records
from warpline.recording.spool.file_layout import CHUNK, CHUNK_MAGIC, HEADER_BYTES, MAGIC, NEXT_OFFSET
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.writer import SpoolWriter
from warpline.recording.symbols.machine_files import files_in, machine_file, of_another_machine
from warpline.recording.symbols.modules import Module


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    folder = tmp_path / "mirror"
    folder.mkdir()
    made = Mirror(folder, tmp_path / "run.h5", most_bytes=64 << 20)
    yield made
    made.close()


def chunk(size: int, committed: int = 0, magic: int = CHUNK_MAGIC) -> bytes:
    return CHUNK.pack(magic, 104, 16, 1, size, committed, 0).ljust(64, b"\0")


def take(mirror: Mirror, frames: Iterator[bytes]) -> int:
    reader, count = FrameReader(), 0
    for frame in frames:
        for kind, body in reader.feed(frame):
            mirror.apply(kind, body)
            count += 1
    return count


def test_a_mirror_follows_a_growing_spool_byte_for_byte(tmp_path: Path, mirror: Mirror) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    writer, tail = SpoolWriter(spool / "perf.spool", "perf"), Tail(spool, is_ring=False)
    for number in range(1, 30):
        rows = b"".join(records.exit_.pack(number, number, row) for row in range(number * 40))
        writer.append(records.EXIT, rows, size=records.exit_.itemsize)
        writer.string("text " * number)
        take(mirror, tail.news())
        copy = SpoolFile(tmp_path / "mirror" / "perf.spool")
        assert len(copy.records(records.EXIT, records.exit_).values) == 40 * number * (number + 1) // 2
    writer.close()
    take(mirror, tail.news())
    assert take(mirror, tail.news()) == 0
    ((_kind, body),) = FrameReader().feed(b"".join(tail.check("perf.spool")))
    assert mirror.differing(values_of(body)) == []
    mirror.complete(tail.sizes())
    assert (tmp_path / "mirror" / "perf.spool").read_bytes() == (spool / "perf.spool").read_bytes()


def test_a_file_that_its_writer_has_just_created_is_sent_later(tmp_path: Path, mirror: Mirror) -> None:
    path = tmp_path / "perf.spool"
    path.write_bytes(bytes(3 * HEADER_BYTES))
    tail = Tail(tmp_path, is_ring=False)
    assert take(mirror, tail.news()) == 0
    path.write_bytes(MAGIC.ljust(3 * HEADER_BYTES, b"\0"))
    assert take(mirror, tail.news()) == 1


def test_a_program_of_many_processes_needs_few_descriptors(
    tmp_path: Path, mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warpline.recording.remote.near.mirror._MOST_OPEN", 3)
    spool = tmp_path / "spool"
    spool.mkdir()
    tail = Tail(spool, is_ring=False)
    for part in range(2):
        writers = [SpoolWriter(spool / f"agent.{number}.{part}.spool", "agent") for number in range(9)]
        for writer in writers:
            writer.append(records.EXIT, records.exit_.pack(1, 2, 3), size=records.exit_.itemsize)
        take(mirror, tail.news())
        for writer in writers:
            writer.close()
        take(mirror, tail.news())
    assert take(mirror, tail.news()) == 0
    names = sorted(tail.sizes())
    for name in names:
        ((_kind, body),) = FrameReader().feed(b"".join(tail.check(name)))
        assert mirror.differing(values_of(body)) == []
    assert len(names) == 18


def test_a_chunk_that_changed_later_is_sent_again(tmp_path: Path, mirror: Mirror) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    writer, tail = SpoolWriter(spool / "perf.spool", "perf"), Tail(spool, is_ring=False)
    writer.append(records.EXIT, records.exit_.pack(1, 2, 3), size=records.exit_.itemsize)
    take(mirror, tail.news())
    with (spool / "perf.spool").open("r+b") as file:
        file.seek(HEADER_BYTES + 64)
        file.write(b"\x09")
    writer.close()
    ((_kind, body),) = FrameReader().feed(b"".join(tail.check("perf.spool")))
    different = mirror.differing(values_of(body))
    assert set(different) == {-1, HEADER_BYTES}
    tail.again("perf.spool", different)
    take(mirror, tail.news())
    assert SpoolFile(tmp_path / "mirror" / "perf.spool").records(records.EXIT, records.exit_).values[
        "time_ns"
    ] == [9]


@pytest.mark.parametrize(
    "frame",
    [
        packed_file(FrameType.PAGE, "../perf.spool", 0, MAGIC.ljust(4096, b"\0")),
        packed_file(FrameType.PAGE, "a/perf.spool", 0, MAGIC.ljust(4096, b"\0")),
        packed_file(FrameType.PAGE, "run.h5", 0, MAGIC.ljust(4096, b"\0")),
        packed_file(FrameType.PAGE, "perf.spool", 0, bytes(4096)),
        packed_file(FrameType.WHOLE, "perf.spool", 0, b"text"),
        packed_file(FrameType.WHOLE, "ended.json", 0, b"{}"),
        packed_file(FrameType.CHUNK, "perf.spool", 4096, chunk(1 << 42)),
        packed_file(FrameType.CHUNK, "perf.spool", 4096, chunk(4097)),
        packed_file(FrameType.CHUNK, "perf.spool", 4096, chunk(4096, 1 << 40)),
        packed_file(FrameType.CHUNK, "perf.spool", 4096, chunk(4096, magic=1)),
        packed_file(FrameType.CHUNK, "perf.spool", 16 << 20, chunk(4096)),
        packed_file(FrameType.CHUNK, "perf.spool", 1 << 62, chunk(4096)),
        packed_file(FrameType.BYTES, "perf.spool", 4160, b"records"),
        packed_file(FrameType.BYTES, "perf.spool", 1 << 50, b"records"),
        packed(FrameType.BYTES, b"short"),
        packed(FrameType.BYTES, struct.pack("<BQ", 200, 0) + b"short"),
    ],
)
def test_content_that_no_spool_has_is_refused(tmp_path: Path, mirror: Mirror, frame: bytes) -> None:
    ((kind, body),) = FrameReader().feed(frame)
    with pytest.raises(FrameError):
        mirror.apply(kind, body)
    assert not (tmp_path / "perf.spool").exists()
    assert sum(path.stat().st_size for path in (tmp_path / "mirror").iterdir()) == 0


def test_a_chunk_that_has_not_begun_hides_none_behind_it(tmp_path: Path, mirror: Mirror) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    tail = Tail(spool, is_ring=False)
    path = spool / "agent.7.1.spool"
    page = bytearray(MAGIC.ljust(HEADER_BYTES, b"\0"))
    page[NEXT_OFFSET : NEXT_OFFSET + 8] = (HEADER_BYTES + 3 * 4096).to_bytes(8, "little")
    record = records.exit_.pack(1, 2, 3)
    last = chunk(4096, len(record)) + record
    path.write_bytes(page + bytes(2 * 4096) + last.ljust(4096, b"\0"))
    take(mirror, tail.news())
    copy = tmp_path / "mirror" / path.name
    assert copy.read_bytes() == path.read_bytes()
    with path.open("r+b") as file:
        file.seek(HEADER_BYTES)
        file.write(chunk(4096, len(record)) + record)
    take(mirror, tail.news())
    assert copy.read_bytes() == path.read_bytes()
    assert take(mirror, tail.news()) == 0


def test_more_comparisons_than_the_content_needs_are_refused(mirror: Mirror) -> None:
    size = 32 << 20
    frame = packed_file(FrameType.CHUNK, "perf.spool", HEADER_BYTES, chunk(size))
    take(mirror, iter([frame]))
    check = {"name": "perf.spool", "chunks": [[HEADER_BYTES, size, size - 64, 0]] * 10_000}
    with pytest.raises(FrameError, match="more to compare"):
        mirror.differing(check)


def test_output_that_nobody_asked_for_is_refused() -> None:
    read, write = os.pipe()
    output = LocalOutput(write)
    try:
        with pytest.raises(FrameError, match="more output"):
            output.add(0, bytes(4 * MAX_DATA_BYTES))
    finally:
        os.close(read)
        output.close()
        os.close(write)


def test_a_link_in_the_mirror_is_not_followed(tmp_path: Path, mirror: Mirror) -> None:
    (tmp_path / "mirror" / "perf.spool").symlink_to(tmp_path / "elsewhere")
    ((kind, body),) = FrameReader().feed(
        packed_file(FrameType.PAGE, "perf.spool", 0, MAGIC.ljust(4096, b"\0"))
    )
    with pytest.raises(OSError, match="symbolic links"):
        mirror.apply(kind, body)


def test_more_data_than_allowed_is_refused(mirror: Mirror) -> None:
    frame = packed_file(FrameType.WHOLE, "stderr", 0, bytes(1 << 19))
    ((kind, body),) = FrameReader().feed(frame)
    for _ in range((64 << 20) // (1 << 19)):
        mirror.apply(kind, body)
    with pytest.raises(FrameError, match="more data"):
        mirror.apply(kind, body)


@given(st.binary(max_size=60), st.integers(1, 7))
def test_any_bytes_are_frames_or_an_error(data: bytes, piece: int) -> None:
    reader = FrameReader()
    try:
        for first in range(0, len(data), piece):
            for _kind, body in reader.feed(data[first : first + piece]):
                assert len(body) <= MAX_BODY_BYTES
    except FrameError:
        pass


def test_an_oversized_frame_is_refused_by_its_head() -> None:
    with pytest.raises(FrameError):
        FrameReader().feed(struct.pack("<BI", FrameType.BYTES, 1 << 31))


def test_a_file_of_the_recorded_machine_is_never_one_of_this_machine(tmp_path: Path) -> None:
    program = str(Path(sys.executable).resolve())
    with files_in(of_another_machine()):
        assert Module(program).rules is None
        assert not machine_file("/../../etc/passwd").exists()
    copy = tmp_path / program[1:]
    copy.parent.mkdir(parents=True)
    copy.symlink_to(program)
    with files_in(tmp_path):
        assert Module(program).rules is not None
    assert machine_file(program) == Path(program)


def test_only_files_that_were_asked_for_are_taken(tmp_path: Path) -> None:
    (tmp_path / "library").write_bytes(b"content" * 100_000)
    asked = [str(tmp_path / "library"), "/no/such/file"]
    fetched = FetchedFiles(tmp_path / "fetched", asked)
    for kind, body in FrameReader().feed(b"".join(machine_files(asked))):
        assert kind is FrameType.FILE
        name, _offset, data = file_of(body)
        fetched.add(name, data)
    assert fetched.is_complete
    assert (tmp_path / "fetched" / asked[0][1:]).read_bytes() == b"content" * 100_000
    with pytest.raises(FrameError):
        fetched.add("2", b"more")


def test_a_session_here_has_our_output_whatever_it_says(tmp_path: Path, mirror: Mirror) -> None:
    session = {"output": "/etc/passwd", "is_remote": False, "host": {"name": "far"}}
    ((kind, body),) = FrameReader().feed(
        packed_file(FrameType.WHOLE, "session.json", 0, json.dumps(session).encode())
    )
    mirror.apply(kind, body)
    text = (tmp_path / "mirror" / "session.json").read_text()
    assert text.startswith(SESSION_BEGINS.decode())
    values = json.loads(text)
    assert values["output"] == str(tmp_path / "run.h5")
    assert values["is_remote"] is True
