"""Everything that can only be seen on a machine with an NVIDIA GPU, in one run, as a table: what, expected, seen.

    python tests/gpu/run_gpu_checks.py [--only NAME]… [--output DIR] [--keep] [--minutes M] [--python PATH]

Needs the driver and a libcupti (`WARPLINE_LIBCUPTI`, the nvidia-cuda-cupti package or a toolkit); what needs PyTorch is
skipped where it is not installed. Each check stands alone: one that fails or takes too long does not end the others.
All together they end after ``--minutes`` (8). Exit status 1 when something was unexpected. The rows are also in
``checks.json`` in the output folder. With ``--keep`` captures of at most 4 MB stay there, and the raw activity buffers
(``*.raw``, at most 4 MB each): they are worth having as test data. The GPU's settings are left as they are.
Programs are recorded with ``warpline record`` of the checkout this file lies in.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "capture")]

import numpy as np  # noqa: E402  # after the path
from tests.gpu.check_frameworks import check_framework, check_profiler_alone  # noqa: E402
from tests.gpu.checking import Bench, NotHere, Row, counts, printed, source_state  # noqa: E402

from warpline.recording.sources.cuda.libraries import find_driver, find_libcupti  # noqa: E402
from warpline.storage import Capture, open_capture  # noqa: E402

KEPT_BYTES = 4 << 20


def check_link_times(bench: Bench, capture: Capture) -> None:
    """A kernel starts after its launch starts, and every piece of GPU work has its launch."""
    events, links = capture.events, capture.links
    rows = np.concatenate(
        [capture.kinds[kind].rows for kind in ("kernel", "memcpy", "memset") if kind in capture.kinds]
    )
    linked = np.isin(rows, links.to_row)
    bench.expect("GPU work with a launch", "≥ 99 %", f"{linked.mean():.2%}", bool(linked.mean() >= 0.99))
    calls, work = np.asarray(links.from_row), np.asarray(links.to_row)
    good = (calls >= 0) & (work >= 0) & np.isin(work, rows)
    wait = np.asarray(events.start)[work[good]] - np.asarray(events.start)[calls[good]]
    bench.expect("kernels that start before their launch", 0, int((wait < 0).sum()))
    if len(wait):
        bench.tell("median launch to start", f"{np.median(wait) / 1e3:.1f} µs")


def check_driver(bench: Bench) -> None:
    """Kernels, copies and sets through the driver alone, on four streams: exact counts, times, source, threads."""
    command = bench.program("driver.py", "--launches", "2000", "--streams", "4")
    plain, _seconds = bench.run(command)
    path, done, _seconds = bench.record(command)
    bench.expect("exit status", plain.returncode, done.returncode)
    with open_capture(path) as capture:
        found = counts(capture)
        cuda = source_state(capture, "cuda")
        bench.expect("source cuda", "on", cuda, cuda.startswith("on"))
        for key, kind in (("kernels", "kernel"), ("copies", "memcpy"), ("sets", "memset")):
            bench.expect(key, printed(done, key), str(found.get(kind, 0)))
        bench.expect("streams", 4, len([track for track in capture.tracks if track.role == "stream"]))
        bench.expect("records dropped", 0, sum(source.lost for source in capture.sources))
        bench.expect("ranges on the GPU", "≥ 1", found.get("gpu_annotation", 0), "gpu_annotation" in found)
        check_link_times(bench, capture)
        kernel = capture.kinds["kernel"].at(int(capture.kinds["kernel"].rows[0])) if "kernel" in found else {}
        for name, value in (("grid_x", 16), ("block_x", 128)):
            bench.expect(name, value, kernel.get(name))
        bench.tell(
            "occupancy, registers", (kernel.get("occupancy_ratio"), kernel.get("registers_per_thread"))
        )
        states = {track.uri.removesuffix("/state") for track in capture.tracks if track.role == "state"}
        calls = {track.uri.removesuffix("/api") for track in capture.tracks if track.role == "api"}
        bench.expect("threads of calls that have states", sorted(calls), sorted(calls & states))
        for device in capture.devices:
            bench.tell(f"GPU {device.index}", f"{device.name} {dict(device.properties)}")


def check_driver_graphs(bench: Bench) -> None:
    """CUDA graphs through the driver, a record per node and a record per launch."""
    command = bench.program("driver.py", "--launches", "10", "--replays", "50")
    path, done, _seconds = bench.record(command, "--cuda-graphs", "node")
    nodes, replays, single = (int(printed(done, key)) for key in ("nodes", "replays", "kernels"))
    with open_capture(path) as capture:
        bench.expect("kernels, per node", nodes * replays + single, counts(capture).get("kernel", 0))
        check_link_times(bench, capture)
    path, done, _seconds = bench.record(command, "--cuda-graphs", "graph")
    with open_capture(path) as capture:
        bench.expect("graph launches, per graph", replays, counts(capture).get("graph", 0))
        bench.expect("single kernels, per graph", single, counts(capture).get("kernel", 0))


def check_driver_range(bench: Bench) -> None:
    """cuProfilerStart/Stop bound the capture."""
    command = bench.program("driver.py", "--launches", "500", "--range")
    path, done, _seconds = bench.record(command, "--capture-range", "cuda-profiler")
    with open_capture(path) as capture:
        bench.expect("kernels inside", printed(done, "kernels"), str(counts(capture).get("kernel", 0)))


def check_driver_ends(bench: Bench) -> None:
    """Exit, exception, SIGTERM and kill -9 after work of the driver."""
    for how, status in (("exit", 0), ("exception", 1), ("sigterm", 143), ("sigkill", 137)):
        path, done, _seconds = bench.record(bench.program("driver.py", "--launches", "3000", "--end", how))
        bench.expect(f"{how}: exit status", status, done.returncode)
        with open_capture(path) as capture:
            seen = str(counts(capture).get("kernel", 0))
            # What CUPTI still held is lost with kill -9; the program waited 0.6 s, longer than CUPTI holds anything.
            bench.expect(f"{how}: kernels kept", printed(done, "kernels"), seen)


def check_launches(bench: Bench, command: Sequence[str], count: str) -> None:
    """What a launch costs without and with recording, and that each is in the capture; it prints them as ``count``."""
    plain, _seconds = bench.run(command)
    path, done, _seconds = bench.record(command)
    before, after = float(printed(plain, "launch_us")), float(printed(done, "launch_us"))
    bench.tell("per launch, plain", f"{before:.2f} µs")
    bench.tell("per launch, recorded", f"{after:.2f} µs (× {after / before:.2f})")
    with open_capture(path) as capture:
        bench.expect("kernels", printed(done, count), str(counts(capture).get("kernel", 0)))
        bench.expect("records dropped", 0, sum(source.lost for source in capture.sources))


def check_driver_overhead(bench: Bench) -> None:
    """What a launch costs, plain and recorded: the worst case, kernels of a few microseconds."""
    check_launches(bench, bench.program("driver.py", "--launches", "100000"), "kernels")


def check_training(bench: Bench) -> None:
    """Real training: kernels against torch.profiler's count, clocks, threads, overhead."""
    command = bench.program("training.py", "--steps", "30")
    plain, plain_seconds = bench.run(command)
    path, done, seconds = bench.record(command)
    bench.expect("exit status", plain.returncode, done.returncode)
    bench.expect("loss printed by the program", printed(plain, "loss"), printed(done, "loss"))
    with open_capture(path) as capture:
        found = counts(capture)
        bench.expect(
            "source cuda", "on", source_state(capture, "cuda"), source_state(capture, "cuda").startswith("on")
        )
        bench.expect("records dropped", 0, sum(source.lost for source in capture.sources))
        bench.tell("events", found)
        check_link_times(bench, capture)
        states = {track.uri.removesuffix("/state") for track in capture.tracks if track.role == "state"}
        calls = {track.uri.removesuffix("/api") for track in capture.tracks if track.role == "api"}
        bench.expect("threads of calls that have states", sorted(calls), sorted(calls & states))
        kernels = found.get("kernel", 0)
    ratio = float(printed(done, "step_ms")) / float(printed(plain, "step_ms"))
    bench.tell("time of a step, recorded to plain", f"× {ratio:.3f}")
    bench.tell("time of the run, recorded to plain", f"× {seconds / plain_seconds:.3f}")
    by_torch, _seconds = bench.run([*command, "--count-kernels"])
    bench.expect("kernels, against torch.profiler", printed(by_torch, "kernels"), str(kernels))


