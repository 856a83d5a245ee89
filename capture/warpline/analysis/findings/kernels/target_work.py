"""The work of the target GPU's kernels against the peaks of its model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from warpline.analysis.findings.case import Case
from warpline.analysis.hardware.devices import DeviceModel, device_of
from warpline.analysis.hardware.kernel_work import KernelWork, OperatorGroup, kernel_work
from warpline.analysis.hardware.limits import Assessment, Limit, judge

Int64Array = npt.NDArray[np.int64]
_KNOWN = 0.5
"""Below this share of kernel time with known work, nothing is said about the whole."""


@dataclass(frozen=True, eq=False)
class TargetWork:
    """The kernels of the target GPU, and its model; None with the ``reason`` why nothing is judged."""

    work: KernelWork
    model: DeviceModel | None
    reason: str

    @cached_property
    def assessments(self) -> tuple[Assessment, ...]:
        """How each group compares with the model's peaks; empty without a model."""
        return tuple(judge(self.model, group) for group in self.work.groups) if self.model else ()

    @property
    def is_known(self) -> bool:
        """Whether the model and the work of most of the kernel time are known."""
        return self.model is not None and self.work.known_ns > _KNOWN * self.work.time_ns

    def times(self) -> dict[Limit, int]:
        """The kernel time that each limit holds, ns; only of known work."""
        times = dict.fromkeys(Limit, 0)
        for group, assessment in zip(self.work.groups, self.assessments, strict=True):
            times[assessment.limit] += group.time_ns
        return times

    def group_of_rows(self, rows: Int64Array) -> Int64Array:
        """The group of each kernel (event rows); −1 for unknown work."""
        known = self.work.row
        if not len(known):
            return np.broadcast_to(np.int64(-1), len(rows))
        place = np.minimum(np.searchsorted(known, rows), len(known) - 1)
        return np.where(known[place] == rows, self.work.group[place], -1)


def target_work(case: Case) -> TargetWork:
    """The work of the target, which must be a GPU; rules get it by ``case.once``."""
    assert case.gpu is not None
    gpu = case.gpu.gpu
    model, reason = device_of(case.view.capture, gpu.device, gpu.rank)
    return TargetWork(kernel_work(case.view, gpu), model, reason)


def operator_text(case: Case, group: OperatorGroup) -> str:
    """``aten::bmm (M 5185, N 64, K 5185)``"""
    name = case.view.capture.strings[group.name]
    sizes = ", ".join(f"{size} {value:,}" for size, value in group.work.sizes)
    return f"{name} ({sizes})" if sizes else name
