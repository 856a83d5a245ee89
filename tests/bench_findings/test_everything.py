"""The one table of all programs: what counts as right, what is not asked, and what could not be tried."""

from __future__ import annotations

from pathlib import Path

from tests.bench_findings.baseline import list_baselines
from tests.bench_findings.captures import first_of
from tests.bench_findings.everything import Row, programs, row_of_stranger, summary
from tests.unit.analysis.findings.scenes import MS, Acts, Does, scene

from warpline.model.waits import WaitKind


def test_all_programs_are_in_the_table_and_no_name_twice() -> None:
    names = [name for name, _, _ in programs()]
    assert len(names) == len(set(names)) >= 44 + 10 + 76 + 25


def test_a_result_of_the_strangers_becomes_a_row() -> None:
    verdict = {"cause_guess": True, "line_ok": False, "gain_quotient": 0.79}
    result = {"name": "jobs", "verdict": verdict, "findings": [{"id": "hot_spot"}], "loud": ["imports"]}
    row = row_of_stranger(result)
    assert (row.found, row.cause, row.line, row.gain, row.cured, row.healthy) == (
        "hot_spot", True, False, False, False, None
    )  # fmt: skip
    assert row_of_stranger({"name": "healthy/mlp", "silent": True, "loud": []}).healthy
    assert row_of_stranger({"name": "x", "error": "recording failed"}).error == "recording failed"


def test_what_was_not_asked_or_not_tried_counts_nowhere() -> None:
    rows = [
        Row(group="ours", name="a", cause=True, line=None, gain=False, cured=True, is_crowded=True),
        Row(group="ours", name="b", healthy=True),
        Row(group="strangers", name="c", error="no compiler"),
    ]
    assert summary(rows).splitlines()[2:] == [
        "| ours | 2 | 1 of 1 | 0 of 0 | 0 of 1 | 1 of 1 | 1 of 1 |",
        "| strangers | 0 | 0 of 0 | 0 of 0 | 0 of 0 | 0 of 0 | 0 of 0 |",
        "| beside loops | 1 | 1 of 1 | 0 of 0 | 0 of 1 | 1 of 1 | 0 of 0 |",
        "| all | 2 | 1 of 1 | 0 of 0 | 0 of 1 | 1 of 1 | 1 of 1 |",
    ]


def test_the_first_sentence_and_finding_of_a_check_are_found() -> None:
    text = "GPU 0: 65 % of 2 s went to: copies.\n  65 %  copies\n\n[warning] Copies take 65 %.\n  Help.\n[note] Else.\n"
    assert first_of(text) == ("GPU 0: 65 % of 2 s went to: copies.", "warning: Copies take 65 %.")
    assert first_of("nothing to check: no thread") == ("nothing to check: no thread", "")


def test_how_closely_the_replay_of_each_capture_ends_is_listed(tmp_path: Path) -> None:
    scene(tmp_path / "run.h5", [Acts((Does(20 * MS, WaitKind.SLEEP), Does(5 * MS)) * 4)]).close()
    assert list_baselines(tmp_path).splitlines()[2:] == ["| run | 0.00 % | yes |", "", "within 2 %: 1 of 1"]
