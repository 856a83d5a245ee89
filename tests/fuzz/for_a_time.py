"""A plugin of pytest (``-p tests.fuzz.for_a_time``): modules by chance until ``FUZZ_SECONDS`` are over.

A test that has begun goes on to its end; those that are left are skipped.
"""

from __future__ import annotations

import os
import random
import time

import pytest

_SECONDS = float(os.environ["FUZZ_SECONDS"])
_until = float("inf")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Other modules come first each time. The time begins when all are found."""
    global _until  # hooks share nothing else
    places = {item.path: random.random() for item in items}
    items.sort(key=lambda item: places[item.path])
    _until = time.monotonic() + _SECONDS


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Skips what comes too late."""
    if time.monotonic() > _until:
        pytest.skip("the time is over")
