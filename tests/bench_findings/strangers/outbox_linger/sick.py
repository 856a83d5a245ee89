"""Post audit messages through a batching outbox, backed by an append-only file."""
import json
import os
import tempfile
import threading
import time
import zlib


class Receipt:
    def __init__(self):
        self._done = threading.Event()
        self.offset = None

    def resolve(self, offset):
        self.offset = offset
        self._done.set()

    def wait(self):
        self._done.wait()
        return self.offset


class Outbox:
    def __init__(self, path, batch=32, linger=0.15):
        self.batch = batch
        self.linger = linger
        self.flushes = 0
        self._file = open(path, "wb")
        self._pending = []
        self._closing = False
        self._cond = threading.Condition()
        self._writer = threading.Thread(target=self._drain, name="outbox-writer")
        self._writer.start()

    def post(self, message):
        receipt = Receipt()
        with self._cond:
            self._pending.append((message, receipt))
            if len(self._pending) >= self.batch:
                self._cond.notify()
        return receipt

    def _take(self):
        with self._cond:
            deadline = time.monotonic() + self.linger
            while len(self._pending) < self.batch and not self._closing:
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    break
                self._cond.wait(remaining)
            taken, self._pending = self._pending, []
            return taken, self._closing

    def _drain(self):
        while True:
            taken, closing = self._take()
            for message, receipt in taken:
                raw = json.dumps(message, sort_keys=True).encode()
                self._file.write(raw + b"\n")
                receipt.resolve(self._file.tell())
            if taken:
                self._file.flush()
                self.flushes += 1
            if closing and not taken:
                break

    def close(self):
        with self._cond:
            self._closing = True
            self._cond.notify_all()
        self._writer.join()
        self._file.close()


def record_login(outbox, user, attempt):
    fingerprint = zlib.crc32(f"{user}/{attempt}".encode() * 200)
    return outbox.post({"user": user, "attempt": attempt, "print": fingerprint})


def replay(outbox, users):
    offsets = []
    for user in users:
        receipt = record_login(outbox, user, attempt=len(offsets))
        offsets.append(receipt.wait())
    return offsets


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "audit.log")
        outbox = Outbox(path)
        offsets = replay(outbox, [f"user-{i:03d}" for i in range(24)])
        outbox.close()
        print(len(offsets), max(offsets), os.path.getsize(path))


if __name__ == "__main__":
    main()
