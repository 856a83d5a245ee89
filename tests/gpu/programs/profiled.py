"""`warpline.Profiler` in a program that nobody records, around work of the CUDA driver.  profiled.py FOLDER [graph]

With ``graph`` the work is a CUDA graph that was made before the recording. Prints what its recording must hold, as
``key=value`` lines.
"""

from __future__ import annotations

import contextlib
import io
import sys

from driver import Gpu

import warpline

LAUNCHES, STEPS = 100, 5

gpu = Gpu(1)
executable = gpu.make_graph(LAUNCHES) if sys.argv[2:] == ["graph"] else None
gpu.call("cuCtxSynchronize")
# Two of five steps; in the one before them the recorder starts.
schedule = warpline.make_scheduler(closed=1, ready=1, record=2, repeat=1)
export = warpline.export_capture(sys.argv[1], "profiled")
with warpline.Profiler(scheduler=schedule, on_trace_ready=export) as profiler:
    for _ in range(STEPS):
        if executable is not None:
            gpu.replay(executable)
        else:
            for _ in range(LAUNCHES):
                gpu.launch(gpu.streams[0])
        gpu.copy_and_set(gpu.streams[0])
        gpu.call("cuCtxSynchronize")
        profiler.step()
text = io.StringIO()
with contextlib.redirect_stdout(text):
    profiler.summary(views=warpline.SummaryView.KernelView)
rows = [line for line in text.getvalue().splitlines() if line.startswith("count_up")]
result = profiler.profiler_result
assert result is not None
table = " ".join(rows[0].split()) if rows else repr(text.getvalue())
print(f"capture={result.path}\nlaunches={LAUNCHES}\ntable={table}")
