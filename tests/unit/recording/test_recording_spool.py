"""The spool format: what is written is read back, and nothing in a file can hurt the reader."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import signal
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.recording.spool import records
from warpline.recording.spool.reader import SpoolFile, read_spools
from warpline.recording.spool.record_layout import RecordLayout
from warpline.recording.spool.writer import SpoolWriter

EXIT = np.dtype(records.exit_)


def exits(first: int, count: int) -> np.ndarray:
    """Records whose fields all tell their number."""
    rows = np.zeros(count, EXIT)
    rows["time_ns"] = np.arange(first, first + count)
    rows["pid"], rows["tid"] = rows["time_ns"] % 1000, rows["time_ns"] % 77
    return rows


def test_batches_of_any_size_come_back_in_order(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "a.spool", "perf")
    position = 0
    for count in (1, 3, 1000, 20_000, 0, 150_000, 7):
        assert writer.append(records.EXIT, exits(position, count)) == count
        position += count
    writer.close()
    spool = SpoolFile(tmp_path / "a.spool")
    np.testing.assert_array_equal(spool.records(records.EXIT, EXIT).values, exits(0, position))
    assert spool.header.finished
    assert spool.header.producer == "perf"
    assert spool.header.pid == os.getpid()
    assert spool.header.lost == 0


def test_records_are_readable_while_the_file_grows_and_after_the_writer_was_killed(tmp_path: Path) -> None:
    path = tmp_path / "a.spool"
    program = f"""
import os, signal, numpy as np
from warpline.recording.spool import records
from warpline.recording.spool.writer import SpoolWriter
writer = SpoolWriter({str(path)!r}, "perf")
for number in range(1000):
    writer.append_packed(records.EXIT, number.to_bytes(8, "little") + bytes(8))
writer.string("the last word")
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -signal.SIGKILL
    spool = SpoolFile(path)
    assert spool.records(records.EXIT, EXIT).values["time_ns"].tolist() == list(range(1000))
    assert spool.text(1) == "the last word"
    assert not spool.header.finished


def test_strings_are_interned(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "a.spool", "x")
    words = ["", "a", "été", "名前", "x" * 70_000, "a"]
    numbers = [writer.string(word) for word in words]
    writer.close()
    spool = SpoolFile(tmp_path / "a.spool")
    assert numbers[0] == 0
    assert numbers[1] == numbers[5]
    assert [spool.text(number) for number in numbers[:4]] == words[:4]
    assert spool.text(numbers[4]) == "x" * (32 << 10)
    assert spool.text(999) == "?"


def test_longer_records_of_a_newer_writer_are_cut_and_shorter_ones_skipped(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "a.spool", "x")
    for number in range(100):
        writer.append_packed(records.EXIT, struct.pack("<QIIQ", number, 1, 2, 99))
        writer.append_packed(records.FORK, struct.pack("<Q", number))
    writer.close()
    spool = SpoolFile(tmp_path / "a.spool")
    found = spool.records(records.EXIT, EXIT).values
    assert found["time_ns"].tolist() == list(range(100))
    assert set(found["tid"].tolist()) == {2}
    assert len(spool.records(records.FORK, records.fork).values) == 0


def test_a_size_cap_loses_exactly_the_records_that_do_not_fit(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "a.spool", "x", size_cap_bytes=64 << 10)
    written = sum(writer.append(records.EXIT, exits(1000 * number, 1000)) for number in range(10))
    writer.close()
    spool = SpoolFile(tmp_path / "a.spool")
    assert len(spool.records(records.EXIT, EXIT).values) == written
    assert 0 < written < 10_000
    assert spool.header.lost == 10_000 - written
    assert os.path.getsize(tmp_path / "a.spool") <= 64 << 10


