"""What a diagnosis costs, per event of the range, and how much memory it needs.

    python tests/benchmarks/findings/bench_findings.py [--events N …] [--folder DIR] [--smoke]

Threads that wait for each other (states and the calls they lie in), and a host that launches for a GPU (operators,
calls, kernels, links). Bars: 1 us per event, 10 s for ten million, 200 bytes of memory per event, and a cancelled one
ends within a tenth of the time. `np.sort` of as many numbers stands beside. The walks over the wait graph are timed on
their own, compiled and in Python.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[3])]

from tests.benchmarks.measuring import (  # noqa: E402  # found through the path above
    PeakMemory,
    anonymous_bytes,
    arguments,
    best_of,
    table,
)

from warpline.analysis.findings.diagnose import diagnose, open_case  # noqa: E402  # found through the path above
from warpline.analysis.findings.finding import Diagnosis  # noqa: E402  # found through the path above
from warpline.analysis.findings.wait_graph import WaitGraph  # noqa: E402  # found through the path above
from warpline.analysis.framework.selection import View  # noqa: E402  # found through the path above
from warpline.model import Flag  # noqa: E402  # found through the path above
from warpline.model.waits import WaitKind  # noqa: E402  # found through the path above
from warpline.storage import Capture, CaptureBuilder, open_capture  # noqa: E402  # found through the path above

BAR_US = 1.0
BAR_BYTES = 200
LARGE = 10_000_000
THREADS = 8


def threads_capture(path: Path, events: int) -> Path:
    """Threads that run and wait in turn, each for another; two states and a call make three events."""
    builder = CaptureBuilder(path)
    process = builder.add_process(71, name="python")
    random = np.random.default_rng(1)
    each = events // (3 * THREADS)
    kinds = np.array(
        [WaitKind.LOCK, WaitKind.CONDITION, WaitKind.SLEEP, WaitKind.FILE, WaitKind.GIL], np.uint8
    )
    stop = 0
    for number in range(THREADS):
        thread = builder.add_thread(process, 71 + number, name="worker")
        base = f"process/71.1/thread/{71 + number}.1"
        state = builder.track(f"{base}/state", role="state", process=process, thread=thread)
        calls = builder.track(f"{base}/osrt", role="osrt", process=process, thread=thread)
        run, wait = random.integers(1_000, 50_000, each), random.integers(3_000, 80_000, each)
        ends = np.cumsum(run + wait)
        begins = ends - wait
        kind = random.choice(kinds, each)
        by = 71 + random.integers(0, THREADS, each)
        names = [builder.string(name) for name in ("running", "blocked", "wait")]
        builder.add_events(state, "thread_state", begins - run, run, names[0])
        builder.add_events(
            state, "thread_state", begins, wait, names[1], flags=int(Flag.IDLE), attributes={"wait": kind}
        )
        attributes = {"wait": kind, "ended_by": by}
        builder.add_events(calls, "osrt", begins, wait, names[2], attributes=attributes)
        stop = max(stop, int(ends[-1]))
    builder.set_span(0, stop)
    builder.finish()
    return path


def gpu_capture(path: Path, events: int) -> Path:
    """Operators with a call and a kernel each, some of them late."""
    builder = CaptureBuilder(path)
    process = builder.add_process(71, name="python")
    thread = builder.add_thread(process, 71, name="main")
    operators, calls = (
        builder.track(f"process/71.1/thread/71.1/{role}", role=role, process=process, thread=thread)
        for role in ("operators", "api")
    )
    builder.add_device(0, "GPU")
    stream = builder.track("gpu/0/stream/7", role="stream", process=process, device=0, context=1, stream=7)
    random = np.random.default_rng(2)
    each = events // 3
    begin = np.cumsum(random.integers(12_000, 40_000, each))
    length = random.integers(2_000, 30_000, each)
    start = begin + 12_000
    # One after the other, as on a stream.
    start = np.maximum.accumulate(start - np.cumsum(length) + length) + np.cumsum(length) - length
    name = [builder.string(text) for text in ("aten::add", "cudaLaunchKernel", "add")]
    builder.add_events(operators, "operator", begin, np.full(each, 11_000), name[0])
    call = builder.add_events(calls, "cuda_api", begin + 2_000, np.full(each, 6_000), name[1])
    kernel = builder.add_events(stream, "kernel", start, length, name[2])
    builder.add_links("launch", call + np.arange(each), kernel + np.arange(each))
    builder.set_span(0, int(start[-1] + length[-1]))
    builder.finish()
    return path


def longest_silence(capture: Capture) -> float:
    """The longest time, in seconds, in which nobody asked whether the diagnosis is still wanted."""
    asked = [perf_counter()]

    def is_cancelled() -> bool:
        asked.append(perf_counter())
        return False

    diagnose(View(capture, cancelled=is_cancelled))
    return float(np.diff([*asked, perf_counter()]).max())


def bench(path: Path, title: str, has_bars: bool) -> list[str]:
    """A row of the table."""
    with open_capture(path) as capture:
        events = len(capture.events)
        sorting = best_of(1, lambda: np.sort(np.random.default_rng(3).integers(0, 1 << 60, events)))
        before = anonymous_bytes()
        with PeakMemory() as memory:
            seconds = best_of(1, lambda: diagnose(View(capture)))
        deaf = longest_silence(capture)
        per_event = seconds / events * 1e6
        case = open_case(View(capture))
        assert not isinstance(case, Diagnosis)
        graph = case.graph
        keep = np.ones(len(graph.segments))
        graphs = [graph]
        if events < LARGE:
            graphs.append(WaitGraph(graph.segments, graph.start_ns, graph.stop_ns, compiled=False))
        walks = [best_of(1, lambda g=g: (g.replay(keep), g.walk(case.actor))) for g in graphs]  # type: ignore[misc]
    used = (memory.peak_bytes - before) / events
    if has_bars:
        assert per_event <= BAR_US, f"{title}: {per_event:.2f} us per event"
        assert used <= BAR_BYTES, f"{title}: {used:.0f} bytes per event"
    return [
        title,
        f"{events:,}",
        f"{per_event:.3f}",
        f"{seconds / max(sorting, 1e-9):.1f}",
        f"{used:.0f}",
        f"{deaf:.2f}",
        *(f"{seconds / max(len(keep), 1) * 1e9:.0f}" for seconds in walks),
        *(["-"] if len(walks) < 2 else []),
    ]


def run(events: list[int], folder: Path, has_bars: bool) -> None:
    """Every size of both."""
    rows = []
    for count in events:
        rows.append(bench(threads_capture(folder / f"threads-{count}.h5", count), "threads", has_bars))
        rows.append(bench(gpu_capture(folder / f"gpu-{count}.h5", count), "GPU", has_bars))
    head = (
        "",
        "events",
        "us/event",
        "× np.sort",
        "bytes/event",
        "longest until cancelled, s",
        "walks, ns/segment",
        "in Python",
    )
    table(head, rows)


def test_what_a_diagnosis_costs(bench_smoke: bool, tmp_path: Path) -> None:
    run([3_000 if bench_smoke else 1_000_000], tmp_path, has_bars=not bench_smoke)


if __name__ == "__main__":
    sizes, place = arguments("What a diagnosis costs", (1_000_000,))
    run(sizes, place, has_bars=min(sizes) >= 1_000_000)
