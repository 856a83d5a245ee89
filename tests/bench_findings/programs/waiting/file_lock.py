"""Another process holds the lock of a file for long. Cured: for a moment."""

import fcntl
import multiprocessing
import sys
import tempfile
import time
from multiprocessing.connection import Connection

SICK = sys.argv[1] == "sick"


def hold(path: str, held: Connection) -> None:
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        held.send_bytes(b"held")
        time.sleep(0.6 if SICK else 0.002)


context = multiprocessing.get_context("fork")
with tempfile.NamedTemporaryFile("w") as file:
    told, held = context.Pipe(duplex=False)
    other = context.Process(target=hold, args=(file.name, held), daemon=True)
    other.start()
    told.recv_bytes()
    fcntl.flock(file, fcntl.LOCK_EX)  # sick
    fcntl.flock(file, fcntl.LOCK_UN)
sum(range(5_000_000))
