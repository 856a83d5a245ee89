"""What is found around launches with columns read in place, against columns of launches and searches in numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.analysis.framework.gpu_work import selections
from tests.unit.analysis.framework.host_work import write_launches
from tests.unit.effort import rounds

from warpline.analysis.framework.nesting import library, search
from warpline.analysis.framework.selection import View
from warpline.analysis.paddle.kernel_operators import launching_operators
from warpline.analysis.structure.attribution import enclosing_of_calls

pytestmark = pytest.mark.skipif(library() is None, reason="searches are not compiled here")


@pytest.mark.fuzz
@given(st.integers(0, 2**32))
@settings(max_examples=rounds(10, 2_000), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_lies_around_launches(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    with write_launches(tmp_path / "x.h5", seed) as capture:
        low, high = capture.span
        n = 80
        thread = random.integers(-3, len(capture.threads), n)
        times = random.integers(low - 20, high + 20, n)
        view = View(capture)
        for kinds in (("operator",), ("range", "operator", "phase")):
            found, expected = (
                enclosing_of_calls(view, thread, times, kinds, compiled) for compiled in (True, False)
            )
            assert found.tolist() == expected.tolist()
        names = np.arange(len(capture.strings))
        if "kernel" not in capture.kinds:
            return
        for selection in selections(capture, seed):
            view = View(capture, selection)
            best = [launching_operators(view, names, compiled) for compiled in (True, False)]
            assert (best[0] is None) == (best[1] is None)
            if best[0] is not None and best[1] is not None:
                assert best[0].tolist() == best[1].tolist()


@given(st.lists(st.integers(-5, 40), max_size=30), st.lists(st.integers(-9, 50), max_size=30))
@settings(max_examples=rounds(60))
def test_searches_from_the_last_place_on(times: list[int], keys: list[int]) -> None:
    ordered, wanted = np.sort(np.array(times, np.int64)), np.array([*keys, 2**63 - 1, -(2**63)], np.int64)
    for behind in (False, True):
        expected = np.searchsorted(ordered, wanted, "right" if behind else "left")
        assert search(ordered, wanted, behind=behind).tolist() == expected.tolist()
