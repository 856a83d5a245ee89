"""Submits a task and waits for its result before the next. Cured: it submits all first."""

import select
import sys
from concurrent.futures import ThreadPoolExecutor

SICK = sys.argv[1] == "sick"


def fetch(item: int) -> int:
    select.select([], [], [], 0.06)
    return item


with ThreadPoolExecutor(12) as pool:
    if SICK:
        for item in range(12):
            pool.submit(fetch, item).result()  # sick
    else:
        list(pool.map(fetch, range(12)))
sum(range(5_000_000))
