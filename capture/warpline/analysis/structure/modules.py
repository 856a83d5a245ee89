"""The modules of a network as a tree with call times, from recordings and from PyTorch traces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.nesting import (
    NestedEvents,
    flat_parents,
    self_times,
    window_sums,
    windows,
)
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.launches import threads_of_tracks
from warpline.analysis.structure.nested.path_tree import (
    Lines,
    PathTree,
    depth_first,
    joined_tree,
    thread_tree,
)
from warpline.analysis.structure.operator_sums import OperatorSums, derivatives, operator_flops
from warpline.analysis.structure.projection import launches_of_host
from warpline.model import Flag

Int64Array = npt.NDArray[np.int64]
MODULE_KINDS = ("module", "python")
IN_TRACES = "nn.Module: "
"""Prefix of module names in traces of PyTorch's profiler (``with_stack``)."""
KEPT = ("gpu_kept_bytes", "host_kept_bytes", "parameters")
"""Attributes of calls, with what lies in called modules: growth of GPU and host memory, parameters."""
_SUMS = 8 + 2 * len(KEPT)
_TRACED = re.compile(f"^{re.escape(IN_TRACES)}")
_NUMBERED = re.compile(r"_\d+$")


@dataclass(frozen=True, eq=False, kw_only=True)
class ModuleTree:
    """Modules in depth-first order; arrays of equal length.

    ``name`` string ids, ``kind`` code of the kind, ``level`` (0: outermost), ``parent`` index of the caller (−1: none),
    ``count`` calls, ``total_ns`` and ``self_ns`` (without called modules) inside the selected range, ``gpu_ns`` and
    ``self_gpu_ns`` of work launched inside, ``backward_ns`` and ``self_backward_ns`` of the derivatives of its
    operators, ``flops`` the floating-point operations of these. ``kept`` and ``self_kept`` (by `KEPT`) sum the
    growth of allocated memory, and parameters, over all calls.
    """

    name: Int64Array
    kind: Int64Array
    class_name: list[str]
    level: Int64Array
    parent: Int64Array
    count: Int64Array
    total_ns: Int64Array
    self_ns: Int64Array
    gpu_ns: Int64Array
    self_gpu_ns: Int64Array
    backward_ns: Int64Array
    self_backward_ns: Int64Array
    flops: Int64Array
    kept: dict[str, Int64Array]
    self_kept: dict[str, Int64Array]
    is_cut: bool

    def __len__(self) -> int:
        return len(self.name)


def has_modules(view: View) -> bool:
    """Whether calls of modules were recorded."""
    kinds = view.capture.kinds
    if "module" in kinds and view.count("module"):
        return True
    return "python" in kinds and bool(matching_names(view.capture, _TRACED).any())


def has_no_times(view: View) -> bool:
    """Whether the capture holds a network that did not run (`warpline.model_graph`): its calls have an order alone."""
    kinds = view.capture.kinds
    if "module" not in kinds or "output_shapes" not in kinds["module"].attributes:
        return False
    return bool(view.capture.events.flags[int(kinds["module"].rows[0])] & int(Flag.ESTIMATED))


def first_texts(view: View, attribute: str) -> dict[int, str]:
    """An attribute of the first call of each module, by the module's name."""
    rows = view.events("module").row
    texts = view.column("module", attribute, view.capture.kinds["module"].indices_of(rows))
    found: dict[int, str] = {}
    strings = view.capture.strings
    for name, text in zip(view.names(rows).tolist(), texts.tolist(), strict=True):
        found.setdefault(name, strings[text] if text is not None else "")
    return found


