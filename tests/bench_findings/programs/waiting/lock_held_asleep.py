"""A thread sleeps while it holds a lock that others want. Cured: it sleeps before it takes the lock."""

import sys
import threading
import time

SICK = sys.argv[1] == "sick"
lock = threading.Lock()
is_held = threading.Event()


def hold() -> None:
    if not SICK:
        return
    with lock:
        is_held.set()
        time.sleep(0.5)  # sick


def want() -> None:
    with lock:
        sum(range(3_000_000))


holder = threading.Thread(target=hold)
holder.start()
if SICK:
    is_held.wait()
waiter = threading.Thread(target=want)
waiter.start()
waiter.join()
holder.join()
