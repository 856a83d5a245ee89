"""The checks by call, the most valuable first, each with the time it may take. Needs the standard library only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A check is the function ``check_NAME`` of ``tests.gpu.MODULE``."""

    name: str
    module: str
    limit_s: float = 60


HARNESS = "harness"
GROUPS: dict[str, tuple[Check, ...]] = {
    "driver": (
        Check("driver", "check_driver"),
        Check("contexts", "check_driver", 70),
        Check("range_unsynchronized", "check_driver"),
        Check("busy_ends", "check_ends", 100),
        Check("profiler_alone", "check_profiler"),
        Check("graph_before", "check_profiler"),
        Check("synchronize", "check_clock", 110),
        Check("driver_memory", "check_driver"),
        Check("driver_overhead", "check_driver", 90),
        Check("driver_graphs", "check_driver"),
        Check("driver_range", "check_driver"),
        Check("driver_ends", "check_ends", 80),
        Check("nvml", "check_driver"),
        Check("default_streams", "check_driver"),
        Check("two_ranks", "check_driver"),
    ),
    "torch": (
        Check("profiler_beside", "check_torch", 120),
        Check("profiler_unseen", "check_torch", 60),
        Check("training", "check_torch", 120),
        Check("framework", "check_frameworks", 90),
        Check("torch_memory", "check_torch", 90),
        Check("graphs", "check_torch", 80),
        Check("ends", "check_ends", 120),
        Check("small_kernels", "check_torch", 100),
        Check("capture_range", "check_torch", 80),
        Check("torch_ranks", "check_torch", 80),
        Check("workers", "check_torch"),
        Check("annotations", "check_torch"),
        Check("inference", "check_torch"),
    ),
    "others": (
        Check("static_runtime", "check_others", 90),
        Check("runtime_reset", "check_others", 90),
        Check("per_thread_streams", "check_others", 90),
        Check("triton", "check_others", 90),
        Check("cupy", "check_others", 90),
        Check("jax", "check_others", 120),
    ),
    HARNESS: (
        Check("hangs", "check_harness", 8),
        Check("crashes", "check_harness"),
        Check("breaks", "check_harness"),
        Check("floods", "check_harness"),
        Check("leaves_a_process", "check_harness"),
        Check("cannot_run", "check_harness"),
        Check("passes", "check_harness"),
    ),
}
"""Driver: nothing but the driver is needed. Torch: PyTorch. Others: a CUDA toolkit, Triton, CuPy, JAX.
Harness: no GPU; checks that misbehave on purpose."""

CHECKS = {check.name: check for group in GROUPS.values() for check in group}
