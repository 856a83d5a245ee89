"""A small part of the bench in every run: three programs that wait rather than compute. Made captures are beside."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bench_findings.measuring import check, record, try_healthy
from tests.bench_findings.pairs import PROGRAM_PAIRS, Pair, program_of, sick_lines
from tests.unit.recording.recording_tools import needs_perf, on_time_once

FEW = ("lock_too_wide", "one_at_a_time", "slow_stage")


@needs_perf
@pytest.mark.parametrize(
    "pair", [pair for pair in PROGRAM_PAIRS if pair.name in FEW], ids=lambda pair: pair.name
)
def test_the_disease_of_a_program_is_named_with_its_line(pair: Pair, tmp_path: Path) -> None:
    def look(folder: Path) -> None:
        program = program_of(pair.name)
        found = record(program, "sick", folder / "sick.h5")
        # A busy machine takes its time of any program: that may come first, and is no fault of this one.
        first = next(finding for finding in found["findings"] if finding["id"] != "waits_for_core")
        assert first["id"] in pair.ids
        placed = first
        if pair.name == "lock_too_wide":
            # Whoever gets a lock next holds it while waiting for a core: on a busy machine longer than for the work.
            placed = next(
                finding
                for finding in found["findings"]
                if finding["id"] in pair.ids and finding["where"]["line"] in sick_lines(program)
            )
        assert placed["where"]["line"] in sick_lines(program)
        assert placed["severity"] != "note"
        assert check(folder / "sick.h5")["findings"] == found["findings"]

    on_time_once(tmp_path, look)


@needs_perf
def test_a_healthy_program_gets_no_warning(tmp_path: Path) -> None:
    def look(folder: Path) -> None:
        assert try_healthy("prefetches", folder) == ()

    on_time_once(tmp_path, look)
