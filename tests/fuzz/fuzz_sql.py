"""Holds SQL to the Python door, and lazy queries to eager ones, on any captures and traces.

    python -m tests.fuzz.fuzz_sql FILE… [--queries 500] [--seed 0]

Of each file every row and column of every view equals what `capture.events()` returns. Random queries over its views
give the same rows whether only what they read is made, or every column was made before.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from tests.unit.query.test_views import random_query, rows_of
from tests.unit.query.view_checks import binder_of, differences

import warpline
from warpline.model import WarplineError
from warpline.storage import Capture


def unequal_queries(capture: Capture, queries: int, seed: int) -> list[str]:
    """Of so many random queries those whose rows depend on what was made before."""
    eager, lazy = binder_of(capture), binder_of(capture)
    for table in eager.catalogs[0].views().values():
        for each in table.tables:
            each.arrays(each.columns)
    random_ = random.Random(seed)
    found = []
    for number in range(queries):
        sql = random_query(random_, capture)
        if number % 15 == 0:
            lazy = binder_of(capture)
        if rows_of(lazy, sql) != rows_of(eager, sql):
            found.append(sql)
    return found


def main() -> int:
    """Returns 1 when anything differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    checked = bad = 0
    for path in arguments.files:
        try:
            reader = warpline.open(path)
        except WarplineError as error:
            print(f"{path.name}: left out: {error}")
            continue
        with reader:
            found = differences(reader)
            found += unequal_queries(reader.storage, arguments.queries, arguments.seed)
            print(f"{path.name}: {len(reader.storage.events):,} events, {len(found)} differences", flush=True)
        checked, bad = checked + 1, bad + bool(found)
        for line in found[:5]:
            print("   ", line)
    print(f"{checked} captures, {arguments.queries} random queries each, {bad} with differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
