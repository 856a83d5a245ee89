"""Profiles of TensorRT engines, as trtexec writes them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.unit.interchange.import_tools import imported, rows, skipped, text_file

from warpline.interchange import detect, import_files
from warpline.model import Flag, ImportFormatError

PROFILE = [
    {"count": 1234},
    {
        "name": "Reformatting CopyNode for Input",
        "timeMs": 12.34,
        "averageMs": 0.01,
        "medianMs": 0.01,
        "percentage": 10,
    },
    {"name": "conv1 + relu1", "timeMs": 98.72, "averageMs": 0.08, "medianMs": 0.079, "percentage": 80},
    {"name": "fc", "timeMs": 12.34, "averageMs": 0.0105, "medianMs": 0.01, "percentage": 10},
]


def test_layers_follow_each_other_as_long_as_they_are_on_average(tmp_path: Path) -> None:
    path = text_file(tmp_path, json.dumps(PROFILE, indent=2), "profile.json")
    assert detect(path).name == "trtexec"
    capture = imported(tmp_path, path)
    layers = [(name, start - capture.span[0], length) for name, start, length, _ in rows(capture)]
    assert layers == [
        ("Reformatting CopyNode for Input", 0, 10_000),
        ("conv1 + relu1", 10_000, 80_000),
        ("fc", 90_000, 10_500),
    ]
    assert (np.asarray(capture.events.flags) & int(Flag.ESTIMATED)).all()
    (track,) = [track for track in capture.tracks if track.uri.endswith("/layers")]
    assert track.title == "Engine layers, average of 1,234 runs"


def test_layers_without_a_time_are_counted_and_damage_is_one_line(tmp_path: Path) -> None:
    path = text_file(tmp_path, json.dumps([*PROFILE, {"name": "odd"}]), "profile.json")
    capture = imported(tmp_path, path)
    assert skipped(capture) == {"layers": 1}
    cut = text_file(tmp_path, json.dumps(PROFILE)[:-40], "cut.json")
    with pytest.raises(ImportFormatError, match="damaged"):
        import_files([cut], tmp_path / "out.h5")
