"""Gains too small to notice are no findings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.analysis.findings.test_engine import threads_capture

from warpline.analysis.compare.predictions import find_predictions
from warpline.analysis.findings import diagnose
from warpline.analysis.findings.case import Case
from warpline.analysis.findings.finding import Finding, Severity, is_visible
from warpline.analysis.findings.rule import Rule
from warpline.analysis.framework.selection import View

MS = 1_000_000


@pytest.mark.parametrize(
    ("gain_ns", "whole_ns", "visible"),
    [(1_000, 10_000, False), (1_001, 10_000, True), (4_900, 1_000_000, False), (5_000, 1_000_000, True)],
)
def test_a_gain_is_visible_from_a_microsecond_and_a_factor_of_1_01(
    gain_ns: int, whole_ns: int, visible: bool
) -> None:
    assert is_visible(gain_ns, whole_ns) is visible


def test_findings_and_comparisons_leave_out_what_nobody_would_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gains = {"large": 5 * MS, "small": 400_000, "none": 0}

    def find(case: Case) -> Iterator[Finding]:
        for name, gain_ns in gains.items() if case.whole_ns == 100 * MS else ():
            yield Finding(
                id=name,
                severity=Severity.WARNING,
                title=name,
                text=name,
                time_ns=MS,
                gain_ns=gain_ns,
                remedy="",
            )

    rule = Rule("test", "test", find)
    monkeypatch.setattr(diagnose, "all_rules", lambda: ((rule,), ()))
    monkeypatch.setattr(diagnose, "builtin_rules", lambda: (rule,))
    with (
        threads_capture(tmp_path / "a.h5", [[(100 * MS, 0, 0, -1)]]) as before,
        threads_capture(tmp_path / "b.h5", [[(95 * MS, 0, 0, -1)]]) as after,
    ):
        found = diagnose.diagnose(View(before)).findings
        assert [finding.id for finding in found] == ["large", "none"]
        cured = find_predictions(View(before), View(after), (100 * MS, 95 * MS), 5 * MS)
        assert [(prediction.id, prediction.predicted_ns) for prediction in cured] == [("large", 5 * MS)]
