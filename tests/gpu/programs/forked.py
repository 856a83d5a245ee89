"""Children by fork use the GPU; `multiprocessing` ends them with os._exit."""

from __future__ import annotations

import multiprocessing

from driver import Gpu

CHILDREN, LAUNCHES = 2, 100


def work() -> None:
    gpu = Gpu(1)
    for _ in range(LAUNCHES):
        gpu.launch(gpu.streams[0])
    gpu.call("cuCtxSynchronize")


if __name__ == "__main__":
    children = [multiprocessing.get_context("fork").Process(target=work) for _ in range(CHILDREN)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    print(f"kernels={CHILDREN * LAUNCHES}")
    raise SystemExit(max(child.exitcode or 0 for child in children))
