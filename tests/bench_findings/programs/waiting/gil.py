"""Threads call a library that keeps the GIL while it waits. Cured: it gives it up."""

import ctypes
import sys
import threading

SICK = sys.argv[1] == "sick"
library = ctypes.PyDLL(None) if SICK else ctypes.CDLL(None)


def compute() -> None:
    for _ in range(8):
        library.poll(None, 0, 40)  # sick
        sum(range(1000))


threads = [threading.Thread(target=compute) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sum(range(5_000_000))
