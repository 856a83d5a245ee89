"""Follow a change feed from the primary while keeping a trending table fresh."""
import json
import multiprocessing as mp
import socket
import threading
import time
from collections import Counter

CHANGES = 320
WORDS = (
    "copper harbour lantern meadow signal orchard timber velvet granite puzzle "
    "saddle winter candle marble ribbon thunder pepper island garden mirror"
).split()


def primary(listener):
    """The primary: one numbered change per request line."""
    conn, _ = listener.accept()
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with conn, conn.makefile("rb") as lines:
        for line in lines:
            number = int(line)
            words = [WORDS[(number * k + k) % len(WORDS)] for k in range(3, 9)]
            time.sleep(0.002)  # storage read on the primary
            body = json.dumps({"n": number, "title": " ".join(words)})
            conn.sendall(body.encode() + b"\n")


def corpus(size):
    return [
        " ".join(WORDS[(row * step + step) % len(WORDS)] for step in range(2, 14))
        for row in range(size)
    ]


def refresh_trending(stop, documents):
    """Recount word pairs over the whole corpus until told to stop."""
    passes = 0
    while not stop.is_set():
        pairs = Counter()
        for text in documents:
            words = text.split()
            for left, right in zip(words, words[1:]):
                pairs[left, right] += 1
        pairs.most_common(10)
        passes += 1
        stop.wait(0.02)
    return passes


class Follower:
    def __init__(self, address):
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.lines = self.sock.makefile("rb")
        self.index = {}

    def pull(self, number):
        self.sock.sendall(b"%d\n" % number)
        return json.loads(self.lines.readline())

    def apply(self, change):
        for word in change["title"].split():
            self.index.setdefault(word, []).append(change["n"])

    def follow(self, count):
        for number in range(count):
            self.apply(self.pull(number))

    def close(self):
        self.lines.close()
        self.sock.close()


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    source = mp.Process(target=primary, args=(listener,), daemon=True)
    source.start()
    documents = corpus(40_000)
    stop = mp.Event()
    trending = mp.Process(target=refresh_trending, args=(stop, documents))
    trending.start()
    follower = Follower(listener.getsockname())
    follower.follow(CHANGES)
    stop.set()
    trending.join()
    follower.close()
    source.join()
    sizes = {word: len(posts) for word, posts in sorted(follower.index.items())}
    print("changes", CHANGES, "words", len(sizes))
    print("largest", max(sizes, key=sizes.get), max(sizes.values()))


if __name__ == "__main__":
    main()
