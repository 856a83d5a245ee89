"""Every version of the format ever written is read, and today's is written as it was when it was frozen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tests.unit.storage.format.format_tools import contents, layout
from tests.unit.storage.format.sample import write

from warpline.cli import main
from warpline.library.info import describe
from warpline.storage import open_capture, verify
from warpline.storage.read.archive import expand_archive
from warpline.storage.write import assemble

KEPT = Path(__file__).parents[3] / "data" / "format"
FILES = sorted(path.name for path in KEPT.glob("*.h5"))
FORMS = ("", "_archive")
NEWEST = "version_1_1"
"""What is written today. Version 1.0 wrote the rows of kinds in 64 bits at first, and always read both."""
HDF5_OF_KEPT = "2.0.0"
"""Written with this HDF5, the kept files are the same to the byte; another may lay its directories out differently."""


def test_every_form_of_every_version_is_kept_and_small() -> None:
    stems = ("version_0", "version_1", "version_1_rows_u32", NEWEST)
    assert sorted(FILES) == sorted(f"{stem}{form}.h5" for stem in stems for form in FORMS)
    assert all((KEPT / name).stat().st_size < 100 * 1024 for name in FILES)


def assert_told(found: Any, expected: Any) -> None:
    """Everything that was told of a capture is told still; more may have been added."""
    if isinstance(expected, dict):
        assert expected.keys() <= found.keys()
        for key, value in expected.items():
            assert_told(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_told(one, other)
    else:
        assert found == expected


@pytest.mark.parametrize("name", FILES)
def test_a_capture_of_every_version_tells_what_it_always_told(name: str) -> None:
    expected = json.loads((KEPT / name).with_suffix(".info.json").read_text())
    del expected["path"]
    with open_capture(KEPT / name) as capture:
        assert_told(json.loads(json.dumps(describe(capture))), expected)
        assert capture.notices == ()
        assert list(verify(capture)) == []


def test_all_of_them_hold_the_same(tmp_path: Path) -> None:
    found = []
    expanded = []
    for name in FILES:
        if "archive" in name:
            expanded.append(tmp_path / name)
            expand_archive(KEPT / name, expanded[-1])
    for path in [*(KEPT / name for name in FILES), *expanded]:
        with open_capture(path) as capture:
            found.append(contents(capture))
    for one in found:
        assert one.keys() == found[0].keys()
        for key, value in found[0].items():
            assert one[key] == value, key
    assert found[0]["kinds"]["sample"][3]["stack"][0] == "stack"


@pytest.mark.parametrize(("name", "dtype"), [("version_0", "<i8"), ("version_1", "<i8"), (NEWEST, "<u4")])
def test_rows_of_kinds_are_found_in_either_type(name: str, dtype: str) -> None:
    with open_capture(KEPT / f"{name}.h5") as capture:
        beyond = [-1, len(capture.events), 1 << 32, 1 << 62]
        rows = np.array([*range(len(capture.events)), *beyond])
        for table in capture.kinds.values():
            own = np.flatnonzero(capture.events.kind == table.code)
            assert table.stored_rows.dtype == table.index_rows.dtype == np.dtype(dtype)
            assert table.rows.dtype == np.int64
            assert table.rows.tolist() == own.tolist()
            assert table.rows_at(slice(1, 3)).tolist() == own[1:3].tolist()
            assert table.places_of(rows).tolist() == np.searchsorted(own, rows).tolist()
            places = {int(row): place for place, row in enumerate(own)}
            assert [table.place_of(row) for row in rows.tolist()] == [places.get(row, -1) for row in rows]
            assert table.indices_of(rows).tolist() == [places.get(row, -1) for row in rows]
            assert table.count_between(3, 900) == np.count_nonzero((own >= 3) & (own < 900))


def test_tracks_of_version_1_have_attributes() -> None:
    with open_capture(KEPT / "version_1.h5") as capture:
        attributes = {track.uri: dict(track.attributes) for track in capture.tracks if track.attributes}
    assert attributes == {
        "cpu/0": {"numa_node": 0, "mhz": 2400.5, "online": True, "model": "Zen ☕"},
        "cpu/1": {"numa_node": 1},
        "gpu/0": {"model": "Ω"},
    }
    with open_capture(KEPT / "version_0.h5") as capture:
        assert not any(track.attributes for track in capture.tracks)


@pytest.mark.parametrize("form", FORMS)
def test_an_export_of_version_0_is_of_version_1(tmp_path: Path, form: str) -> None:
    assert main(["export", str(KEPT / f"version_0{form}.h5"), str(tmp_path / "x.h5")]) == 0
    with open_capture(KEPT / f"version_0{form}.h5") as capture:
        before = contents(capture)
    with open_capture(tmp_path / "x.h5") as capture:
        assert capture.format_version == (1, 1)
        after = contents(capture)
        assert list(verify(capture)) == []
    for key in ("kinds", "names", "tracks", "links", "counters"):
        assert after[key] == before[key], key


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_today_is_what_was_frozen(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = KEPT / f"{NEWEST}{form}.h5"
    with h5py.File(kept) as file:
        writer = bytes(file.attrs["writer"]).decode()
    # The only thing in the file that is another tomorrow.
    monkeypatch.setattr(assemble, "__version__", writer.removeprefix("warpline "))
    made = write(tmp_path / "made.h5", compress=bool(form))
    found, expected = layout(made), layout(kept)
    assert found.keys() == expected.keys()
    for path, described in expected.items():
        assert found[path] == described, path
    if not form and h5py.version.hdf5_version == HDF5_OF_KEPT:
        assert made.read_bytes() == kept.read_bytes()
