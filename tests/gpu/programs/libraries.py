"""Prints every libcupti of this process when it ends, as ``libcupti=PATH`` lines."""

from __future__ import annotations

import atexit


def print_libcupti() -> None:
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[-1].strip() for line in maps if "libcupti" in line}
    for path in sorted(paths):
        if "libcupti" in path.rpartition("/")[2]:
            print(f"libcupti={path}", flush=True)


atexit.register(print_libcupti)
