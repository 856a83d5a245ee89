"""Which reports there are, one line each; a report is computed by calling `compute`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Report, Table
from warpline.analysis.framework.selection import Selection, View
from warpline.i18n import tr
from warpline.model import UsageError
from warpline.model.progress import IsCancelled
from warpline.storage import Capture

Compute = Callable[[View, Options], Table | NotRecorded]


@dataclass(frozen=True)
class ReportSpec:
    """A report before it is computed. ``module`` (below ``warpline.analysis``) has a function of the report's name.

    ``family`` groups reports for people: ``gpu``, ``ranges``, ``framework``, ``cpu``, ``steps``.
    """

    name: str
    title: str
    family: str
    module: str

    def load(self) -> Compute:
        """The function that computes the report."""
        module = importlib.import_module(f"warpline.analysis.{self.module}")
        function: Compute = getattr(module, self.name)
        return function


REPORTS: tuple[ReportSpec, ...] = (
    ReportSpec("cuda_api_sum", "CUDA API calls", "gpu", "cuda.cuda_gpu_sum"),
    ReportSpec("cuda_api_trace", "CUDA API calls, one by one", "gpu", "cuda.cuda_kern_exec_sum"),
    ReportSpec("cuda_gpu_kern_sum", "GPU kernels", "gpu", "cuda.cuda_gpu_sum"),
    ReportSpec("cuda_gpu_kern_gb_sum", "GPU kernels by grid and block", "gpu", "cuda.cuda_gpu_sum"),
    ReportSpec("cuda_gpu_mem_time_sum", "GPU copies and sets by time", "gpu", "cuda.cuda_gpu_sum"),
    ReportSpec("cuda_gpu_mem_size_sum", "GPU copies and sets by size", "gpu", "cuda.cuda_gpu_sum"),
    ReportSpec("cuda_gpu_sum", "GPU kernels, copies and sets", "gpu", "cuda.cuda_gpu_sum"),
    ReportSpec("cuda_api_gpu_sum", "CUDA API calls and GPU work", "gpu", "cuda.cuda_gpu_sum"),
    ReportSpec("cuda_gpu_trace", "GPU work, one by one", "gpu", "cuda.cuda_kern_exec_sum"),
    ReportSpec(
        "cuda_kern_exec_sum", "Kernel launches: call, queue, kernel", "gpu", "cuda.cuda_kern_exec_sum"
    ),
    ReportSpec("cuda_kern_exec_trace", "Kernel launches, one by one", "gpu", "cuda.cuda_kern_exec_sum"),
    ReportSpec("device", "Devices", "framework", "paddle.overview"),
    ReportSpec("overview", "Overview by type of event", "framework", "paddle.overview"),
    ReportSpec("model", "Model: phases of a step", "framework", "paddle.overview"),
    ReportSpec("distributed", "Communication and computation", "framework", "paddle.overview"),
    ReportSpec("operator", "Operators", "framework", "paddle.operator_table"),
    ReportSpec("operator_shapes", "Operators by input shapes", "framework", "paddle.operator_table"),
    ReportSpec("operator_places", "Operators by place in the step", "framework", "paddle.operator_table"),
    ReportSpec("kernel", "Kernels", "framework", "paddle.kernel"),
    ReportSpec("memory_manipulation", "Memory manipulation", "framework", "paddle.kernel"),
    ReportSpec("memory", "Memory allocations", "framework", "paddle.memory"),
    ReportSpec("user_defined", "Ranges of the user", "framework", "paddle.user_defined"),
    ReportSpec("benchmark", "Benchmark: reader and batch cost", "framework", "paddle.user_defined"),
    ReportSpec("framework_overhead", "Computation, framework overhead, copies", "framework", "paddle.events"),
    ReportSpec("events", "Event tree", "framework", "paddle.events"),
    ReportSpec("steps", "Steps", "steps", "steps.steps"),
    ReportSpec("step_breakdown", "Where the time of each step goes", "steps", "steps.steps"),
    ReportSpec("overlap", "GPU time: busy, idle, overlap", "gpu", "gpu.overlap"),
    ReportSpec("stream_concurrency", "Streams at the same time", "gpu", "gpu.overlap"),
    ReportSpec("gpu_idle", "GPU idle time by cause", "gpu", "gpu.gpu_idle"),
    ReportSpec("launch_latency", "Launch latency by kernel", "gpu", "gpu.launch_latency"),
    ReportSpec("queue_length", "Operations waiting on streams", "gpu", "gpu.launch_latency"),
    ReportSpec("nvtx_sum", "Ranges", "ranges", "ranges.nvtx_pushpop_trace"),
    ReportSpec("nvtx_pushpop_sum", "Nested ranges", "ranges", "ranges.nvtx_pushpop_trace"),
    ReportSpec("nvtx_startend_sum", "Start/end ranges", "ranges", "ranges.nvtx_pushpop_trace"),
    ReportSpec("nvtx_pushpop_trace", "Nested ranges, one by one", "ranges", "ranges.nvtx_pushpop_trace"),
    ReportSpec("nvtx_gpu_proj_sum", "Ranges projected on the GPU", "ranges", "ranges.nvtx_kern_sum"),
    ReportSpec(
        "nvtx_gpu_proj_trace", "Ranges projected on the GPU, one by one", "ranges", "ranges.nvtx_kern_sum"
    ),
    ReportSpec("nvtx_kern_sum", "Kernels by range", "ranges", "ranges.nvtx_kern_sum"),
    ReportSpec("thread_state", "Thread states", "cpu", "cpu.thread_state"),
    ReportSpec("core_utilization", "Core utilization", "cpu", "cpu.thread_state"),
    ReportSpec("osrt_sum", "OS runtime calls", "cpu", "cpu.osrt_sum"),
)
"""In the order in which they are listed."""


def find_report(name: str) -> ReportSpec:
    """The report of that name.

    Raises UsageError when there is none.
    """
    for spec in REPORTS:
        if spec.name == name:
            return spec
    near = get_close_matches(name, [spec.name for spec in REPORTS], n=3)
    if near:
        raise UsageError(tr("no report {name!r}; did you mean {near}?", name=name, near=", ".join(near)))
    raise UsageError(tr("no report {name!r}; warpline stats --list names them all", name=name))


def compute_report(
    capture: Capture,
    name: str,
    selection: Selection | None = None,
    options: Options | None = None,
    cancelled: IsCancelled | None = None,
) -> Report:
    """Compute one report about a selection of a capture.

    Raises UsageError when there is no such report, Cancelled soon after ``cancelled()`` became true.
    """
    spec = find_report(name)
    view = View(capture, selection, cancelled)
    # Sums over a damaged capture may pass what integers hold: wrong numbers, but no reason to fail.
    with np.errstate(invalid="ignore", over="ignore"):
        result = spec.load()(view, options or Options())
    origin = capture.span[0]
    return Report(spec.name, spec.title, (view.start_ns - origin, view.stop_ns - origin), result)
