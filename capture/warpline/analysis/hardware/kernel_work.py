"""The work of GPU kernels: FLOPs and bytes of the operators that launched them, grouped by operator and shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.nesting import enclosing_rows, places_by_value
from warpline.analysis.framework.report import NotRecorded
from warpline.analysis.framework.selected.selected_events import SelectedEvents
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.framework.tables import combine_keys
from warpline.analysis.hardware.arguments import parse_arguments
from warpline.analysis.hardware.operator_work import OperatorWork, work_of
from warpline.analysis.structure.gpus import Gpu
from warpline.analysis.structure.kernels import communication_ids, tensor_cores_of
from warpline.analysis.structure.launches import calls_of_rows, threads_of_tracks
from warpline.i18n import english

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
NO_SHAPES = NotRecorded(
    english("the shapes of operators were not recorded"),
    english("record a PyTorch program with --torch-shapes 3, or its profiler with record_shapes=True"),
)
_TEXTS = ("input_shapes", "input_types", "arguments")


@dataclass(frozen=True, eq=False, kw_only=True)
class OperatorGroup:
    """Calls of one operator with equal shapes and types.

    ``name``, ``shapes`` and ``values`` (of the arguments, 0: not recorded) are string ids. ``flops`` and ``bytes`` are
    sums over the part of the calls' kernel time in the range, ``time_ns`` that time, ``kernel`` the string id of the
    kernel with most of it. ``precision`` is that of the arithmetic: tf32 where float32 ran on tensor cores.
    """

    name: int
    shapes: int
    values: int
    work: OperatorWork
    precision: str
    uses_tensor_cores: bool | None
    calls: int
    time_ns: int
    flops: float
    bytes: float
    kernel: int


@dataclass(frozen=True, eq=False)
class KernelWork:
    """The work of a GPU's kernels (without communication).

    ``row`` and ``group`` (int64 [n]): kernels of known work, by row, and the group of each; ``groups``, longest first;
    ``time_ns``: time of all kernels in the range, ``known_ns``: of those with known work.
    """

    row: Int64Array
    group: Int64Array
    groups: tuple[OperatorGroup, ...]
    time_ns: int
    known_ns: int


def has_shapes(capture: Capture) -> bool:
    """Whether operators were recorded with shapes and types."""
    table = capture.kinds.get("operator")
    return table is not None and {"input_shapes", "input_types"} <= set(table.attributes)


def kernel_work(view: View, gpu: Gpu) -> KernelWork:
    """The work of the kernels of a GPU in the selected range.

    A kernel belongs to the innermost operator around its launch whose work is known. The FLOPs of a call count as far
    as its kernels lie in the range.
    """
    none = np.empty(0, np.int64)
    if not view.has("kernel") or not has_shapes(view.capture):
        return KernelWork(none, none, (), _kernel_time_ns(view, gpu), 0)
    kernels = view.events("kernel", gpu.tracks)
    communicates = communication_ids(view)[kernels.name]
    if communicates.any():
        kernels = kernels.take(~communicates)
    time_ns = int(kernels.inside.sum())
    operator = _operators_of(view, kernels)
    is_known = operator >= 0
    if not is_known.any():
        return KernelWork(none, none, (), time_ns, 0)
    rows, place = np.unique(operator[is_known], return_inverse=True)
    keys = _works(view.capture).keys_of(rows)
    key, first = combine_keys(keys, np.zeros(len(keys), np.int64))
    uses = _tensor_cores(view, kernels)
    known = kernels.take(is_known)
    groups, order = _groups(view, known, place.reshape(-1), rows, key, keys[first], uses[is_known])
    by_row = np.argsort(known.row, kind="stable")
    group = order[key[place.reshape(-1)]][by_row]
    return KernelWork(known.row[by_row], group, groups, time_ns, int(known.inside.sum()))


def _kernel_time_ns(view: View, gpu: Gpu) -> int:
    """Time of the kernels of a GPU in the range, without communication."""
    if not view.has("kernel"):
        return 0
    communicates = communication_ids(view)
    return sum(
        int(part.inside[~communicates[part.name]].sum()) for part in view.batches("kernel", gpu.tracks)
    )


def _groups(
    view: View,
    kernels: SelectedEvents,
    call: Int64Array,
    rows: Int64Array,
    key: Int64Array,
    keys: Int64Array,
    uses: npt.NDArray[np.int8],
) -> tuple[tuple[OperatorGroup, ...], Int64Array]:
    """The groups, longest first, and the place of each key among them.

    ``call`` is the index into ``rows`` of each kernel, ``key`` that into ``keys`` of each row.
    """
    works = _works(view.capture)
    inside = np.bincount(call, kernels.inside, len(rows))
    whole = np.bincount(call, kernels.duration, len(rows))
    part = inside / np.maximum(whole, 1)
    parts = np.bincount(key, part, len(keys))
    time = np.bincount(key, inside, len(keys))
    calls = np.bincount(key, minlength=len(keys))
    of_kernel = key[call]
    groups = []
    order = np.argsort(-time, kind="stable")
    by_key = np.argsort(of_kernel, kind="stable")
    borders = np.searchsorted(of_kernel[by_key], np.arange(len(keys) + 1))
    for number in order.tolist():
        own = by_key[borders[number] : borders[number + 1]]
        work = works.works[int(keys[number])]
        name, shapes, values = works.ids_of(int(keys[number]))
        busiest = int(np.argmax(np.bincount(kernels.name[own], kernels.inside[own])))
        on_tensor = _most(uses[own], kernels.inside[own])
        groups.append(
            OperatorGroup(
                name=name, shapes=shapes, values=values, work=work, precision=_precision(work, on_tensor),
                uses_tensor_cores=on_tensor if work.is_matrix else False, calls=int(calls[number]),
                time_ns=int(time[number]), flops=work.flops * float(parts[number]),
                bytes=work.bytes * float(parts[number]), kernel=busiest,
            )
        )  # fmt: skip
    places = np.empty(len(keys), np.int64)
    places[order] = np.arange(len(keys))
    return tuple(groups), places


def _precision(work: OperatorWork, on_tensor: bool | None) -> str:
    return "tf32" if work.is_matrix and work.precision == "fp32" and on_tensor else work.precision


def _most(uses: npt.NDArray[np.int8], time: Int64Array) -> bool | None:
    """What holds for most of the time: tensor cores, none, or unknown."""
    total = [int(time[uses == value].sum()) for value in (-1, 0, 1)]
    best = int(np.argmax(total))
    return None if best == 0 else best == 2


def _tensor_cores(view: View, kernels: SelectedEvents) -> npt.NDArray[np.int8]:
    """Whether each kernel uses tensor cores: 1, 0, or −1 where its name does not tell."""
    names, inverse = np.unique(kernels.name, return_inverse=True)
    texts = view.capture.strings.get(names.tolist())
    known = [tensor_cores_of(text) for text in texts]
    codes = np.array([-1 if use is None else int(use) for use in known], np.int8)
    return codes[inverse.reshape(-1)]


def _operators_of(view: View, kernels: SelectedEvents) -> Int64Array:
    """Row of the innermost operator with known work around each kernel's launch; −1 for none."""
    result = np.full(len(kernels), -1, np.int64)
    order = np.argsort(kernels.row, kind="stable")
    rows = kernels.row[order]
    work, thread, start, _ = calls_of_rows(view, rows)
    if not len(work):
        return result
    owner = np.full(len(work), -1, np.int64)
    works, tracks_of = _works(view.capture), places_by_value(threads_of_tracks(view))
    around = view.other(Selection(int(start.min()), int(start.max()) + 1))
    for number, here in places_by_value(thread).items():
        operators = nested_events(around, tracks_of.get(number, ()), ["operator"])
        known = operators.where(works.keys_of(operators.row) >= 0)
        owner[here] = enclosing_rows(known, start[here])
    result[order[np.searchsorted(rows, work)]] = owner
    return result


