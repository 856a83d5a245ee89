"""Events around launching calls, and operators that launch kernels, against plain Python."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.analysis.framework.gpu_work import selections
from tests.unit.analysis.framework.host_work import write_launches
from tests.unit.effort import rounds

from warpline.analysis.framework.selection import View
from warpline.analysis.paddle.kernel_operators import launching_operators
from warpline.analysis.structure.attribution import enclosing_of_calls
from warpline.analysis.structure.kernels import full_names
from warpline.analysis.structure.launches import launch_of_each, threads_of_tracks


@pytest.mark.fuzz
@given(st.integers(0, 2**32))
@settings(max_examples=rounds(10, 2_000), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_innermost_event_around_each_call(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    with write_launches(tmp_path / "x.h5", seed) as capture:
        low, high = capture.span
        n = 80
        thread = random.integers(-3, len(capture.threads), n)
        times = random.integers(low - 20, high + 20, n)
        view = View(capture)
        rows = np.arange(len(capture.events))
        start, stop = view.times_of(rows)
        owner = threads_of_tracks(view)[view.track_of(rows)]
        lane = view._lane_of(rows)
        depth = np.asarray(capture.lanes.depth)[lane]
        for kinds in (("operator",), ("range", "operator", "phase")):
            codes = [capture.kinds[kind].code for kind in kinds if kind in capture.kinds]
            is_wanted = np.isin(capture.events.kind, codes)
            expected = []
            for number, moment in zip(thread.tolist(), times.tolist(), strict=True):
                around = np.flatnonzero(is_wanted & (owner == number) & (start <= moment) & (moment < stop))
                innermost = max(
                    around.tolist(), key=lambda row: (start[row], depth[row], lane[row]), default=-1
                )
                expected.append(innermost)
            assert enclosing_of_calls(view, thread, times, kinds).tolist() == expected


@pytest.mark.fuzz
@given(st.integers(0, 2**32))
@settings(max_examples=rounds(10, 2_000), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_operator_that_launched_most_of_a_kernel(tmp_path: Path, seed: int) -> None:
    with write_launches(tmp_path / "x.h5", seed) as capture:
        names = np.arange(len(capture.strings))
        if "kernel" not in capture.kinds:
            return
        for selection in selections(capture, seed):
            view = View(capture, selection)
            operators = launching_operators(view, names)
            if operators is None:
                continue
            events = view.events("kernel")
            launches, place = launch_of_each(view, events)
            totals: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
            for index, name in enumerate(full_names(view, events).tolist()):
                launch = int(place[index])
                if launch < 0:
                    continue
                call = launches.take(np.array([launch]))
                [row] = enclosing_of_calls(view, call.thread, call.call_start, ("operator",)).tolist()
                if row >= 0:
                    totals[name][int(capture.events.name[row])] += int(events.inside[index])
            for name, operator in enumerate(operators.tolist()):
                sums = totals.get(name, {})
                assert operator == max(sums, key=lambda key: (sums[key], key), default=-1)