def module_tree(view: View) -> ModuleTree:
    """The tree of all selected threads together; name and caller identify a module."""
    backwards, works = derivatives(view), operator_flops(view)
    tree = joined_tree(
        [
            _thread_tree(view, backwards, works, kind, *calls)
            for kind in MODULE_KINDS
            for calls in module_calls(view, kind)
        ]
    )
    order = depth_first(tree)
    place = np.full(len(order) + 1, -1, np.int64)
    place[order] = np.arange(len(order))
    lines = tree.lines
    sums = [column[order] for column in lines.sums] or [np.empty(0, np.int64)] * _SUMS
    kind, class_id = [column[order] for column in lines.highs] or [np.empty(0, np.int64)] * 2
    name = lines.name[order]
    return ModuleTree(
        name=name,
        kind=kind,
        class_name=_class_names(view, name, class_id),
        level=tree.level[order],
        parent=place[lines.parent[order]],
        count=sums[1],
        total_ns=sums[0],
        self_ns=sums[2],
        gpu_ns=sums[3],
        self_gpu_ns=sums[4],
        backward_ns=sums[5],
        self_backward_ns=sums[6],
        flops=sums[7],
        kept=dict(zip(KEPT, sums[8::2], strict=True)),
        self_kept=dict(zip(KEPT, sums[9::2], strict=True)),
        is_cut=tree.is_cut,
    )


def module_calls(view: View, kind: str) -> Iterator[tuple[int, NestedEvents]]:
    """(thread, module calls) of each thread that has any."""
    capture = view.capture
    if kind not in capture.kinds:
        return
    wanted = matching_names(capture, _TRACED) if kind == "python" else None
    if wanted is not None and not wanted.any():
        return
    threads = threads_of_tracks(view)
    of_thread: dict[int, list[int]] = {}
    for track in capture.tracks:
        if track.index in view.tracks and track.device is None:
            of_thread.setdefault(int(threads[track.index]), []).append(track.index)
    for thread, tracks in of_thread.items():
        if not view.count(kind, frozenset(tracks)):
            continue
        calls = nested_events(view, tracks, (kind,))
        if wanted is not None:
            calls = calls.where(wanted[view.names(calls.row)])
        if len(calls):
            yield thread, calls


def _thread_tree(
    view: View, backwards: OperatorSums, works: OperatorSums, kind: str, thread: int, calls: NestedEvents
) -> PathTree:
    row, start, stop = calls.row, calls.start, calls.stop
    parent = flat_parents(calls)
    inside = np.maximum(np.minimum(stop, view.stop_ns) - np.maximum(start, view.start_ns), 0)
    launches = launches_of_host(view).of_thread(thread)
    gpu = window_sums(launches.work_ns, *windows(launches.call_start, start, stop))
    backward = backwards.inside(thread, start, stop)
    flops = works.inside(thread, start, stop)
    table = view.capture.kinds[kind]
    classes = np.zeros(len(row), np.int64)
    if "class_name" in table.attributes:
        classes = np.ma.filled(view.column(kind, "class_name", table.indices_of(row)), 0).astype(np.int64)
    return thread_tree(
        Lines(
            root=np.zeros(len(row), np.int64),
            name=view.names(row).astype(np.int64),
            parent=parent,
            sums=(
                *(inside, np.ones(len(row), np.int64), self_times(inside, parent)),
                *(gpu, self_times(gpu, parent), backward, self_times(backward, parent), flops),
                *(column for name in KEPT for column in _kept(view, kind, name, row, parent)),
            ),
            lows=(),
            highs=(np.full(len(row), table.code, np.int64), classes),
        )
    )


def _kept(
    view: View, kind: str, name: str, row: Int64Array, parent: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """An attribute of each call, and without that of nested calls; 0 where it was not recorded."""
    table = view.capture.kinds[kind]
    if name not in table.attributes:
        return np.zeros(len(row), np.int64), np.zeros(len(row), np.int64)
    kept = np.ma.filled(view.column(kind, name, table.indices_of(row)), 0).astype(np.int64)
    return kept, self_times(kept, parent)


def _class_names(view: View, names: Int64Array, classes: Int64Array) -> list[str]:
    """The recorded class, or the one in the name that PyTorch's profiler gives (``nn.Module: Linear_3``)."""
    texts = view.capture.strings.get(names.tolist())
    recorded = view.capture.strings.get(classes.tolist())
    return [
        known or (_NUMBERED.sub("", text.removeprefix(IN_TRACES)) if text.startswith(IN_TRACES) else "")
        for text, known in zip(texts, recorded, strict=True)
    ]
