"""One streaming pass over a CSV file, summing by key."""
import csv
import os
import random
import tempfile
from collections import defaultdict


def write(path, n):
    rng = random.Random(5)
    with open(path, "w", newline="") as f:
        out = csv.writer(f)
        out.writerows((rng.randrange(300), rng.randrange(24), rng.randrange(10**6))
                      for _ in range(n))


def aggregate(path):
    sums = defaultdict(int)
    with open(path, newline="") as f:
        for shop, hour, cents in csv.reader(f):
            sums[shop, hour] += int(cents)
    return sums


def main():
    handle, path = tempfile.mkstemp(suffix=".csv")
    os.close(handle)
    write(path, 900_000)
    sums = aggregate(path)
    print(len(sums), max(sums.values()))
    os.unlink(path)


if __name__ == "__main__":
    main()
