"""What a reader does with what it does not know, with what is absent, and with other versions (docs/format.md)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import orjson
import pytest
from tests.unit.storage.format.format_tools import contents

from warpline.cli import main
from warpline.library.info import describe
from warpline.model import CaptureFormatError, CaptureVersionError, ProgramEnd
from warpline.storage import Capture, open_capture, verify
from warpline.storage.columns.mapped_file import is_capture
from warpline.storage.index import name_index_cache, name_pieces

KEPT = Path(__file__).parents[3] / "data" / "format"


def changed(folder: Path, change: Callable[[h5py.File], object], source: str = "version_1.h5") -> Path:
    """A copy of a kept capture with something done to it."""
    target = folder / "changed.h5"
    shutil.copy(KEPT / source, target)
    with h5py.File(target, "r+", libver="latest") as file:
        change(file)
    return target


def text(value: str) -> np.bytes_:
    return np.bytes_(value)


def edit_meta(file: h5py.File, change: Callable[[dict[str, Any]], object]) -> None:
    document = orjson.loads(file["meta"][:].tobytes())
    change(document)
    del file["meta"]
    file["meta"] = np.frombuffer(orjson.dumps(document), np.uint8)


def add_attribute(file: h5py.File, path: str, values: np.ndarray, attribute_type: str) -> None:
    file[path] = values
    file[path].attrs["type"] = text(attribute_type)


UNKNOWN: dict[str, Callable[[h5py.File], object]] = {
    "annotations": lambda f: f.create_dataset("annotations/text", data=[1, 2]),
    "index/places": lambda f: f.create_dataset("index/places", data=[1, 2]),
    "checksum": lambda f: f.create_dataset("checksum", data=[1, 2]),
    "events/weight": lambda f: f.create_dataset("events/weight", data=np.zeros(len(f["events/start"]))),
    "lanes/color": lambda f: f.create_dataset("lanes/color", data=[1]),
    "tracks/icon": lambda f: f.create_dataset("tracks/icon", data=[1]),
    "clocks/drift": lambda f: f.create_dataset("clocks/drift", data=[1.0]),
    "links/weight": lambda f: f.create_dataset("links/weight", data=[1.0]),
    "stacks/line": lambda f: f.create_dataset("stacks/line", data=[1]),
    "counters/color": lambda f: f.create_dataset("counters/color", data=[1]),
    "utilization/max": lambda f: f.create_dataset("utilization/max", data=[1.0]),
    "lod/names": lambda f: f.create_dataset("lod/names", data=[1]),
    "lod/levels/names": lambda f: f.create_dataset("lod/levels/names", data=[1]),
    "strings/language": lambda f: f.create_dataset("strings/language", data=[1]),
    "kinds/kernel/places": lambda f: f.create_dataset("kinds/kernel/places", data=[1]),
    "kinds/kernel/attributes/tensor": lambda f: add_attribute(
        f, "kinds/kernel/attributes/tensor", np.zeros(12), "bfloat16"
    ),
    "kinds/kernel@style": lambda f: f["kinds/kernel"].attrs.create("style", text("dotted")),
    "kinds/kernel/attributes/grid_x@precision": lambda f: f["kinds/kernel/attributes/grid_x"].attrs.create(
        "precision", [1.0, 2.0]
    ),
    "@signature": lambda f: f.attrs.create("signature", text("…".encode().hex())),
    "events@sorted": lambda f: f["events"].attrs.create("sorted", 1),
    "events/start@unit": lambda f: f["events/start"].attrs.create("unit", text("ns")),
    "tracks/attributes/shape/value": lambda f: add_attribute(
        f, "tracks/attributes/shape/value", np.zeros(1), "complex64"
    ),
    "tracks/attributes/model/unit": lambda f: f.create_dataset("tracks/attributes/model/unit", data=[1]),
    "meta.colour": lambda f: edit_meta(f, lambda d: d.update(colour="blue")),
    "meta.sources.overhead_ns": lambda f: edit_meta(f, lambda d: d["sources"][0].update(overhead_ns=5)),
    "meta.processes.container": lambda f: edit_meta(f, lambda d: d["processes"][0].update(container="x")),
    "counters/interpolation=7": lambda f: f["counters/interpolation"].__setitem__(0, 7),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_ignored_and_listed(name: str, tmp_path: Path) -> None:
    with open_capture(KEPT / "version_1.h5") as capture:
        expected = contents(capture)
    with open_capture(changed(tmp_path, UNKNOWN[name])) as capture:
        assert capture.unknown == (name,)
        assert describe(capture)["unknown"] == [name]
        assert contents(capture) == expected
        assert list(verify(capture)) == []
        assert capture.notices == ()


def test_free_metadata_is_anybodys(tmp_path: Path) -> None:
    target = changed(tmp_path, lambda f: edit_meta(f, lambda d: d["meta"].update(ours={"a": 1})))
    with open_capture(target) as capture:
        assert capture.unknown == ()
        assert capture.meta["ours"] == {"a": 1}


def test_kinds_roles_colours_flags_and_links_of_others_are_shown(tmp_path: Path) -> None:
    def change(file: h5py.File) -> None:
        file.move("kinds/token", "kinds/thought")
        for key, value in (("color", "plaid"), ("category", "dreams")):
            del file["kinds/thought"].attrs[key]
            file["kinds/thought"].attrs[key] = text(value)
        file["events/flags"][:] |= 128
        del file["links"].attrs["kinds"]
        file["links"].attrs["kinds"] = text('["launch", "telepathy"]')
        roles = file["tracks/role"]
        roles[:] = np.where(roles[:] == roles[0], len(file["strings/offset"]) - 2, roles[:])

    with open_capture(KEPT / "version_1.h5") as capture:
        busy = [capture.busy_ns(lane, *capture.span) for lane in range(len(capture.lanes))]
    with open_capture(changed(tmp_path, change)) as capture:
        assert capture.unknown == ()
        assert len(capture.kinds["thought"]) == 24
        assert capture.kinds["thought"].spec.color == "plaid"
        assert set(capture.links.counts()) == {"launch", "telepathy"}
        assert [capture.busy_ns(lane, *capture.span) for lane in range(len(capture.lanes))] == busy
        # No group any more: what the file says of its utilization is of no use.
        assert capture.track("cpu").role not in {"cores", ""}
        assert np.isnan(capture.utilization(capture.track("cpu").index, *capture.span, 5)).all()


def test_a_higher_minor_version_opens_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def change(file: h5py.File) -> None:
        file.attrs.modify("minor_version", 3)
        del file.attrs["writer"]
        file.attrs["writer"] = text("warpline 9.9")
        UNKNOWN["annotations"](file)
        UNKNOWN["events/weight"](file)

    target = changed(tmp_path, change)
    with open_capture(target) as capture:
        assert capture.format_version == (1, 3)
        (notice,) = capture.notices
        assert "warpline 9.9" in notice
        assert "1.3" in notice
        assert "annotations, events/weight" in notice
        assert list(verify(capture)) == []
    assert main(["info", str(target)]) == 0
    told = capsys.readouterr().out
    assert notice in told
    assert "  annotations\n  events/weight\n" in told
    assert main(["info", "--json", str(target)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["format_version"], document["format_minor_version"]) == (1, 3)
    assert document["notices"] == [notice]
    assert document["writer"] == "warpline 9.9"
    # What is written from it is of our own version and holds what we know.
    assert main(["export", str(target), str(tmp_path / "again.h5")]) == 0
    with open_capture(tmp_path / "again.h5") as capture:
        assert capture.format_version == (1, 1)
        assert (capture.notices, capture.unknown) == ((), ())


def test_a_file_without_a_minor_version_or_a_writer_is_of_1_0(tmp_path: Path) -> None:
    target = changed(tmp_path, lambda f: (f.attrs.pop("minor_version"), f.attrs.pop("writer")))
    with open_capture(target) as capture:
        assert (capture.format_version, capture.writer) == ((1, 0), "")
    broken = changed(tmp_path, lambda f: f.attrs.create("minor_version", text("x")))
    with pytest.raises(CaptureFormatError, match="minor version"):
        open_capture(broken)


def test_a_higher_major_version_is_refused_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = changed(tmp_path, lambda f: f.attrs.modify("version", 2))
    assert is_capture(target)
    with pytest.raises(
        CaptureVersionError, match=r"version 2 from a newer Warpline.*install a newer Warpline"
    ):
        open_capture(target)
    assert main(["info", str(target)]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


OPTIONAL: dict[str, tuple[Callable[[h5py.File], object], Callable[[Capture], object], object]] = {
    "clocks": (
        lambda f: (f.pop("clocks"), f.pop("tracks/clock")),
        lambda c: [(clock.name, clock.offset_ns) for clock in c.clocks],
        [("capture", 0)],
    ),
    "links": (
        lambda f: f.pop("links"), lambda c: (len(c.links), c.links.counts(), c.links_to(0)[0].tolist()), (0, {}, [])
    ),
    "stacks": (lambda f: f.pop("stacks"), lambda c: c.stack_frames(0), []),
    "counters": (lambda f: f.pop("counters"), lambda c: c.counters, ()),
    "titles": (lambda f: f.pop("tracks/title"), lambda c: c.track("cpu/1").title, "1"),
    "roles": (lambda f: f.pop("tracks/role"), lambda c: {track.role for track in c.tracks}, {"other"}),
    "threads": (lambda f: f.pop("tracks/thread"), lambda c: {track.thread for track in c.tracks}, {None}),
    "parents": (lambda f: f.pop("tracks/parent"), lambda c: {track.parent for track in c.tracks}, {-1}),
    "sort keys": (lambda f: f.pop("tracks/sort_key"), lambda c: {track.sort_key for track in c.tracks}, {0}),
    "attributes of tracks": (
        lambda f: f.pop("tracks/attributes"), lambda c: any(track.attributes for track in c.tracks), False
    ),
    "attributes of a kind": (
        lambda f: (f.pop("kinds/token/attributes"), f.pop("kinds/token/valid")),
        lambda c: c.kinds["token"].spec.attributes,
        (),
    ),
    "validity": (
        lambda f: f.pop("kinds/token/valid/share"), lambda c: bool(c.kinds["token"].column("share")[1].all()), True
    ),
    "title of a kind": (
        lambda f: [f["kinds/token"].attrs.pop(key) for key in ("title", "category", "color")],
        lambda c: (c.kinds["token"].spec.title, c.kinds["token"].spec.category, c.kinds["token"].spec.color),
        ("token", "other", "neutral"),
    ),
    "title of an attribute": (
        lambda f: [f["kinds/kernel/attributes/grid_x"].attrs.pop(key) for key in ("title", "unit")],
        lambda c: [(s.title, s.unit) for s in c.kinds["kernel"].spec.attributes if s.name == "grid_x"],
        [("grid_x", "")],
    ),
    "meta": (
        lambda f: edit_meta(f, lambda d: [d.pop(key) for key in [*d] if key != "span_ns"]),
        lambda c: (c.sources, c.skipped, c.warnings, c.processes, c.threads, c.devices, dict(c.meta), c.program_end),
        ((), (), (), (), (), (), {}, ProgramEnd()),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONAL)
def test_what_may_be_absent_has_a_default(name: str, tmp_path: Path) -> None:
    remove, ask, expected = OPTIONAL[name]
    with open_capture(changed(tmp_path, remove)) as capture:
        assert ask(capture) == expected
        assert list(verify(capture)) == []
        describe(capture)


def test_all_that_may_be_absent_may_be_absent_at_once(tmp_path: Path) -> None:
    def change(file: h5py.File) -> None:
        for path in ("clocks", "links", "stacks", "counters", "utilization", "lod", "tracks/attributes"):
            del file[path]
        for column in [name for name in file["tracks"] if name != "uri"]:
            del file["tracks"][column]
        edit_meta(file, lambda d: [d.pop(key) for key in [*d] if key != "span_ns"])

    with open_capture(changed(tmp_path, change)) as capture:
        assert len(capture.events) == 1227
        assert list(verify(capture)) == []


def test_half_a_group_is_damage(tmp_path: Path) -> None:
    for path in (
        "links/by_to",
        "stacks/frame",
        "counters/mean",
        "utilization/value",
        "lod/rest",
        "clocks/name",
    ):
        target = changed(tmp_path, without(path))
        with pytest.raises(CaptureFormatError, match="is missing"):
            read_all(target)


def without(path: str) -> Callable[[h5py.File], object]:
    return lambda file: file.pop(path)


def read_all(path: Path) -> None:
    with open_capture(path) as capture:
        contents(capture)


def test_without_a_level_of_detail_the_same_is_drawn(tmp_path: Path) -> None:
    bare = changed(tmp_path, lambda f: (f.pop("lod"), f.pop("utilization")))
    with open_capture(KEPT / "version_1.h5") as capture, open_capture(bare) as other:
        assert capture.pyramid.is_stored
        assert not other.pyramid.is_stored
        lanes = np.arange(len(capture.lanes))
        low, high = capture.span
        for start, stop, width in (
            (low, high, 300),
            (low + 5_000, low + 6_000, 1000),
            (high - 9, high + 9, 18),
        ):
            one, two = (c.query(lanes, start, stop, width) for c in (capture, other))
            assert one.rect_row.tolist() == two.rect_row.tolist()
            assert one.rect_start.tolist() == two.rect_start.tolist()
            assert [c.busy_ns(lane, start, stop) for lane in lanes.tolist() for c in (capture,)] == [
                other.busy_ns(lane, start, stop) for lane in lanes.tolist()
            ]
            assert [capture.lane_slice(lane, start, stop) for lane in lanes.tolist()] == [
                other.lane_slice(lane, start, stop) for lane in lanes.tolist()
            ]
        for track in capture.groups:
            # A strip counts what is shorter than a pixel in the pixel in which it starts.
            curves = [c.utilization(track, low, high, 20) for c in (capture, other)]
            assert np.nanmean(curves[1]) == pytest.approx(np.nanmean(curves[0]), rel=0.05)


def write_names(file: h5py.File, columns: dict[str, np.ndarray]) -> None:
    for name, values in columns.items():
        file[f"index/names/{name}"] = values


@pytest.mark.parametrize("piece", [64, 1 << 21])
def test_an_index_of_names_in_the_file_is_used(
    tmp_path: Path, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(name_pieces, "PIECE", piece)
    with open_capture(KEPT / "version_1.h5") as capture:
        columns = name_pieces.names_in_memory(capture.lane_columns, None, None)
        expected = capture.name_index().totals()
    target = changed(tmp_path, lambda f: write_names(f, columns))
    monkeypatch.setattr(name_pieces, "build_columns", None)
    monkeypatch.setattr(name_index_cache, "build_columns", None)
    with open_capture(target) as capture:
        assert capture.unknown == ()
        found = capture.name_index().totals()
        assert found.name.tolist() == expected.name.tolist()
        assert found.count.tolist() == expected.count.tolist()
        assert found.busy_ns.tolist() == expected.busy_ns.tolist()
        assert list(verify(capture)) == []


@pytest.mark.parametrize(
    ("column", "place", "value", "is_told"),
    [
        ("piece_lane", 1, 0, "refused"),
        ("piece_base", 1, 3, "refused"),
        ("piece_base", 0, -1, "refused"),
        ("piece_first", 1, 10**12, "refused"),
        ("first", 0, 5, "refused"),
        ("first", 1, 10**12, "refused"),
        ("row", 3, 2**32 - 1, "found"),
        ("name", 0, 2**32 - 1, "found"),
        ("busy", 5, 77, "found"),
    ],
)
def test_a_damaged_index_of_names_is_refused_or_found(
    tmp_path: Path, column: str, place: int, value: int, is_told: str
) -> None:
    with open_capture(KEPT / "version_1.h5") as capture:
        columns = name_pieces.names_in_memory(capture.lane_columns, None, None)
    columns[column][place] = value
    with open_capture(changed(tmp_path, lambda f: write_names(f, columns))) as capture:
        if is_told == "refused":
            with pytest.raises(CaptureFormatError, match="index of names is damaged"):
                capture.name_index()
            return
        rows = capture.name_index().rows(np.arange(len(capture.strings)))
        assert not len(rows) or 0 <= int(rows.min()) <= int(rows.max()) < len(capture.events)
        assert list(verify(capture)) == ["the index of names does not fit the events"]


def test_how_the_program_ended_is_told(tmp_path: Path) -> None:
    with open_capture(KEPT / "version_1.h5") as capture:
        assert capture.program_end == ProgramEnd(
            3, None, ("Traceback (most recent call last):", "RuntimeError: läuft nicht")
        )

    def change(document: dict[str, Any]) -> None:
        document["meta"].update(exit_status="three", exit_signal=[9], stderr_tail="all")

    with open_capture(changed(tmp_path, lambda f: edit_meta(f, change))) as capture:
        assert capture.program_end == ProgramEnd()
