"""A thread compresses ahead of who writes."""

import queue
import threading
import zlib

items: "queue.Queue[bytes]" = queue.Queue(8)
DATA = bytes(range(256)) * 8_000


def make() -> None:
    for _ in range(8):
        items.put(zlib.compress(DATA, 1))
    items.put(b"")


threading.Thread(target=make).start()
while packed := items.get():
    for _ in range(4):
        zlib.compress(zlib.decompress(packed), 6)
