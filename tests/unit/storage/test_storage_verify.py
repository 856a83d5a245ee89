"""`verify` finds planted defects."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from warpline.model import AttributeSpec, KindSpec
from warpline.storage import CaptureBuilder, open_capture, verify


@pytest.mark.parametrize(
    ("path", "index", "value", "message"),
    [
        ("events/duration", 3, -5, "negative duration"),
        ("events/duration", 3, 10**6, "overlap the next one"),
        ("events/start", 3, -(10**6), "overlap the next one"),
        ("events/name", 3, 99, "not in the string table"),
        ("events/kind", 3, 99, "kind that the capture does not describe"),
        ("kinds/range/row", 3, 2, "not ascending rows"),
        ("kinds/mark/row", 0, 0, "events of another kind"),
        ("kinds/range/attributes/message", 3, 99, "texts that are not in the string table"),
        ("links/from_row", 1, 10**6, "outside the capture"),
        ("links/from_row", 2, 0, "not sorted by from_row"),
        ("links/by_to", 0, 2, "index by to_row"),
        ("links/kind", 0, 9, "link is of a kind"),
        ("counters/time", 2, -5, "times go back"),
        ("counters/max", 1, 77.0, "pyramid does not fit"),
        ("lod/row", 2, 77, "level of detail does not fit"),
        ("lod/rest", 2, 77, "level of detail does not fit"),
        ("lod/skip_events", 1, 77, "skip index does not fit"),
        ("lod/skip_entries", 0, 77, "skip index does not fit"),
        ("stacks/parent", 0, 1, "stack"),
        ("strings/offset", 1, 10**6, "string table"),
    ],
)
def test_planted_defects_are_found(tmp_path: Path, path: str, index: int, value: float, message: str) -> None:
    target = tmp_path / "x.h5"
    with CaptureBuilder(target) as builder:
        builder.add_kind(
            KindSpec("range", "", "", "", (AttributeSpec("message", "string", "Message"),)),
        )
        builder.add_kind(KindSpec("mark", "", "", ""))
        track, other = builder.track("a"), builder.track("b")
        name = builder.string("x")
        builder.add_events(track, "range", np.arange(3000) * 10, 3, name, attributes={"message": name})
        builder.add_events(other, "mark", [3, 4], 0, name)
        builder.add_links("flow", [4, 9, 7], [8, 9, 2])
        builder.add_counter(track, "c", "", np.arange(100), np.arange(100.0))
        builder.stack(name, builder.stack(name))
        builder.finish()
    with open_capture(target) as capture:
        assert list(verify(capture)) == []
    with h5py.File(target, "r+") as file:
        file[path][index] = value
    with open_capture(target) as capture:
        defects = list(verify(capture))
    assert any(message in defect for defect in defects), defects
