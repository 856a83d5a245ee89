"""Which names match a pattern: those of events, among few texts and many."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from warpline.analysis.framework.name_matches import matching_names
from warpline.model.track_factory import TrackFactory
from warpline.model.track_style import TRACE
from warpline.storage import CaptureBuilder, open_capture


@pytest.mark.parametrize("others", [0, 10_000])
def test_matching_names_ignores_other_texts(tmp_path: Path, others: int) -> None:
    names = ["loader.next", "DATALOADER", "load", "", "forward", "näxt loader"]
    with CaptureBuilder(tmp_path / "x.h5") as builder:
        track = builder.add_track(TrackFactory(TRACE, "").instants())
        for number in range(others):
            builder.string(f"[[{number}, 3]] of a loader")
        ids = builder.strings(names)
        start = np.arange(len(names)) * 10
        builder.add_events(track, "range", start, np.full(len(names), 5), ids)
        path = builder.finish()
    with open_capture(path) as capture:
        for pattern in (re.compile("loader"), re.compile("loader", re.IGNORECASE), re.compile("^load$")):
            found = matching_names(capture, pattern)
            assert len(found) == len(capture.strings)
            used = np.unique(capture.events.name).tolist()
            expected = {number for number in used if pattern.search(capture.strings[number])}
            assert {number for number in used if found[number]} == expected
            assert matching_names(capture, pattern) is found
