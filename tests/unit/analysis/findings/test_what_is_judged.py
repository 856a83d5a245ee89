"""Which part of a capture and which actor a diagnosis explains, and what it says about that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.diagnose import diagnose
from warpline.analysis.findings.finding import Diagnosis
from warpline.analysis.findings.wait_kinds import sampled_wait
from warpline.analysis.findings.wording import headline, verdict
from warpline.analysis.framework.selection import View
from warpline.storage import CaptureBuilder, open_capture

MS = 1_000_000


def sampled(
    path: Path, samples: list[tuple[str, int]], threads: int = 1, meta: dict[str, object] | None = None
) -> Diagnosis:
    """The diagnosis of threads without states; (innermost frame, duration in ns) one after another, on the last."""
    with CaptureBuilder(path) as builder:
        builder.meta.update(meta or {})
        for number in range(threads):
            process = builder.add_process(10 + number, name=f"p{number}")
            thread = builder.add_thread(process, number and 10 + number, name=f"p{number}")
            track = builder.track(f"process/{number}/samples", role="samples", process=process, thread=thread)
            own = samples if number == threads - 1 else samples[:number]
            lengths = np.array([length for _, length in own], np.int64)
            builder.add_events(
                track, "sample", np.cumsum(lengths) - lengths, lengths, [builder.string("sample")] * len(own),
                attributes={"stack": np.array([builder.stack(builder.string(name)) for name, _ in own], np.uint32)},
            )  # fmt: skip
        builder.finish()
    with open_capture(path) as capture:
        return diagnose(View(capture))


def parts(diagnosis: Diagnosis) -> dict[str, int]:
    assert diagnosis.budget is not None
    return {part.cause: part.time_ns for part in diagnosis.budget.parts}


def test_samples_without_states_say_where_code_ran_and_that_waits_are_missing(tmp_path: Path) -> None:
    decode, idle = ("decode (/src/app.py:9)", 60 * MS), ("(idle)", 140 * MS)
    found = sampled(tmp_path / "weights.h5", [decode, ("load (/src/app.py:3)", 40 * MS), idle])
    # A sample with a duration holds for that long, however far the next one is.
    assert parts(found) == {"idle": 140 * MS, "sampled": 100 * MS}
    assert headline(found).endswith(
        "42 % of 240.0 ms went to: sampled code (waits were not recorded), mostly decode (/src/app.py:9). "
        "58 % went to: idle, as sampled."
    )
    assert "decode (/src/app.py:9): 60 % of that time" in found.findings[0].text
    assert verdict(found) == "Samples tell only about running code."


def test_waits_that_a_sampler_of_wall_clock_time_saw_are_named(tmp_path: Path) -> None:
    work, nap = ("decode (/src/app.py:9)", 60 * MS), ("sleep (<built-in>:0)", 40 * MS)
    poll, take = ("epoll.poll (<built-in>:0)", 20 * MS), ("lock.acquire (<built-in>)", 10 * MS)
    found = sampled(tmp_path / "waits.h5", [work, nap, poll, take, ("loads (<built-in>:0)", 10 * MS)])
    assert parts(found) == {"sampled": 70 * MS, "sleep": 40 * MS, "poll": 20 * MS, "lock": 10 * MS}
    assert next(finding.id for finding in found.findings) == "waits_for_sleep"
    assert verdict(found) != "Samples tell only about running code."


@pytest.mark.parametrize(
    ("above", "cause"),
    [
        ("Queue.get (/usr/lib/python3.12/queue.py:171)", Cause.QUEUE_EMPTY),
        ("Thread.join (/usr/lib/python3.12/threading.py:1149)", Cause.JOIN),
        ("work (/src/app.py:3)", Cause.LOCK),
    ],
)
def test_a_sampled_wait_is_told_by_the_library_around_it(above: str, cause: Cause) -> None:
    assert sampled_wait(["lock.acquire (<built-in>:0)", above]) == cause
    assert sampled_wait([above]) is None
    assert sampled_wait([]) is None


def test_a_trace_of_a_whole_system_says_which_thread_is_judged_and_why(tmp_path: Path) -> None:
    meta: dict[str, object] = {"imported_from": [{"format": "perf"}]}
    found = sampled(tmp_path / "system.h5", [(f"f{n} (/src/app.py:{n})", MS) for n in range(9)], 5, meta)
    assert found.notices[0] == (
        "The trace shows a whole system. p4 (14) (9 samples) is judged because it runs most; next come p3 (13) "
        "(3 samples), p2 (12) (2 samples)."
    )
    # Samples of the kernel's idle thread, id 0, are no work; a program of two processes is no system.
    found = sampled(tmp_path / "program.h5", [(f"f{n} (/src/app.py:{n})", MS) for n in range(9)], 2, meta)
    assert not found.notices
    assert found.budget is not None
    assert found.budget.waited_for == "p1 (11)"


@pytest.mark.parametrize(("idle_ms", "is_cut"), [(500, True), (40, False)])
def test_only_the_time_in_which_a_gpu_works_is_judged(tmp_path: Path, idle_ms: int, is_cut: bool) -> None:
    with CaptureBuilder(tmp_path / "late.h5") as builder:
        builder.add_device(0, name="GPU 0")
        stream = builder.track("gpu/0/stream/7", role="stream", device=0, stream=7)
        starts = idle_ms * MS + np.array([0, 90 * MS])
        builder.add_events(
            stream,
            "kernel",
            starts,
            np.full(2, 10 * MS),
            [builder.string("gemm")] * 2,
            flags=np.zeros(2, int),
        )
        builder.set_span(0, 2 * idle_ms * MS + 100 * MS)
        builder.finish()
    with open_capture(tmp_path / "late.h5") as capture:
        found = diagnose(View(capture))
    assert found.budget is not None
    assert (found.budget.stop_ns - found.budget.start_ns == 100 * MS) == is_cut
    short = [finding for finding in found.findings if finding.id == "capture_short"]
    assert bool(short) == is_cut
    if is_cut:
        assert " ".join(found.notices) == (
            "Only the 100.0 ms from the first to the last operation of GPU 0 is judged. Left out: 500.0 ms before it, "
            "500.0 ms after it."
        )  # fmt: skip
        assert short[0].text == "In 1.000 s of 1.100 s, no GPU operation had begun or all had ended."


def test_one_gpu_operation_without_a_duration_is_judged_within_the_capture(tmp_path: Path) -> None:
    with CaptureBuilder(tmp_path / "point.h5") as builder:
        builder.add_device(0, name="GPU 0")
        stream = builder.track("gpu/0/stream/7", role="stream", device=0, stream=7)
        builder.add_events(stream, "kernel", [5_000 * MS], [0], [builder.string("gemm")])
        builder.set_span(0, 10_000 * MS)
        builder.finish()
    with open_capture(tmp_path / "point.h5") as capture:
        found = diagnose(View(capture))
    assert found.budget is not None, found.reason
    assert found.budget.stop_ns - found.budget.start_ns == 10_000 * MS
