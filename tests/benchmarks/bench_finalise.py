"""How fast spool files become a capture: events per second of a core, beside sorting as many rows with numpy.

    python tests/benchmarks/bench_finalise.py [--events N] [--kinds KIND…] [--smoke]

The bar: at least 2 million events a second. Events are those of the capture: two switch records make up to four.

- ``states``: 64 threads that take turns on four cores.
- ``ranges``: NVTX push/pop on eight threads, three deep, some with colour and payload.
- ``cuda``: calls that launch kernels and copies on four streams, with their links.
- ``processes``: 1,500 processes of two threads that live a few moments.
"""

from __future__ import annotations

import argparse
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

from tests.benchmarks.measuring import PeakMemory, table  # noqa: E402  # found through the path above

from warpline.recording.finalise import finalise  # noqa: E402  # the same
from warpline.recording.perf_events.abi import MISC_SWITCH_OUT, MISC_SWITCH_OUT_PREEMPT  # noqa: E402  # the same
from warpline.recording.session import RecordingOptions, Session  # noqa: E402  # the same
from warpline.recording.sources.cuda import records as cupti_records  # noqa: E402  # the same
from warpline.recording.sources.nvtx import records as nvtx_records  # noqa: E402  # the same
from warpline.recording.sources.perf import records as perf_records  # noqa: E402  # the same
from warpline.recording.sources.registry import default_trace  # noqa: E402  # the same
from warpline.recording.spool import records  # noqa: E402  # the same
from warpline.recording.spool.writer import SpoolWriter  # noqa: E402  # the same

START = 10**12
PID = 100
CHUNK = 1 << 14
NAMES = 200


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=4_000_000)
    parser.add_argument("--kinds", nargs="+", choices=tuple(WRITERS), default=list(WRITERS))
    parser.add_argument("--smoke", action="store_true")
    args = parser.parse_args()
    run(50_000 if args.smoke else args.events, args.kinds)


def run(events: int, kinds: list[str]) -> None:
    """Measure each kind of recording and print the table."""
    rows = []
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            spool, output = Path(folder) / "x.spool", Path(folder) / "x.h5"
            spool.mkdir()
            WRITERS[kind](spool, events)
            began, cpu_began = time.perf_counter(), time.thread_time()
            with PeakMemory() as memory:
                before = memory.peak_bytes
                done = finalise(spool, output)
            seconds, cpu_seconds = time.perf_counter() - began, time.thread_time() - cpu_began
            size = output.stat().st_size
        yardstick = numpy_yardstick(done.events)
        rows.append(
            [
                kind,
                f"{done.events:,}",
                f"{seconds:.2f} s",
                f"{done.events / seconds / 1e6:.2f} M/s",
                f"{cpu_seconds:.2f} s",
                f"{done.events / cpu_seconds / 1e6:.2f} M/s",
                f"{cpu_seconds / yardstick:.1f}",
                f"{(memory.peak_bytes - before) / 1e6:.0f} MB",
                f"{size / done.events:.0f} B",
            ]
        )
    table(
        ["kind", "events", "wall", "(bar 2)", "core", "(bar 2)", "× np.sort", "anon. memory", "file/event"],
        rows,
    )


def save_session(folder: Path, last_ns: int) -> None:
    """What the recorder leaves beside the spool files."""
    Session(
        directory=folder,
        output=folder,
        command=("bench",),
        working_directory="/",
        start_monotonic_ns=START,
        start_realtime_ns=0,
        recorder_pid=1,
        target_pid=PID,
        options=RecordingOptions(trace=default_trace()),
        stop_monotonic_ns=last_ns + 10_000_000,
    ).save()


def append(writer: SpoolWriter, record_type: int, rows: np.ndarray, *, free: int = 0) -> None:
    """Records in pieces, as a collector writes them."""
    for first in range(0, len(rows), CHUNK):
        writer.append(record_type, rows[first : first + CHUNK], free=free)


