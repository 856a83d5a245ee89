"""Work of the CUDA driver alone: exact counts, contexts, ranges, graphs, memory, counters, ranks."""

from __future__ import annotations

import numpy as np
from tests.gpu.checking import (
    Bench,
    NotHere,
    check_link_times,
    counts,
    lost,
    names,
    printed,
    source_state,
    tell_flushes,
)

from warpline.storage import Capture, open_capture

CONTEXTS_S = 20
"""A flush at the wrong moment blocks for ever: contexts get less time than other programs."""


def expect_kernels(bench: Bench, what: str, expected: str | int, capture: Capture) -> None:
    bench.expect(what, str(expected), str(counts(capture).get("kernel", 0)))


def check_driver(bench: Bench) -> None:
    """Kernels, copies and sets on four streams: exact counts, times, source, threads."""
    capture, done = bench.record_and_open(bench.program("driver.py", "--launches", "2000", "--streams", "4"))
    with capture:
        found = counts(capture)
        for key, kind in (("kernels", "kernel"), ("copies", "memcpy"), ("sets", "memset")):
            bench.expect(key, printed(done, key), str(found.get(kind, 0)))
        bench.expect("streams", 4, len([track for track in capture.tracks if track.role == "stream"]))
        bench.expect("ranges on the GPU", "≥ 1", found.get("gpu_annotation", 0), "gpu_annotation" in found)
        check_link_times(bench, capture)
        kernel = capture.kinds["kernel"].at(int(capture.kinds["kernel"].rows[0])) if "kernel" in found else {}
        for name, value in (("grid_x", 16), ("block_x", 128)):
            bench.expect(name, value, kernel.get(name))
        bench.tell(
            "occupancy, registers", (kernel.get("occupancy_ratio"), kernel.get("registers_per_thread"))
        )
        expect_states(bench, capture)
        for device in capture.devices:
            bench.tell(f"GPU {device.index}", f"{device.name} {dict(device.properties)}")
        for source in capture.sources:
            bench.tell(f"source {source.name}", source_state(capture, source.name))


def expect_states(bench: Bench, capture: Capture) -> None:
    """Threads that called CUDA have thread states."""
    states = {track.uri.removesuffix("/state") for track in capture.tracks if track.role == "state"}
    calls = {track.uri.removesuffix("/api") for track in capture.tracks if track.role == "api"}
    bench.expect("threads of calls that have states", sorted(calls), sorted(calls & states))


def check_contexts(bench: Bench) -> None:
    """Contexts made and destroyed, and the primary one reset, beside a thread that launches."""
    for how in ("contexts", "reset"):
        try:
            path, done = bench.record(bench.program("contexts.py", how), seconds=CONTEXTS_S)
        except TimeoutError as error:
            bench.expect(f"{how}: the program ends", f"within {CONTEXTS_S} s", error, False)
            continue
        except NotHere as reason:
            bench.write(f"{how}: not run", "–", f"because: {reason}", None)
            continue
        bench.expect(f"{how}: exit status", 0, done.status)
        with open_capture(path) as capture:
            expect_kernels(bench, f"{how}: kernels", printed(done, "kernels"), capture)
            bench.expect(f"{how}: records lost", 0, lost(capture))
            bench.tell(f"{how}: milliseconds a round, recorded", printed(done, "round_ms"))
            tell_flushes(bench, capture)
        plain = bench.run(bench.program("contexts.py", how), seconds=CONTEXTS_S)
        bench.tell(f"{how}: milliseconds a round, plain", printed(plain, "round_ms"))


def check_range_unsynchronized(bench: Bench) -> None:
    """cuProfilerStop while hundreds of kernels are queued: each is kept, or counted as lost."""
    command = bench.program("driver.py", "--launches", "400", "--range", "--unsynchronized")
    path, done = bench.record(command, "--capture-range", "cuda-profiler")
    bench.expect("exit status", 0, done.status)
    with open_capture(path) as capture:
        expect_kernels(bench, "kernels inside", printed(done, "kernels"), capture)
        bench.tell("records lost", lost(capture))


