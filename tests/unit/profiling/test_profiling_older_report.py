"""The older profiler's report: Paddle's layout, and its formulas on events of known times."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.analysis.analysis_tools import Program

from warpline.profiling.older_report import older_report
from warpline.profiling.results import ProfilerResult

US = 1_000


def call(program: Program, at: int) -> None:
    """An operator of 100 us: 60 us of them compute, and a copy of 20 us in its preparation, which takes 15 us on the
    GPU.
    """
    program.host("operators", "operator", at, at + 100 * US, "slice")
    program.host("operators", "operator", at + 1 * US, at + 5 * US, "infer_shape")
    program.host("operators", "operator", at + 10 * US, at + 35 * US, "prepare_data")
    program.host("ranges", "range", at + 12 * US, at + 32 * US, "GpuMemcpySync:CPU->GPU")
    copy = program.host("api", "cuda_api", at + 13 * US, at + 14 * US, "cudaMemcpy")
    program.gpu("memcpy", 7, at + 15 * US, at + 30 * US, "Memcpy HtoD", copy)
    program.host("operators", "operator", at + 36 * US, at + 96 * US, "compute")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> ProfilerResult:
    program = Program(tmp_path_factory.mktemp("older") / "run.h5")
    for at in (0, 200 * US):
        call(program, at)
    program.host("operators", "operator", 400 * US, 440 * US, "shape")
    program.finish().close()
    return ProfilerResult(lambda: program.path)


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def test_the_report_has_paddles_layout_and_numbers(recorded: ProfilerResult) -> None:
    # 2 × (100 us on the CPU, 15 us on the GPU) and 40 us are 0.27 ms; 2 × 60 us compute; copies 2 × 35 us.
    assert lines(older_report(recorded, "total", "All")) == [
        "",
        "------------------------->     Profiling Report     <-------------------------",
        "",
        "Place: All",
        "Time unit: ms",
        "Sorted by total time in descending order in the same thread",
        "",
        "-------------------------     Overhead Summary      -------------------------",
        "",
        "Total time: 0.27",
        "  Computation time       Total: 0.12        Ratio: 44.4444%",
        "  Framework overhead     Total: 0.15        Ratio: 55.5556%",
        "",
        "-------------------------     GpuMemCpy Summary     -------------------------",
        "",
        "GpuMemcpy                Calls: 2           Total: 0.07        Ratio: 25.9259%",
        "  GpuMemcpySync          Calls: 2           Total: 0.07        Ratio: 25.9259%",
        "",
        "-------------------------       Event Summary       -------------------------",
        "",
        (
            "Event                         Calls       Total       CPU Time (Ratio)        GPU Time (Ratio)        "
            "Min.        Max.        Ave.        Ratio."
        ),
        (
            "thread0::slice                2           0.23        0.200000 (0.869565)     0.030000 (0.130435)     "
            "0.115       0.115       0.115       0.851852"
        ),
        (
            "  GpuMemcpySync:CPU->GPU      2           0.07        0.040000 (0.571429)     0.030000 (0.428571)     "
            "0.035       0.035       0.035       0.259259"
        ),
        (
            "thread0::shape                1           0.04        0.040000 (1.000000)     0.000000 (0.000000)     "
            "0.04        0.04        0.04        0.148148"
        ),
    ]


def test_levels_of_detail(recorded: ProfilerResult) -> None:
    def names(detail: str) -> list[str]:
        text = older_report(recorded, None, "CPU", detail)
        rows = lines(text.rpartition("Event Summary")[2])[3:]
        return [found[0] for row in rows if (found := re.match(r" *\S+", row))]

    parts = ["  thread0::slice/infer_shape", "  thread0::slice/prepare_data", "    GpuMemcpySync:CPU->GPU"]
    parts.append("  thread0::slice/compute")
    assert names("Default") == ["thread0::slice", "  GpuMemcpySync:CPU->GPU", "thread0::shape"]
    assert names("OpDetail") == ["thread0::slice", *parts, "thread0::shape"]
    numbered = [[part.replace("slice", f"slice{place}") for part in parts] for place in (0, 1)]
    assert names("AllOpDetail") == [
        "thread0::slice0", *numbered[0], "thread0::slice1", *numbered[1], "thread0::shape0",
    ]  # fmt: skip


def test_places_choose_the_time(recorded: ProfilerResult) -> None:
    on_cpu, on_gpu = (older_report(recorded, "calls", place) for place in ("CPU", "CUDA"))
    assert "Total time: 0.24" in on_cpu
    assert "Total time: 0.03" in on_gpu
    assert "CPU Time (Ratio)" not in on_cpu + on_gpu
    assert "Place: CUDA" in on_gpu


def test_several_threads_are_merged_and_then_apart(tmp_path: Path) -> None:
    program = Program(tmp_path / "threads.h5")
    builder = program.builder
    other = builder.add_thread(program.process, 72, name="Other")
    base = "process/71.1/thread/72.1"
    builder.track(base, role="thread", process=program.process, thread=other, parent="process/71.1")
    track = builder.track(
        f"{base}/operators", role="operators", parent=base, process=program.process, thread=other
    )
    program.host("operators", "operator", 0, 10 * US, "relu")
    builder.add_events(track, "operator", [20 * US], [30 * US], [builder.string("relu")])
    program.finish().close()
    merged, *apart = older_report(ProfilerResult(lambda: program.path), "total", "CPU").split(
        "     Profiling Report     "
    )[1:]
    assert "Note! This Report merge all thread info into one." in merged
    assert "relu        2           0.04        0.01        0.03        0.02        1" in merged
    (text,) = apart
    assert "Overhead Summary" not in text
    rows = [line.split() for line in text.splitlines() if "relu" in line]
    assert rows == [
        ["thread1::relu", "1", "0.03", "0.03", "0.03", "0.03", "1"],
        ["thread0::relu", "1", "0.01", "0.01", "0.01", "0.01", "1"],
    ]


def test_operators_without_computing_parts_tell_no_computation(tmp_path: Path) -> None:
    program = Program(tmp_path / "plain.h5")
    program.host("operators", "operator", 0, 10 * US, "relu")
    program.finish().close()
    text = older_report(ProfilerResult(lambda: program.path), None, "CPU")
    assert (
        "  Computation time       not recorded, because no part of an operator says that it computes" in text
    )
