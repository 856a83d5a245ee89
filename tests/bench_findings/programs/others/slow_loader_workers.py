"""A step waits for a worker process that loads slowly. Cured: it loads fast."""

import multiprocessing
import sys
import time
from typing import Any

import warpline

SICK = sys.argv[1] == "sick"
STEPS = 10


def decode() -> int:
    time.sleep(0.12 if SICK else 0.01)  # sick
    return 1


def serve(out: Any) -> None:
    for _ in range(STEPS):
        out.send(decode())


context = multiprocessing.get_context("fork")
theirs, ours = context.Pipe(duplex=False)
worker = context.Process(target=serve, args=(ours,))
worker.start()
for step in range(STEPS):
    with warpline.annotate(f"ProfilerStep#{step}"):
        with warpline.annotate("dataloader"):
            theirs.recv()
        sum(range(2_500_000))
worker.join()
