"""Pushes ranges at a steady rate from four threads; prints how many it managed and what that cost it."""

import sys
import threading
import time

import warpline

RATE, SECONDS = float(sys.argv[1]), float(sys.argv[2])
THREADS, TICKS = 4, 100
done = [0] * THREADS


def work(number: int) -> None:
    """Three nested ranges a turn, in a hundred portions a second."""
    turns = max(1, round(RATE / THREADS / TICKS / 3))
    due = begun = time.perf_counter()
    while due - begun < SECONDS:
        for turn in range(turns):
            with (
                warpline.annotate("outer"),
                warpline.annotate("middle"),
                warpline.annotate(f"inner {turn % 20}"),
            ):
                done[number] += 3
        due += 1 / TICKS
        time.sleep(max(0.0, due - time.perf_counter()))


begun_s = time.perf_counter()
threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(
    f"ranges {sum(done)} seconds {time.perf_counter() - begun_s:.3f} cpu {time.process_time():.3f}",
    flush=True,
)