def check_inference(bench: Bench) -> None:
    """Inference on two streams, with pinned copies."""
    path, done, _seconds = bench.record(bench.program("training.py", "--inference", "--streams", "2"))
    bench.expect("exit status", 0, done.returncode)
    with open_capture(path) as capture:
        streams = [track.stream for track in capture.tracks if track.role == "stream"]
        bench.expect("streams", "≥ 2", len(streams), len(streams) >= 2)
        check_link_times(bench, capture)


def check_small_kernels(bench: Bench) -> None:
    """The worst case: a loop of tiny kernels."""
    check_launches(bench, bench.program("small_kernels.py", "--launches", "200000"), "launches")


def check_graphs(bench: Bench) -> None:
    """CUDA graphs, a record per node and a record per launch."""
    command = bench.program("graphs.py", "--replays", "50")
    path, done, _seconds = bench.record(command, "--cuda-graphs", "node")
    nodes, replays = int(printed(done, "nodes")), int(printed(done, "replays"))
    with open_capture(path) as capture:
        table = capture.kinds["kernel"]
        values, valid = table.column("graph_node_id")
        bench.expect("kernels of graphs, per node", nodes * replays, int((valid & (values != 0)).sum()))
        check_link_times(bench, capture)
    path, done, _seconds = bench.record(command, "--cuda-graphs", "graph")
    with open_capture(path) as capture:
        bench.expect("graph launches, per graph", replays, counts(capture).get("graph", 0))
        hidden = any("kernels inside are not in the file" in warning for warning in capture.warnings)
        bench.expect("says that kernels are hidden", True, hidden)


