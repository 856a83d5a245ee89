"""Small captures for tests of the analysis, and reports as plain rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.registry import compute_report
from warpline.analysis.framework.selection import Selection
from warpline.storage import Capture, CaptureBuilder, open_capture

Open = Callable[[str], Capture]
"""Opens a capture made from the file of the test data that a pattern finds."""


def rows_of(
    capture: Capture, report: str, selection: Selection | None = None, options: Options | None = None
) -> list[dict[str, Any]]:
    """The rows of a report that must be there."""
    table = compute_report(capture, report, selection, options).table
    assert table is not None, f"{report}: {compute_report(capture, report, selection, options).result}"
    return list(table.rows())


def by_name(rows: Sequence[dict[str, Any]], key: str = "name") -> dict[str, dict[str, Any]]:
    """Rows by name; of a tree the outermost ones."""
    return {row[key]: row for row in rows if row.get("depth", 0) == 0}


class Program:
    """Builds a capture of one process with one thread and one GPU; times in ns."""

    def __init__(self, path: Path, gpu: str = "Test GPU", properties: dict[str, int] | None = None) -> None:
        self.path = path
        self.builder = CaptureBuilder(path)
        b = self.builder
        self.process = b.add_process(71, name="python")
        self.thread = b.add_thread(self.process, 71, name="Main")
        base = "process/71.1/thread/71.1"
        b.track("process/71.1", role="process", process=self.process)
        b.track(base, role="thread", process=self.process, thread=self.thread, parent="process/71.1")
        self.tracks = {
            role: b.track(f"{base}/{role}", role=role, parent=base, process=self.process, thread=self.thread)
            for role in ("api", "ranges", "operators", "phases", "memory", "state")
        }
        b.add_device(0, gpu, properties=properties or {})
        b.track("gpu/0", role="gpu", device=0)

    def host(self, role: str, kind: str, start: int, stop: int, name: str, **attributes: Any) -> int:
        """One host event; texts as attributes become string ids. Returns its id."""
        given = {
            key: [self.builder.string(value)] if isinstance(value, str) else [value]
            for key, value in attributes.items()
        }
        return self.builder.add_events(
            self.tracks[role], kind, [start], [stop - start], [self.builder.string(name)], attributes=given
        )

    def gpu(
        self,
        kind: str,
        stream: int,
        start: int,
        stop: int,
        name: str,
        launch: int | None = None,
        **attributes: Any,
    ) -> int:
        """One GPU event, linked to its launching call. Returns its id."""
        track = self.builder.track(
            f"gpu/0/process/71.1/context/1/stream/{stream}",
            title=f"Stream {stream}",
            role="stream",
            parent="gpu/0",
            process=self.process,
            device=0,
            context=1,
            stream=stream,
        )
        event = self.builder.add_events(
            track,
            kind,
            [start],
            [stop - start],
            [self.builder.string(name)],
            attributes={key: [value] for key, value in attributes.items()},
        )
        if launch is not None:
            self.builder.add_links("launch", [launch], [event])
        return event

    def launch(self, start: int, stop: int, name: str = "cudaLaunchKernel") -> int:
        """One API call. Returns its id."""
        return self.host("api", "cuda_api", start, stop, name)

    def finish(self) -> Capture:
        """The finished capture, opened."""
        with self.builder as builder:
            builder.finish()
        return open_capture(self.path)


def training_capture(path: Path) -> Capture:
    """Three steps of 1 ms, the second twice as long, with loading, a forward pass, launches and a copy each."""
    program = Program(path)
    us = 1000
    at = 0
    for step, scale in ((7, 1), (8, 2), (9, 1)):
        length = 1000 * us * scale
        program.host("phases", "phase", at, at + length, f"ProfilerStep#{step}")
        program.host("ranges", "range", at + 10 * us, at + 310 * us, "enumerate(DataLoader)#__next__")
        program.host("ranges", "range", at + 320 * us, at + 620 * us, "forward")
        program.host(
            "operators", "operator", at + 330 * us, at + 480 * us, "aten::linear", input_shapes="[8, 4]"
        )
        program.host(
            "operators", "operator", at + 340 * us, at + 460 * us, "aten::addmm", input_shapes="[8, 4]"
        )
        call = program.launch(at + 350 * us, at + 360 * us)
        program.gpu("kernel", 7, at + 365 * us, at + 565 * us, "sm90_xmma_gemm_bf16", call)
        call = program.launch(at + 370 * us, at + 380 * us)
        program.gpu("kernel", 8, at + 465 * us, at + 665 * us, "ncclDevKernel_AllReduce", call)
        call = program.launch(at + 700 * us, at + 705 * us, "cudaMemcpyAsync")
        program.gpu("memcpy", 7, at + 710 * us, at + 760 * us, "Memcpy DtoH", call, copy_kind=2, bytes=5_000)
        program.launch(at + 705 * us, at + 765 * us, "cudaStreamSynchronize")
        at += length
    program.builder.set_span(0, at)
    return program.finish()
