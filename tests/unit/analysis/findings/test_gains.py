"""What a gain leaves out; gains too small to notice are no findings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.analysis.findings.scenes import PYTHON, Acts, Does, scene
from tests.unit.analysis.findings.test_engine import threads_capture

from warpline.analysis.compare.predictions import find_predictions
from warpline.analysis.findings import diagnose
from warpline.analysis.findings.case import Case
from warpline.analysis.findings.draft import rate_text
from warpline.analysis.findings.finding import Finding, Severity, is_visible
from warpline.analysis.findings.rule import Rule
from warpline.analysis.framework.selection import View
from warpline.model.waits import WaitKind

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


def test_a_gain_leaves_out_waits_for_cores_that_other_programs_used(tmp_path: Path) -> None:
    """Removed code takes its waits for a core along, which would make it look worth four times as much here."""
    copies = (f"deepcopy ({PYTHON}/copy.py:128)", "step (/src/app.py:7)")
    turn = (
        Does(10 * MS, frames=copies),
        Does(30 * MS, ready=True),
        Does(10 * MS, frames=("rest (/src/app.py:9)",)),
    )
    with scene(tmp_path / "busy.h5", [Acts(turn * 10)]) as capture:
        found = {(one.id, one.where.line): one for one in diagnose.diagnose(View(capture)).findings}
    copying = found["hot_spot", 7]
    assert (copying.time_ns, copying.gain_ns) == (100 * MS, 100 * MS)
    # Rated against the 250 ms to which the range without others is limited.
    assert copying.severity == Severity.CRITICAL
    assert next(one.gain_ns for one in found.values() if one.id == "waits_for_core") == 300 * MS


def test_sleeping_to_keep_a_pace_gains_nothing(tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text("import time\nwhile work():\n    time.sleep(due - time.monotonic())\n")
    turn = (Does(20 * MS, WaitKind.SLEEP, frames=(f"<module> ({program}:3)",)), Does(4 * MS))
    meta = {"start_utc_ns": program.stat().st_mtime_ns + 1}
    with scene(tmp_path / "run.h5", [Acts(turn * 10)], meta=meta) as capture:
        first = diagnose.diagnose(View(capture)).findings[0]
    assert (first.title, first.severity, first.gain_ns) == ("Sleeping to keep a pace", Severity.NOTE, 0)


@pytest.mark.parametrize(
    ("rate", "text"), [(1234.4, "1,234"), (10.0, "10"), (4.26, "4.3"), (0.0123, "0.012")]
)
def test_a_rate_is_never_rounded_to_nothing(rate: float, text: str) -> None:
    assert rate_text(rate) == text
