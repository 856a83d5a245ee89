"""Two processes share the work."""

import multiprocessing


def work(number: int) -> int:
    return sum(range(number * 100_000))


with multiprocessing.get_context("fork").Pool(2) as pool:
    pool.map(work, [20] * 8, chunksize=1)
