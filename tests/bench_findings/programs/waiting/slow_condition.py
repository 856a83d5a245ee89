"""Waits on a condition for a thread that sleeps before each item. Cured: it makes them at once."""

import sys
import threading
import time

SICK = sys.argv[1] == "sick"
changed = threading.Condition()
items: list[int] = []


def produce() -> None:
    for item in range(10):
        if SICK:
            time.sleep(0.06)  # sick
        with changed:
            items.append(item)
            changed.notify()


threading.Thread(target=produce).start()
for _ in range(10):
    with changed:
        while not items:
            changed.wait()
        items.pop()
    sum(range(50_000))
sum(range(5_000_000))
