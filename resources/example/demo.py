"""A small program with something to see: phases of loading, computing, fighting for a lock, writing, waiting.

It runs about two and a half seconds. In the timeline look for the threads named after what they do.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

try:
    import numpy as np
except ImportError:  # the recorded interpreter need not be Warpline's own
    np = None
try:
    from warpline import annotate
except ImportError:

    def annotate(_name: str) -> contextlib.AbstractContextManager[None]:
        """Without Warpline in the interpreter there are no ranges, and everything else all the same."""
        return contextlib.nullcontext()


STEPS = 6
LOCK = threading.Lock()


def name_thread(name: str) -> None:
    """Give the calling thread a name that the kernel knows, 15 bytes at most."""
    if sys.platform == "linux":
        Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(name[:15])


def load(stop: threading.Event, batches: threading.Semaphore) -> None:
    """Reads a file again and again, as a data loader would, and hands out batches."""
    name_thread("loader")
    with tempfile.TemporaryFile() as file:
        file.write(os.urandom(4 << 20))
        while not stop.is_set():
            file.seek(0)
            sum(len(block) for block in iter(lambda: file.read(1 << 16), b""))
            time.sleep(0.06)
            batches.release()


def fight(stop: threading.Event, number: int) -> None:
    """Wants the lock all the time; only one of the fighters can have it."""
    name_thread(f"fighter-{number}")
    while not stop.is_set():
        with LOCK, annotate("holds the lock"):
            spin(0.008)
        time.sleep(0.002)


def log(stop: threading.Event) -> None:
    """Writes a little and waits for the disk."""
    name_thread("logger")
    with tempfile.NamedTemporaryFile() as file:
        while not stop.wait(0.1):
            file.write(os.urandom(256 << 10))
            file.flush()
            os.fsync(file.fileno())


def sleep_long(stop: threading.Event) -> None:
    """Does nothing, which is a thing to see too."""
    name_thread("sleeper")
    stop.wait()


def spin(seconds: float) -> float:
    """Keep a core busy."""
    end = time.perf_counter() + seconds
    value = 0.0
    while time.perf_counter() < end:
        value += sum(index * 0.5 for index in range(200))
    return value


def compute(size: int) -> None:
    """Some arithmetic: matrices where numpy is there, plain Python where not."""
    if np is None:
        spin(0.12)
        return
    matrix = np.random.default_rng(1).random((size, size))
    for _ in range(6):
        matrix = np.tanh(matrix @ matrix.T / size)


def main() -> None:
    name_thread("demo-main")
    stop = threading.Event()
    batches = threading.Semaphore(0)
    workers = [
        threading.Thread(target=load, args=(stop, batches), name="loader"),
        threading.Thread(target=log, args=(stop,), name="logger"),
        threading.Thread(target=sleep_long, args=(stop,), name="sleeper"),
    ]
    fighters_stop = threading.Event()
    fighters = [
        threading.Thread(target=fight, args=(fighters_stop, number), name=f"fighter-{number}")
        for number in (1, 2, 3)
    ]
    for worker in workers:
        worker.start()

    for step in range(STEPS):
        with annotate(f"step {step + 1}"):
            with annotate("wait for data"):
                batches.acquire()
            with annotate("compute"):
                compute(400 + 40 * step)
        print(f"step {step + 1}/{STEPS}", flush=True)

    with annotate("watch the fight"):
        for fighter in fighters:
            fighter.start()
        time.sleep(0.5)
        fighters_stop.set()

    child = "import time\nfor _ in range(4):\n    sum(range(400_000))\n    time.sleep(0.05)\n"
    with annotate("wait for the child"):
        subprocess.run([sys.executable, "-c", child], check=True)

    stop.set()
    for worker in (*workers, *fighters):
        worker.join()


if __name__ == "__main__":
    main()
