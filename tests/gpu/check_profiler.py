"""`warpline.Profiler` alone, in a program that nobody records and that has used the GPU before."""

from __future__ import annotations

from tests.gpu.checking import Bench, check_link_times, counts, printed, source_state

from warpline.storage import open_capture

STEPS = 2
"""That `profiled.py` records."""


def check_profiler_alone(bench: Bench) -> None:
    """Work that was launched in the recorded steps, and no other; the GPU's name, UUID and occupancy."""
    done = bench.run(bench.program("profiled.py", str(bench.folder)))
    bench.expect("exit status", 0, done.status)
    with open_capture(printed(done, "capture")) as capture:
        found = counts(capture)
        bench.expect("kernels of two steps", STEPS * int(printed(done, "launches")), found.get("kernel", 0))
        bench.expect("copies of two steps", STEPS * 2, found.get("memcpy", 0))
        state = source_state(capture, "cuda")
        bench.expect("source cuda, which accuses nobody", "on", state, "another profiler" not in state)
        for device in capture.devices:
            uuid = dict(device.properties).get("uuid", "")
            bench.expect("the GPU's UUID", "GPU-…", uuid, str(uuid).startswith("GPU-"))
            bench.expect(
                "the GPU's name",
                "known",
                device.name,
                bool(device.name) and not device.name.startswith("GPU "),
            )
        if "kernel" in found:
            kernel = capture.kinds["kernel"].at(int(capture.kinds["kernel"].rows[0]))
            occupancy = kernel.get("occupancy_ratio")
            bench.expect("occupancy", "known", occupancy, occupancy is not None)
        check_link_times(bench, capture)
    bench.tell("kernel table", printed(done, "table"))


def check_graph_before(bench: Bench) -> None:
    """A graph that was made before the recording and is replayed in it."""
    done = bench.run(bench.program("profiled.py", str(bench.folder), "graph"))
    bench.expect("exit status", 0, done.status)
    with open_capture(printed(done, "capture")) as capture:
        found = counts(capture)
        kernels, graphs = found.get("kernel", 0), found.get("graph", 0)
        expected = STEPS * int(printed(done, "launches"))
        seen = f"{kernels} kernels, {graphs} graph launches"
        bench.expect(
            "replays",
            f"{expected} kernels, or {STEPS} launches",
            seen,
            kernels == expected or graphs == STEPS,
        )
        bench.tell("source cuda", source_state(capture, "cuda"))
        bench.tell("warnings", "; ".join(map(str, capture.warnings)) or "none")
