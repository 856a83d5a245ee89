"""What is read of a file's directories without HDF5 is what HDF5 reads, and whatever else is HDF5's."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.storage.hostile.directories import Block, blocks_of, differences, entries, mended

from warpline.model import AttributeSpec, CaptureFormatError, KindSpec
from warpline.storage import Capture, CaptureBuilder, open_capture
from warpline.storage.columns import directory
from warpline.storage.columns.directory import Directory, UnfamiliarError
from warpline.storage.columns.mapped_file import MappedFile

KINDS = 20


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture with more kinds, and kinds with more attributes, than a header holds."""
    with CaptureBuilder(tmp_path_factory.mktemp("many") / "many.h5") as builder:
        track = builder.track("cpu/0", title="Core 0", role="core")
        for number in range(KINDS):
            specs = tuple(AttributeSpec(f"attribute_{i}", "int64", f"A {i}") for i in range(2 * number))
            builder.add_kind(KindSpec(f"kind_{number}", f"Kind {number}", "cpu", "core", specs))
            values = {spec.name: np.full(900, number) for spec in specs}
            times = np.arange(900) * 10 + number * 10_000
            builder.add_events(track, f"kind_{number}", times, 5, builder.string("x"), attributes=values)
        return builder.finish()


def test_everything_a_capture_has_is_known_and_as_hdf5_has_it(many: Path) -> None:
    with h5py.File(many) as file, many.open("rb") as raw:
        paths = [""]
        file.visit(paths.append)
        known = dict(entries(Directory(raw.fileno(), many.stat().st_size)))
        assert sorted(known) == sorted(paths)
        most = f"kinds/kind_{KINDS - 1}/attributes"
        assert file[most].id.links.get_info(b"attribute_0").type == h5py.h5l.TYPE_HARD
        assert len(known[most].links or ()) == 2 * KINDS - 2
    assert differences(many) == []


def test_captures_of_every_version_are_known(repository: Path) -> None:
    for path in (repository / "tests" / "data" / "format").glob("*.h5"):
        assert differences(path) == []
        if "archive" not in path.name:
            assert len(blocks_of(path)) > 100


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[Block], Path]:
    """A capture with one of most things, the pieces of its directories, and where to write others."""
    path = tmp_path_factory.mktemp("small") / "small.h5"
    with CaptureBuilder(path) as builder:
        track = builder.track("cpu/0", title="Core 0", role="core")
        builder.add_events(track, "cpu_slice", np.arange(600) * 10, 5, builder.string("x"))
        builder.finish()
    return path.read_bytes(), blocks_of(path), path


@given(data=st.data())
@settings(max_examples=60)
def test_changed_directories_are_read_as_hdf5_reads_them_or_not_at_all(
    small: tuple[bytes, list[Block], Path], data: st.DataObject
) -> None:
    sound, blocks, path = small
    content = bytearray(sound)
    for _ in range(data.draw(st.integers(1, 3))):
        block = data.draw(st.sampled_from(blocks))
        at = block.offset + data.draw(st.integers(0, block.size - 1))
        content[at] = data.draw(st.sampled_from([0, 1, 2, 8, 255]) | st.integers(0, 255))
    path.write_bytes(mended(content, blocks) if data.draw(st.booleans()) else bytes(content))
    assert differences(path) == []


def test_without_the_compiled_checksum_hdf5_is_asked(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(capture: Capture) -> object:
        return (
            capture.uuid,
            capture.tracks,
            [(name, table.spec, table.rows.tolist()) for name, table in capture.kinds.items()],
            capture.events.start.tolist(),
        )

    with open_capture(many) as capture:
        assert capture._file._hdf5 is None
        quick = told(capture)
    monkeypatch.setattr(directory, "_lookup3", lambda: None)
    with open_capture(many) as capture:
        assert capture._file._hdf5 is not None
        assert told(capture) == quick


def test_a_file_that_was_replaced_is_not_mixed_with_the_one_that_was_opened(
    many: Path, tmp_path: Path
) -> None:
    path, other = tmp_path / "run.h5", tmp_path / "other.h5"
    for target in (path, other):
        shutil.copy(many, target)
    with MappedFile(path) as file:
        other.replace(path)
        assert file.length("events/start") == 900 * KINDS
        with pytest.raises(CaptureFormatError, match="another file has taken its place"):
            _ = file.hdf5


def test_a_file_that_is_shorter_than_it_says_is_not_known(many: Path, tmp_path: Path) -> None:
    path = tmp_path / "short.h5"
    path.write_bytes(many.read_bytes()[:-1])
    with path.open("rb") as raw, pytest.raises(UnfamiliarError):
        Directory(raw.fileno(), path.stat().st_size)
