"""From a range of a capture to its time budget and what stands out in it."""

from __future__ import annotations

import numpy as np

from warpline.analysis.findings.finding import Diagnosis
from warpline.analysis.findings.gpu_findings import diagnose_gpu
from warpline.analysis.findings.thread_time import Threads
from warpline.analysis.findings.wait_findings import diagnose_thread
from warpline.analysis.framework.selection import GPU_KINDS, View
from warpline.analysis.structure.launches import has_launches
from warpline.i18n import english, tr
from warpline.model.progress import Progress, unwatched

AT_MOST = 5
"""Findings that are shown unless more are asked for."""


def diagnose(view: View, progress: Progress = unwatched) -> Diagnosis:
    """What the hardware waited for: a GPU where there is one, otherwise the program's main thread.

    Every nanosecond of the range has one cause. Findings come most gain first, all of them. Raises Cancelled when the
    view's `cancelled` says so.
    """
    progress(0.0, tr("Reading what was recorded"))
    if view.has(*GPU_KINDS) and has_launches(view):
        return _ordered(diagnose_gpu(view))
    if not view.has("thread_state"):
        return Diagnosis(
            None,
            reason=english("neither thread states nor GPU work with its launches were recorded"),
            remedy=english("record the program with warpline record"),
        )
    threads = Threads(view)
    thread = main_thread(threads)
    view.check_cancelled()
    progress(0.5, tr("Following the waits"))
    if thread is None:
        return Diagnosis(None, reason=english("no thread did anything in this range"))
    return _ordered(diagnose_thread(threads, thread))


def main_thread(threads: Threads) -> int | None:
    """The first thread of the first process that did something; else the thread with the most recorded time."""
    activity, capture = threads.activity, threads.view.capture
    present: set[int] = set(np.unique(activity.thread).tolist()) - {-1}
    for index, thread in enumerate(capture.threads):
        if index in present and thread.process == 0 and thread.tid == capture.processes[0].pid:
            return index
    if not present:
        return None
    lengths = np.bincount(np.maximum(activity.thread, 0), activity.stop - activity.start)
    return max(present, key=lambda index: float(lengths[index]))


def _ordered(found: Diagnosis) -> Diagnosis:
    order = {"critical": 0, "warning": 1, "note": 2}
    findings = sorted(found.findings, key=lambda one: (order[one.severity], -one.gain_ns))
    return Diagnosis(found.budget, tuple(findings), found.reason, found.remedy)
