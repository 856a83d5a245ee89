"""Another process holds the lock of a file for long. Cured: for a moment."""

import fcntl
import multiprocessing
import sys
import tempfile
import time

SICK = sys.argv[1] == "sick"


def hold(path: str) -> None:
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        time.sleep(0.6 if SICK else 0.032)


with tempfile.NamedTemporaryFile("w") as file:
    other = multiprocessing.get_context("fork").Process(target=hold, args=(file.name,), daemon=True)
    other.start()
    time.sleep(0.03)
    fcntl.flock(file, fcntl.LOCK_EX)  # sick
    fcntl.flock(file, fcntl.LOCK_UN)
sum(range(5_000_000))
