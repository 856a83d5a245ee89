"""Waits of every kind, each a few times, told on standard output with the clocks of the program: thread, name, kind,
line, from, to, time the thread used a core in between, the thread that ends it (0: nobody).
"""

import asyncio
import inspect
import multiprocessing
import os
import queue
import select
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable

PAUSE = 0.012
TIMES = 7
lines: list[str] = []


def tell(name: str, kind: str, line: int, start: int, stop: int, used: int, ended_by: int = 0) -> None:
    values = (threading.get_native_id(), name, kind, line, start, stop, used, ended_by)
    lines.append("\t".join(str(value) for value in values))


def told(name: str, kind: str, wait: Callable[[], object], ended_by: int | None = 0) -> None:
    line = inspect.stack()[1].lineno
    clock, core = time.monotonic_ns, time.thread_time_ns
    before, start = core(), clock()
    wait()
    stop, after = clock(), core()
    tell(name, kind, line, start, stop, after - before, ended_by or 0)


def later(action: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        time.sleep(PAUSE)
        action()

    thread = threading.Thread(target=run, name="helper")
    thread.start()
    return thread


def locks() -> None:
    told("sleep", "sleep", lambda: time.sleep(PAUSE))

    lock, is_held = threading.Lock(), threading.Event()

    def hold() -> None:
        with lock:
            is_held.set()
            time.sleep(PAUSE)

    helper = threading.Thread(target=hold, name="helper")
    helper.start()
    is_held.wait()
    told("lock", "lock", lock.acquire, helper.native_id)
    helper.join()

    event = threading.Event()
    helper = later(event.set)
    told("condition", "condition", event.wait, helper.native_id)
    helper.join()

    items: queue.Queue[int] = queue.Queue()
    helper = later(lambda: items.put(1))
    told("queue", "condition", items.get, helper.native_id)
    helper.join()

    helper = later(lambda: None)
    told("join", "end of a thread", helper.join, helper.native_id)


def gil() -> None:
    """A thread that never gives the GIL up by itself, and one that gives it up, to sleep, and wants it back.

    On a busy machine the first one has no core to take it at once: until it had it a few times.
    """
    stop = threading.Event()

    def burn() -> None:
        while not stop.is_set():
            sum(range(100))

    helper = threading.Thread(target=burn, name="helper")
    helper.start()
    kept, until = 0, time.monotonic() + 10
    while kept < TIMES and time.monotonic() < until:
        before = time.monotonic()
        told("GIL", "GIL", lambda: time.sleep(1e-6), helper.native_id)
        kept += time.monotonic() - before >= 2 * sys.getswitchinterval()
    stop.set()
    helper.join()


def descriptors() -> None:
    read, write = os.pipe()
    helper = later(lambda: os.write(write, b"x"))
    told("pipe", "pipe", lambda: os.read(read, 1), helper.native_id)
    helper.join()

    helper = later(lambda: os.write(write, b"x"))
    told("select", "descriptors", lambda: select.select([read], [], []))
    helper.join()
    os.close(read)
    os.close(write)

    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    peer, _address = server.accept()
    helper = later(lambda: peer.send(b"x"))
    told("socket", "network", lambda: client.recv(1), helper.native_id)
    helper.join()
    for end in (server, client, peer):
        end.close()

    one, other = socket.socketpair()
    helper = later(lambda: other.send(b"x"))
    told("socket pair", "network", lambda: one.recv(1), helper.native_id)
    helper.join()
    one.close()
    other.close()

    with tempfile.TemporaryFile() as file:
        file.write(b"x" * (4 << 20))
        file.flush()
        told("fsync", "file", lambda: os.fsync(file.fileno()))
        file.truncate(16 << 20)
        room = [memoryview(bytearray(b"x") * (16 << 20))]
        told("file", "file", lambda: os.preadv(file.fileno(), room, 0))


def processes() -> None:
    child = subprocess.Popen(["sleep", str(PAUSE)])
    told("subprocess", "child process", child.wait, child.pid)


def answer(items: "multiprocessing.Queue[int]", asked: "multiprocessing.Queue[int]") -> None:
    while asked.get():
        time.sleep(PAUSE)
        items.put(1)


def process_queue() -> None:
    items: multiprocessing.Queue[int] = multiprocessing.Queue()
    asked: multiprocessing.Queue[int] = multiprocessing.Queue()
    child = multiprocessing.Process(target=answer, args=(items, asked))
    child.start()
    for go_on in [1] * TIMES + [0]:
        asked.put(go_on)
        if go_on:
            told("process queue", "pipe", items.get)
    child.join()


class ToldSelector(selectors.DefaultSelector):
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        before, start = time.thread_time_ns(), time.monotonic_ns()
        found = super().select(timeout)
        stop, after = time.monotonic_ns(), time.thread_time_ns()
        if stop - start > PAUSE / 2 * 1e9:
            tell("asyncio", "descriptors", 0, start, stop, after - before)
        return found


def event_loop() -> None:
    async def sleeps() -> None:
        for _ in range(TIMES):
            await asyncio.sleep(PAUSE)

    loop = asyncio.SelectorEventLoop(ToldSelector())
    loop.run_until_complete(sleeps())
    loop.close()


def main() -> None:
    for part in (locks, descriptors, processes):
        for _ in range(TIMES):
            part()
    gil()
    process_queue()
    event_loop()
    sys.stdout.write("\n".join(lines) + "\n")


main()
