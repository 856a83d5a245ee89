"""Looks again and again whether a thread is done. Cured: it is told."""

import sys
import threading
import time

SICK = sys.argv[1] == "sick"
done = threading.Event()


def work() -> None:
    sum(range(1_000_000))
    done.set()


for _ in range(6):
    done.clear()
    worker = threading.Thread(target=work)
    worker.start()
    if SICK:
        while not done.is_set():
            time.sleep(0.15)  # sick
    else:
        done.wait()
    worker.join()
sum(range(5_000_000))
