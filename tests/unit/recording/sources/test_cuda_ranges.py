"""The host's ranges on the streams, and GPU times on the host's clock."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from warpline.recording.sources.cuda.gpu_clock import GpuClock
from warpline.recording.sources.cuda.projected_ranges import Calls, StreamWork, project_ranges
from warpline.recording.sources.host_ranges import HostRanges
from warpline.recording.symbols.demangle import demangle

times = st.integers(0, 200)


@st.composite
def programs(draw: st.DrawFn) -> tuple[HostRanges, Calls, StreamWork]:
    ranges = draw(st.lists(st.tuples(st.integers(0, 1), times, times), max_size=8))
    calls = draw(st.lists(st.tuples(st.integers(0, 1), times), max_size=12))
    work = draw(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 1), times, times), max_size=15))
    r = np.array(ranges, np.int64).reshape(-1, 3).T
    c = np.array(calls, np.int64).reshape(-1, 2).T
    w = np.array(work, np.int64).reshape(-1, 4).T
    zero = np.zeros(len(w[0]), np.int64)
    return (
        HostRanges(r[0], np.minimum(r[1], r[2]), np.maximum(r[1], r[2])),
        Calls(np.arange(1, len(c[0]) + 1), c[0], c[1]),
        StreamWork(
            correlation=w[0],
            device=zero,
            context=zero + 1,
            stream=w[1],
            start_ns=1000 + np.minimum(w[2], w[3]),
            stop_ns=1000 + np.maximum(w[2], w[3]),
        ),
    )


@given(programs())
def test_a_range_covers_the_work_launched_in_it_on_each_stream(
    program: tuple[HostRanges, Calls, StreamWork],
) -> None:
    ranges, calls, work = program
    expected = set()
    for row in range(len(ranges.thread)):
        for stream in (0, 1):
            inside = [
                index
                for index, correlation in enumerate(work.correlation.tolist())
                if 1 <= correlation <= len(calls.thread)
                and work.stream[index] == stream
                and calls.thread[correlation - 1] == ranges.thread[row]
                and ranges.start_ns[row] <= calls.start_ns[correlation - 1] < ranges.stop_ns[row]
            ]
            if inside:
                expected.add((row, stream, int(work.start_ns[inside].min()), int(work.stop_ns[inside].max())))
    found = project_ranges(ranges, calls, work)
    columns = (found.row, found.stream, found.start_ns, found.stop_ns)
    assert set(zip(*(column.tolist() for column in columns), strict=True)) == expected
    assert len(found.row) == len(expected)


def test_a_clock_that_drifts_is_followed_to_the_nanosecond() -> None:
    realtime = 1_760_000_000_000_000_000
    clock = GpuClock(
        np.array([realtime, realtime + 1_000_000_000]), np.array([5_000_000_000, 6_000_000_400]), False
    )
    wanted = [5_000_000_000, 5_500_000_200, 6_000_000_400]
    assert clock.monotonic([realtime, realtime + 500_000_000, realtime + 1_000_000_000]).tolist() == wanted


def test_monotonic_times_are_not_converted() -> None:
    realtime = 1_760_000_000_000_000_000
    clock = GpuClock(np.array([realtime]), np.array([5_000_000_000]), True)
    assert clock.monotonic([5_123_456_789, realtime + 7]).tolist() == [5_123_456_789, 5_000_000_007]


def test_names_are_demangled_and_others_left_alone() -> None:
    # Printed by c++filt of binutils 2.40.
    assert (
        demangle("_ZN2at6native13vectorizedAddIfEEvPT_S3_i")
        == "void at::native::vectorizedAdd<float>(float*, float*, int)"
    )
    assert demangle("_Z4axpyPfS_f") == "axpy(float*, float*, float)"
    assert demangle("ampere_sgemm_128x64_tn") == "ampere_sgemm_128x64_tn"
    assert demangle("f") == "f"
    assert demangle("_Znonsense") == "_Znonsense"
