"""Waits of every kind, each told on standard output with the program's own clock: thread, kind, line, from, to."""

import inspect
import os
import queue
import select
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable

PAUSE = 0.03


def told(kind: str, wait: Callable[[], object]) -> None:
    line = inspect.stack()[1].lineno
    start = time.monotonic_ns()
    wait()
    print(threading.get_native_id(), kind, line, start, time.monotonic_ns(), sep="\t", flush=True)


def later(action: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        time.sleep(PAUSE)
        action()

    thread = threading.Thread(target=run, name="helper")
    thread.start()
    return thread


def main() -> None:
    told("sleep", lambda: time.sleep(PAUSE))

    lock, is_held = threading.Lock(), threading.Event()

    def hold() -> None:
        with lock:
            is_held.set()
            time.sleep(PAUSE)

    helper = threading.Thread(target=hold, name="helper")
    helper.start()
    is_held.wait()
    told("lock", lock.acquire)
    helper.join()

    event = threading.Event()
    helper = later(event.set)
    told("condition", event.wait)
    helper.join()

    items: queue.Queue[int] = queue.Queue()
    helper = later(lambda: items.put(1))
    told("condition", items.get)
    helper.join()

    helper = later(lambda: None)
    told("lock", helper.join)

    read, write = os.pipe()
    helper = later(lambda: os.write(write, b"x"))
    told("pipe", lambda: os.read(read, 1))
    helper.join()

    helper = later(lambda: os.write(write, b"x"))
    told("descriptors", lambda: select.select([read], [], []))
    helper.join()

    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    peer, _address = server.accept()
    helper = later(lambda: peer.send(b"x"))
    told("network", lambda: client.recv(1))
    helper.join()

    child = subprocess.Popen(["sleep", str(PAUSE)])
    told("child process", child.wait)

    with tempfile.TemporaryFile() as file:
        file.write(b"x" * (4 << 20))
        file.flush()
        told("file", lambda: os.fsync(file.fileno()))


main()
