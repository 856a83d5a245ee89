"""Loads each batch between two steps. Cured: a thread loads ahead."""

import queue
import sys
import threading
import time

import warpline

SICK = sys.argv[1] == "sick"
STEPS = 12


def decode() -> int:
    time.sleep(0.05)  # sick
    return 1


def ahead(out: "queue.Queue[int]") -> None:
    for _ in range(STEPS):
        out.put(decode())


loaded: "queue.Queue[int]" = queue.Queue(8)
if not SICK:
    for _ in range(4):
        threading.Thread(target=ahead, args=(loaded,), daemon=True).start()
for step in range(STEPS):
    with warpline.annotate(f"ProfilerStep#{step}"):
        with warpline.annotate("dataloader"):
            batch = decode() if SICK else loaded.get()
        sum(range(2_500_000))
