"""Cores of a process, from readings of its CPU time that were torn: never more than it had threads, none lost."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from warpline.recording.sources.procfs.cpu_rates import CLOCK_ERROR, TICK_NS, most_threads, reading_times
from warpline.recording.spool.threads import BEFORE, ThreadLife

MS = 1_000_000
readings = st.lists(
    st.tuples(
        st.integers(0, 20 * MS),  # the core is taken away before the CPU time is read
        st.integers(0, 20 * MS),  # and after
        st.integers(1, 100 * MS),  # until the next reading
        st.floats(0, 1),  # how much of that the threads run
        st.integers(1, 5),  # threads
        st.integers(0, TICK_NS),  # how long before the reading the last tick was
    ),
    min_size=2,
    max_size=30,
)


@given(readings)
def test_no_rate_is_above_the_threads_and_nothing_is_lost(
    drawn: list[tuple[int, int, int, float, int, int]],
) -> None:
    now = used = 0
    rows: list[tuple[int, int, int, int]] = []
    last_read = 0
    for before, after, pause, share, threads, ticked in drawn:
        read = max(now + before - ticked, last_read)
        # CPU time may be counted a little faster than the clock goes.
        used += int((read - last_read) * share * threads * (1 + CLOCK_ERROR / 2)) if rows else 0
        stop = now + before + after
        rows.append(((now + stop) // 2, (stop - now + 1) // 2, used, threads))
        now, last_read = stop + pause, read
    told, within, cpu_ns, threads_then = np.array(rows, np.int64).T
    found = reading_times(told, within, cpu_ns, threads_then[1:])
    assert (told - within - TICK_NS <= found).all()
    assert (found <= told + within).all()
    assert (np.diff(found) >= 0).all()
    assert (np.diff(cpu_ns) <= np.diff(found) * threads_then[1:] * (1 + CLOCK_ERROR)).all()


@given(readings, st.lists(st.integers(0, 3), min_size=30, max_size=30))
def test_unseen_threads_set_no_limit(
    drawn: list[tuple[int, int, int, float, int, int]], seen: list[int]
) -> None:
    within = np.array([before for before, *_ in drawn], np.int64)
    pauses = np.array([pause for _before, _after, pause, *_ in drawn], np.int64)
    told = np.cumsum(2 * within + pauses) - within
    cpu_ns = np.cumsum([int(5 * MS * share) * threads for *_, share, threads, _ticked in drawn])
    found = reading_times(told, within, cpu_ns, np.array(seen[1 : len(drawn)], np.int64))
    assert (told - within - TICK_NS <= found).all()
    assert (found <= told + within).all()
    assert (np.diff(found) >= 0).all()


def test_a_short_stretch_before_the_end_is_not_more_than_one_core() -> None:
    # As it was seen: the last reading 5 ms after the one before, whose moment was known to 0.7 ms only.
    told = np.array([0, 100 * MS, 105 * MS])
    within = np.array([10_000, 700_000, 10_000])
    cpu_ns = np.array([0, 99_000_000, 104_600_000])
    found = reading_times(told, within, cpu_ns, np.array([1, 1]))
    rates = np.diff(cpu_ns) / np.diff(found)
    assert rates.max() <= 1 + CLOCK_ERROR
    assert (rates * np.diff(found)).sum() == 104_600_000
    assert (np.diff(cpu_ns) / np.diff(told)).max() > 1.1, "with the moments as they were told"


def test_rates_stay_below_one_core_with_readings_of_the_last_tick() -> None:
    told = np.array([0, 50 * MS, 100 * MS])
    within = np.full(3, 5_000)
    cpu_ns = np.array([0, 48_700_000, 100_000_000])
    found = reading_times(told, within, cpu_ns, np.array([1, 1]))
    assert (np.diff(cpu_ns) / np.diff(found)).max() <= 1 + CLOCK_ERROR
    assert (np.abs(found - told) < 2 * MS).all()


def test_threads_count_from_their_birth_to_their_death() -> None:
    threads = [
        ThreadLife(process=0, tid=1, generation=1, birth_ns=BEFORE),
        ThreadLife(process=0, tid=2, generation=1, birth_ns=50, death_ns=60, announced=True),
        ThreadLife(process=0, tid=3, generation=1, birth_ns=55, announced=True),
    ]
    starts, stops = np.array([0, 40, 52, 61]), np.array([40, 50, 70, 90])
    assert most_threads(threads, starts, stops).tolist() == [1, 2, 3, 2]
