"""Plan delivery routes on a street grid, with a progress line on stderr."""
import heapq
import random
import sys
import threading

SIZE = 90


class ProgressLine:
    def __init__(self, total, interval=0.5):
        self.total = total
        self.interval = interval
        self.done = 0
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._paint_loop, name="progress")

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._finished.set()
        self._thread.join()

    def advance(self):
        self.done += 1

    def _paint(self):
        sys.stderr.write(f"\rplanned {self.done}/{self.total}")
        sys.stderr.flush()

    def _paint_loop(self):
        while not self._finished.wait(self.interval):
            self._paint()
        self._paint()
        sys.stderr.write("\n")


def street_grid(rng):
    return [[rng.randrange(1, 10) for _ in range(SIZE)] for _ in range(SIZE)]


def neighbours(x, y):
    if x > 0:
        yield x - 1, y
    if x + 1 < SIZE:
        yield x + 1, y
    if y > 0:
        yield x, y - 1
    if y + 1 < SIZE:
        yield x, y + 1


def shortest(grid, start, goal):
    best = {start: 0}
    frontier = [(0, start)]
    while frontier:
        cost, here = heapq.heappop(frontier)
        if here == goal:
            return cost
        if cost > best[here]:
            continue
        for nxt in neighbours(*here):
            onward = cost + grid[nxt[0]][nxt[1]]
            if onward < best.get(nxt, 1 << 30):
                best[nxt] = onward
                heapq.heappush(frontier, (onward, nxt))
    raise LookupError(goal)


def main():
    rng = random.Random(21)
    grid = street_grid(rng)
    stops = [(rng.randrange(SIZE), rng.randrange(SIZE)) for _ in range(261)]
    costs = []
    with ProgressLine(len(stops) - 1) as progress:
        for start, goal in zip(stops, stops[1:]):
            costs.append(shortest(grid, start, goal))
            progress.advance()
    print(len(costs), sum(costs), max(costs))


if __name__ == "__main__":
    main()
