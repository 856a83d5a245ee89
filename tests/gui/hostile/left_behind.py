"""What a window holds: memory, descriptors, threads, and files that are meant to go."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QEvent

from warpline_app.open import background

SLACK_MIB = 24
_PROC = Path("/proc/self")
_PASSING = (".warpline", "warpline-", ".tmp", ".part", ".making")


class Left(NamedTuple):
    """What one look saw; zeros for what this system does not tell of a process (no /proc)."""

    mib: int
    descriptors: int
    threads: int
    files: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.mib} MiB, {self.descriptors} descriptors, {self.threads} threads, {len(self.files)} files left"


def settle() -> None:
    """Let everything end that somebody gave up."""
    background.wait_for_jobs()
    for _round in range(3):
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()


def look(folder: Path) -> Left:
    """The figures of this process now; ``folder`` is where it may make temporary files."""
    passing = (path.name for path in folder.rglob("*"))
    files = tuple(sorted(name for name in passing if name.startswith(_PASSING) or name.endswith(_PASSING)))
    if not (_PROC / "status").exists():
        return Left(0, 0, 0, files)
    fields = dict(line.split(":", 1) for line in (_PROC / "status").read_text().splitlines())
    return Left(
        int(fields["VmRSS"].split()[0]) >> 10, len(os.listdir(_PROC / "fd")), int(fields["Threads"]), files
    )


def grown(looks: list[Left]) -> list[str]:
    """What is more at the end than when everything had been done a few times; files may never be left."""
    early, late = looks[len(looks) // 4], looks[-1]
    found = []
    if late.mib > early.mib + SLACK_MIB:
        found.append(f"memory grew from {early.mib} to {late.mib} MiB")
    if late.descriptors > early.descriptors:
        found.append(f"descriptors grew from {early.descriptors} to {late.descriptors}")
    if late.threads > early.threads:
        found.append(f"threads grew from {early.threads} to {late.threads}")
    if late.files:
        found.append(f"left behind: {', '.join(late.files)}")
    return found
