"""A process puts items into a queue slowly. Cured: at once."""

import multiprocessing
import sys
import time
from typing import Any

SICK = sys.argv[1] == "sick"


def load(out: Any) -> None:
    for item in range(10):
        if SICK:
            time.sleep(0.06)  # sick
        out.put(item)


context = multiprocessing.get_context("fork")
items = context.Queue()
process = context.Process(target=load, args=(items,))
process.start()
for _ in range(10):
    items.get()
    sum(range(50_000))
process.join()
sum(range(5_000_000))
