"""Seal a backlog of archive blocks on every core: compress, then derive a MAC."""
import hashlib
import os
import random
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

BLOCKS = 130
WORKERS = max(2, len(os.sched_getaffinity(0)))


class Index:
    def __init__(self):
        self._lock = threading.Lock()
        self._rows = {}
        self.total = 0

    def add(self, number, size, mac):
        with self._lock:
            self._rows[number] = (size, mac)
            self.total += size

    def digest(self):
        joined = b"".join(mac for _, (_, mac) in sorted(self._rows.items()))
        return hashlib.sha256(joined).hexdigest()


def block(number):
    rng = random.Random(number)
    words = [rng.randbytes(30) for _ in range(400)]
    return b"".join(rng.choices(words, k=8_000))


def seal(number, data, index):
    packed = zlib.compress(data, 7)
    mac = hashlib.pbkdf2_hmac("sha256", packed[:4096], str(number).encode(), 120_000)
    index.add(number, len(packed), mac)
    return len(packed)


def main():
    index = Index()
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="seal") as pool:
        window = threading.BoundedSemaphore(WORKERS * 2)
        futures = []
        for number in range(BLOCKS):
            window.acquire()
            future = pool.submit(seal, number, block(number), index)
            future.add_done_callback(lambda _: window.release())
            futures.append(future)
        sizes = [f.result() for f in futures]
    print(len(sizes), index.total, index.digest()[:16])


if __name__ == "__main__":
    main()
