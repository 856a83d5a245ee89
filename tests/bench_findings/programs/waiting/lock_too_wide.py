"""Four threads do slow work under one lock. Cured: only what must be done alone is done under it."""

import select
import sys
import threading

SICK = sys.argv[1] == "sick"
lock = threading.Lock()
done: list[int] = []


def fetch() -> None:
    select.select([], [], [], 0.04)  # sick


def work() -> None:
    for item in range(5):
        if SICK:
            with lock:
                fetch()
                done.append(item)
        else:
            fetch()
            with lock:
                done.append(item)


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sum(range(5_000_000))
