"""Threads that wait for ever, each told on standard output (thread, kind, line) before the program is killed."""

import inspect
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

first, second = threading.Lock(), threading.Lock()
both_held = threading.Barrier(2)


def told(kind: str, wait: Callable[[], object]) -> None:
    line = inspect.stack()[1].lineno
    os.write(1, f"{threading.get_native_id()}\t{kind}\t{line}\n".encode())  # at once: many threads tell
    wait()


def one() -> None:
    with first:
        both_held.wait()
        told("lock", second.acquire)


def other() -> None:
    with second:
        both_held.wait()
        told("lock", first.acquire)


def itself() -> None:
    lock = threading.Lock()
    with lock:
        told("lock", lock.acquire)


def event() -> None:
    told("condition", threading.Event().wait)


def pipe() -> None:
    read, _write = os.pipe()
    told("pipe", lambda: os.read(read, 1))


def sleep() -> None:
    told("sleep", lambda: time.sleep(1000))


for run in (one, other, itself, event, pipe, sleep):
    threading.Thread(target=run, name=run.__name__, daemon=True).start()
child = os.fork()
if child == 0:
    told("sleep", lambda: time.sleep(1000))
# Every wait has begun when the child's line can be read, and lasts for a few samples.
time.sleep(0.5)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
os._exit(0)
