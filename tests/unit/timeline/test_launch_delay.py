"""The launch delay, from the end of the call to the start of the work, is the same in tooltip, facts and reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.unit.analysis.analysis_tools import Program, by_name, rows_of

pytest.importorskip("PySide6")

from warpline.model import format_duration  # Qt may be missing
from warpline.model.intervals import launch_delay_ns
from warpline_app.panels.facts.event_facts import event_facts
from warpline_app.timeline.model.event_text import describe_event

CALL_NS = (1_000, 11_000)
QUEUED = "started {} after cudaLaunchKernel returned"
EARLY = "started before cudaLaunchKernel returned"


@pytest.mark.parametrize(
    ("work_start", "delay", "sentence"),
    [
        (CALL_NS[1] + 7_500, 7_500, QUEUED),
        (CALL_NS[1], 0, QUEUED),
        (CALL_NS[1] - 1, None, EARLY),
        (CALL_NS[0] + 1, None, EARLY),
    ],
)
def test_tooltip_facts_and_reports_show_the_same_delay(
    tmp_path: Path, work_start: int, delay: int | None, sentence: str
) -> None:
    program = Program(tmp_path / "launch.h5")
    call = program.launch(*CALL_NS)
    program.gpu("kernel", 7, work_start, work_start + 50_000, "gemm", call)
    with program.finish() as capture:
        work, caller = int(capture.kinds["kernel"].rows[0]), int(capture.kinds["cuda_api"].rows[0])
        text = format_duration(delay or 0)
        assert sentence.format(text) in describe_event(capture, work, 0).lines
        from_call = "gemm started before the call returned"
        if delay is not None:
            from_call = f"gemm started {text} after the call returned"
        assert from_call in describe_event(capture, caller, 0).lines
        facts = {
            fact.title: fact for section in event_facts(capture, work).sections for fact in section.facts
        }
        expected = text if delay is not None else "none: it started before the call returned"
        assert facts["Launch delay"].value == expected
        assert facts["Launched by"].note == (
            "before the call returned" if delay is None else f"{text} after its end"
        )
        # In sums no delay counts as 0; Nsight counts only launches that queued at all.
        assert by_name(rows_of(capture, "launch_latency"))["gemm"]["total_ns"] == (delay or 0)
        (nsight,) = rows_of(capture, "cuda_kern_exec_sum")
        assert (nsight["queue_count"], nsight["queue_avg_ns"]) == ((1, delay) if delay else (0, None))


def test_the_definition_takes_numbers_and_columns_alike() -> None:
    ends, starts = np.array([10, 10, 10]), np.array([25, 10, 3])
    assert launch_delay_ns(ends, starts).tolist() == [15, 0, 0]
    for end, start, delay in zip(ends.tolist(), starts.tolist(), (15, 0, 0), strict=True):
        assert launch_delay_ns(end, start) == delay
