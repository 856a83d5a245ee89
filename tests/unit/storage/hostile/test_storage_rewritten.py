"""A file that somebody writes into while it is open: what leads compiled loops was read once, and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from warpline.storage import CaptureBuilder, open_capture

LANES = 1500
DIRECTORIES = ("lanes/", "lod/levels/", "lod/skip_")


def test_directories_are_what_was_checked(tmp_path: Path) -> None:
    path = tmp_path / "run.h5"
    with CaptureBuilder(path) as builder:
        for number in range(LANES):
            track = builder.track(f"cpu/{number}", role="core")
            builder.add_events(track, "range", np.arange(40), np.arange(40) + 1, builder.string("work"))
        builder.finish()
    mapped = []

    def note(name: str, node: Any) -> None:
        if name.startswith(DIRECTORIES) and len(node) * node.dtype.itemsize >= 4096:
            mapped.append((node.id.get_offset(), len(node) * node.dtype.itemsize))

    with h5py.File(path) as file:
        file.visititems(lambda name, node: note(name, node) if isinstance(node, h5py.Dataset) else None)
    assert len(mapped) >= 4
    lanes = np.arange(LANES)
    with open_capture(path) as capture, open_capture(path) as untouched:
        first, count = capture.lanes.first.tolist(), capture.lanes.count.tolist()
        expected = [untouched.query(lanes, 0, stop, 64).busy.tolist() for stop in (40, 4000)]
        with path.open("r+b") as file:
            for offset, size in mapped:
                file.seek(offset)
                file.write(b"\x7f" * size)
        # Before anything compiled goes where they lead.
        assert (capture.lanes.first.tolist(), capture.lanes.count.tolist()) == (first, count)
        assert [capture.query(lanes, 0, stop, 64).busy.tolist() for stop in (40, 4000)] == expected
