"""Sorts and counts."""

import collections
import random

for seed in range(4):
    numbers = random.Random(seed).choices(range(10**6), k=150_000)
    collections.Counter(sorted(numbers)).most_common(10)
