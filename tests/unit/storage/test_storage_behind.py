"""Writes that a thread does: in order, complete when asked for, and what fails is told."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import h5py
import numpy as np
import pytest

from warpline.model import StorageError
from warpline.storage.columns.new_file import new_file
from warpline.storage.write.behind import WriteBehind
from warpline.storage.write.datasets import Hdf5Datasets
from warpline.storage.write.spill import SpillDirectory


def test_writes_come_in_order_and_are_done_when_finished() -> None:
    behind, done = WriteBehind("test"), list[int]()
    for number in range(100):
        behind.submit(1, lambda number=number: done.append(number))  # type: ignore[misc]  # a lambda's default
    behind.finish()
    assert done == list(range(100))
    behind.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("test_")]


def test_what_a_write_raises_is_raised_here() -> None:
    def fail() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    behind = WriteBehind("test")
    behind.submit(1, fail)
    with pytest.raises(OSError, match="space"):
        behind.finish()
    behind.close()


def test_columns_that_do_not_fit_come_back_from_the_disk(tmp_path: Path) -> None:
    """Blocks serve again as soon as they are written: what is read is what was appended all the same."""
    rng = np.random.default_rng(5)
    with SpillDirectory(tmp_path, hold_bytes=0) as spill:
        columns = [spill.column(dtype) for dtype in ("<i8", "<u4", "|u1")]
        parts: list[list[np.ndarray]] = [[], [], []]
        for _round in range(40):
            for column, kept in zip(columns, parts, strict=True):
                values = rng.integers(0, 200, int(rng.integers(1, 200_000))).astype(column.dtype)
                kept.append(values)
                column.append_copy(values)
        for column, kept in zip(columns, parts, strict=True):
            np.testing.assert_array_equal(column.read(), np.concatenate(kept))
        columns[0].append_one(7, 3)
        assert columns[0].read()[-4:].tolist() == [int(parts[0][-1][-1]), 7, 7, 7]
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_while_columns_are_spilled_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SpillDirectory(tmp_path, hold_bytes=0) as spill:
        column = spill.column("<i8")

        def full(*_args: object, **_named: object) -> object:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(Path, "open", full)
        column.append(np.arange(1 << 20))
        with pytest.raises(StorageError, match="the disk is full"):
            column.read()
        monkeypatch.undo()


@pytest.mark.parametrize("chunk", [1, 100, 511, 513, 5000])
def test_values_written_past_hdf5_are_what_hdf5_reads(tmp_path: Path, chunk: int) -> None:
    """Whatever HDF5 keeps in its buffers: pieces in any order, of the column's type and of another."""
    values = np.random.default_rng(chunk).integers(0, 1 << 30, 20_011)
    order = np.random.default_rng(1).permutation(range(0, len(values), max(chunk, 50)))
    with new_file(tmp_path / "x.h5") as (file, room), Hdf5Datasets(file, room, compress=False) as out:
        columns = [
            out.empty(file, f"c{number}", dtype, len(values)) for number, dtype in enumerate(("<i8", "<u4"))
        ]
        for at in order.tolist():
            for column in columns:
                part = values[at : at + max(chunk, 50)]
                out.write(column, at, part if at % 3 else part.astype(column.dtype))
        out.flush()
        for number, dtype in enumerate(("<i8", "<u4")):
            np.testing.assert_array_equal(out.view(f"c{number}", dtype), values)
    with h5py.File(tmp_path / "x.h5") as file:
        for number in range(2):
            np.testing.assert_array_equal(file[f"c{number}"][:], values)