def check_driver_memory(bench: Bench) -> None:
    """Allocations of device memory, and what recording takes of the host's and the GPU's."""
    command = bench.program("driver.py", "--launches", "20000", "--replays", "500")
    bench.alternate(command, keys=("host_mib", "gpu_used_mib"))
    capture, _done = bench.record_and_open(command, "--cuda-memory")
    with capture:
        found = counts(capture).get("memory", 0)
        bench.expect("allocations of device memory", "≥ 1", found, found >= 1)


def check_driver_overhead(bench: Bench) -> None:
    """What a launch costs, plain and recorded: the worst case, kernels of a few microseconds."""
    path, done = bench.alternate(bench.program("driver.py", "--launches", "100000"), keys=("launch_us",))
    with open_capture(path) as capture:
        expect_kernels(bench, "kernels", printed(done, "kernels"), capture)
        bench.expect("records lost", 0, lost(capture))
        tell_flushes(bench, capture)


def check_driver_graphs(bench: Bench) -> None:
    """CUDA graphs, a record per node and a record per launch."""
    command = bench.program("driver.py", "--launches", "10", "--replays", "50")
    path, done = bench.record(command, "--cuda-graphs", "node")
    nodes, replays, single = (int(printed(done, key)) for key in ("nodes", "replays", "kernels"))
    with open_capture(path) as capture:
        expect_kernels(bench, "kernels, per node", nodes * replays + single, capture)
        check_link_times(bench, capture)
    path, done = bench.record(command, "--cuda-graphs", "graph")
    with open_capture(path) as capture:
        bench.expect("graph launches, per graph", replays, counts(capture).get("graph", 0))
        expect_kernels(bench, "single kernels, per graph", single, capture)


def check_driver_range(bench: Bench) -> None:
    """cuProfilerStart/Stop bound the capture."""
    command = bench.program("driver.py", "--launches", "500", "--range")
    path, done = bench.record(command, "--capture-range", "cuda-profiler")
    with open_capture(path) as capture:
        expect_kernels(bench, "kernels inside", printed(done, "kernels"), capture)


def check_nvml(bench: Bench) -> None:
    """The GPU's counters."""
    path, _done = bench.record(bench.program("synchronized.py", "6"))
    with open_capture(path) as capture:
        uris = [capture.tracks[counter.track].uri for counter in capture.counters]
        gpu = sorted(uri for uri in uris if uri.startswith("gpu/"))
        state = source_state(capture, "nvml")
        if state.startswith("off"):
            bench.tell("source nvml", state)
        else:
            bench.expect("source nvml", "on", state, state.startswith("on"))
            bench.expect("GPU counters", "≥ 5", len(gpu), len(gpu) >= 5)
        bench.tell("they are", ", ".join(uri.rpartition("/")[2] for uri in gpu) or "none")


def check_default_streams(bench: Bench) -> None:
    """The default streams of threads are streams of their own."""
    capture, done = bench.record_and_open(bench.program("default_streams.py"))
    with capture:
        expect_kernels(bench, "kernels", printed(done, "kernels"), capture)
        expect_busy_streams(bench, capture, int(printed(done, "streams")))
        check_link_times(bench, capture)


def expect_busy_streams(bench: Bench, capture: Capture, expected: int) -> None:
    if "kernel" not in capture.kinds:
        bench.expect("streams with kernels", expected, 0)
        return
    streams = np.unique(capture.tracks_of_rows(capture.kinds["kernel"].rows))
    bench.expect("streams with kernels", expected, len(streams))


def check_two_ranks(bench: Bench) -> None:
    """Two processes that see one GPU: their kernels are on one GPU, not on two of the same name."""
    capture, done = bench.record_and_open(bench.program("ranks.py"))
    with capture:
        expect_kernels(bench, "kernels", printed(done, "all_kernels"), capture)
        devices = [device for device in capture.devices if device.kind == "gpu"]
        identities = {dict(device.properties).get("uuid", device.index) for device in devices}
        bench.expect("GPUs, told apart by UUID", len(identities), len(devices))
        owners = {track.uri.partition("/context/")[0] for track in capture.tracks if track.role == "stream"}
        bench.expect("processes with streams", int(printed(done, "ranks")), len(owners))
        bench.tell("kernel names", sorted(set(names(capture, "kernel").tolist())))
