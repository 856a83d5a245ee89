"""One worker gets all the long items. Cured: they are shared out."""

import multiprocessing
import select
import sys

SICK = sys.argv[1] == "sick"
LENGTHS = [0.1] * 8 + [0.005] * 8


def work(length: float) -> None:
    select.select([], [], [], length)


with multiprocessing.get_context("fork").Pool(2) as pool:
    pool.map(work, LENGTHS, chunksize=8 if SICK else 1)  # sick
sum(range(5_000_000))
