"""The offset of another machine's clock, from pings."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline.recording.remote.frames import FrameError, FrameReader
from warpline.recording.remote.near.pings import FarClock, Ping, offset_of

_WAYS = st.integers(0, 400_000_000)


@given(
    st.lists(st.tuples(st.integers(1, 60_000_000_000), _WAYS, _WAYS), min_size=1, max_size=30),
    st.integers(-(1 << 60), 1 << 60),
    st.floats(-90e-6, 90e-6),
)
def test_the_true_offset_is_within_the_bound_at_every_ping(
    ways: list[tuple[int, int, int]], offset_ns: int, drift: float
) -> None:
    pings, truth, now = [], [], 0
    for pause, there, back in ways:
        now += pause
        ahead = offset_ns + round(drift * (now + there))
        pings.append(Ping(now, now + there + back, now + there + ahead))
        truth.append(ahead)
        now += there + back
    found = offset_of(pings)
    assert found is not None
    offset, bound = found
    assert all(abs(ahead - offset) <= bound for ahead in truth)
    whole = max(ping.way_ns for ping in pings) + max(truth) - min(truth)
    assert bound <= whole + 1


def test_one_short_way_makes_up_for_long_ones() -> None:
    second = 1_000_000_000
    pings = [
        Ping(number * second, number * second + way, number * second + way // 2 + 77)
        for number, way in enumerate((400_000_000, 100_000, 400_000_000))
    ]
    found = offset_of(pings)
    assert found is not None
    # 100 ppm of a second and half the short way.
    assert found[1] < 200_000


def test_a_clock_that_was_set_is_bounded_by_both_times() -> None:
    pings = [Ping(0, 10, 5), Ping(20, 30, 25 + 1_000_000)]
    found = offset_of(pings)
    assert found is not None
    assert abs(found[0]) + found[1] >= 1_000_000
    assert offset_of([]) is None


def test_answers_are_matched_and_checked() -> None:
    clock = FarClock()
    assert clock.described() == {}
    frame = clock.ping()
    assert frame is not None
    assert clock.ping() is None
    ((_kind, body),) = FrameReader().feed(frame)
    sent = json.loads(body)["sent"]
    clock.take({"sent": sent - 1, "clock": 5})
    assert clock.described() == {}
    for wrong in ({}, {"sent": sent}, {"sent": sent, "clock": "5"}, {"sent": sent, "clock": 1 << 62}):
        with pytest.raises(FrameError):
            clock.take(wrong)
    clock.take({"sent": sent, "clock": time.monotonic_ns()})
    described = clock.described()["clock"]
    assert abs(described["offset_ns"]) <= described["bound_ns"]
    assert described["pings"] == 1
