"""All made captures of the bench, in every run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.bench_findings.measuring import check, try_pair
from tests.bench_findings.pairs import Pair
from tests.bench_findings.worlds import WORLD_PAIRS


@pytest.mark.parametrize("pair", WORLD_PAIRS, ids=lambda pair: pair.name)
def test_the_disease_of_a_made_capture_is_named_with_its_place_and_gain(pair: Pair, tmp_path: Path) -> None:
    outcome = try_pair(pair, tmp_path)
    assert outcome.is_named, outcome
    assert outcome.is_placed or not pair.has_line, outcome
    assert 0.75 <= outcome.ratio <= 1.25, outcome
    assert outcome.warnings == ()
    for finding in check(tmp_path / f"{pair.name}-sick.h5")["findings"]:
        told = re.search(r"\((\d+) %\)", finding["text"])
        # What has no time of its own claims no share.
        if told is not None and finding["time_ns"]:
            assert float(told[1]) == pytest.approx(100 * finding["share"], abs=0.51), finding
            assert finding["gain_ns"] <= finding["time_ns"], finding
