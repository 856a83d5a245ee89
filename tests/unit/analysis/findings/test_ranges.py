"""Findings about captures with nothing but named ranges, requests, or page migrations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.analysis.analysis_tools import Program

from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.finding import Diagnosis
from warpline.analysis.framework.selection import Selection, View
from warpline.interchange.framework.importing import import_files
from warpline.interchange.nsys.gpu import COPY_EXTRA
from warpline.storage import CaptureBuilder, open_capture

MS = 1_000_000


def _causes(diagnosis: Diagnosis) -> dict[str, int]:
    assert diagnosis.budget is not None
    return {part.cause: part.time_ns for part in diagnosis.budget.parts}


def test_self_time_of_ranges_and_the_gaps_between_them_explain_a_generic_trace(tmp_path: Path) -> None:
    program = Program(tmp_path / "run.h5")
    program.host("ranges", "range", 0, 60 * MS, "handle")
    program.host("ranges", "range", 10 * MS, 50 * MS, "parse")
    program.host("ranges", "range", 85 * MS, 100 * MS, "handle")
    program.builder.set_span(0, 100 * MS)
    with program.finish() as capture:
        whole = diagnose(View(capture))
        part = diagnose(View(capture, Selection(0, 30 * MS)))
    findings = {finding.id: finding for finding in whole.findings}
    assert _causes(whole) == {"ranges": 75 * MS, "between_ranges": 25 * MS}
    text = findings["ranges"].text
    assert "Ranges take 75.00 ms of 100.0 ms." in text
    assert "is parse: 40.00 ms (40 %) in one call. Next: handle (35 %)." in text
    assert "in one gap" in findings["between_ranges"].text
    # Ranges cut by the borders of a selection count as far as they lie inside.
    assert "is parse: 20.00 ms (67 %)" in next(f.text for f in part.findings if f.id == "ranges")


def test_requests_in_flight_are_the_budget_of_a_trace_without_threads(tmp_path: Path) -> None:
    path = tmp_path / "requests.h5"
    with CaptureBuilder(path) as builder:
        process = builder.add_process(71, name="server")
        track = builder.track("process/71.1/async/request", role="ranges", process=process)
        for start, stop in ((0, 40), (10, 30), (60, 70), (80, 100)):
            builder.add_events(track, "range", [start * MS], [(stop - start) * MS], [builder.string("infer")])
        builder.add_events(track, "range", [82 * MS], [10 * MS], [builder.string("decode")])
        builder.set_span(0, 100 * MS)
        builder.finish()
    with open_capture(path) as capture:
        diagnosis = diagnose(View(capture))
    assert _causes(diagnosis) == {
        "one_request": 50 * MS, "no_request": 30 * MS, "several_requests": 20 * MS
    }  # fmt: skip
    (finding,) = diagnosis.findings
    assert finding.text.startswith("4 asynchronous requests: up to 2 in flight, 1.3 on average.")
    assert "infer takes most: 20.00 ms in the median, 40.00 ms at most." in finding.text


@pytest.mark.parametrize(("cause", "helps"), [(2, "cudaMemPrefetchAsync"), (4, "does not fit")])
def test_page_migrations_are_no_unrecorded_launches(tmp_path: Path, cause: int, helps: str) -> None:
    program = Program(tmp_path / "run.h5")
    program.builder.add_kind(COPY_EXTRA)
    call = program.launch(0, MS)
    program.gpu("kernel", 7, MS, 20 * MS, "mine", call)
    for start in (20, 40):
        program.gpu(
            "memcpy", 7, start * MS, (start + 10) * MS, "Memcpy Unified HtoD", copy_kind=11, bytes=1 << 20,
            migration_cause=cause,
        )  # fmt: skip
    call = program.launch(55 * MS, 60 * MS)
    program.gpu("kernel", 7, 60 * MS, 100 * MS, "mine", call)
    program.builder.set_span(0, 100 * MS)
    with program.finish() as capture:
        diagnosis = diagnose(View(capture))
    causes = _causes(diagnosis)
    assert causes["page_migrations"] == 20 * MS
    assert not {"no_launch", "copies"} & set(causes)
    finding = next(finding for finding in diagnosis.findings if finding.id == "gpu_page_migrations")
    assert "2 page migrations take 20.00 ms of 100.0 ms (20 %) and move 2 MiB to the GPU." in finding.text
    assert helps in finding.remedy


def test_one_collective_of_many_times_the_median_is_a_late_peer(tmp_path: Path) -> None:
    program = Program(tmp_path / "run.h5")
    now = 0
    for number, length in enumerate((1, 1, 1, 60, 1, 1, 1, 1, 1, 1, 1, 1)):
        call = program.launch(now, now + 1_000)
        start = now + 2_000
        program.gpu("kernel", 7, start, start + length * MS, f"hcom_allReduce__586_{number}_1", call)
        now = start + length * MS
    program.builder.set_span(0, now)
    with program.finish() as capture:
        findings = {finding.id: finding for finding in diagnose(View(capture)).findings}
    text = findings["late_peer"].text
    assert "hcom_allReduce__586_3_1 takes 60.00 ms at 3.008 ms, 60× its median of 1.000 ms." in text
    assert "gpu_communication" not in findings


def test_launches_without_their_work_are_said_and_how_to_record_it(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    event = {"ph": "X", "pid": 1, "tid": 1, "ts": 10, "dur": 50, "args": {"correlation": 3, "External id": 1}}
    trace.write_text(
        json.dumps(
            {
                "schemaVersion": 1,
                "traceEvents": [
                    {**event, "cat": "cpu_op", "name": "aten::mm"},
                    {**event, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 20, "dur": 5},
                ],
            }
        )
    )
    with open_capture(import_files([trace], tmp_path / "run.h5")) as capture:
        assert any("the work itself was not recorded" in warning for warning in capture.warnings)
        notices = diagnose(View(capture)).notices
    assert any("ProfilerActivity.CUDA" in notice for notice in notices)


def test_a_trace_of_a_whole_system_is_about_the_thread_that_runs_longest(tmp_path: Path) -> None:
    path = tmp_path / "system.h5"
    with CaptureBuilder(path) as builder:
        builder.meta["imported_from"] = [{"file": "trace.txt", "format": "ftrace"}]
        for pid, name, running in ((0, "swapper", 90), (1, "init", 1), (71, "work", 60)):
            process = builder.add_process(pid, name=name)
            thread = builder.add_thread(process, pid, name=name)
            state = builder.track(
                f"process/{pid}.1/thread/{pid}.1/state", role="state", process=process, thread=thread
            )
            names = [builder.string("running"), builder.string("blocked")]
            times, lengths = [0, running * MS], [running * MS, (100 - running) * MS]
            builder.add_events(state, "thread_state", times, lengths, names)
        builder.set_span(0, 100 * MS)
        builder.finish()
    with open_capture(path) as capture:
        diagnosis = diagnose(View(capture))
    assert diagnosis.budget is not None
    assert diagnosis.budget.waited_for == "work (71)"
