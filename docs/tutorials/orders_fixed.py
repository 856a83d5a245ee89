"""Four threads take orders. Each order goes into a journal, which one lock protects."""

import os
import tempfile
import threading
import time

journal_lock = threading.Lock()
journal = tempfile.TemporaryFile()


def price(order: int) -> bytes:
    time.sleep(0.004)  # asks another service
    return f"{order} {order * 17 % 91}\n".encode()


def write(line: bytes) -> None:
    with journal_lock:
        journal.write(line)
        journal.flush()
        os.fsync(journal.fileno())
    time.sleep(0.006)  # waits until a replica has it


def take_orders(first: int) -> None:
    for order in range(first, first + 40):
        write(price(order))


workers = [threading.Thread(target=take_orders, args=(1000 * n,), name=f"orders-{n}") for n in range(4)]
started = time.perf_counter()
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(f"160 orders in {time.perf_counter() - started:.2f} s")
