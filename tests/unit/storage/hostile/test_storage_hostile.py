"""Damaged and malicious captures: each opens or ends in one line, in bounded time and memory, without a crash."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.unit.effort import rounds
from tests.unit.storage.hostile.hostile_files import (
    REFUSED,
    edit_meta,
    outcomes,
    replace,
    write_hostile,
)

from warpline.cli import main
from warpline.model import CaptureFormatError
from warpline.storage import open_capture

FLIPS = rounds(30, 5_000)


def test_sound_files_open(sample: Path, archive: Path) -> None:
    assert [state for state, _ in outcomes([sample, archive])] == ["open", "open"]


@pytest.mark.parametrize("form", ["sample", "archive"])
def test_files_cut_off_anywhere_are_refused(
    form: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    data = request.getfixturevalue(form).read_bytes()
    rng = np.random.default_rng(1)
    lengths = [0, 1, 7, 8, 50, 96, 512, 4096, len(data) - 1, *rng.integers(0, len(data), 30).tolist()]
    paths = []
    for index, length in enumerate(lengths):
        paths.append(tmp_path / f"{index}.h5")
        paths[-1].write_bytes(data[:length])
    assert {state for state, _ in outcomes(paths)} == {"refused"}


@pytest.mark.fuzz
@pytest.mark.parametrize("form", ["sample", "archive"])
def test_flipped_bytes_anywhere(form: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    data = request.getfixturevalue(form).read_bytes()
    rng = np.random.default_rng(2)
    paths = []
    for index in range(FLIPS // 2):
        mutated = bytearray(data)
        # The first pages hold the directories, the rest is columns.
        reach = len(data) if index % 3 else 8192
        for place in rng.integers(0, reach, int(rng.choice([1, 3, 30]))).tolist():
            mutated[place] ^= int(rng.integers(1, 256))
        paths.append(tmp_path / f"{index}.h5")
        paths[-1].write_bytes(mutated)
    states = [state for state, _ in outcomes(paths)]
    assert states.count("refused") > len(paths) // 20
    # Nearly all of an archive lies under gzip's checksums.
    assert form == "archive" or states.count("open") > len(paths) // 20


@pytest.mark.fuzz
def test_wild_values_in_any_column(sample: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    with h5py.File(sample) as file:
        columns: list[str] = []
        file.visititems(lambda name, node: columns.append(name) if isinstance(node, h5py.Dataset) else None)
        columns = [name for name in columns if len(file[name])]
    paths = []
    for index in range(FLIPS):
        paths.append(tmp_path / f"{index}.h5")
        shutil.copy(sample, paths[-1])
        with h5py.File(paths[-1], "r+") as file:
            for name in rng.choice(columns, int(rng.integers(1, 4))).tolist():
                plant(file[name], rng)
    states = [state for state, _ in outcomes(paths)]
    assert states.count("open") > len(paths) // 20


def plant(dataset: h5py.Dataset, rng: np.random.Generator) -> None:
    """Puts extreme values at some places of a column."""
    places = np.unique(rng.integers(0, len(dataset), int(rng.choice([1, 5, len(dataset)]))))
    if dataset.dtype.kind == "f":
        choice = [np.nan, np.inf, -np.inf, float(np.finfo(dataset.dtype).max), -0.0]
    else:
        limits = np.iinfo(dataset.dtype)
        choice = [
            limits.min,
            limits.max,
            0,
            1,
            limits.max // 2,
            limits.max - 1,
            int(rng.integers(0, 200)) % limits.max,
        ]
    values = dataset[:]
    values[places] = rng.choice(np.array(choice, dataset.dtype), len(places))
    dataset[:] = values


SURVIVED: dict[str, Callable[[h5py.File], object]] = {
    "unsorted starts": lambda f: f["events/start"].__setitem__(
        slice(None), np.random.default_rng(1).permutation(f["events/start"][:])
    ),
    "extreme starts": lambda f: f["events/start"].__setitem__(slice(0, 4500, 2), 2**63 - 1),
    "negative durations": lambda f: f["events/duration"].__setitem__(slice(0, 4500, 3), -(2**63)),
    "names": lambda f: f["events/name"].__setitem__(slice(None), 2**32 - 1),
    "kinds": lambda f: f["events/kind"].__setitem__(slice(None), 255),
    "rows of kinds": lambda f: f["kinds/kernel/row"].__setitem__(slice(0, 99), 2**32 - 1),
    "wide rows of kinds": lambda f: replace(
        f, "kinds/kernel/row", data=np.where(np.arange(len(f["kinds/kernel/row"])) < 99, 2**62, -5)
    ),
    "rows of links": lambda f: f["links/to_row"].__setitem__(slice(0, 99), 2**62),
    "index of links": lambda f: f["links/by_to"].__setitem__(slice(None), -(2**62)),
    "rows of levels": lambda f: f["lod/row"].__setitem__(slice(None), 2**32 - 1),
    "skip index": lambda f: f["lod/skip_events"].__setitem__(slice(None), 2**63 - 1),
    "cyclic stacks": lambda f: f["stacks/parent"].__setitem__(slice(None), [1, 0]),
    "frames": lambda f: f["stacks/frame"].__setitem__(slice(None), 2**32 - 1),
    "offsets": lambda f: f["strings/offset"].__setitem__(2, 2**64 - 1),
    "times of counters": lambda f: f["counters/time"].__setitem__(
        slice(None), np.random.default_rng(1).permutation(f["counters/time"][:])
    ),
    "utilization without an end": lambda f: f["utilization/value"].__setitem__(slice(0, None, 3), np.inf),
    "no numbers": lambda f: f["counters/value"].__setitem__(slice(None), np.nan),
    "command line": lambda f: edit_meta(f, lambda d: d["meta"].update(command_line={"a": [1]}, host=5)),
    "unknown keys": lambda f: edit_meta(
        f, lambda d: (d.update(new=1), d["processes"][0].update(new=[1]), d["sources"][0].update(lost=-5))
    ),
    "cycle of groups": lambda f: f["kinds"].__setitem__("kernel/attributes/self", f["kinds"]),
}


def test_damaged_values_are_clamped_where_they_are_used(sample: Path, tmp_path: Path) -> None:
    paths = [
        write_hostile(sample, tmp_path / f"{index}.h5", change)
        for index, change in enumerate(SURVIVED.values())
    ]
    states = dict(zip(SURVIVED, outcomes(paths), strict=True))
    # A group in place of an attribute is refused when the kinds are read; everything else opens.
    assert states.pop("cycle of groups")[0] == "refused"
    assert {name for name, (state, _) in states.items() if state != "open"} == set()


def test_strings_that_overlap_take_no_more_memory_than_their_data(sample: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.h5"
    shutil.copy(sample, target)
    with h5py.File(target, "r+") as file:
        replace(file, "strings/data", data=np.full(8 << 20, 65, np.uint8))
        offsets = np.tile(np.array([0, 8 << 20], "<u8"), 2000)
        replace(file, "strings/offset", data=offsets)
        replace(file, "tracks/uri", data=np.arange(5, dtype="<u4") * 2)
    outcomes([target])


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89HDF\r\n\x1a\n" + bytes(5000)])
def test_the_command_line_ends_in_one_line(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "broken.h5"
    target.write_bytes(content)
    assert main(["info", str(target)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) == 1
    why = "unknown format: text that is not a profile" if content == b"hello" else "cannot be "
    assert f"broken.h5: {why}" in captured.err


def test_the_command_line_tells_hostile_files_apart(
    sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for index, (change, _) in enumerate(list(REFUSED.values())[::6]):
        target = write_hostile(sample, tmp_path / f"{index}.h5", change)
        assert main(["info", str(target)]) == 1
        captured = capsys.readouterr()
        assert len(captured.err.strip().splitlines()) == 1, captured.err
        target.unlink()
    assert main(["info", "--verify", str(sample)]) == 0
    assert "is sound" in capsys.readouterr().out


def test_places_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(CaptureFormatError, match="it is a directory"):
        open_capture(tmp_path)
    with pytest.raises(CaptureFormatError, match="No such file"):
        open_capture(tmp_path / "nothing.h5")


def test_a_file_that_was_cut_off_after_opening_is_noticed(sample: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.h5"
    shutil.copy(sample, target)
    with open_capture(target) as capture:
        assert capture.is_intact()
        os.truncate(target, 5000)
        assert not capture.is_intact()
