"""Summarise a web server's log: bytes by path, and the slowest requests."""
import collections
import heapq
import os
import random
import tempfile

PATHS = ["/", "/login", "/cart", "/search", "/static/app.js", "/api/v1/items",
         "/api/v1/orders", "/help"]


def write_log(path, count):
    rng = random.Random(31)
    with open(path, "w") as out:
        for n in range(count):
            out.write('10.0.%d.%d - [%d] "GET %s HTTP/1.1" %d %d %.3f\n' % (
                rng.randrange(256), rng.randrange(256), 1700000000 + n // 9,
                rng.choice(PATHS), rng.choice((200, 200, 200, 304, 404)),
                rng.randrange(200, 90000), rng.expovariate(8.0)))


class LogFile:
    """Lines of a log, with the position to go on from the next time."""

    def __init__(self, path, position=0):
        self.file = open(path, "rb")
        self.file.seek(position)
        self.position = position

    def lines(self):
        for line in self.file:
            if not line.endswith(b"\n"):
                break
            self.position += len(line)
            yield line.decode()

    def close(self):
        self.file.close()


class Summary:
    def __init__(self, keep):
        self.keep = keep
        self.volume = collections.Counter()
        self.status = collections.Counter()
        self.slowest = []

    def add(self, line):
        _, quoted, rest = line.split('"')
        path = quoted.split(" ")[1]
        status, size, seconds = rest.split()
        self.volume[path] += int(size)
        self.status[status] += 1
        entry = (float(seconds), path)
        if len(self.slowest) < self.keep:
            heapq.heappush(self.slowest, entry)
        elif entry > self.slowest[0]:
            heapq.heapreplace(self.slowest, entry)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "access.log")
        write_log(path, 24000)
        log = LogFile(path)
        summary = Summary(20)
        for line in log.lines():
            summary.add(line)
        log.close()
        assert log.position == os.path.getsize(path)
    assert sum(summary.status.values()) == 24000
    print("volume", sum(summary.volume.values()), "busiest",
          summary.volume.most_common(1)[0], "slowest", max(summary.slowest))


if __name__ == "__main__":
    main()
