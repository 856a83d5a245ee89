"""Flame graphs of stacks: samples on a core, waiting time, both, or waiting by reason; merged or in time order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.thread_columns import thread_titles
from warpline.analysis.structure.flame import MAX_BOXES, Flame, Tree, laid_out, turned
from warpline.analysis.structure.stack_weights import (
    SampledStacks,
    has_samples,
    running_stacks,
    sampled_stacks,
    waited_stacks,
)
from warpline.analysis.structure.thread_states import StateTimes
from warpline.i18n import english
from warpline.model.waits import WAIT_KINDS
from warpline.storage import NO_STACK

Int64Array = npt.NDArray[np.int64]

STACK_SOURCES = ("merged", "on_cpu", "off_cpu", "reasons", "samples")
_ON_A_CORE = english("on a core")
_EXTRA = (*(WAIT_KINDS.get(code, str(code)) for code in range(max(WAIT_KINDS) + 1)), _ON_A_CORE)
_AVERAGE_DEPTH = 8


@dataclass(frozen=True, kw_only=True)
class _Stacks:
    """Samples and waits that make up the boxes [n].

    ``stack`` id, ``extra`` name before or after its frames (−1: none), ``weight``, ``start_ns`` and ``length_ns`` in
    time order, ``thread``, event ``row``.
    """

    stack: Int64Array
    extra: Int64Array
    weight: Int64Array
    start_ns: Int64Array
    length_ns: Int64Array
    thread: Int64Array
    row: Int64Array


def stack_flame(
    view: View, source: str, *, bottom_up: bool = False, by_time: bool = False
) -> Flame | NotRecorded:
    """The flame graph of one of `STACK_SOURCES` for a selection.

    Stacks of ``reasons`` begin with the reason of the wait; those of ``merged`` end with it, or with "on a core".
    Waiting is exact, in ns. ``on_cpu`` and ``samples`` (Python's samples, if there are any) count samples, or add up
    their weights. In
    ``merged`` and in time order, the samples of a thread share its running time, which is an estimate.
    """
    parts: list[_Stacks] = []
    unit = "samples" if source in {"on_cpu", "samples"} and not by_time else "ns"
    if source in {"merged", "on_cpu", "samples"}:
        if not has_samples(view):
            return missing("samples")
        is_all = source == "samples" and view.has("sample")
        samples = sampled_stacks(view) if is_all else running_stacks(view)
        if source == "merged" and not samples.has_states:
            return missing("thread_state")
        unit = samples.unit if unit == "samples" else unit
        parts.append(_sampled(view, samples, source, unit))
    if source in {"merged", "off_cpu", "reasons"}:
        if not view.has("thread_state") or "wait" not in view.capture.kinds["thread_state"].attributes:
            return missing("wait")
        parts.append(_waited(view, has_reason=source != "off_cpu"))
    names = [item.name for item in fields(_Stacks)]
    joined = _Stacks(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
    paths = _Paths(view, ends_with_extra=source == "merged")
    if by_time:
        flame = _in_time(view, joined, paths)
    else:
        tree = _tree(joined, paths, unit)
        flame = laid_out(turned(tree) if bottom_up else tree)
    return replace(flame, extra=_EXTRA)


def _sampled(view: View, samples: SampledStacks, source: str, unit: str) -> _Stacks:
    keep = np.flatnonzero((samples.is_running | (source == "samples")) & (samples.stack >= 0))
    thread, time = samples.thread[keep], samples.time_ns[keep]
    order = np.lexsort((time, thread))
    keep, thread, time = keep[order], thread[order], time[order]
    period = _period(thread, time)
    weight = samples.weight[keep]
    if unit == "ns" and samples.unit != "ns":
        states = StateTimes(view)
        for number in np.unique(thread).tolist():
            mine = np.flatnonzero(thread == number)
            ran = states.times_in(number, np.array([view.start_ns]), np.array([view.stop_ns]))[0, 0]
            whole = int(ran) if samples.has_states and source == "merged" else period * len(mine)
            # Whole nanoseconds that add up to the total.
            weight[mine] = np.diff(np.arange(len(mine) + 1) * whole // len(mine))
    following = np.append(time[1:], view.stop_ns)
    same = np.append(thread[1:] == thread[:-1], False)
    length = np.clip(np.where(same, following - time, period), 1, 2 * period)
    if samples.unit == "ns":
        length = np.maximum(samples.weight[keep], 1)
    return _Stacks(
        stack=samples.stack[keep],
        extra=np.full(len(keep), len(_EXTRA) - 1 if source == "merged" else -1),
        weight=weight,
        start_ns=time,
        length_ns=length,
        thread=thread,
        row=np.full(len(keep), -1),
    )


def _period(thread: Int64Array, time: Int64Array) -> int:
    """The median time between two samples of a thread."""
    steps = np.diff(time)[thread[1:] == thread[:-1]] if len(time) > 1 else np.empty(0, np.int64)
    steps = steps[steps > 0]
    return int(np.median(steps)) if len(steps) else 10_000_000


def _waited(view: View, has_reason: bool) -> _Stacks:
    waits = waited_stacks(view)
    keep = np.flatnonzero(waits.time_ns > 0)
    reason = np.clip(waits.wait[keep], 0, len(_EXTRA) - 2)
    return _Stacks(
        stack=waits.stack[keep],
        extra=reason if has_reason else np.full(len(keep), -1),
        weight=waits.time_ns[keep],
        start_ns=waits.start_ns[keep],
        length_ns=waits.time_ns[keep],
        thread=waits.thread[keep],
        row=waits.row[keep],
    )


class _Paths:
    """Names of stacks, outermost first: string ids, and extra texts behind them."""

    def __init__(self, view: View, *, ends_with_extra: bool) -> None:
        frame, parent = view.capture.stacks
        self._ends_with_extra = ends_with_extra
        self._frame, self._parent = frame, parent
        self._beyond = len(view.capture.strings)
        self._known: dict[tuple[int, int], tuple[int, ...]] = {}

    def path(self, stack: int, extra: int) -> tuple[int, ...]:
        """The names of a stack and of an extra text (−1: none)."""
        known = self._known.get((stack, extra))
        if known is None:
            names: list[int] = []
            at = stack
            while 0 <= at < len(self._frame) and len(names) < 256:
                names.append(min(int(self._frame[at]), max(self._beyond - 1, 0)))
                above = int(self._parent[at])
                if above == NO_STACK or above >= at:
                    break
                at = above
            suffix = () if extra < 0 else (self._beyond + extra,)
            frames = tuple(reversed(names))
            known = (*frames, *suffix) if self._ends_with_extra else (*suffix, *frames)
            self._known[stack, extra] = known
        return known


def _tree(stacks: _Stacks, paths: _Paths, unit: str) -> Tree:
    tree = Tree(unit)
    key, inverse = np.unique(np.stack((stacks.stack, stacks.extra), 1), axis=0, return_inverse=True)
    weight = np.zeros(len(key), np.int64)
    np.add.at(weight, inverse.reshape(-1), stacks.weight)
    count = np.bincount(inverse.reshape(-1), minlength=len(key))
    for (stack, extra), own, events in zip(key.tolist(), weight.tolist(), count.tolist(), strict=True):
        node = -1
        for name in paths.path(stack, extra):
            node = tree.node(node, name)
        if node >= 0:
            tree.add(node, own, events)
    return tree


class _TimeBoxes:
    """Boxes in time order; consecutive stacks share the boxes of their common outer names."""

    def __init__(self) -> None:
        self.columns: dict[str, list[int]] = {
            key: [] for key in ("name", "parent", "depth", "left", "value", "own", "count", "row")
        }
        self._open: list[int] = []
        self._stop = 0

    def begin(self) -> None:
        """Start another thread: later stacks continue no box."""
        self._open = []

    def add(self, names: Sequence[int], left: int, length: int, ground: int, row: int) -> None:
        """Add a stack that lasts ``length`` from ``left``."""
        columns, shared = self.columns, 0
        if left <= self._stop:
            for box, name in zip(self._open, names, strict=False):
                if columns["name"][box] != name:
                    break
                shared += 1
        del self._open[shared:]
        for box in self._open:
            columns["value"][box] = left + length - columns["left"][box]
            columns["count"][box] += 1
            columns["row"][box] = -1
        for name in names[shared:]:
            parent = self._open[-1] if self._open else -1
            values = (name, parent, ground + len(self._open), left, length, 0, 1, row)
            for key, value in zip(columns, values, strict=True):
                columns[key].append(value)
            self._open.append(len(columns["name"]) - 1)
        if self._open:
            columns["own"][self._open[-1]] += length
        self._stop = left + length

    @property
    def deepest(self) -> int:
        """The depth of the deepest box, −1 without any."""
        return max(self.columns["depth"], default=-1)


def _in_time(view: View, stacks: _Stacks, paths: _Paths) -> Flame:
    boxes = _TimeBoxes()
    keep = np.arange(len(stacks.stack))
    most = MAX_BOXES // _AVERAGE_DEPTH
    if len(keep) > most:
        keep = np.argpartition(-stacks.length_ns, most)[:most]
    keep = keep[np.lexsort((stacks.start_ns[keep], stacks.thread[keep]))]
    start, thread_of = stacks.start_ns[keep], stacks.thread[keep]
    following = np.append(start[1:], 1 << 62)
    same = np.append(thread_of[1:] == thread_of[:-1], False)
    # A sample lasts until the next entry of its thread.
    lengths = np.where(same, np.minimum(stacks.length_ns[keep], following - start), stacks.length_ns[keep])
    ground, before = 0, None
    captions: list[tuple[int, str]] = []
    title = thread_titles(view)
    for index, whole in zip(keep.tolist(), lengths.tolist(), strict=True):
        thread = int(stacks.thread[index])
        if thread != before:
            boxes.begin()
            # The row above a thread's boxes is free for its title.
            ground = boxes.deepest + 2
            captions.append((ground - 1, title(thread)))
            before = thread
        left = max(int(stacks.start_ns[index]) - view.start_ns, 0)
        length = min(whole, view.duration_ns - left)
        if length > 0:
            path = paths.path(int(stacks.stack[index]), int(stacks.extra[index]))
            boxes.add(path, left, length, ground, int(stacks.row[index]))
    columns = {key: np.array(values, np.int64) for key, values in boxes.columns.items()}
    order = np.lexsort((columns["left"], columns["depth"]))
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    parent = columns["parent"][order]
    return Flame(
        name=columns["name"][order].astype(np.uint32),
        parent=np.where(parent >= 0, position[np.maximum(parent, 0)], -1) if len(order) else parent,
        depth=columns["depth"][order],
        left=columns["left"][order],
        value=columns["value"][order],
        own=columns["own"][order],
        count=columns["count"][order],
        row=columns["row"][order],
        total=view.duration_ns,
        captions=tuple(captions),
    )
