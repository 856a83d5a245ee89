"""torch.profiler inside a program that is recorded: started before, or after, the first CUDA call."""

from __future__ import annotations

import sys

from common import need_torch

torch = need_torch()
later = sys.argv[1] == "later"
if later:
    torch.ones(1, device="cuda").add_(1)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
    value = torch.ones(1 << 10, device="cuda")
    for _ in range(100):
        value.add_(1)
    torch.cuda.synchronize()
kernels = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
print(f"profiler_kernels={len(kernels)}")
