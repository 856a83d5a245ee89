"""Gaps in counters during pauses."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def with_gaps(
    times: npt.NDArray[np.int64], values: npt.NDArray[np.float64], pauses: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The samples with a gap (NaN) at the start of each pause, so that no value is carried across it.

    ``times`` int64 [n] sorted, ``values`` float64 [n], ``pauses`` int64 [m, 2].
    """
    if not len(pauses) or not len(times):
        return times, values
    starts = pauses[:, 0]
    where = np.searchsorted(times, starts, "left")
    inside = where > 0
    return np.insert(times, where[inside], starts[inside]), np.insert(values, where[inside], np.nan)
