"""Directories that are damaged under right checksums, and files that are replaced while they are opened."""

from __future__ import annotations

import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.unit.effort import rounds
from tests.unit.storage.hostile.directories import blocks_of, mended, read_directories
from tests.unit.storage.hostile.hostile_files import outcomes

from warpline.model import AttributeSpec, CaptureFormatError, KindSpec
from warpline.storage import CaptureBuilder
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


def test_names_attributes_and_columns_are_those_that_h5py_lists(many: Path) -> None:
    with h5py.File(many) as reference, MappedFile(many) as file:
        paths = [""]
        reference.visit(paths.append)
        for path in paths:
            node = reference[path or "/"]
            assert file.attribute_names(path) == sorted(node.attrs)
            for name, value in node.attrs.items():
                expected = value.decode() if isinstance(value, bytes) else int(value)
                assert file.attribute(path, name) == expected
            if isinstance(node, h5py.Group):
                assert file.names(path) == sorted(node)
            else:
                assert file.shape(path) == (node.dtype, len(node))
                assert np.array_equal(file.column(path, node.dtype.str), node[:])


@pytest.mark.fuzz
def test_wrong_directories_under_right_checksums_open_or_are_refused(sample: Path, tmp_path: Path) -> None:
    content = sample.read_bytes()
    blocks = blocks_of(content)
    assert len(blocks) >= 100
    rng = np.random.default_rng(4)
    paths = []
    for index in range(rounds(40, 3_000)):
        changed = bytearray(content)
        touched = [blocks[i] for i in rng.integers(0, len(blocks), int(rng.integers(1, 4)))]
        for block in touched:
            place = block.offset + int(rng.integers(0, block.size - 4))
            changed[place] = int(rng.choice([0, 1, 2, 8, 255, int(rng.integers(0, 256))]))
        paths.append(tmp_path / f"{index}.h5")
        paths[-1].write_bytes(mended(changed, touched))
    states = [state for state, _ in outcomes(paths)]
    assert states.count("refused") > len(paths) // 20


def test_a_mended_header_is_believed(sample: Path, tmp_path: Path) -> None:
    content = sample.read_bytes()
    blocks = blocks_of(content)
    path = tmp_path / "x.h5"
    at = content.index(b"warpline-capture")
    changed = content[:at] + b"W" + content[at + 1 :]
    path.write_bytes(changed)
    with pytest.raises(CaptureFormatError, match="damaged"):
        read_directories(path)
    path.write_bytes(mended(changed, blocks))
    read_directories(path)
    with pytest.raises(CaptureFormatError, match="not a capture"):
        MappedFile(path)


def test_a_damaged_header_of_a_group_is_named(sample: Path, tmp_path: Path) -> None:
    with h5py.File(sample) as file:
        offset = h5py.h5o.get_info(file["lanes"].id).addr
    changed = bytearray(sample.read_bytes())
    changed[offset + len(b"OHDR")] = 255  # its version
    path = tmp_path / "x.h5"
    path.write_bytes(mended(changed, blocks_of(sample.read_bytes())))
    with pytest.raises(CaptureFormatError, match=r"lanes is damaged$"):
        read_directories(path)


@pytest.mark.parametrize("is_attribute", [True, False])
def test_a_name_that_is_not_utf_8_is_damage(sample: Path, tmp_path: Path, is_attribute: bool) -> None:
    path = tmp_path / "x.h5"
    shutil.copy(sample, path)
    with h5py.File(path, "a") as file:
        if is_attribute:
            file.attrs[b"\xff\xfe"] = 1
        else:
            file.create_group(b"\xff\xfe")
    with pytest.raises(CaptureFormatError, match=r" is damaged$"):
        read_directories(path)


def test_a_file_that_is_replaced_while_it_is_opened_is_not_mixed_with_the_other(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "run.h5", tmp_path / "other.h5"
    for target in (path, other):
        shutil.copy(many, target)
    h5py_file = h5py.File

    def replace_and_open(*arguments: object) -> h5py.File:
        other.replace(path)
        return h5py_file(*arguments)

    monkeypatch.setattr(h5py, "File", replace_and_open)
    with pytest.raises(CaptureFormatError, match="another file has taken its place"):
        MappedFile(path)
