"""Workers of a pool sleep in each item. Cured: they do not."""

import multiprocessing
import sys
import time

SICK = sys.argv[1] == "sick"


def work(_item: int) -> int:
    if SICK:
        time.sleep(0.1)  # sick
    return sum(range(100_000))


with multiprocessing.get_context("fork").Pool(2) as pool:  # sick
    pool.map(work, range(12), chunksize=1)
sum(range(5_000_000))
