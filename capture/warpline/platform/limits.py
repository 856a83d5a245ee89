"""Limits that a process can ask the system for, where it has them."""

from __future__ import annotations

import signal
import sys
from pathlib import Path


def limit_memory(more_bytes: int) -> None:
    """Limit this process to its present address space plus ``more_bytes``; on Linux only."""
    if sys.platform == "linux":
        import resource

        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        most = pages * resource.getpagesize() + more_bytes
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        # A crash for lack of memory must leave no core file.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end_after(seconds: float) -> None:
    """Have the system end this process after some time, whatever it is doing then; 0: never. Not on Windows."""
    if sys.platform != "win32":
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
