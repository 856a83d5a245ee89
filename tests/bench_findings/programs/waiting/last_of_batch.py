"""Waits for all tasks of a batch before the next one, and one task takes much longer. Cured: one batch for all."""

import select
import sys
from concurrent.futures import ThreadPoolExecutor, wait

SICK = sys.argv[1] == "sick"
BATCH = (0.12, 0.01, 0.01, 0.01, 0.01, 0.01)


def fetch(seconds: float) -> None:
    select.select([], [], [], seconds)  # sick


with ThreadPoolExecutor(6) as pool:
    if SICK:
        for _ in range(8):
            wait([pool.submit(fetch, seconds) for seconds in BATCH])
    else:
        wait([pool.submit(fetch, seconds) for seconds in BATCH * 8])
sum(range(5_000_000))
