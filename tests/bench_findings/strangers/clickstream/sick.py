"""Aggregate a day of click events by section with a pair of worker processes."""
import multiprocessing as mp
import random
import zlib
from collections import Counter
from functools import partial

HOURS = 12
EVENTS = 3_100
SECTIONS = ("home", "sport", "weather", "politics", "culture", "shop")


def events_of(hour):
    """Replay the click log of one hour."""
    rng = random.Random(hour)
    for n in range(EVENTS):
        visitor = rng.randrange(50_000)
        section = SECTIONS[min(int(rng.expovariate(0.6)), 5)]
        yield f"{hour:02d}:{n % 60:02d} GET /{section}/{visitor % 97} v={visitor} d={rng.randrange(1, 90)}"


def parse(line):
    stamp, _, path, visitor, dwell = line.split(" ")
    _, section, article = path.split("/")
    return stamp[:2], section, int(article), int(visitor[2:]), int(dwell[2:])


def looks_automated(visitor, dwell):
    return dwell < 3 and zlib.crc32(b"%d" % visitor) % 5 == 0


def digest_hour(shared, hour):
    """Fold one hour into the shared table; keys carry the hour, so none collide."""
    dropped = 0
    for line in events_of(hour):
        stamp, section, article, visitor, dwell = parse(line)
        if looks_automated(visitor, dwell):
            dropped += 1
            continue
        key = (stamp, section, article % 10)
        shared[key] = shared.get(key, 0) + dwell
    return hour, dropped


def by_section(table):
    totals = Counter()
    for (_, section, _), dwell in table.items():
        totals[section] += dwell
    return totals


def busiest_hour(table):
    hours = Counter()
    for (stamp, _, _), dwell in table.items():
        hours[stamp] += dwell
    return hours.most_common(1)[0]


def main():
    with mp.Manager() as manager:
        shared = manager.dict()
        with mp.Pool(2) as pool:
            dropped = dict(pool.imap_unordered(partial(digest_hour, shared), range(HOURS)))
        table = shared.copy()
    totals = by_section(table)
    for section, dwell in totals.most_common():
        print(f"{section:10s} {dwell:9d} s")
    print("busiest", *busiest_hour(table))
    print("dropped", sum(dropped.values()), "cells", len(table))


if __name__ == "__main__":
    main()
