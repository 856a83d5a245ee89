"""What can be recorded on this machine: each source tried for real, briefly."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from warpline.i18n import english
from warpline.recording.not_yet import not_yet
from warpline.recording.platforms import is_linux, linux_only
from warpline.recording.sources.nvml.collect import NvmlUnavailable, open_library
from warpline.recording.sources.perf.collect import PerfRefused, open_rings, paranoid_level
from warpline.recording.sources.wakeups.collect import WakeupCollector, WakeupsUnavailable
from warpline.recording.spool.writer import SpoolWriter


@dataclass(frozen=True)
class SourceCheck:
    """One source: whether it works here; if not, or only in part, why, and how to enable it.

    ``trace`` is its name in ``record --trace``.
    """

    name: str
    title: str
    available: bool
    reason: str = ""
    remedy: str = ""
    trace: str = ""


AGENT_CHECKS: tuple[str, ...] = ("warpline.recording.agent.checks:check_agent",)
"""Functions ``module:name`` without arguments that return a sequence of `SourceCheck`, for what agents record."""


def check_sources() -> list[SourceCheck]:
    """Every source, in the order of importance."""
    checks = [check_perf(), check_wakeups(), check_procfs(), check_nvml()]
    for name in AGENT_CHECKS:
        module, _, function = name.partition(":")
        probe = cast(
            "Callable[[], Sequence[SourceCheck]]", getattr(importlib.import_module(module), function)
        )
        checks.extend(probe())
    checks.extend(check_not_yet())
    if not is_linux():
        return [replace(check, available=False, reason=linux_only(), remedy="") for check in checks]
    return checks


def check_perf() -> SourceCheck:
    """Whether the kernel hands out context switches; opens and closes the events for our own process."""
    title = english("Thread states and cores, exact (perf events)")
    try:
        rings = open_rings(os.getpid(), enable_on_exec=True)
    except PerfRefused as refused:
        return SourceCheck("perf", title, False, refused.refusal.reason, refused.refusal.remedy, "cpu")
    for ring in rings:
        ring.close()
    return SourceCheck("perf", title, True, f"kernel.perf_event_paranoid = {paranoid_level()}", "", "cpu")


def check_wakeups() -> SourceCheck:
    """Whether wake-ups can be traced, which tells waiting for a core from being blocked."""
    title = english("Wake-ups: who woke whom, and the wait for a core apart from being blocked (tracepoints)")
    with tempfile.TemporaryDirectory() as folder:
        writer = SpoolWriter(Path(folder) / "wakeups.spool", "doctor")
        try:
            WakeupCollector(writer, os.getpid()).close()
        except WakeupsUnavailable as unavailable:
            return SourceCheck("wakeups", title, False, str(unavailable), unavailable.remedy, "cpu")
        finally:
            writer.close()
    return SourceCheck("wakeups", title, True, "", "", "cpu")


def check_procfs() -> SourceCheck:
    """Whether /proc has the scheduler's accounting, from which states are estimated when perf is refused."""
    title = english("Utilization, CPU time, memory; thread states estimated where perf is refused (/proc)")
    if not os.access(f"/proc/self/task/{os.getpid()}/schedstat", os.R_OK):
        return SourceCheck(
            "procfs", title, False, english("/proc has no schedstat"), english("mount /proc"), "cpu"
        )
    return SourceCheck("procfs", title, True, "", "", "cpu")


def check_nvml() -> SourceCheck:
    """Whether NVIDIA's management library answers."""
    title = english("GPU load, memory, power, clocks, temperature (NVML)")
    try:
        library, gpus = open_library()
    except NvmlUnavailable as unavailable:
        return SourceCheck("nvml", title, False, str(unavailable), unavailable.remedy, "nvml")
    library.nvmlShutdown()
    return SourceCheck("nvml", title, True, ", ".join(gpu.name for gpu in gpus), "", "nvml")


def check_not_yet() -> list[SourceCheck]:
    """Sources that can be asked for and that this version cannot record."""
    titles = {
        "osrt": english("Calls of the C library that block (OS runtime)"),
        "python": english("Python stacks, and the wait for data loaders"),
        "torch": english("Operators and phases of PyTorch and Paddle"),
    }
    found = [(title, not_yet(name)) for name, title in titles.items()]
    return [
        SourceCheck(source.name, title, False, source.reason, source.remedy, source.name)
        for title, source in found
    ]
