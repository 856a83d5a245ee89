"""Segments laid over others: in one compiled pass what numpy makes of gaps and windows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline.analysis.findings.causes import Cause
from warpline.analysis.findings.segments import Segments, library, make_segments, overlay

STOP = 60
COLUMNS = ("actor", "start", "stop", "cause", "by", "place", "row")
Int64Array = npt.NDArray[np.int64]
Patches = list[tuple[int, int]]
Chosen = list[tuple[int, list[int], Patches]]


@st.composite
def layers(draw: st.DrawFn) -> Chosen:
    """Some actors, each with where its segments are cut, and stretches that are laid over them."""
    actors = sorted(draw(st.sets(st.integers(0, 5), min_size=1)))
    moments = st.sets(st.integers(1, STOP - 1), max_size=8).map(sorted)
    found: Chosen = []
    for actor in actors:
        ends = sorted(draw(st.sets(st.integers(0, STOP), max_size=8)))
        pairs = list(pairwise(ends))
        kept = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
        found.append((actor, draw(moments), [pair for pair, keep in zip(pairs, kept, strict=True) if keep]))
    return found


def _column(values: list[int]) -> Int64Array:
    return np.array(values, np.int64)


def _built(chosen: Chosen, wide: bool) -> tuple[Segments, Segments]:
    base = [
        (actor, start, stop)
        for actor, cuts, _ in chosen
        for start, stop in zip([0, *cuts], [*cuts, STOP], strict=True)
    ]
    patch = [(actor, start, stop) for actor, _, pairs in chosen for start, stop in pairs]
    # Numbers that do not fit into 32 bits make columns wide on one side only.
    row = np.arange(len(base)) + (1 << 40 if wide else 0)
    actor, start, stop = (_column([one[part] for one in base]) for part in range(3))
    below = make_segments(actor, start, stop, Cause.RUNNING, row=row)
    actor, start, stop = (_column([one[part] for one in patch]) for part in range(3))
    above = make_segments(actor, start, stop, Cause.GPU, 3, row=np.arange(len(patch)) + 1000)
    return below, above


@pytest.mark.skipif(library() is None, reason="build the compiled loops: python scripts/build_native.py")
@given(layers(), st.booleans())
def test_one_pass_lays_what_numpy_lays(chosen: Chosen, wide: bool) -> None:
    below, above = _built(chosen, wide)
    fast, slow = (overlay(below, above, 0, STOP, compiled=compiled) for compiled in (True, False))
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name), err_msg=name)
        assert getattr(fast, name).dtype == getattr(slow, name).dtype, name


@given(layers())
def test_every_moment_is_the_patchs_or_what_lay_there(chosen: Chosen) -> None:
    found = overlay(*_built(chosen, False), 0, STOP)
    expected = []
    for actor, cuts, pairs in chosen:
        for moment in range(STOP):
            laid = any(start <= moment < stop for start, stop in pairs)
            segment = sum(cut <= moment for cut in cuts)
            expected.append((actor, Cause.GPU if laid else Cause.RUNNING, -1 if laid else segment))
    before = np.cumsum([0, *(len(cuts) + 1 for _, cuts, _ in chosen)])
    first = {actor: int(before[place]) for place, (actor, _, _) in enumerate(chosen)}
    told = []
    for actor, start, stop, cause, row in zip(
        found.actor.tolist(), found.start.tolist(), found.stop.tolist(), found.cause.tolist(), found.row.tolist(),
        strict=True,
    ):  # fmt: skip
        segment = row - first[actor] if cause == Cause.RUNNING else -1
        told += [(actor, Cause(cause), segment)] * (stop - start)
    assert told == expected
