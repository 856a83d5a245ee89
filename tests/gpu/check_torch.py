"""PyTorch: its own profiler beside ours, training, graphs, ranges, processes, cost."""

from __future__ import annotations

import numpy as np
from tests.gpu.check_driver import expect_states
from tests.gpu.checking import (
    Bench,
    check_link_times,
    counts,
    lost,
    names,
    printed,
    source_state,
    tell_flushes,
)

from warpline.storage import open_capture


def check_profiler_beside(bench: Bench) -> None:
    """torch.profiler in a recorded program, before and after the first CUDA call: both see all, by right clocks."""
    for order in ("first", "later"):
        plain = bench.run(bench.program("with_profiler.py", order))
        path, done = bench.record(bench.program("with_profiler.py", order))
        bench.expect(f"{order}: exit status", 0, done.status)
        for text, result in (("plain", plain), ("recorded", done)):
            bench.expect(
                f"{order}: kernels of torch.profiler, {text}",
                printed(result, "during"),
                printed(result, "profiler_kernels"),
            )
            if "outside=" in result.output:
                bench.expect(f"{order}: its times outside its block, {text}", "0", printed(result, "outside"))
                bench.tell(
                    f"{order}: its first kernel after the start, {text}",
                    f"{printed(result, 'first_after_ms')} ms",
                )
        with open_capture(path) as capture:
            ours = sum("erfinv" in name.lower() for name in names(capture, "kernel").tolist())
            bench.expect(f"{order}: kernels recorded", printed(done, "kernels"), str(ours))
            bench.tell(f"{order}: source cuda", source_state(capture, "cuda"))
            bench.tell(f"{order}: records lost", lost(capture))


def check_profiler_unseen(bench: Bench) -> None:
    """torch.profiler in a recording of `warpline.Profiler`, which cannot see it: right times there, a gap here."""
    done = bench.run(bench.program("with_profiler.py", "unseen", str(bench.folder)))
    bench.expect("exit status", 0, done.status)
    bench.expect("kernels of torch.profiler", printed(done, "during"), printed(done, "profiler_kernels"))
    if "outside=" in done.output:
        bench.expect("its times outside its block", "0", printed(done, "outside"))
    with open_capture(printed(done, "capture")) as capture:
        state = source_state(capture, "cuda")
        seen = f"{counts(capture).get('kernel', 0)} kernels of {printed(done, 'kernels')}; {state}"
        bench.expect("what was missed is told", "another profiler …", seen, "another profiler" in state)


def check_training(bench: Bench) -> None:
    """Real training: kernels against torch.profiler's count, clocks, threads, cost."""
    command = bench.program("training.py", "--steps", "30")
    path, done = bench.alternate(command, keys=("step_ms",))
    bench.expect("exit status", 0, done.status)
    counted = bench.run([*command, "--count-kernels"])
    bench.expect("loss printed by the program", printed(counted, "loss"), printed(done, "loss"))
    with open_capture(path) as capture:
        cuda = source_state(capture, "cuda")
        bench.expect("source cuda", "on", cuda, cuda.startswith("on"))
        bench.expect("records lost", 0, lost(capture))
        bench.tell("events", counts(capture))
        check_link_times(bench, capture)
        expect_states(bench, capture)
        kernels = counts(capture).get("kernel", 0)
        bench.expect("kernels, against torch.profiler", printed(counted, "kernels"), str(kernels))
        tell_flushes(bench, capture)


def check_torch_memory(bench: Bench) -> None:
    """What recording takes of the host's and the GPU's memory, and device memory as PyTorch allocates it."""
    command = bench.program("training.py", "--steps", "10")
    path, done = bench.alternate(command, "--cuda-memory", keys=("host_mib", "gpu_used_mib"))
    bench.expect("exit status", 0, done.status)
    with open_capture(path) as capture:
        found = counts(capture).get("memory", 0)
        bench.expect("allocations of device memory", "≥ 1", found, found >= 1)


