"""The line about the worst finding at the end of a recording: short, bounded, silent for the healthy."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.gui.panels.finding_sample import known_diagnosis
from tests.gui.sample import write_sample

from warpline.analysis.findings import diagnose as engine
from warpline.analysis.findings.finding import Diagnosis
from warpline.analysis.framework.selection import View
from warpline.cli import first_finding
from warpline.cli.first_finding import first_finding_line


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write_sample(tmp_path / "run.h5")


def answer(monkeypatch: pytest.MonkeyPatch, *, notes_only: bool) -> None:
    def diagnose(view: View) -> Diagnosis:
        found = known_diagnosis(view.capture)
        return Diagnosis(found.budget, found.findings[1:] if notes_only else found.findings)

    monkeypatch.setattr(engine, "diagnose", diagnose)


def test_the_worst_is_told_with_its_gain_and_the_way_to_the_rest(
    capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, notes_only=False)
    line = first_finding_line(capture, Path("run.h5"), 140)
    assert line.startswith("[critical] Waiting for lock takes 40.00 ms of 100.0 ms (40 %), 10 times.")
    assert "Fixing it saves up to 30.00 ms." in line
    assert line.endswith("(warpline check run.h5)")
    assert "\n" not in line


def test_notes_alone_are_no_reason_for_a_line(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, notes_only=True)
    assert first_finding_line(capture, capture, 140) == ""


def test_a_large_capture_is_not_checked_unasked_and_says_how_to(capture: Path) -> None:
    line = first_finding_line(capture, Path("run.h5"), first_finding.AT_MOST_EVENTS + 1)
    assert "warpline check run.h5" in line


def test_what_takes_too_long_is_given_up(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(view: View) -> Diagnosis:
        while True:
            view.check_cancelled()

    monkeypatch.setattr(engine, "diagnose", endless)
    monkeypatch.setattr(first_finding, "AT_MOST_S", 0.01)
    line = first_finding_line(capture, Path("run.h5"), 140)
    assert line.startswith("check stopped after 10.00 ms")


def test_a_failure_is_told_and_harms_nothing(tmp_path: Path) -> None:
    line = first_finding_line(tmp_path / "none.h5", Path("none.h5"), 140)
    assert line.startswith("none.h5 could not be checked")
