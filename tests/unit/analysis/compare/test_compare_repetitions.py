"""How parts and rows vary inside one run of each side: from step to step, else from event to event of a name."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.analysis.analysis_tools import Program

from warpline.analysis.compare.comparison import CaptureRun, Choices, Comparison, compare
from warpline.analysis.compare.comparison_json import comparison_json
from warpline.analysis.compare.comparison_text import comparison_lines
from warpline.analysis.compare.gate import judge, parse_condition
from warpline.analysis.compare.variation import paired_variation, variation

US = 1_000
_REPORTS = Choices(reports=("cuda_gpu_kern_sum",))


@pytest.fixture
def stack() -> ExitStack:
    return ExitStack()


def training(
    path: Path, stack: ExitStack, gemm: Sequence[int], host: Sequence[int], *, steps: bool = True
) -> CaptureRun:
    """A kernel of so many µs after so many of the host in each step; ``steps`` are recorded or not."""
    program = Program(path)
    at = 0
    for number, (work, late) in enumerate(zip(gemm, host, strict=True)):
        begin, start = at * US, (at + late) * US
        call = program.launch(start - 7 * US, start - 5 * US)
        program.gpu("kernel", 7, start, start + work * US, "gemm", call)
        at += late + work
        if steps:
            program.host("phases", "phase", begin, at * US, f"ProfilerStep#{number}")
    return CaptureRun(stack.enter_context(program.finish()), path.name)


def part(found: Comparison, cause: str) -> tuple[int, bool]:
    one = next(part for part in found.parts if part.cause == cause)
    return one.difference_ns, one.is_noise


def test_a_part_that_varies_is_noise_beside_one_that_was_changed(tmp_path: Path, stack: ExitStack) -> None:
    with stack:
        late_a, late_b = [20, 60, 35, 90, 40, 55], [62, 30, 41, 85, 22, 57]
        a = training(tmp_path / "a.h5", stack, [200] * 6, late_a)
        b = training(tmp_path / "b.h5", stack, [300, 301, 302, 300, 299, 300], late_b)
        found = compare([a], [b], _REPORTS)
        grown, is_noise = part(found, "computation")
        assert 95 * US <= grown <= 105 * US
        assert not is_noise
        host = next(one for one in found.parts if one.cause.startswith("host"))
        assert host.variation is not None
        assert (host.variation.of, host.variation.count_a, host.variation.count_b) == ("steps", 6, 6)
        assert host.is_noise
        text = "\n".join(comparison_lines(found, is_markdown=False))
        assert "CPU (noise)" in text
        assert "6 and 6 steps" in text
        (row,) = found.tables[0].rows
        assert row.variation is not None
        assert row.variation.of == "steps"
        assert row.variation.median_a == 200 * US
        assert not row.is_noise
        # Only what stands out against its own variation fails a gate.
        assert judge(parse_condition("computation>10%"), found).is_failed
        assert not judge(parse_condition("host>0ns"), found).is_failed
        written = comparison_json(found)
        assert written["reports"][0]["rows"][0]["is_noise"] is False
        assert {one["is_noise"] for one in written["parts"] if one["cause"].startswith("host")} == {True}


def test_without_steps_events_of_a_name_tell(tmp_path: Path, stack: ExitStack) -> None:
    lengths = [200, 80, 200, 120, 200, 90, 200, 70]
    with stack:

        def run(name: str, gemm: Sequence[int]) -> CaptureRun:
            return training(tmp_path / name, stack, gemm, [50] * len(gemm), steps=False)

        a = run("a.h5", lengths)
        shaken = run(
            "b.h5", [one + more for one, more in zip(lengths, [9, -8, 3, -6, 7, -5, 2, -1], strict=True)]
        )
        # Only the long ones got longer: the middle one is as before, the sum is not.
        longer = run("c.h5", [one + 60 if one == 200 else one for one in lengths])
        more = run("d.h5", [*lengths, 80])
        rows = [compare([a], [other], _REPORTS).tables[0].rows[0] for other in (shaken, longer, more)]
        assert [row.variation.of for row in rows if row.variation is not None] == ["events"] * 3
        assert [row.is_noise for row in rows] == [True, False, False]
        assert rows[2].variation is not None
        assert rows[2].variation.interval is None
        assert rows[2].variation.count_b == 9


def test_what_is_equal_is_no_noise(tmp_path: Path, stack: ExitStack) -> None:
    with stack:
        a = training(tmp_path / "a.h5", stack, [200] * 5, [40] * 5)
        found = compare([a], [a], _REPORTS)
        assert not any(part.is_noise for part in found.parts)
        assert not any(row.is_noise for row in found.tables[0].rows)


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=12))
@settings(max_examples=40)
def test_pairs_turn_their_signs_with_the_sides(pairs: list[tuple[int, int]]) -> None:
    a, b = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    there, back = paired_variation(a, b), paired_variation(b, a)
    if there.interval is None:
        assert len(pairs) < 3
        assert back.interval is None
        return
    assert back.interval == (-there.interval[1], -there.interval[0])


def test_of_many_values_the_interval_is_as_wide_as_by_draws() -> None:
    """Draws of the middle one alone, and the normal distribution, agree with what draws of all values give."""
    values = np.random.default_rng(7).lognormal(10, 0.5, 2_000).astype(np.int64)
    many = variation("steps", values, values)
    drawn = np.median(values[np.random.default_rng(3).integers(0, 2_000, (2_000, 2_000))], axis=1)
    assert many.interval_a is not None
    assert many.interval_a == pytest.approx(tuple(np.percentile(drawn, [2.5, 97.5])), rel=0.01)
    noise = values + np.random.default_rng(5).normal(40, 800, len(values)).astype(np.int64)
    pairs, of = paired_variation(values, noise).interval, noise - values
    sums = of[np.random.default_rng(9).integers(0, 2_000, (2_000, 2_000))].sum(axis=1)
    assert pairs is not None
    assert pairs == pytest.approx(tuple(np.percentile(sums, [2.5, 97.5])), abs=0.1 * (pairs[1] - pairs[0]))
