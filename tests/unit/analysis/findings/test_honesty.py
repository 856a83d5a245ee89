"""A diagnosis says no more than is known, and asks for nothing that cannot be done."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from tests.bench_findings.worlds import LATENCY, US, World
from tests.unit.analysis.findings.test_engine import MS, threads_capture

from warpline.analysis.findings.catalogue.steps import is_trend
from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.diagnose import diagnose, open_case
from warpline.analysis.findings.finding import Diagnosis, Severity
from warpline.analysis.findings.knowledge import for_lines, for_waits
from warpline.analysis.findings.wording import finding_sentence, verdict
from warpline.analysis.framework.selection import View
from warpline.interchange import import_files
from warpline.model import Flag
from warpline.model.waits import WaitKind
from warpline.storage import Capture, CaptureBuilder, open_capture

SLEEP, UNKNOWN, FILE, CHILD = (
    int(kind) for kind in (WaitKind.SLEEP, WaitKind.UNKNOWN, WaitKind.FILE, WaitKind.CHILD)
)


def _capture(meta: dict[str, Any], kinds: tuple[str, ...] = ()) -> Capture:
    return cast("Capture", SimpleNamespace(meta=meta, kinds=dict.fromkeys(kinds)))


@pytest.mark.parametrize(
    ("meta", "kinds", "line", "wait"),
    [
        ({"recording": {"trace": ["cpu", "osrt", "python"]}}, (), "", ""),
        ({"recording": {"trace": ["cpu"]}}, (), "--trace osrt,python", "--trace osrt"),
        (
            {"recording": {"trace": ["cpu", "osrt", "python"], "attached": True}},
            (),
            "",
            "instead of attaching",
        ),
        ({"recording": {"trace": ["cpu"], "attached": True}}, (), "--trace python", "instead of attaching"),
        (
            {"imported_from": [{"format": "torch"}]},
            (),
            "with_stack=True",
            "what threads wait for, use warpline record",
        ),
        (
            {"imported_from": [{"format": "torch"}]},
            ("python",),
            "",
            "what threads wait for, use warpline record",
        ),
        ({"imported_from": [{"format": "nsys"}]}, (), "--python-sampling", "--trace=osrt"),
        ({"imported_from": [{"format": "paddle"}]}, (), "line, use warpline record", "warpline record"),
        ({}, (), "line, use warpline record", "warpline record"),
    ],
)
def test_what_would_tell_more_can_be_done(
    meta: dict[str, Any], kinds: tuple[str, ...], line: str, wait: str
) -> None:
    capture = _capture(meta, kinds)
    for text, expected in ((for_lines(capture), line), (for_waits(capture), wait)):
        assert expected in text
        assert bool(expected) == bool(text)


@pytest.mark.parametrize(
    ("states", "says"),
    [
        ([(80 * MS, 0, 0, 0), (20 * MS, 2, UNKNOWN, 0)], "No serious problem found; only minor notes."),
        ([(20 * MS, 0, 0, 0), (80 * MS, 2, UNKNOWN, 0)], "Too little was recorded to judge: 80 %"),
        ([(20 * MS, 0, 0, 0), (80 * MS, 2, SLEEP, 0)], ""),
    ],
)
def test_what_is_not_known_is_not_healthy(
    tmp_path: Path, states: list[tuple[int, int, int, int]], says: str
) -> None:
    with threads_capture(tmp_path / "run.h5", [states]) as capture:
        said = verdict(diagnose(View(capture)))
    assert said.startswith(says)
    assert bool(said) == bool(says)


def test_imports_cost_what_leaving_them_out_would_save(tmp_path: Path) -> None:
    # 40 ms of running and 20 of reading files inside an import, 40 ms of running elsewhere.
    path = tmp_path / "run.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        process = builder.add_process(71, name="python")
        thread = builder.add_thread(process, 71, name="python")
        state, samples = (
            builder.track(f"process/71.1/thread/71.1/{role}", role=role, process=process, thread=thread)
            for role in ("state", "samples")
        )
        main = builder.stack(builder.string("<module> (/src/main.py:3)"))
        inside = builder.stack(builder.string("_find_and_load (<frozen importlib._bootstrap>:1176)"), main)
        outside = builder.stack(builder.string("work (/src/main.py:9)"))
        running, blocked = builder.string("running"), builder.string("blocked")
        builder.add_events(state, "thread_state", [0], [40 * MS], [running])
        builder.add_events(
            state, "thread_state", [40 * MS], [20 * MS], [blocked], flags=[int(Flag.IDLE)],
            attributes={"wait": np.array([FILE], np.uint8), "stack": [inside]},
        )  # fmt: skip
        builder.add_events(state, "thread_state", [60 * MS], [40 * MS], [running])
        times = np.arange(5, 100, 10) * MS
        stacks = np.where(times < 60 * MS, inside, outside)
        builder.add_events(
            samples, "sample", times, np.zeros(10, np.int64), [builder.string("sample")] * 10,
            attributes={"stack": stacks},
        )  # fmt: skip
        builder.finish()
    with open_capture(path) as capture:
        found = diagnose(View(capture))
    first, rest = found.findings
    assert (rest.id, rest.severity, rest.gain_ns) == ("hot_spot", "note", 0)
    assert (first.id, first.where.line) == ("imports", 3)
    assert first.time_ns == first.gain_ns == 60 * MS
    assert first.text.startswith("Importing modules takes 60.00 ms of 100.0 ms (60 %)")


def test_a_child_that_was_gone_is_not_waited_for(tmp_path: Path) -> None:
    # A short-lived child ends at 30 ms; the wait from 60 ms on is for another that was not recorded.
    path = tmp_path / "run.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        for pid, parent in ((71, None), (72, 71)):
            process = builder.add_process(pid, name="python", parent_pid=parent)
            thread = builder.add_thread(process, pid, name="python")
            state = builder.track(
                f"process/{pid}.1/thread/{pid}.1/state", role="state", process=process, thread=thread
            )
            length = 60 if parent is None else 30
            builder.add_events(state, "thread_state", [0], [length * MS], [builder.string("running")])
            if parent is None:
                builder.add_events(
                    state, "thread_state", [60 * MS], [40 * MS], [builder.string("blocked")],
                    flags=[int(Flag.IDLE)], attributes={"wait": np.array([CHILD], np.uint8)},
                )  # fmt: skip
        builder.finish()
    with open_capture(path) as capture:
        case = open_case(View(capture))
    assert not isinstance(case, Diagnosis)
    waits = case.segments.cause == Cause.CHILD
    assert case.segments.by[waits].tolist() == [-1]


def test_a_child_is_the_one_that_the_call_tells_of(tmp_path: Path) -> None:
    # Three children one after the other, 30 ms each; what is known of each ends 9 ms after the wait for it, because the
    # machine was busy: 3 ms later the next one is waited for.
    path = tmp_path / "run.h5"
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 120 * MS)
        blocked, running = builder.string("blocked"), builder.string("running")
        own = builder.add_process(71, name="python")
        thread = builder.add_thread(own, 71, name="python")
        state, calls = (
            builder.track(f"process/71.1/thread/71.1/{role}", role=role, process=own, thread=thread)
            for role in ("state", "osrt")
        )
        starts = np.arange(3) * 33 * MS
        length = np.full(3, 30 * MS)
        builder.add_events(
            state, "thread_state", starts, length, [blocked] * 3,
            flags=[int(Flag.IDLE)] * 3, attributes={"wait": np.full(3, CHILD, np.uint8)},
        )  # fmt: skip
        builder.add_events(
            calls, "osrt", starts, length, [builder.string("waitpid")] * 3,
            attributes={"wait": np.full(3, CHILD, np.uint8), "ended_by": [72, 73, 74]},
        )  # fmt: skip
        for number, pid in enumerate((72, 73, 74)):
            process = builder.add_process(pid, name="child", parent_pid=71)
            thread = builder.add_thread(process, pid, name="child")
            track = builder.track(
                f"process/{pid}.1/thread/{pid}.1/state", role="state", process=process, thread=thread
            )
            builder.add_events(
                track, "thread_state", [number * 33 * MS], [39 * MS], [running],
            )  # fmt: skip
        builder.finish()
    with open_capture(path) as capture:
        view = View(capture)
        case = open_case(view)
        first = diagnose(view).findings[0]
    assert not isinstance(case, Diagnosis)
    waits = case.segments.cause == Cause.CHILD
    assert case.segments.by[waits].tolist() == [1, 2, 3]
    assert (first.id, first.severity) == ("waits_for_child", Severity.CRITICAL)
    assert first.text.startswith("Waiting for 3 child processes takes 90.00 ms")


@pytest.mark.parametrize("seed", range(5))
def test_a_busy_machine_makes_no_trend(seed: int) -> None:
    random = np.random.default_rng(seed)
    steady = 10 * MS + random.integers(0, 3 * MS, 60)
    assert not is_trend(steady)
    becomes_busy = steady + np.where(np.arange(60) >= 30, 8 * MS, 0)
    assert not is_trend(becomes_busy)
    now_and_then = steady + random.choice([0, 15 * MS], 60, p=[0.7, 0.3])
    assert not is_trend(now_and_then)
    grows = steady + np.arange(60) * MS // 4
    assert is_trend(grows)


def test_operators_tell_what_threads_without_states_did(data_dir: Path, tmp_path: Path) -> None:
    # The totals are those of Paddle's own table: depthwise_conv2d_grad kernel launch, 51 calls.
    path = tmp_path / "paddle.h5"
    import_files([data_dir / "paddle" / "paddle_mobilenetv2_cpu_mem.pb"], path)
    with open_capture(path) as capture:
        found = diagnose(View(capture))
    assert found.budget is not None
    assert [part.cause for part in found.budget.parts] == ["operators", "active", "data_loading"]
    operators = next(finding for finding in found.findings if finding.id == "operators")
    assert operators.where.operator == "depthwise_conv2d_grad kernel launch"
    assert "51 calls" in operators.text
    assert not any(finding.severity == "critical" for finding in found.findings)


def test_who_launches_graphs_is_not_told_to(tmp_path: Path) -> None:
    builder = CaptureBuilder(tmp_path / "x.h5")
    world = World(builder)
    for _ in range(50):
        called = world.call("cudaGraphLaunch", 50 * US)
        starts = world.now + LATENCY + np.arange(3) * 2 * US
        code = builder.string("small")
        rows = [builder.add_events(world.stream(7), "kernel", [start], [2 * US], [code]) for start in starts]
        builder.add_links("launch", [called] * 3, rows)
    builder.set_span(0, world.now + 10 * US)
    builder.finish()
    with open_capture(tmp_path / "x.h5") as capture:
        first = diagnose(View(capture)).findings[0]
    assert first.id == "gpu_launch_bound"
    assert first.remedy.startswith("They already run as graphs")


def test_one_launch_that_takes_long_to_begin_is_no_lack_of_launches(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "graphs.h5"
    import_files([next(data_dir.glob("torch/*/tests/traces/inference/vllm_decode_full/*.json.gz"))], path)
    with open_capture(path) as capture:
        found = diagnose(View(capture)).findings
        work = View(capture).events("kernel")
    # 425 kernels of 6 us with next to nothing between them, behind one gap.
    idle = np.sort(np.maximum(work.start[1:] - np.maximum.accumulate(work.stop)[:-1], 0))
    assert idle.sum() < 100 * US
    assert found[0].id == "gpu_launch_latency"
    assert "7.826 ms of it before Memcpy DtoD" in found[0].text
    assert "gpu_launch_bound" not in [finding.id for finding in found]


@pytest.mark.parametrize(
    ("file", "says"),
    [
        # What the traces' own events say: 76 ms of 503 at one place, 313 of 502, 3 s of a call that launches.
        ("nccl_parser_config/nccl_data.json.gz", "longest in aten::mul: 48.18 ms"),
        (
            "critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
            "3.056 s of it inside",
        ),
        (
            "critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz",
            "29.93 s of it in cudaDeviceGetStreamPriorityRange",
        ),
        (
            "cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
            "is in gloo:all_reduce for 1.062 s of that time",
        ),
    ],
)
def test_a_part_is_told_with_its_own_time(data_dir: Path, tmp_path: Path, file: str, says: str) -> None:
    path = tmp_path / "x.h5"
    import_files([data_dir / "torch/facebookresearch+HolisticTraceAnalysis/tests/data" / file], path)
    with open_capture(path) as capture:
        found = diagnose(View(capture)).findings
    assert any(says in finding_sentence(finding) for finding in found)


def test_an_npu_is_called_npu(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "ascend.h5"
    import_files([next(data_dir.glob("ascend/*/test/data/pytorch/text/level1/rank0_ascend_pt"))], path)
    with open_capture(path) as capture:
        found = diagnose(View(capture))
        titles = {track.title for track in capture.tracks}
    assert found.budget is not None
    assert found.budget.waited_for == "NPU 0"
    assert "NPU 0" in titles
    texts = [found.budget.waited_for, *(part.title for part in found.budget.parts)]
    texts += [text for finding in found.findings for text in (finding.title, finding.text, finding.remedy)]
    assert not any("GPU" in text for text in texts)
    assert any("NPU" in text for text in texts[1:])


def test_a_full_queue_of_launches_is_no_work_of_the_profiler(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    import_files([data_dir / "nsys/GindaChen+nsys-ai/tests/fixtures/h100_2gpu_1s.sqlite"], path)
    with open_capture(path) as capture:
        overhead = capture.kinds["overhead"].rows
        names = set(capture.strings.get(capture.events.name[overhead].tolist()))
        found = {finding.id: finding.text for finding in diagnose(View(capture)).findings}
    assert names == {"Command Buffer Full"}
    assert "capture_overhead" not in found
    assert found["full_queue"].startswith(
        "Launches wait 461.8 ms of 969.4 ms for room in the full launch queue"
    )
