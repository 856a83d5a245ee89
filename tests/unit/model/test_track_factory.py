"""Tracks are named once: what differs has another URI, stands where its style says, and reads like its neighbours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpline.model import Packing
from warpline.model.track_factory import (
    TrackFactory,
    TrackSpec,
    process_title,
    rank_prefix,
    rank_track,
    thread_title,
)
from warpline.model.track_style import NSIGHT, RECORDED, TRACE, TrackStyle
from warpline.model.track_titles import BELOW_THREAD

STYLES = (RECORDED, TRACE, NSIGHT)
numbers = st.integers(0, 1 << 40)


def every_track(factory: TrackFactory, process: int, thread: int, gpu: int, context: int) -> list[TrackSpec]:
    """One of each, for one process, thread, GPU and context."""
    above = factory.process(process, "python")
    row = factory.thread(above.uri, thread, "main")
    place = factory.context(gpu, above.uri, context)
    group = factory.group("network", "0.1", "mlx5_0")
    return [
        factory.cores(), factory.core(3), factory.gpu(gpu), factory.gpu_counter(gpu, "power", "Power"),
        factory.gpu_slices(gpu), factory.gpu_page_faults(gpu, above.uri, "python"), group,
        factory.group_counter(group, "sent", 1), factory.instants(), factory.overhead(), factory.profiler(),
        factory.messages(), above, factory.process_counter(above.uri, "cpu", "CPU"),
        factory.process_instants(above.uri), factory.process_async(above.uri, "io"),
        factory.process_ranges(above.uri, "net"), factory.process_page_faults(above.uri), row,
        *(factory.below_thread(row.uri, path) for path in BELOW_THREAD),
        factory.thread_ranges(row.uri, "net"), factory.thread_ranges(row.uri, "net", started=True), place,
        factory.stream(place, 7), factory.stream(place, None), factory.stream_annotations(place, 7),
        factory.annotations(place), factory.sync(place), factory.context_memory(place),
    ]  # fmt: skip


@pytest.mark.parametrize("style", STYLES)
@given(first=st.tuples(*[numbers] * 4), second=st.tuples(*[numbers] * 4))
def test_no_two_tracks_share_a_uri(
    style: TrackStyle, first: tuple[int, int, int, int], second: tuple[int, int, int, int]
) -> None:
    alone = every_track(TrackFactory(style), *first)
    assert len({spec.uri for spec in alone}) == len(alone)
    ranks = [
        every_track(TrackFactory(style, rank_prefix(rank)), *ids) for rank, ids in enumerate((first, second))
    ]
    uris = {spec.uri for rank in ranks for spec in rank}
    assert len(uris) == sum(map(len, ranks))
    assert all(uri.startswith(("rank/0/", "rank/1/")) for uri in uris)


@pytest.mark.parametrize("style", STYLES)
@given(number=st.one_of(st.none(), st.integers(-(1 << 62), 1 << 62)))
def test_sort_keys_fit_whatever_the_number(style: TrackStyle, number: int | None) -> None:
    factory = TrackFactory(style)
    place = factory.context(number or 0, "process/1.1", number)
    for spec in (factory.gpu(number or 0), factory.core(number or 0), place, factory.stream(place, number)):
        assert abs(spec.sort_key) < 1 << 62


def test_uris_are_those_of_the_format() -> None:
    factory = TrackFactory(RECORDED)
    process = factory.process(71, "python", generation=2)
    thread = factory.thread(process.uri, 74, "main", generation=1, is_first=True)
    context = factory.context(0, process.uri, 1, process_title="python [71]")
    assert thread.uri == "process/71.2/thread/74.1"
    assert factory.below_thread(thread.uri, "state").uri == "process/71.2/thread/74.1/state"
    assert factory.stream(context, 7).uri == "gpu/0/process/71.2/context/1/stream/7"
    assert (rank_track(3).uri, rank_prefix(3)) == ("rank/3", "rank/3/")
    of_rank = TrackFactory(TRACE, rank_prefix(3))
    there = of_rank.process("21165", "python")
    assert of_rank.context(0, there.uri, None).uri == "rank/3/gpu/0/process/21165.1"


def test_titles_are_parts_with_the_programs_own_name_first() -> None:
    factory = TrackFactory(RECORDED)
    context = factory.context(0, "process/71.1", 1, process_title="python [71]", name="trainer")
    assert context.title == "trainer · python [71] · context 1"
    assert factory.context(0, "process/71.1", 1).title == "Context 1"
    assert factory.stream(context, 7, is_default=True, name="copies").title == "copies · Stream 7 · default"
    assert factory.stream(context, None).title == "Stream ?"
    assert factory.gpu(0, "H100", "", "left").title == "GPU 0 · H100 · left"
    assert factory.thread_ranges("t", "net", started=True).title == "NVTX net start/end"
    assert TrackFactory(NSIGHT).thread_ranges("t", "net").title == "NVTX · net"
    assert factory.thread_ranges("t", "").title == "NVTX"
    assert (process_title("python", 71), process_title("", 71), process_title("", None)) == (
        "python [71]", "Process 71", "Process",
    )  # fmt: skip
    assert (thread_title("main", 7), thread_title("", 7), thread_title("", None)) == (
        "main  7", "Thread 7", "Thread",
    )  # fmt: skip
    # What a profiler calls a thread that has no name is no name.
    assert thread_title("Thread 7", 7) == "Thread 7"
    assert thread_title("WorkerPool/7", 7) == "WorkerPool/7"
    assert thread_title("worker 17", 7) == "worker 17  7"
    assert thread_title("warpline-agent", 9, is_own=True) == "warpline-agent  9 · Warpline's own"


def test_names_are_no_paths() -> None:
    for style in STYLES:
        uri = TrackFactory(style).thread_ranges("process/1.1/thread/1.1", "a/b").uri
        assert uri.count("/") == len(["process", "1.1", "thread", "1.1", "nvtx", "x"]) - 1
    assert TrackFactory(TRACE).process("", "?").uri == "process/none.1"


def test_a_thread_has_the_order_of_its_style() -> None:
    def order(style: TrackStyle, *paths: str) -> list[str]:
        return sorted(paths, key=lambda path: TrackFactory(style).below_thread("t", path).sort_key)

    assert order(RECORDED, "overhead", "api", "cpu", "state") == ["state", "cpu", "api", "overhead"]
    assert order(TRACE, "samples", "api", "ranges", "cpu") == ["cpu", "ranges", "api", "samples"]
    assert order(NSIGHT, "overhead", "osrt", "api", "state") == ["state", "api", "osrt", "overhead"]
    library = TrackFactory(NSIGHT).below_thread("t", "cublas", role="api", title="cuBLAS")
    assert (library.role, library.title) == ("api", "cuBLAS")
    assert library.sort_key == TrackFactory(NSIGHT).below_thread("t", "api").sort_key
    assert TrackFactory(NSIGHT).below_thread("t", "unheard").sort_key > library.sort_key


def test_the_first_thread_comes_first_and_warplines_own_last() -> None:
    factory = TrackFactory(RECORDED)
    keys = [
        factory.thread("p", 1, "main", is_first=True).sort_key,
        factory.thread("p", 2, "worker", place=0).sort_key,
        factory.thread("p", 3, "worker", place=9_999).sort_key,
        factory.thread("p", 4, "agent", is_own=True).sort_key,
    ]
    assert keys == sorted(set(keys))


def test_work_that_may_overlap_is_packed() -> None:
    factory = TrackFactory(RECORDED)
    context = factory.context(0, "process/1.1", 1)
    packed = (
        factory.stream(context, 1),
        factory.thread_ranges("t", "", started=True),
        factory.process_ranges("p", ""),
    )
    assert {spec.packing for spec in packed} == {Packing.PACK}
    assert factory.thread_ranges("t", "").packing is Packing.NEST
    assert factory.sync(context, Packing.PACK).packing is Packing.PACK
