"""A part of a running recording, which is handed on without HDF5, reads as the same capture does from its file."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from tests.unit.storage.format import sample

from warpline.model import CaptureFormatError
from warpline.storage import CaptureBuilder, open_capture, open_part


def _part(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sample, "CaptureBuilder", functools.partial(CaptureBuilder, is_temporary=True))
    return sample.write(path)


def test_a_part_reads_as_the_capture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = open_capture(sample.write(tmp_path / "capture.h5"))
    part = open_part(_part(tmp_path / "part", monkeypatch))
    for name in (
        "span",
        "meta",
        "sources",
        "skipped",
        "warnings",
        "processes",
        "threads",
        "devices",
        "clocks",
    ):
        assert getattr(part, name) == getattr(capture, name), name
    assert part.tracks == capture.tracks
    assert part.strings.all() == capture.strings.all()
    for table in ("events", "lanes", "links"):
        for name, column in vars(getattr(capture, table)).items():
            if isinstance(column, np.ndarray):
                np.testing.assert_array_equal(getattr(getattr(part, table), name), column, f"{table}/{name}")
    assert list(part.kinds) == list(capture.kinds)
    for name, kind in capture.kinds.items():
        mine = part.kinds[name]
        assert (mine.spec, mine.code) == (kind.spec, kind.code)
        np.testing.assert_array_equal(mine.rows, kind.rows)
        for attribute in kind.attributes:
            for own, values in zip(mine.column(attribute), kind.column(attribute), strict=True):
                np.testing.assert_array_equal(own, values)
    assert part.links.kinds == capture.links.kinds
    for one, other in zip(part.stacks, capture.stacks, strict=True):
        np.testing.assert_array_equal(one, other)
    assert [counter.name for counter in part.counters] == [counter.name for counter in capture.counters]
    for own_counter, counter in zip(part.counters, capture.counters, strict=True):
        np.testing.assert_array_equal(own_counter.values, counter.values)
    assert part.unknown == ()


@pytest.mark.parametrize("kept", [0, 10, 100, 5_000])
def test_a_part_that_was_cut_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    path = _part(tmp_path / "part", monkeypatch)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(CaptureFormatError, match="part"):
        open_part(path)


def test_a_part_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(CaptureFormatError, match="No such file"):
        open_part(tmp_path / "part")
