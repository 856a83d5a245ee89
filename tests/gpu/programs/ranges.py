"""Work before, inside and after a range that cudaProfilerStart/Stop and an NVTX range of one name both mark."""

from __future__ import annotations

import time

from common import need_torch

torch = need_torch()
value = torch.ones(1 << 10, device="cuda")


def work(count: int) -> None:
    """Kernels, and the wait for them."""
    for _ in range(count):
        value.add_(1)
    torch.cuda.synchronize()


INSIDE = 100
work(50)
torch.cuda.cudart().cudaProfilerStart()
torch.cuda.nvtx.range_push("captured")
# An NVTX range takes effect on CUPTI when the agent's thread has seen it.
time.sleep(0.1)
work(INSIDE)
torch.cuda.nvtx.range_pop()
torch.cuda.cudart().cudaProfilerStop()
time.sleep(0.2)
work(50)
print(f"inside={INSIDE}")
print("slack=0")
