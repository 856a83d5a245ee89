"""Two cores of which a program used little and the whole system much."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warpline.storage import CaptureBuilder

MS = 1_000_000


def write_cores(path: Path, *, with_slices: bool = True) -> Path:
    """100 ms, two cores: the program has 30 ms of the first and nothing of the second; the system 90 % and 50 %."""
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        cores = builder.track("cpu", title="CPU cores", role="cores")
        for number, load in ((0, 0.9), (1, 0.5)):
            core = builder.track(f"cpu/{number}", title=f"Core {number}", role="core", parent=cores)
            if with_slices and number == 0:
                builder.add_events(core, "cpu_slice", [10 * MS], [30 * MS], builder.string("python"))
            times = np.arange(0, 101, 10) * MS
            builder.add_counter(core, "Utilization", "ratio", times, np.full(11, load))
        builder.finish()
    return path