def write_states(folder: Path, events: int) -> None:
    """A recording of threads that take turns on four cores, half preempted and half asleep in between."""
    cpus, threads = 4, 64
    per_cpu = events // 2 // cpus
    writer = SpoolWriter(folder / "perf.spool", "perf")
    for tid in range(1, threads):
        writer.append_packed(records.FORK, struct.pack("<QIIII", START + tid, PID, PID + tid, PID, PID))
    rng = np.random.default_rng(1)
    for cpu in range(cpus):
        # Each core has threads of its own, so that none runs on two at once.
        own = np.arange(cpu, threads, cpus)
        turns = per_cpu // 2
        rows = np.zeros(turns * 2, perf_records.switch)
        rows["type"], rows["size"] = 14, 32
        rows["pid"], rows["cpu"] = PID, cpu
        rows["tid"] = np.repeat(PID + own[np.arange(turns) % len(own)], 2)
        rows["time_ns"] = START + 1000 + np.cumsum(rng.integers(500, 5000, turns * 2)).astype(np.uint64)
        out = np.where(rng.random(turns) < 0.5, MISC_SWITCH_OUT, MISC_SWITCH_OUT | MISC_SWITCH_OUT_PREEMPT)
        rows["misc"][1::2] = out
        append(writer, perf_records.SWITCH, rows)
        last = int(rows["time_ns"][-1])
    writer.close()
    save_session(folder, last)


