"""GPU times against the host's: no kernel ends after the call that waits for it has returned."""

from __future__ import annotations

import numpy as np
from tests.gpu.checking import Bench, names, printed

MOST_S = 60
PARTS = 6


def check_synchronize(bench: Bench) -> None:
    """Kernel ends against the returns of their cuStreamSynchronize, for a minute; the distribution, and its drift."""
    # As long as there is time for, with room for the program's start and the capture's writing.
    seconds = min(MOST_S, max(2, int(bench.remaining() - 30)))
    command = bench.program("synchronized.py", str(seconds))
    capture, done = bench.record_and_open(command, seconds=seconds + 40)
    with capture:
        starts, durations = np.asarray(capture.events.start), np.asarray(capture.events.duration)
        kernels = np.sort(capture.kinds["kernel"].rows)
        kernels = kernels[np.argsort(starts[kernels], kind="stable")]
        calls = capture.kinds["cuda_api"].rows[
            np.char.endswith(names(capture, "cuda_api"), "StreamSynchronize")
        ]
        calls = calls[np.argsort(starts[calls], kind="stable")]
        bench.expect("kernels", printed(done, "kernels"), str(len(kernels)))
        bench.expect("calls that wait", len(kernels), len(calls))
        if len(kernels) != len(calls) or not len(kernels):
            return
        margin = (starts[calls] + durations[calls] - starts[kernels] - durations[kernels]) / 1e3
        bench.expect(f"kernels that end after the return, in {seconds} s", 0, int((margin < 0).sum()))
        bench.tell("from a kernel's end to the return", distribution(margin))
        for number, part in enumerate(np.array_split(margin, PARTS), 1):
            bench.tell(f"part {number} of {PARTS}", distribution(part))


def distribution(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    """Percentiles of microseconds."""
    if not len(values):
        return "none"
    levels = (0, 1, 50, 99, 100)
    return ", ".join(f"p{level} {np.percentile(values, level):.1f}" for level in levels) + " µs"
