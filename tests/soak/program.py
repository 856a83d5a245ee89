"""What is recorded for hours: threads that wait and compute, ranges, processes and threads that come and go."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import warpline


def work(number: int) -> None:
    """Short ranges in long ones, for ever."""
    while True:
        with warpline.annotate(f"round of {number}"):
            for step in range(40):
                with warpline.annotate(f"step {step}"):
                    time.sleep(0.001)
            sum(range(20_000))


def come_and_go() -> None:
    """A process and a thread every now and then."""
    while True:
        subprocess.run([sys.executable, "-S", "-c", "pass"], check=False)
        passing = threading.Thread(target=time.sleep, args=(0.01,))
        passing.start()
        passing.join()
        time.sleep(0.5)


for worker in (*(lambda n=n: work(n) for n in range(4)), come_and_go):
    threading.Thread(target=worker, daemon=True).start()
print(os.getpid(), flush=True)
time.sleep(float(sys.argv[1]))
os._exit(0)
