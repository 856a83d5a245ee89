"""The specification of the file and what is written agree."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np

from warpline.storage import CaptureBuilder, open_capture, verify
from warpline.storage.columns.schema import NAME_INDEX_COLUMNS


def programs(repository: Path) -> list[str]:
    text = (repository / "docs" / "format.md").read_text()
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def run(code: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_the_reader_in_the_specification_works(tmp_path: Path, repository: Path) -> None:
    code = programs(repository)[0]
    assert len(code.strip().splitlines()) <= 12
    with CaptureBuilder(tmp_path / "run.h5") as builder:
        builder.add_events(builder.track("a/b"), "range", [0, 5, 20], [10, 2, 7], builder.string("x"))
        builder.add_events(builder.track("c"), "range", np.arange(5000) * 10, 3, builder.string("y"))
        builder.finish()
    assert run(code, tmp_path) == ["a/b 2 events 17 ns", "a/b 1 events 2 ns", "c 5000 events 15000 ns"]


def test_the_writer_in_the_specification_writes_a_capture(tmp_path: Path, repository: Path) -> None:
    code = programs(repository)[1]
    assert run(code, tmp_path) == []
    with open_capture(tmp_path / "mine.h5") as capture:
        assert list(verify(capture)) == []
        assert capture.unknown == ()
        assert capture.writer == "mine 1"
        assert [(track.uri, track.title, track.role) for track in capture.tracks] == [
            ("worker/1", "1", "other")
        ]
        assert {name: table.rows.tolist() for name, table in capture.kinds.items()} == {"task": [0, 1, 2]}
        assert (capture.kinds["task"].spec.title, capture.kinds["task"].spec.color) == ("task", "neutral")
        strip = capture.query([0], 0, 1200, 1200)
        assert strip.rect_start.tolist() == [0, 400, 900]
        assert capture.busy_ns(0, 0, 1200) == 1150
        assert [capture.strings[name] for name in capture.name_index().totals().name.tolist()] == [
            "load",
            "compute",
        ]
    # As many events as are mapped instead of read.
    assert (
        run(
            code.replace("[0, 400, 900], [400, 450, 300], [2, 3, 2]", "range(5000), [1] * 5000, [2] * 5000"),
            tmp_path,
        )
        == []
    )
    with open_capture(tmp_path / "mine.h5") as capture:
        assert capture.is_mapped
        assert capture.busy_ns(0, 100, 200) == 100
        assert list(verify(capture)) == []


TYPES = {"u8": "|u1", "u32": "<u4", "u64": "<u8", "i32": "<i4", "i64": "<i8", "f32": "<f4", "f64": "<f8"}


def specified(repository: Path) -> dict[str, str]:
    """Type of each dataset by its path, from the tables; names that anybody may choose are ``*``."""
    found: dict[str, str] = {}
    for line in (repository / "docs" / "format.md").read_text().splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) != 3 or not re.match(r"[uif]\d+\b|any integer or float", cells[1]):
            continue
        paths = re.findall(r"`([^`]+)`", cells[0])
        for path in paths:
            # Several on one line are neighbours: only the first says where they lie.
            whole = path if "/" in path or len(paths) == 1 else f"{paths[0].rpartition('/')[0]}/{path}"
            found[re.sub(r"<\w+>", "*", whole)] = cells[1].split()[0]
    return found


def test_every_dataset_is_specified_with_its_type(repository: Path) -> None:
    tables = specified(repository)
    used = set()
    with h5py.File(repository / "tests" / "data" / "format" / "version_1_rows_u32.h5") as file:
        for path, dtype in columns(file).items():
            known = next(row for row in tables if re.fullmatch(row.replace("*", "[^/]+"), path))
            used.add(known)
            assert tables[known] == "any" or TYPES[tables[known]] == dtype, path
    # The sample has all that there may be, but for what Warpline does not write yet.
    assert {row for row in tables if row not in used} == {
        f"index/names/{name}" for name in NAME_INDEX_COLUMNS
    }
    assert all(TYPES[tables[f"index/names/{name}"]] == dtype for name, dtype in NAME_INDEX_COLUMNS.items())


def columns(file: h5py.File) -> dict[str, str]:
    found: dict[str, str] = {}
    file.visititems(
        lambda path, node: found.update({path: node.dtype.str}) if isinstance(node, h5py.Dataset) else None
    )
    return found
