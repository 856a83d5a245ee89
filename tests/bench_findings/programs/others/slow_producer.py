"""A process sends items slowly through a pipe. Cured: at once."""

import multiprocessing
import sys
import time
from multiprocessing.connection import Connection

SICK = sys.argv[1] == "sick"


def produce(out: Connection) -> None:
    for item in range(10):
        if SICK:
            time.sleep(0.06)  # sick
        out.send(item)
    out.close()


context = multiprocessing.get_context("fork")
theirs, ours = context.Pipe(duplex=False)
process = context.Process(target=produce, args=(ours,))
process.start()
for _ in range(10):
    theirs.recv()
    sum(range(100_000))
process.join()
sum(range(5_000_000))