def test_a_file_that_cannot_grow_counts_losses_and_keeps_its_records(tmp_path: Path) -> None:
    path = tmp_path / "a.spool"
    program = f"""
import resource, numpy as np
from warpline.recording.spool import records
from warpline.recording.spool.writer import SpoolWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
writer = SpoolWriter({str(path)!r}, "perf")
rows = np.zeros(50_000, records.exit_)
print(writer.append(records.EXIT, rows), writer.lost, writer.error)
writer.close()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    written, lost, error = map(int, done.stdout.split())
    assert written + lost == 50_000
    assert written > 5000
    assert error == 27
    spool = SpoolFile(path)
    assert len(spool.records(records.EXIT, EXIT).values) == written
    assert spool.header.lost == lost


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_causes_losses_but_no_crash(tmp_path: Path) -> None:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(tmp_path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("this container may not mount")
    try:
        writer = SpoolWriter(tmp_path / "a.spool", "perf")
        written = writer.append(records.EXIT, exits(0, 100_000))
        writer.close()
        spool = SpoolFile(tmp_path / "a.spool")
        found = spool.records(records.EXIT, EXIT).values
        np.testing.assert_array_equal(found, exits(0, written))
        assert 10_000 < written < 16_384
        assert spool.header.lost == 100_000 - written
        assert spool.header.error == 28
        del spool, found
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def a_spool(path: Path) -> bytes:
    writer = SpoolWriter(path, "perf")
    writer.append(records.EXIT, exits(0, 600))
    writer.string("word")
    writer.append(records.COMM, np.zeros(10, records.comm))
    writer.close()
    return path.read_bytes()


@pytest.mark.fuzz
@settings(
    max_examples=rounds(40, 5_000), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cut=st.integers(0, 40_000),
    flips=st.lists(st.tuples(st.integers(0, 8300), st.integers(0, 255)), max_size=12),
)
@example(cut=0, flips=[(4140, 1)])
def test_damage_only_loses_records(tmp_path: Path, cut: int, flips: list[tuple[int, int]]) -> None:
    (tmp_path / "whole").unlink(missing_ok=True)
    raw = bytearray(a_spool(tmp_path / "whole"))
    for where, value in flips:
        raw[where] = value
    path = tmp_path / "damaged.spool"
    path.write_bytes(raw[: len(raw) - cut] if cut < len(raw) else b"")
    spools, problems = read_spools(tmp_path)
    if problems:
        assert len(problems) == 1
        assert str(path) in problems[0]
        assert not spools
        return
    assert {spool.path for spool in spools} == {path}
    # A chunk may say that a child in a sandbox wrote it: then there is one for each process.
    assert len({spool.header.pid for spool in spools}) == len(spools)
    for spool in spools:
        found = spool.records(records.EXIT, EXIT).values
        assert len(found) <= len(raw) // EXIT.itemsize
        assert len(spool.records(records.COMM, records.comm).values) <= len(raw) // 8
        assert isinstance(spool.strings, dict)


def test_reserved_space_that_was_never_written_is_skipped(tmp_path: Path) -> None:
    raw = a_spool(tmp_path / "a.spool")
    path = tmp_path / "b.spool"
    # A writer that died between reserving 5 pages and writing their header.
    path.write_bytes(raw[:4096] + bytes(5 * 4096) + raw[4096:])
    assert len(SpoolFile(path).records(records.EXIT, EXIT).values) == 600


def test_chunks_of_absurd_size_end_the_scan(tmp_path: Path) -> None:
    raw = bytearray(a_spool(tmp_path / "a.spool"))
    struct.pack_into("<Q", raw, 4096 + 16, 1 << 60)
    (tmp_path / "b.spool").write_bytes(raw)
    assert SpoolFile(tmp_path / "b.spool").chunks == ()


def test_files_that_are_not_spools_are_named(tmp_path: Path) -> None:
    a_spool(tmp_path / "good.spool")
    (tmp_path / "text.spool").write_text("hello" * 2000)
    (tmp_path / "short.spool").write_bytes(b"WLSPOOL1")
    spools, problems = read_spools(tmp_path)
    assert [spool.path.name for spool in spools] == ["good.spool"]
    assert len(problems) == 2
    assert any("text.spool" in problem for problem in problems)


MODULES = (
    "agent.records",
    "spool.records",
    *(
        f"sources.{name}.records"
        for name in (
            "cuda",
            "native_stacks",
            "nvml",
            "nvtx",
            "paddle",
            "perf",
            "procfs",
            "steps",
            "torch",
            "wakeups",
        )
    ),
)
SHARED = {"CUPTI_RUNTIME": "cupti_api", "CUPTI_DRIVER": "cupti_api", "NVTX_MARK": "nvtx_range_attributes"}
"""Layouts that are those of another type."""


def test_the_specification_gives_the_sizes_of_all_records(repository: Path) -> None:
    text = (repository / "docs" / "spool.md").read_text()
    row = re.compile(r"^\| (\d+) [a-zA-Z ]+ \| (\d+)(?: \+)? \|", re.MULTILINE)
    listed = {int(number): int(size) for number, size in row.findall(text)}
    sizes: dict[int, int] = {}
    for module in MODULES:
        found = vars(importlib.import_module(f"warpline.recording.{module}"))
        for constant, number in found.items():
            layout = found.get(SHARED.get(constant, constant.lower())) or found.get(f"{constant.lower()}_")
            if constant.isupper() and isinstance(layout, RecordLayout):
                assert number not in sizes, constant
                sizes[number] = layout.itemsize
    assert sizes == listed


@pytest.mark.skipif(sys.platform != "linux", reason="recordings are made on Linux only")
def test_read_files_keep_no_descriptor(tmp_path: Path) -> None:
    """A job of many thousand processes leaves more files than a process may open."""
    for number in range(5):
        writer = SpoolWriter(tmp_path / f"{number}.spool", "x")
        writer.append(records.EXIT, exits(number, 3))
        writer.close()
    spools, problems = read_spools(tmp_path)
    opened = []
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the listing itself
            opened.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    assert not [path for path in opened if path.startswith(str(tmp_path))]
    assert (len(spools), problems) == (5, [])
    rows = [spool.records(records.EXIT, EXIT).values["time_ns"].tolist() for spool in spools]
    assert rows == [[number, number + 1, number + 2] for number in range(5)]
