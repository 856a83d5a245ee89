"""torch.profiler in a recorded program, started before or after the first CUDA call.  with_profiler.py {first,later}

Work comes before (``later``), during and after the profiler. ``unseen FOLDER``: nobody records the program, but
`warpline.Profiler` in it, all the time.
"""

from __future__ import annotations

import sys
import time

from common import need_torch

BEFORE, DURING, AFTER = 30, 100, 50
torch = need_torch()
# A kernel that PyTorch does not launch on its own.
value = torch.full((1 << 10,), 0.1)


def work(count: int) -> None:
    for _ in range(count):
        on_gpu.erfinv_()
    torch.cuda.synchronize()


kernels = DURING + AFTER
recorder = None
if sys.argv[1] != "first":
    on_gpu = value.to("cuda")
    work(BEFORE)
    kernels += BEFORE
if sys.argv[1] == "unseen":
    import warpline

    kernels -= BEFORE
    recorder = warpline.Profiler(on_trace_ready=warpline.export_capture(sys.argv[2], "unseen"))
    recorder.start()
    work(AFTER)
    kernels += AFTER
    time.sleep(0.6)  # so that the agent has looked for its own call
began_ns = time.time_ns()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
    if sys.argv[1] == "first":
        on_gpu = value.to("cuda")
    work(DURING)
ended_ns = time.time_ns()
time.sleep(0.3)
work(AFTER)
if recorder is not None:
    recorder.stop()
    assert recorder.profiler_result is not None
    print(f"capture={recorder.profiler_result.path}")
events = [
    event
    for event in profiler.events()
    if "erfinv" in event.name.lower() and event.device_type.name == "CUDA"
]
print(f"kernels={kernels}\nduring={DURING}\nprofiler_kernels={len(events)}")
raw = [event for event in profiler.profiler.kineto_results.events() if "erfinv" in event.name().lower()]
if raw and hasattr(raw[0], "start_ns"):
    outside = sum(not began_ns <= event.start_ns() <= ended_ns for event in raw)
    print(
        f"outside={outside}\nfirst_after_ms={(min(event.start_ns() for event in raw) - began_ns) / 1e6:.3f}"
    )