class Works:
    """The work of each distinct operator call of a capture, by name, shapes, types and values.

    ``works`` has the work of each key that `keys_of` returns.
    """

    def __init__(self, capture: Capture) -> None:
        table = capture.kinds["operator"]
        self._table = table
        columns = [np.asarray(capture.events.name[table.index_rows]).astype(np.int64)]
        for name in _TEXTS:
            values, valid = table.column(name) if name in table.attributes else (np.zeros(len(table)), None)
            ids = np.asarray(values).astype(np.int64)
            columns.append(ids if valid is None else np.where(valid, ids, 0))
        flops = np.zeros(len(table), np.int64)
        if "flops" in table.attributes:
            values, valid = table.column("flops")
            flops = np.where(valid, np.asarray(values), 0).astype(np.int64)
        key, first = combine_keys(combine_keys(*columns)[0], flops)
        self._ids = np.column_stack([column[first] for column in columns])
        self.works: list[OperatorWork] = []
        texts = capture.strings
        number = np.full(len(first), -1, np.int64)
        kept = []
        for place, (name, shapes, types, arguments) in enumerate(self._ids.tolist()):
            parsed = (
                parse_arguments(texts[shapes], texts[types], texts[arguments]) if shapes and types else None
            )
            work = work_of(texts[name], parsed, int(flops[first[place]])) if parsed else None
            if work is not None:
                number[place] = len(self.works)
                self.works.append(work)
                kept.append(place)
        self._ids = self._ids[kept]
        self._keys = number[key]

    def keys_of(self, rows: Int64Array) -> Int64Array:
        """The key of each operator (event rows); −1 where its work is not known."""
        if not len(self._keys):
            return np.full(len(rows), -1, np.int64)
        index = self._table.indices_of(rows)
        return np.where(index >= 0, self._keys[np.maximum(index, 0)], -1)

    def ids_of(self, key: int) -> tuple[int, int, int]:
        """String ids of the name, shapes and values of a key."""
        name, shapes, _, values = self._ids[key].tolist()
        return int(name), int(shapes), int(values)


_WORKS: WeakKeyDictionary[Capture, Works] = WeakKeyDictionary()


def _works(capture: Capture) -> Works:
    if capture not in _WORKS:
        _WORKS[capture] = Works(capture)
    return _WORKS[capture]
