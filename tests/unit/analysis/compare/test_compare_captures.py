"""Two captures compared: parts that add up, nothing against itself, signs that turn with the sides, aligned steps."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.analysis.analysis_tools import Program, training_capture

from warpline.analysis.compare.alignment import Align
from warpline.analysis.compare.comparison import CaptureRun, Choices, Comparison, compare
from warpline.analysis.compare.comparison_text import comparison_lines, verdict
from warpline.analysis.compare.gate import judge, parse_condition
from warpline.analysis.compare.tables import compare_tables
from warpline.analysis.compare.variation import variation
from warpline.analysis.framework.registry import compute_report
from warpline.model import Flag, UsageError
from warpline.storage import Capture

US = 1_000
Event = tuple[str, int, int]


def build(path: Path, events: list[Event]) -> Capture:
    """A program of one thread and one GPU out of (what, start, length) in µs, where each thing may overlap others."""
    program = Program(path)
    for number, (what, start, length) in enumerate(events):
        begin, end = start * US, (start + length) * US
        if what == "kernel":
            call = program.launch(max(begin - 7 * US, 0), max(begin - 5 * US, 1))
            program.gpu("kernel", 7 + number % 2, begin, end, f"k<{number % 3}>", call)
        elif what == "nccl":
            program.gpu("kernel", 9, begin, end, "ncclDevKernel_AllReduce")
        elif what == "copy":
            call = program.launch(begin, end, "cudaMemcpy")
            program.gpu("memcpy", 7, begin, end, "Memcpy HtoD", call, bytes=10)
        elif what == "sync":
            program.launch(begin, end, "cudaStreamSynchronize")
        elif what == "load":
            program.host("ranges", "range", begin, end, "enumerate(DataLoader)#__next__")
        elif what == "operator":
            program.host("operators", "operator", begin, end, f"aten::op{number % 2}")
        else:
            program.host("ranges", "range", begin, end, what)
    program.builder.set_span(0, 400 * US)
    return program.finish()


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["kernel", "nccl", "copy", "sync", "load", "operator", "forward", "backward", "work"]
        ),
        st.integers(0, 300),
        st.integers(0, 90),
    ),
    min_size=1,
    max_size=14,
)


def numbers(found: Comparison) -> dict[str, tuple[int, int]]:
    return {part.cause: (part.a_ns, part.b_ns) for part in found.parts}


@given(EVENTS, EVENTS)
@settings(max_examples=25)
def test_parts_and_contributors_add_up_and_signs_turn(
    tmp_path_factory: pytest.TempPathFactory, first: list[Event], second: list[Event]
) -> None:
    folder = tmp_path_factory.mktemp("compared")
    with ExitStack() as stack:
        a, b = (
            CaptureRun(stack.enter_context(build(folder / name, events)), name)
            for name, events in (("a.h5", first), ("b.h5", second))
        )
        try:
            there, back, same = compare([a], [b]), compare([b], [a]), compare([a], [a])
        except UsageError:
            # One of them holds calls alone, which nobody did anything between.
            return
    assert sum(part.a_ns for part in there.parts) == there.a.total_ns == 400 * US
    assert sum(part.b_ns for part in there.parts) == there.b.total_ns
    assert all(part.a_ns >= 0 and part.b_ns >= 0 for part in there.parts)
    for part in there.parts:
        assert sum(one.a_ns for one in part.contributors) == part.a_ns
        assert sum(one.b_ns for one in part.contributors) == part.b_ns
    assert numbers(back) == {cause: (b_ns, a_ns) for cause, (a_ns, b_ns) in numbers(there).items()}
    assert [
        (part.cause, one.name, -one.difference_ns)
        for part in back.parts
        for one in part.contributors
        if one.rules
    ] == [
        (part.cause, one.name, one.difference_ns)
        for part in there.parts
        for one in part.contributors
        if one.rules
    ]
    assert all(one.difference_ns == 0 for part in same.parts for one in part.contributors)


def steps_capture(
    path: Path, lengths: list[int], kernel_share: float = 0.5, name: str = "gemm_128x64"
) -> Capture:
    """Steps of these lengths in µs; a kernel fills a part of each, and then the host is late."""
    program = Program(path)
    at = 0
    for number, length in enumerate(lengths):
        program.host("phases", "phase", at * US, (at + length) * US, f"ProfilerStep#{number}")
        begin = at + length - int(length * kernel_share)
        call = program.launch((begin - 2) * US, (begin - 1) * US)
        program.host("operators", "operator", at * US, begin * US, "aten::slow")
        program.gpu("kernel", 7, begin * US, (at + length) * US, name, call)
        at += length
    program.builder.set_span(0, at * US)
    return program.finish()


@pytest.fixture
def stack() -> ExitStack:
    return ExitStack()


def run(stack: ExitStack, capture: Capture, path: str = "a.h5") -> CaptureRun:
    return CaptureRun(stack.enter_context(capture), path)


def test_steps_stand_against_steps_without_warm_up(tmp_path: Path, stack: ExitStack) -> None:
    with stack:
        a = run(stack, steps_capture(tmp_path / "a.h5", [900, 100, 101, 99, 100, 102]))
        b = run(stack, steps_capture(tmp_path / "b.h5", [800, 120, 121, 119, 122]))
        found = compare([a], [b])
        assert found.aligned_by is Align.STEP
        assert (found.a.all_windows.left_out, found.b.all_windows.left_out) == (1, 1)
        assert (found.a.total_ns, found.b.total_ns) == (100 * US, 120 * US)
        assert found.a.windows.number.tolist() == [4]
        assert numbers(found)["computation"] == (50 * US, 60 * US)
        (slow,) = [part for part in found.parts if part.cause == "host"]
        assert slow.contributors[0].name == "aten::slow"
        assert found.variation is not None
        assert not found.is_noise
        each = compare([a], [b], Choices(is_each=True))
        assert [(one, other, b_ns - a_ns) for one, other, a_ns, b_ns in each.steps] == [
            (1, 1, 20 * US), (2, 2, 20 * US), (3, 3, 20 * US), (4, 4, 22 * US)
        ]  # fmt: skip
        assert each.difference_ns == 82 * US == sum(part.difference_ns for part in each.parts)
        only = compare([a], [b], Choices(step=3))
        assert (only.a.total_ns, only.b.total_ns) == (99 * US, 119 * US)
        with pytest.raises(UsageError, match="there is no step 9; the compared steps are 1 to 5"):
            compare([a], [b], Choices(step=9))


def test_ranges_stand_against_ranges(tmp_path: Path, stack: ExitStack) -> None:
    with stack:
        capture = stack.enter_context(steps_capture(tmp_path / "a.h5", [100, 100, 100]))
        early, late = CaptureRun(capture, "a", (0, 50 * US)), CaptureRun(capture, "a", (100 * US, 200 * US))
        found = compare([early], [late])
        assert (found.aligned_by, found.difference_ns) == (Align.RANGE, 50 * US)
        assert numbers(found)["computation"] == (0, 50 * US)
        named = compare(
            [CaptureRun(capture, "a")], [CaptureRun(capture, "a")], Choices(range_name="aten::slow")
        )
        assert (named.aligned_by, named.a.total_ns) == (Align.RANGE, 50 * US)
        with pytest.raises(UsageError, match="no range is called 'nothing'"):
            compare([early], [late], Choices(range_name="nothing"))
        with pytest.raises(UsageError, match="no range given"):
            compare([CaptureRun(capture, "a")], [CaptureRun(capture, "a")], Choices(align=Align.RANGE))


def test_without_steps_everything_is_compared_and_steps_cannot_be_asked_for(
    tmp_path: Path, stack: ExitStack
) -> None:
    with stack:
        a = run(stack, build(tmp_path / "a.h5", [("kernel", 10, 20)]))
        b = run(stack, steps_capture(tmp_path / "b.h5", [100, 100]), "b.h5")
        assert compare([a], [b]).aligned_by is Align.START
        with pytest.raises(UsageError, match="no steps were recorded"):
            compare([a], [b], Choices(align=Align.STEP))


def test_runs_that_vary_more_than_they_differ_are_noise(tmp_path: Path, stack: ExitStack) -> None:
    with stack:

        def runs(side: str, lengths: list[int]) -> list[CaptureRun]:
            return [
                run(stack, steps_capture(tmp_path / f"{side}{number}.h5", [length] * 3), f"{side}{number}.h5")
                for number, length in enumerate(lengths)
            ]

        a, same, slower = runs("a", [100, 130, 110]), runs("b", [105, 128, 112]), runs("c", [150, 170, 160])
        noise = compare(a, same)
        assert noise.a.run.path == "a2.h5"
        assert noise.is_noise
        assert "No difference beyond run-to-run variation" in verdict(noise)
        assert not judge(parse_condition("step>1%"), noise).is_failed
        found = compare(a, slower)
        assert not found.is_noise
        assert found.variation is not None
        assert found.variation.interval is not None
        assert list(found.variation.interval) == [20 * US, 70 * US]
        assert judge(parse_condition("step>5%"), found).is_failed
        assert judge(parse_condition("step>49us"), found).is_failed
        assert not judge(parse_condition("step>50us"), found).is_failed
        assert compare(a[:1], slower[:1]).variation is not None


def test_kernels_of_another_tile_size_are_one_row(tmp_path: Path, stack: ExitStack) -> None:
    with stack:
        a = run(stack, steps_capture(tmp_path / "a.h5", [100, 100]))
        b = run(stack, steps_capture(tmp_path / "b.h5", [100, 100], 0.75, "gemm_256x64"))
        choices = Choices(reports=("cuda_gpu_kern_sum",))
        found = compare([a], [b], choices)
        (row,) = found.tables[0].rows
        assert (row.difference, row.ratio, row.share, row.rules) == (25 * US, 1.5, 1.0, ("tile",))
        assert "tile sizes" in "\n".join(comparison_lines(found, is_markdown=False))
        exact = compare([a], [b], Choices(is_exact=True, reports=choices.reports))
        assert [(row.text, row.a is None, row.b is None) for row in exact.tables[0].rows] == [
            ("gemm_256x64", True, False), ("gemm_128x64", False, True)
        ]  # fmt: skip
        assert exact.rules == []


def test_states_of_the_thread_name_what_was_cured(tmp_path: Path, stack: ExitStack) -> None:
    with stack:

        def thread(name: str, wait: int) -> CaptureRun:
            program = Program(tmp_path / name)
            for number, (state, flag) in enumerate([("running", 0), ("blocked", Flag.IDLE)] * 5):
                length = wait if flag else 20
                start = (number // 2) * (20 + wait) + (20 if flag else 0)
                program.builder.add_events(
                    program.tracks["state"], "thread_state", [start * US], [length * US],
                    [program.builder.string(state)], flags=np.array([flag], np.uint8),
                )  # fmt: skip
            program.builder.set_span(0, 5 * (20 + wait) * US)
            return run(stack, program.finish(), name)

        found = compare([thread("a.h5", 30)], [thread("b.h5", 3)])
        assert found.difference_ns == -5 * 27 * US
        assert (found.parts[0].cause, found.parts[0].difference_ns) == ("blocked", -5 * 27 * US)


def test_what_can_be_compared_only_by_its_host_is(
    training: Capture, tmp_path: Path, stack: ExitStack
) -> None:
    with stack:
        host_only = Program(tmp_path / "host.h5")
        host_only.host("ranges", "range", 0, 100 * US, "forward")
        found = compare([CaptureRun(training, "a")], [run(stack, host_only.finish(), "b")])
        assert found.aligned_by is Align.START
        assert "computation" not in numbers(found)
        assert numbers(found)["host_forward"] == (900 * US, 100 * US)
        assert numbers(found)["loader"] == (900 * US, 0)


def test_the_parts_of_a_step_by_hand(tmp_path: Path, stack: ExitStack) -> None:
    with stack, training_capture(tmp_path / "t.h5") as capture:
        found = compare([CaptureRun(capture, "a")], [CaptureRun(capture, "a")], Choices(step=8))
        # 100 µs of the kernel run alone or with communication, 100 µs communication after it, a copy of 50.
        assert numbers(found)["computation"][0] == 200 * US
        assert numbers(found)["communication"][0] == 100 * US
        assert numbers(found)["copies"][0] == 50 * US
        assert numbers(found)["loader"][0] >= 300 * US
        assert sum(part.a_ns for part in found.parts) == 2_000 * US


@given(
    st.lists(st.integers(0, 10**9), min_size=1, max_size=9),
    st.lists(st.integers(0, 10**9), min_size=1, max_size=9),
)
@settings(max_examples=40)
def test_intervals_turn_their_signs_with_the_sides(a: list[int], b: list[int]) -> None:
    there, back = variation("runs", np.array(a), np.array(b)), variation("runs", np.array(b), np.array(a))
    if there.interval is None:
        assert back.interval is None
        return
    assert back.interval == (-there.interval[1], -there.interval[0])
    assert there.interval_a is not None
    assert min(a) <= there.interval_a[0] <= float(np.median(a)) <= there.interval_a[1] <= max(a)
    assert variation("runs", np.array(a), np.array(a)).is_noise


def test_rows_that_measure_nothing_are_no_part_of_a_compared_report(training: Capture) -> None:
    table = compute_report(training, "benchmark").table
    assert table is not None
    assert None in table.values("avg_ns"), "a rate has no duration"
    found = compare_tables("benchmark", [table], [table])
    assert found is not None
    assert {row.text: (row.a, row.b, row.difference) for row in found.rows} == {
        "reader_cost": (300_000, 300_000, 0),
        "batch_cost": (4_000_000 / 3, 4_000_000 / 3, 0),
    }
