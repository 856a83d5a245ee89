"""Threads that launch on the default stream of each thread, by the driver's `_ptsz` functions."""

from __future__ import annotations

import ctypes
import threading

from driver import BLOCKS, THREADS, Gpu

WORKERS, LAUNCHES = 3, 100
gpu = Gpu(1)


def work() -> None:
    gpu.call("cuCtxSetCurrent", gpu.context)
    memory, count = ctypes.c_uint64(gpu.memory.value or 0), ctypes.c_uint32(1)
    parameters = (ctypes.c_void_p * 2)(ctypes.addressof(memory), ctypes.addressof(count))
    grid = (BLOCKS, 1, 1, THREADS, 1, 1)
    for _ in range(LAUNCHES):
        gpu.call("cuLaunchKernel_ptsz", gpu.function, *grid, 0, None, parameters, None)
    gpu.call("cuStreamSynchronize_ptsz", None)


if not hasattr(gpu.driver, "cuLaunchKernel_ptsz"):
    gpu.call("cuLaunchKernel_ptsz")
workers = [threading.Thread(target=work) for _ in range(WORKERS)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(f"streams={WORKERS}\nkernels={WORKERS * LAUNCHES}")
