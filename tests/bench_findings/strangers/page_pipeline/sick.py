"""Pull pages of accounts from the directory API and derive sealed tokens."""
import hashlib
import queue
import threading
import time
from dataclasses import dataclass

PAGES = 10
PAGE_SIZE = 20


@dataclass
class Account:
    number: int
    email: str
    salt: bytes


class DirectoryApi:
    """Stands in for a paged HTTP API: every page costs one round trip."""

    def __init__(self, latency):
        self.latency = latency

    def page(self, index):
        time.sleep(self.latency)
        base = index * PAGE_SIZE
        return [Account(base + i, f"user{base + i}@example.org", f"{base + i:08d}".encode())
                for i in range(PAGE_SIZE)]


class Pipeline:
    DONE = None

    def __init__(self, api):
        self.api = api
        self.inbox = queue.Queue(maxsize=1)
        self.outbox = queue.Queue()
        self.failed = []

    def pull(self):
        for index in range(PAGES):
            for account in self.api.page(index):
                self.inbox.put(account)
        self.inbox.put(self.DONE)

    def seal(self):
        while True:
            account = self.inbox.get()
            if account is self.DONE:
                break
            try:
                token = hashlib.pbkdf2_hmac("sha256", account.email.encode(), account.salt, 40000)
            except ValueError as exc:
                self.failed.append((account.number, str(exc)))
            else:
                self.outbox.put((account.number, token.hex()))
        self.outbox.put(self.DONE)

    def store(self, sink):
        while (row := self.outbox.get()) is not self.DONE:
            number, token = row
            sink[number] = token

    def run(self):
        sink = {}
        stages = [threading.Thread(target=self.pull, name="pull"),
                  threading.Thread(target=self.seal, name="seal"),
                  threading.Thread(target=self.store, args=(sink,), name="store")]
        for stage in stages:
            stage.start()
        for stage in stages:
            stage.join()
        return sink


def main():
    sink = Pipeline(DirectoryApi(latency=0.2)).run()
    combined = hashlib.sha256("".join(sink[k] for k in sorted(sink)).encode())
    print(len(sink), combined.hexdigest()[:16])


if __name__ == "__main__":
    main()
