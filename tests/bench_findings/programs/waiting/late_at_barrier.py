"""One thread comes late to each barrier. Cured: all have the same to do."""

import sys
import threading
import time

SICK = sys.argv[1] == "sick"
barrier = threading.Barrier(4)


def slow() -> None:
    for _ in range(8):
        if SICK:
            time.sleep(0.07)  # sick
        barrier.wait()


def work() -> None:
    for _ in range(8):
        barrier.wait()


threads = [threading.Thread(target=slow)] + [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
work()
for thread in threads:
    thread.join()
sum(range(5_000_000))
