"""Profiles of pprof: stacks with their values, side by side."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.fuzz.guided.formats import message, pprof_profile
from tests.unit.interchange.import_tools import imported, skipped, text_file
from tests.unit.interchange.profiles.stack_tools import stacks, weights

from warpline.interchange import detect
from warpline.model import ImportFormatError


def test_stacks_keep_their_values_and_inlined_functions(tmp_path: Path) -> None:
    path = text_file(tmp_path, gzip.compress(pprof_profile()), "profile.pb.gz")
    assert detect(path).name == "pprof"
    capture = imported(tmp_path, path)
    found = dict(zip(stacks(capture), weights(capture), strict=True))
    assert found == {
        "main (a.go:5);work (a.go:7);inner (a.go:9)": 100,
        "main (a.go:5);a+0x1f0": 250,
    }
    assert skipped(capture) == {"values of samples": 2}
    assert any("flame graph" in warning for warning in capture.warnings)
    assert {thread.name for thread in capture.threads} == {"T1", "all threads"}


def test_profiles_of_go_begin_with_the_time_and_their_places(tmp_path: Path) -> None:
    types = message((1, message((1, 1), (2, 2))), (1, message((1, 3), (2, 4))))
    places = message(
        (4, message((1, 1), (3, 500), (4, message((1, 1), (2, 7))))), (5, message((1, 1), (2, 5)))
    )
    head = message((9, 1_537_130_863_468_834_518)) + types + message((10, 10**9), (12, 10_000_000)) + places
    texts = b"".join(
        message((6, text)) for text in (b"", b"samples", b"count", b"cpu", b"nanoseconds", b"main")
    )
    samples = message((2, message((1, b"\x01"), (2, b"\x01\x64"))))
    path = text_file(tmp_path, gzip.compress(head + samples + texts), "simple.prof")
    assert detect(path).name == "pprof"
    assert weights(imported(tmp_path, path)) == [100]


def test_a_profile_without_samples_gives_one_line(tmp_path: Path) -> None:
    path = text_file(tmp_path, message((1, message((1, 1), (2, 2)))), "x.pb")
    with pytest.raises(ImportFormatError, match="without samples"):
        imported(tmp_path, path, format="pprof")
