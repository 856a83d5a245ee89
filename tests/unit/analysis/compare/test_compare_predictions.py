"""Whether a predicted gain came true: findings of A that are gone in B."""

from __future__ import annotations

from pathlib import Path

from tests.unit.analysis.findings.test_engine import MS, threads_capture

from warpline.analysis.compare.comparison import CaptureRun, Comparison, compare
from warpline.analysis.compare.comparison_json import comparison_json
from warpline.analysis.compare.comparison_text import comparison_lines, failure_text
from warpline.analysis.compare.predictions import prediction_text
from warpline.model.waits import WaitKind
from warpline.storage import CaptureBuilder, open_capture

SLEEP, RUNS = int(WaitKind.SLEEP), (40 * MS, 0, 0, 0)


def compared(folder: Path, before_ms: int, after_ms: int) -> Comparison:
    """Two threads that run 40 ms and sleep so long."""
    sides = [
        threads_capture(folder / f"{name}.h5", [[RUNS, (sleep * MS, 2, SLEEP, 0)] if sleep else [RUNS]])
        for name, sleep in (("a", before_ms), ("b", after_ms))
    ]
    return compare([CaptureRun(sides[0], "a.h5")], [CaptureRun(sides[1], "b.h5")])


def test_a_gone_finding_is_compared_with_what_was_gained(tmp_path: Path) -> None:
    comparison = compared(tmp_path, 60, 0)
    (prediction,) = comparison.predictions
    assert (prediction.id, prediction.predicted_ns, prediction.gained_ns) == (
        "waits_for_sleep", 60 * MS, 60 * MS,
    )  # fmt: skip
    assert prediction.ratio == 1
    sentence = prediction_text(comparison.predictions)
    assert sentence.endswith("predicted gain up to 60.00 ms, actual gain 60.00 ms.")
    assert sentence in comparison_lines(comparison, is_markdown=False)
    (entry,) = comparison_json(comparison)["predictions"]
    assert (entry["id"], entry["predicted_ns"]) == ("waits_for_sleep", 60 * MS)


def test_a_finding_that_is_still_there_predicts_nothing(tmp_path: Path) -> None:
    comparison = compared(tmp_path, 60, 50)
    assert comparison.predictions == ()
    assert prediction_text(comparison.predictions) == ""


def test_a_program_that_failed_gained_nothing(tmp_path: Path) -> None:
    """It is shorter because it did not come so far."""
    sides = [threads_capture(tmp_path / "a.h5", [[RUNS, (60 * MS, 2, SLEEP, 0)]])]
    with CaptureBuilder(tmp_path / "b.h5") as builder:
        builder.meta["exit_status"] = 3
        process = builder.add_process(1, name="p")
        thread = builder.add_thread(process, 1)
        track = builder.track("process/1.1/thread/1.1/state", role="state", process=process, thread=thread)
        builder.add_events(track, "thread_state", [0], [MS], builder.string("running"))
        builder.finish()
    with open_capture(tmp_path / "b.h5") as failed:
        comparison = compare([CaptureRun(sides[0], "a.h5")], [CaptureRun(failed, "b.h5")])
        text = failure_text(comparison)
        assert text.startswith("B failed with status 3: ")
        assert text in comparison_lines(comparison, is_markdown=False)
        assert comparison.predictions == ()


def test_a_gain_that_did_not_come_is_shown_as_it_is(tmp_path: Path) -> None:
    sides = [
        threads_capture(tmp_path / "a.h5", [[RUNS, (60 * MS, 2, SLEEP, 0)]]),
        threads_capture(tmp_path / "b.h5", [[(110 * MS, 0, 0, 0)]]),
    ]
    comparison = compare([CaptureRun(sides[0], "a.h5")], [CaptureRun(sides[1], "b.h5")])
    assert comparison.predictions[0].ratio == float("inf")
    assert "but B takes 10.00 ms longer" in prediction_text(comparison.predictions)
