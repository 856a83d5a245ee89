"""Two threads hash, without the GIL."""

import hashlib
import threading

DATA = bytes(8 << 20)
threads = [threading.Thread(target=lambda: [hashlib.sha256(DATA) for _ in range(12)]) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
