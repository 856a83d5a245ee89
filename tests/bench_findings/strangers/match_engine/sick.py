"""A toy exchange: matches buy and sell orders with two heaps."""
import heapq
import logging
import os
import random
import tempfile

log = logging.getLogger("engine")


def setup(path):
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)


def run(orders):
    rng = random.Random(2)
    buys, sells = [], []
    volume = 0
    for number in range(orders):
        price = rng.randrange(900, 1100)
        log.debug("order %d at %d, book %d/%d", number, price, len(buys), len(sells))
        if rng.random() < 0.5:
            if sells and sells[0] <= price:
                volume += heapq.heappop(sells)
            else:
                heapq.heappush(buys, -price)
        elif buys and -buys[0] >= price:
            volume -= heapq.heappop(buys)
        else:
            heapq.heappush(sells, price)
    return volume


def main():
    handle, path = tempfile.mkstemp(suffix=".log")
    os.close(handle)
    setup(path)
    print(run(140_000))
    os.unlink(path)


if __name__ == "__main__":
    main()
