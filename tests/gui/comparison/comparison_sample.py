"""Two captures of one program: the second loads faster, runs other kernels, and is another process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from warpline.storage import CaptureBuilder

US = 1_000


def write_run(
    path: Path, *, load_us: int, kernel: str, pid: int, steps: int = 6, meta: dict[str, Any] | None = None
) -> Path:
    """Steps of loading, an operator that launches a kernel, and the kernel; two streams and a worker thread."""
    with CaptureBuilder(path) as b:
        b.meta.update(meta or {})
        process = b.add_process(pid, name="python")
        main, worker = b.add_thread(process, pid, name="Main"), b.add_thread(process, pid + 1, name="worker")
        home = f"process/{pid}.1"
        b.track(home, title=f"python [{pid}]", role="process", process=process)
        tracks = {}
        for thread, tid, title in ((main, pid, "Main"), (worker, pid + 1, "worker")):
            base = f"{home}/thread/{tid}.1"
            b.track(base, title=f"{title} {tid}", role="thread", process=process, thread=thread, parent=home)
            for role in ("phases", "operators", "api"):
                if thread == main or role == "operators":
                    tracks[thread, role] = b.track(
                        f"{base}/{role}", title=role.title(), role=role, parent=base, process=process, thread=thread
                    )  # fmt: skip
        b.add_device(0, "Test GPU")
        b.track("gpu/0", title="GPU 0", role="gpu", device=0)
        streams = [
            b.track(
                f"gpu/0/process/{pid}.1/context/1/stream/{number}", title=f"Stream {number}", role="stream",
                parent="gpu/0", process=process, device=0, context=1, stream=number,
            )
            for number in (7, 7 + pid % 5)
        ]  # fmt: skip

        def add(track: int, kind: str, start: int, length: int, name: str) -> int:
            return b.add_events(track, kind, [start * US], [length * US], [b.string(name)])

        at = 0
        for step in range(steps):
            length = load_us + 300 + step % 3
            add(tracks[main, "phases"], "phase", at, length, f"ProfilerStep#{step}")
            add(tracks[main, "operators"], "operator", at, load_us, "enumerate(DataLoader)#_next_data")
            add(tracks[main, "operators"], "operator", at + load_us, 40, "aten::linear")
            add(tracks[worker, "operators"], "operator", at + 5, 20, "aten::collate")
            call = add(tracks[main, "api"], "cuda_api", at + load_us + 10, 5, "cudaLaunchKernel")
            work = add(streams[0], "kernel", at + load_us + 20, 250, kernel)
            add(streams[1], "kernel", at + load_us + 30, 100, "reduce_kernel")
            b.add_links("launch", [call], [work])
            at += length
        b.set_span(0, at * US)
        b.finish()
    return path
