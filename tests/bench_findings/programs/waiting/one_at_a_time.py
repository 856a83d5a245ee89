"""Starts threads and waits for each before the next. Cured: it starts them all."""

import select
import sys
import threading

SICK = sys.argv[1] == "sick"


def work() -> None:
    select.select([], [], [], 0.06)


threads = [threading.Thread(target=work) for _ in range(12)]
for thread in threads:
    thread.start()
    if SICK:
        thread.join()  # sick
for thread in threads:
    thread.join()
sum(range(5_000_000))
