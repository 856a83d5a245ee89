"""Two processes are kept to one core. Cured: each goes where there is room."""

import multiprocessing
import os
import sys

SICK = sys.argv[1] == "sick"


def work(number: int) -> int:
    return sum(range(number * 100_000))


if SICK:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
with multiprocessing.get_context("fork").Pool(2) as pool:
    pool.map(work, [30] * 8, chunksize=1)
