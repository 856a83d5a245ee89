"""How long GPU work waited after it was launched: one definition for tooltips, panels and reports."""

from __future__ import annotations

from typing import overload

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]


@overload
def launch_delay_ns(call_stop_ns: int, work_start_ns: int) -> int: ...
@overload
def launch_delay_ns(call_stop_ns: Int64Array, work_start_ns: Int64Array) -> Int64Array: ...
def launch_delay_ns(call_stop_ns: int | Int64Array, work_start_ns: int | Int64Array) -> int | Int64Array:
    """From the end of the launching call to the start of the work (ns, both on one clock).

    0 where the work began before the call returned: it did not wait. Nsight's queue time is the same, and counts only
    launches in which it is positive.
    """
    delay = work_start_ns - call_stop_ns
    return max(delay, 0) if isinstance(delay, int) else np.maximum(delay, 0)