def check_capture_range(bench: Bench) -> None:
    """cudaProfilerStart/Stop and an NVTX range bound the capture."""
    for options in (("--capture-range", "cuda-profiler"), ("--capture-range", "nvtx:captured")):
        path, done, _seconds = bench.record(bench.program("ranges.py"), *options)
        with open_capture(path) as capture:
            expected = int(printed(done, "inside"))
            seen = counts(capture).get("kernel", 0)
            # What was launched just before the stop may arrive a little later, never something from before the start.
            good = expected <= seen <= expected + int(printed(done, "slack"))
            bench.expect(f"kernels inside {options[1]}", expected, seen, good)


def check_ends(bench: Bench) -> None:
    """Exit, exception, signals and kill -9 while kernels run."""
    for how, status in (
        ("exit", 0),
        ("exception", 1),
        ("sigterm", 128 + signal.SIGTERM),
        ("sigkill", 128 + 9),
    ):
        path, done, _seconds = bench.record(bench.program("ends.py", how))
        bench.expect(f"{how}: exit status", status, done.returncode)
        with open_capture(path) as capture:
            launched, seen = int(printed(done, "launched")), counts(capture).get("kernel", 0)
            if how == "sigkill":
                bench.expect(f"{how}: kernels kept", "some", f"{seen} of {launched}", seen > 0)
            else:
                bench.expect(f"{how}: kernels kept", launched, seen)


def check_profiler_beside(bench: Bench) -> None:
    """torch.profiler inside a recorded program, before and after the first CUDA call."""
    for order in ("first", "later"):
        path, done, _seconds = bench.record(bench.program("with_profiler.py", order))
        bench.expect(f"{order}: the program's exit status", 0, done.returncode)
        bench.tell(f"{order}: kernels torch.profiler saw", printed(done, "profiler_kernels"))
        with open_capture(path) as capture:
            bench.tell(f"{order}: kernels recorded", counts(capture).get("kernel", 0))
            bench.tell(f"{order}: source cuda", source_state(capture, "cuda"))


def check_workers(bench: Bench) -> None:
    """DataLoader workers by fork beside CUDA in the parent, and a second process with CUDA of its own."""
    path, done, _seconds = bench.record(bench.program("workers.py"))
    bench.expect("exit status", 0, done.returncode)
    with open_capture(path) as capture:
        bench.expect("processes", "≥ 3", len(capture.processes), len(capture.processes) >= 3)
        check_link_times(bench, capture)


def check_annotations(bench: Bench) -> None:
    """emit_nvtx feeds the NVTX agent, and its ranges are projected on the streams."""
    path, done, _seconds = bench.record(bench.program("training.py", "--steps", "5", "--emit-nvtx"))
    bench.expect("exit status", 0, done.returncode)
    with open_capture(path) as capture:
        found = counts(capture)
        bench.expect("NVTX ranges", "> 100", found.get("range", 0), found.get("range", 0) > 100)
        bench.expect(
            "ranges on the GPU", "> 0", found.get("gpu_annotation", 0), found.get("gpu_annotation", 0) > 0
        )