def check_inference(bench: Bench) -> None:
    """Inference on two streams, with pinned copies."""
    capture, _done = bench.record_and_open(bench.program("training.py", "--inference", "--streams", "2"))
    with capture:
        streams = [track.stream for track in capture.tracks if track.role == "stream"]
        bench.expect("streams", "≥ 2", len(streams), len(streams) >= 2)
        check_link_times(bench, capture)


def check_small_kernels(bench: Bench) -> None:
    """The worst case: a loop of tiny kernels."""
    path, done = bench.alternate(
        bench.program("small_kernels.py", "--launches", "100000"), keys=("launch_us",)
    )
    with open_capture(path) as capture:
        launches, seen = int(printed(done, "launches")), counts(capture).get("kernel", 0)
        bench.expect("kernels", f"≥ {launches}", seen, seen >= launches)
        bench.expect("records lost", 0, lost(capture))
        tell_flushes(bench, capture)


def check_graphs(bench: Bench) -> None:
    """CUDA graphs, a record per node and a record per launch."""
    command = bench.program("graphs.py", "--replays", "50")
    path, done = bench.record(command, "--cuda-graphs", "node")
    nodes, replays = int(printed(done, "nodes")), int(printed(done, "replays"))
    with open_capture(path) as capture:
        values, valid = capture.kinds["kernel"].column("graph_node_id")
        bench.expect("kernels of graphs, per node", nodes * replays, int((valid & (values != 0)).sum()))
        check_link_times(bench, capture)
    path, done = bench.record(command, "--cuda-graphs", "graph")
    with open_capture(path) as capture:
        bench.expect("graph launches, per graph", replays, counts(capture).get("graph", 0))
        bench.tell("warnings", "; ".join(map(str, capture.warnings)) or "none")


def check_capture_range(bench: Bench) -> None:
    """cudaProfilerStart/Stop and an NVTX range bound the capture."""
    for options in (("--capture-range", "cuda-profiler"), ("--capture-range", "nvtx:captured")):
        path, done = bench.record(bench.program("ranges.py"), *options)
        with open_capture(path) as capture:
            seen = counts(capture).get("kernel", 0)
            bench.expect(f"kernels inside {options[1]}", printed(done, "inside"), str(seen))


def check_torch_ranks(bench: Bench) -> None:
    """Two ranks that torchrun starts, with gloo: each has its rank, its steps and its kernels."""
    launcher = [bench.python, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    path, done = bench.record([*launcher, *bench.program("torch_ranks.py")[1:]])
    bench.expect("exit status", 0, done.status)
    with open_capture(path) as capture:
        rows = capture.kinds["kernel"].rows if "kernel" in capture.kinds else np.zeros(0, np.int64)
        owners = {
            capture.tracks[int(track)].uri.partition("/context/")[0]
            for track in np.unique(capture.tracks_of_rows(rows))
        }
        bench.expect("processes with kernels", 2, len(owners))
        bench.tell("ranks", sorted(str(process.rank) for process in capture.processes))


def check_workers(bench: Bench) -> None:
    """DataLoader workers by fork beside CUDA in the parent, and a second process with CUDA of its own."""
    capture, _done = bench.record_and_open(bench.program("workers.py"))
    with capture:
        bench.expect("processes", "≥ 3", len(capture.processes), len(capture.processes) >= 3)
        check_link_times(bench, capture)


def check_annotations(bench: Bench) -> None:
    """emit_nvtx feeds the NVTX agent, and its ranges are projected on the streams."""
    capture, _done = bench.record_and_open(bench.program("training.py", "--steps", "5", "--emit-nvtx"))
    with capture:
        found = counts(capture)
        bench.expect("NVTX ranges", "> 100", found.get("range", 0), found.get("range", 0) > 100)
        projected = found.get("gpu_annotation", 0)
        bench.expect("ranges on the GPU", "> 0", projected, projected > 0)