def write_ranges(folder: Path, events: int) -> None:
    """Ranges three deep on eight threads; every fourth thread gives colours, categories and payloads."""
    threads, depth = 8, 3
    writer = SpoolWriter(folder / "agent.spool", "agent")
    names = np.array([writer.string(f"step {number}") for number in range(NAMES)], np.uint32)
    groups = max(1, events // threads // depth)
    for thread in range(threads):
        rich = thread % 4 == 3
        layout = nvtx_records.nvtx_range_attributes if rich else nvtx_records.nvtx_range
        rows = np.zeros((groups, 2 * depth), layout)
        rows["time_ns"] = START + 1000 + 400 * np.arange(groups * 2 * depth).reshape(groups, -1)
        rows["level"] = [*range(depth), *reversed(range(depth))]
        rows["name"][:, :depth] = names[np.arange(groups * depth).reshape(groups, depth) % NAMES]
        rows["name"][:, depth:] = nvtx_records.POP
        if rich:
            rows["flags"], rows["color_argb"] = nvtx_records.HAS_COLOR, 0xFF3366CC
            rows["payload_type"], rows["payload"] = 2, np.arange(groups)[:, None] % 1000
        # The writer's chunks carry the thread that wrote them; the agent has one set of chunks for each.
        writer._tid = PID + thread
        kind = nvtx_records.NVTX_RANGE_ATTRIBUTES if rich else nvtx_records.NVTX_RANGE
        append(writer, kind, rows.reshape(-1), free=thread + 1)
    writer.close()
    save_session(folder, START + 400 * groups * 2 * depth)


def write_cuda(folder: Path, events: int) -> None:
    """Launches on two threads and what they start: two kernels for each copy, on four streams."""
    count = events // 2
    writer = SpoolWriter(folder / "agent.spool", "agent")
    names = np.array(
        [writer.string(f"_ZN2at6native27kernel{number:03d}IfEEvT_PKf") for number in range(NAMES)], np.uint32
    )
    session = np.zeros(1, cupti_records.cupti_session)
    session["time_ns"] = START
    session["clock"] = 1
    writer.append(cupti_records.CUPTI_SESSION, session)
    device = np.zeros(1, cupti_records.cupti_device)
    for name, value in (
        ("name", writer.string("GPU")), ("compute_major", 9), ("multiprocessors", 132), ("threads_per_warp", 32),
        ("max_warps_per_sm", 64), ("max_blocks_per_sm", 32), ("max_shared_per_sm_bytes", 233472),
        ("max_registers_per_sm", 65536), ("max_registers_per_block", 65536),
    ):  # fmt: skip
        device[name] = value
    writer.append(cupti_records.CUPTI_DEVICE, device)
    function = np.zeros(2, cupti_records.cupti_function)
    function["function"] = 211, 41
    function["name"] = writer.string("cudaLaunchKernel_v7000"), writer.string("cudaMemcpyAsync_v3020")
    writer.append(cupti_records.CUPTI_FUNCTION, function)
    number = np.arange(count)
    is_copy = number % 3 == 2
    calls = np.zeros(count, cupti_records.cupti_api)
    calls["start_ns"] = START + 1000 + 4000 * number
    calls["end_ns"] = calls["start_ns"] + 3000
    calls["correlation"] = number + 1
    calls["tid"] = PID + number % 2
    calls["function"] = np.where(is_copy, 41, 211)
    kernels = np.zeros(int((~is_copy).sum()), cupti_records.cupti_kernel)
    copies = np.zeros(int(is_copy.sum()), cupti_records.cupti_memcpy)
    for work, chosen in ((kernels, number[~is_copy]), (copies, number[is_copy])):
        work["start_ns"] = START + 9000 + 4000 * chosen
        work["end_ns"] = work["start_ns"] + 2500
        work["correlation"] = chosen + 1
        work["context"], work["stream"] = 1, 7 + chosen // 64 % 4
    kernels["name"] = names[np.arange(len(kernels)) % NAMES]
    kernels["registers"], kernels["static_shared_bytes"] = 40, 1024
    for axis, size in zip("xyz", (1024, 2, 1), strict=True):
        kernels[f"grid_{axis}"] = size
    kernels["block_x"], kernels["block_y"], kernels["block_z"] = 128, 1, 1
    copies["bytes"], copies["copy_kind"], copies["source_kind"], copies["destination_kind"] = 1 << 20, 1, 2, 3
    append(writer, cupti_records.CUPTI_RUNTIME, calls)
    append(writer, cupti_records.CUPTI_KERNEL, kernels)
    append(writer, cupti_records.CUPTI_MEMCPY, copies)
    writer.close()
    save_session(folder, START + 4000 * count)


def write_processes(folder: Path, events: int) -> None:
    """Processes that come and go on four cores; at most 1,500, the same whatever the number of events."""
    processes = min(1500, events // 20)
    writer = SpoolWriter(folder / "perf.spool", "perf")
    now = START + 1000
    name = writer.string("worker")
    turns = 10
    for number in range(processes):
        pid = 1000 + 2 * number
        writer.append_packed(records.FORK, struct.pack("<QIIII", now, pid, pid, PID, PID))
        writer.append_packed(records.COMM, struct.pack("<QIIIHH", now + 1, pid, pid, name, number % 4, 1))
        writer.append_packed(records.FORK, struct.pack("<QIIII", now + 2, pid, pid + 1, pid, pid))
        rows = np.zeros(turns * 2, perf_records.switch)
        rows["type"], rows["size"] = 14, 32
        rows["pid"], rows["cpu"] = pid, number % 4
        rows["tid"] = pid + np.repeat(np.arange(turns) % 2, 2)
        rows["time_ns"] = now + 10 + 1000 * np.arange(turns * 2)
        rows["misc"][1::2] = MISC_SWITCH_OUT
        append(writer, perf_records.SWITCH, rows)
        now += 40_000
        for tid in (pid + 1, pid):
            writer.append_packed(records.EXIT, struct.pack("<QII", now, pid, tid))
    writer.close()
    save_session(folder, now)


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "states": write_states,
    "ranges": write_ranges,
    "cuda": write_cuda,
    "processes": write_processes,
}


def numpy_yardstick(events: int) -> float:
    """Core seconds to sort and copy columns of so many events: what no finaliser can do without."""
    rng = np.random.default_rng(2)
    start = rng.integers(0, 1 << 40, events)
    columns = [np.zeros(events, dtype) for dtype in ("<i8", "<i8", "<u4", "u1", "u1")]
    began = time.process_time()
    order = np.argsort(start)
    for column in columns:
        column[order].tobytes()
    return time.process_time() - began


def test_finalise(bench_smoke: bool) -> None:
    """Prints the table."""
    run(50_000 if bench_smoke else 4_000_000, list(WRITERS))


if __name__ == "__main__":
    main()
