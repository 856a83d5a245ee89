"""Attributes of tracks: what goes in comes out, also of a part, an archive and a range; what cannot be is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.cli import main
from warpline.library.info import describe
from warpline.model import CaptureFormatError, StorageError
from warpline.storage import Capture, CaptureBuilder, open_capture, verify
from warpline.storage.write import track_attributes

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "node": st.integers(-(2**63), 2**63 - 1),
    "name": st.text(max_size=8).map(lambda text: text.encode("utf-8", "replace").decode()),
    "share": st.floats(allow_nan=False),
    "is_on": st.booleans(),
}
TRACKS = st.lists(
    st.dictionaries(st.sampled_from(sorted(VALUES)), st.none(), max_size=4).flatmap(
        lambda chosen: st.fixed_dictionaries({name: VALUES[name] for name in chosen})
    ),
    min_size=1,
    max_size=12,
)


def told(capture: Capture) -> dict[str, dict[str, Any]]:
    return {track.uri: dict(track.attributes) for track in capture.tracks}


@pytest.mark.fuzz
@given(TRACKS, st.booleans())
@settings(max_examples=rounds(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_attributes_are_read_as_they_were_given(
    tmp_path: Path, tracks: list[dict[str, Any]], compress: bool
) -> None:
    with CaptureBuilder(tmp_path / "x.h5", compress=compress) as builder:
        for number, attributes in enumerate(tracks):
            builder.track(f"t/{number}", attributes=attributes)
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert told(capture) == {f"t/{number}": attributes for number, attributes in enumerate(tracks)}
        kinds = {type(value) for track in capture.tracks for value in track.attributes.values()}
        assert kinds <= {int, str, float, bool}
        assert list(verify(capture)) == []
        assert capture.unknown == ()


@pytest.fixture
def capture_file(tmp_path: Path) -> Path:
    """Three tracks below a group, two of them with attributes."""
    with CaptureBuilder(tmp_path / "run.h5") as builder:
        group = builder.track("cpu", role="cores", attributes={"sockets": 2})
        for core in range(3):
            track = builder.track(f"cpu/{core}", role="core", parent=group)
            builder.add_events(track, "cpu_slice", np.arange(100) * 10, 5, builder.string("x"))
        builder.update_track(1, attributes={"numa_node": 0, "mhz": 2400})
        builder.update_track(2, attributes={"numa_node": 1, "mhz": 2400.5})
        return builder.finish()


WHOLE = {
    "cpu": {"sockets": 2},
    "cpu/0": {"numa_node": 0, "mhz": 2400.0},
    "cpu/1": {"numa_node": 1, "mhz": 2400.5},
    "cpu/2": {},
}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], WHOLE),
        (["--compress"], WHOLE),
        (["--range", "0ns:200ns"], WHOLE),
        (["--track", "cpu/1"], {"cpu": {"sockets": 2}, "cpu/1": {"numa_node": 1, "mhz": 2400.5}}),
        (["--track", "cpu/2", "--compress", "--range", "5ns:90ns"], {"cpu": {"sockets": 2}, "cpu/2": {}}),
    ],
)
def test_attributes_come_along(
    capture_file: Path, tmp_path: Path, arguments: list[str], expected: dict[str, dict[str, Any]]
) -> None:
    assert main(["export", str(capture_file), str(tmp_path / "part.h5"), *arguments]) == 0
    with open_capture(tmp_path / "part.h5") as capture:
        assert told(capture) == expected


def test_only_tracks_that_have_some_show_them(capture_file: Path) -> None:
    with open_capture(capture_file) as capture:
        tracks = {track["uri"]: track.get("attributes") for track in describe(capture)["tracks"]}
        assert tracks == {**WHOLE, "cpu/2": None}
        # A track can still be a key.
        assert len({*capture.tracks}) == 4


def test_what_few_tracks_have_costs_little(tmp_path: Path) -> None:
    sizes = []
    for number in range(2):
        with CaptureBuilder(tmp_path / f"{number}.h5") as builder:
            for track in range(3000):
                builder.track(f"t/{track}", attributes={"node": 7} if number and track == 2999 else None)
            builder.finish()
        sizes.append((tmp_path / f"{number}.h5").stat().st_size)
    assert sizes[1] - sizes[0] < 4096
    with open_capture(tmp_path / "1.h5") as capture:
        assert capture.tracks[2999].attributes == {"node": 7}


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"a": None}, "cannot be None"),
        ({"a": [1]}, "cannot be"),
        ({"a": 2**63}, "cannot be"),
        ({"known": "text"}, "of another track it is of the type int64"),
        ({"known": True}, "of another track it is of the type int64"),
        ({"a/b": 1}, "cannot have an attribute 'a/b'"),
        ({"": 1}, "cannot have an attribute ''"),
        ({".": 1}, "cannot have an attribute '.'"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, attributes: dict[str, Any], message: str) -> None:
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        first = builder.track("first", attributes={"known": 1})
        with pytest.raises(StorageError, match=message):
            builder.track("second", attributes=attributes)
        with pytest.raises(StorageError, match=message):
            builder.update_track(first, attributes=attributes)
        builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        assert told(capture) == {"first": {"known": 1}}


def test_more_than_a_capture_holds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(track_attributes, "MAX_TRACK_VALUES", 5)
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        for number in range(6):
            builder.track(f"t/{number}", attributes={"node": number})
        with pytest.raises(StorageError, match="more than 5"):
            builder.finish()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("track", [1, 0]),
        ("track", [1, 1]),
        ("track", [0, 99]),
        ("track", [0, 1, 2]),
        ("value", [0.5, 0.5]),
        ("value", [[0, 1], [2, 3]]),
    ],
)
def test_damaged_attributes_are_refused(capture_file: Path, path: str, values: Any) -> None:
    with h5py.File(capture_file, "r+") as file:
        node = file["tracks/attributes/numa_node"]
        dtype, kind = node[path].dtype, dict(node[path].attrs)
        del node[path]
        node[path] = np.array(values, None if isinstance(values[0], float) else dtype)
        node[path].attrs.update(kind)
    with pytest.raises(CaptureFormatError):
        open_capture(capture_file)
