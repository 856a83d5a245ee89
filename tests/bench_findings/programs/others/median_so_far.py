"""Sorts all values so far with each new one. Cured: it inserts the value where it belongs."""

import bisect
import random
import sys

SICK = sys.argv[1] == "sick"
random.seed(7)
values: list[float] = []
ordered: list[float] = []


def median(value: float) -> float:
    if SICK:
        values.append(value)
        return sorted(values, key=abs)[len(values) // 2]  # sick
    bisect.insort(ordered, value)
    return ordered[len(ordered) // 2]


total = 0.0
for _ in range(2500):
    total += median(random.random())
sum(range(5_000_000))