def check_nvml(bench: Bench) -> None:
    """The GPU's counters."""
    path, _done, _seconds = bench.record(bench.program("driver.py", "--launches", "300000"))
    with open_capture(path) as capture:
        tracks = {capture.tracks[counter.track].uri for counter in capture.counters}
        gpu = sorted(uri for uri in tracks if uri.startswith("gpu/"))
        bench.expect("GPU counters", "≥ 5", len(gpu), len(gpu) >= 5)
        bench.tell("they are", ", ".join(uri.rpartition("/")[2] for uri in gpu))


CHECKS: tuple[Callable[[Bench], None], ...] = (
    check_driver,
    check_driver_graphs,
    check_driver_range,
    check_driver_ends,
    check_driver_overhead,
    check_nvml,
    check_training,
    check_inference,
    check_small_kernels,
    check_graphs,
    check_capture_range,
    check_ends,
    check_profiler_beside,
    check_profiler_alone,
    check_framework,
    check_workers,
    check_annotations,
)


def print_table(rows: Sequence[Row]) -> None:
    """The table; a mark in front of what was not as expected."""
    head = Row("check", "what", "expected", "seen", True)
    widths = [max(len(getattr(row, name)) for row in (head, *rows)) for name in ("check", "what", "expected")]
    for row in (head, *rows):
        mark = {True: " ", False: "✗", None: "–"}[row.is_good]
        cells = zip((row.check, row.what, row.expected), widths, strict=True)
        print(mark, "  ".join(cell.ljust(width) for cell, width in cells), row.seen, sep="  ")


def run_check(bench: Bench, check: Callable[[Bench], None]) -> None:
    """One check; whatever happens in it becomes a row."""
    bench.check = check.__name__.removeprefix("check_")
    print(f"… {bench.check}", file=sys.stderr, flush=True)
    began = time.monotonic()
    try:
        check(bench)
    except NotHere as why:
        bench.rows.append(Row(bench.check, "not run", "", str(why), None))
    except Exception as error:  # a check that breaks is one row, and the others go on
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        bench.rows.append(Row(bench.check, "failed", "", text, False))
    bench.tell("seconds", f"{time.monotonic() - began:.1f}")


def tidy(folder: Path, keep: bool) -> None:
    """Leaves of the captures and raw buffers what is small, and nothing without ``keep``."""
    for path in (*folder.glob("*.h5"), *folder.glob("*.raw")):
        if not keep or path.stat().st_size > KEPT_BYTES:
            path.unlink()


def machine(python: str) -> dict[str, str]:
    """What the figures belong to."""
    version = Path("/proc/driver/nvidia/version")
    probe = "import torch; print(torch.__version__, torch.version.cuda)"
    torch = subprocess.run([python, "-c", probe], capture_output=True, text=True, check=False)
    return {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "driver": version.read_text().splitlines()[0] if version.exists() else "",
        "libcupti": str(find_libcupti([python], os.environ) or os.environ.get("WARPLINE_LIBCUPTI", "")),
        "torch": torch.stdout.strip() or "not installed",
    }


def main() -> int:
    """Run the checks; exit status 1 when one was not as expected, 2 when there is no GPU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [check.__name__.removeprefix("check_") for check in CHECKS]
    parser.add_argument("--only", action="append", choices=names)
    parser.add_argument("--output", type=Path, help="where the table goes as JSON, and captures with --keep")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the recorded programs")
    args = parser.parse_args()
    if find_driver(os.environ) is None:
        print("no NVIDIA driver here: libcuda.so.1 was not found", file=sys.stderr)
        return 2
    folder = args.output or Path(tempfile.mkdtemp(prefix="warpline-gpu-"))
    folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(folder, args.python, time.monotonic() + 60 * args.minutes)
    about = machine(args.python)
    for check, name in zip(CHECKS, names, strict=True):
        if args.only and name not in args.only:
            continue
        run_check(bench, check)
        tidy(folder, args.keep)
        # After each: what was seen is there whatever comes.
        document = {"machine": about, "rows": [asdict(row) for row in bench.rows]}
        (folder / "checks.json").write_text(json.dumps(document, indent=1, ensure_ascii=False))
    for key, value in about.items():
        print(f"{key}: {value}")
    print_table(bench.rows)
    bad = sum(row.is_good is False for row in bench.rows)
    print(f"{len(bench.rows)} rows, {bad} not as expected; {folder / 'checks.json'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
