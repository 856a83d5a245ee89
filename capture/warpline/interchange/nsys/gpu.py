"""Converts GPU work: kernels, copies, sets, graph launches, synchronisations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.nsys.context import Context, pick
from warpline.interchange.nsys.devices import Devices
from warpline.interchange.nsys.tables.access import NULL, Batch, Int64Array, groups
from warpline.model import AttributeSpec, KindSpec
from warpline.model.cuda_names import COPY_NAMES, SYNC_NAMES
from warpline.model.links import LAUNCH

NO_STREAM = 4_294_967_295
"""Stream of rows without one (event synchronisation)."""

_COPY_NAMES = (*COPY_NAMES, "Memcpy Unified HtoD", "Memcpy Unified DtoH", "Memcpy Unified DtoD")
_PLACE = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid")

KERNEL_EXTRA = KindSpec(
    "kernel",
    "Kernel",
    "gpu",
    "kernel",
    (
        AttributeSpec("short_name", "string", "Short name"),
        *(AttributeSpec(f"cluster_{axis}", "uint32", f"Cluster {axis}", "blocks") for axis in "xyz"),
        AttributeSpec("shared_memory_executed_bytes", "uint32", "Shared memory set aside", "bytes"),
    ),
)
"""Attributes that Nsight adds to kernels."""

COPY_EXTRA = KindSpec(
    "memcpy",
    "Memory copy",
    "gpu",
    "copy",
    (
        AttributeSpec(
            "migration_cause",
            "uint8",
            "Migrated because of",
            "",
            dict(enumerate(("unknown", "user", "coherence", "prefetch", "eviction", "access counters"))),
        ),
        AttributeSpec("virtual_address", "uint64", "Address"),
    ),
)
"""Attributes that Nsight adds to copies, for unified-memory migrations; causes as CUPTI numbers them."""

_KERNEL_COLUMNS = {
    **{f"grid_{axis}": f"grid{axis.upper()}" for axis in "xyz"},
    **{f"block_{axis}": f"block{axis.upper()}" for axis in "xyz"},
    **{f"cluster_{axis}": f"cluster{axis.upper()}" for axis in "xyz"},
    "registers_per_thread": "registersPerThread",
    "static_shared_memory_bytes": "staticSharedMemory",
    "dynamic_shared_memory_bytes": "dynamicSharedMemory",
    "local_memory_per_thread_bytes": "localMemoryPerThread",
    "shared_memory_executed_bytes": "sharedMemoryExecuted",
    "graph_node_id": "graphNodeId",
    "graph_id": "graphId",
    "correlation": "correlationId",
}
_COPY_COLUMNS = {
    "bytes": "bytes",
    "copy_kind": "copyKind",
    "src_kind": "srcKind",
    "dst_kind": "dstKind",
    "migration_cause": "migrationCause",
    "virtual_address": "virtualAddress",
    "graph_node_id": "graphNodeId",
    "correlation": "correlationId",
}
_SET_COLUMNS = {
    "bytes": "bytes",
    "value": "value",
    "memory_kind": "memKind",
    "graph_node_id": "graphNodeId",
    "correlation": "correlationId",
}
_GRAPH_COLUMNS = {"graph_id": "graphId", "graph_exec_id": "graphExecId", "correlation": "correlationId"}
_SYNC_COLUMNS = {
    "sync_type": "syncType",
    "stream": "streamId",
    "event_id": "eventId",
    "correlation": "correlationId",
}

_Namer = Callable[[Batch, npt.NDArray[np.int64]], npt.NDArray[np.uint32]]


class GpuWork:
    """Converts the tables of GPU activity, which share the columns for device, context, stream and correlation."""

    def __init__(self, context: Context, devices: Devices, find_process: Callable[[], int | None]) -> None:
        self._context = context
        self._devices = devices
        self._find_process = find_process
        self._only_process: int | None = None
        self._is_searched = False

    def kernels(self, table: str) -> None:
        """Names events by the demangled name; all instances of a template share the short name."""
        names = self._context.names
        self._context.builder.add_kind(KERNEL_EXTRA)
        columns = (*_KERNEL_COLUMNS.values(), "demangledName", "shortName", "mangledName")

        def name(batch: Batch, index: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
            full = batch["demangledName"][index]
            return names.strings(np.where(full == NULL, batch["shortName"][index], full))

        def attributes(batch: Batch, index: npt.NDArray[np.int64]) -> dict[str, Any]:
            values = pick(batch, index, **_KERNEL_COLUMNS)
            # Without a graph, some versions store 0 and others nothing.
            for key in ("graph_id", "graph_node_id"):
                if key in values and not np.ma.getmaskarray(values[key]).any() and not values[key].any():
                    del values[key]
            for key, column in (("short_name", "shortName"), ("mangled_name", "mangledName")):
                ids = batch[column][index]
                if (ids != NULL).any():
                    values[key] = np.ma.MaskedArray(names.strings(ids), ids == NULL)
            return values

        self._stream_work(table, "kernel", columns, name, attributes)

    def copies(self, table: str) -> None:
        self._context.builder.add_kind(COPY_EXTRA)
        titles = self._context.builder.strings(_COPY_NAMES)

        def name(batch: Batch, index: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
            return titles[_clamped(batch["copyKind"][index], len(titles))]

        def attributes(batch: Batch, index: npt.NDArray[np.int64]) -> dict[str, Any]:
            enumerations = ("copy_kind", "src_kind", "dst_kind", "migration_cause")
            return _bytes(pick(batch, index, **_COPY_COLUMNS), *enumerations)

        self._stream_work(table, "memcpy", tuple(_COPY_COLUMNS.values()), name, attributes)

    def sets(self, table: str) -> None:
        title = self._context.builder.string("Memset")

        def name(_batch: Batch, index: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
            return np.full(len(index), title, np.uint32)

        def attributes(batch: Batch, index: npt.NDArray[np.int64]) -> dict[str, Any]:
            return _bytes(pick(batch, index, **_SET_COLUMNS), "memory_kind")

        self._stream_work(table, "memset", tuple(_SET_COLUMNS.values()), name, attributes)

    def graphs(self, table: str) -> None:
        builder = self._context.builder

        def name(batch: Batch, index: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
            ids, inverse = np.unique(batch["graphId"][index], return_inverse=True)
            titles = builder.strings(f"CUDA graph {max(number, 0)}" for number in ids.tolist())
            return titles[inverse.reshape(-1)]

        def attributes(batch: Batch, index: npt.NDArray[np.int64]) -> dict[str, Any]:
            return pick(batch, index, **_GRAPH_COLUMNS)

        before = self._context.events
        self._stream_work(table, "graph", tuple(_GRAPH_COLUMNS.values()), name, attributes)
        if self._context.events > before:
            builder.add_warning(
                english(
                    "CUDA graphs were recorded as one event per launch, without their kernels. "
                    "To record the kernels: nsys profile --cuda-graph-trace=node"
                )
            )

    def other_work(self, title: str) -> Callable[[str], None]:
        """A converter for other work of a stream; all its events have the same name."""

        def convert(table: str) -> None:
            text = self._context.builder.string(title)

            def name(_batch: Batch, index: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
                return np.full(len(index), text, np.uint32)

            def attributes(batch: Batch, index: npt.NDArray[np.int64]) -> dict[str, Any]:
                return pick(batch, index, correlation="correlationId")

            self._stream_work(table, "gpu_event", (), name, attributes)

        return convert

    def synchronisations(self, table: str) -> None:
        titles = self._context.builder.strings(SYNC_NAMES)
        columns = (*_PLACE, *_SYNC_COLUMNS.values())
        for batch in self._context.batches(table, ints=tuple(dict.fromkeys(columns))):
            pids = self._pids(batch)
            stream = np.where(batch["streamId"] == NO_STREAM, NULL, batch["streamId"])
            event = np.where(batch["eventId"] == NO_STREAM, NULL, batch["eventId"])
            fixed = Batch(batch.rows, {**batch.ints, "streamId": stream, "eventId": event}, {}, {})
            for (pid, device, context), index in groups(pids, batch["deviceId"], batch["contextId"]):
                attributes = _bytes(pick(fixed, index, **_SYNC_COLUMNS), "sync_type")
                ids = self._context.add(
                    self._devices.sync_track(pid, device, context),
                    "sync",
                    batch["start"][index],
                    batch["end"][index],
                    titles[_clamped(batch["syncType"][index], len(titles))],
                    attributes=attributes,
                    label=table,
                )
                self._launched(pid, batch["correlationId"][index], ids)

    def _stream_work(
        self,
        table: str,
        kind: str,
        columns: tuple[str, ...],
        name: _Namer,
        attributes: Callable[[Batch, npt.NDArray[np.int64]], dict[str, Any]],
    ) -> None:
        for batch in self._context.batches(table, ints=tuple(dict.fromkeys((*_PLACE, *columns)))):
            keys = (self._pids(batch), batch["deviceId"], batch["contextId"], batch["streamId"])
            for (pid, device, context, stream), index in groups(*keys):
                values = attributes(batch, index)
                priority = self._devices.priority(pid, context, stream)
                if kind == "kernel" and priority is not None:
                    values["priority"] = priority
                titles = name(batch, index)
                if kind == "kernel":
                    self._context.collectives.add(titles, batch["end"][index])
                ids = self._context.add(
                    self._devices.stream_track(pid, device, context, stream),
                    kind,
                    batch["start"][index],
                    batch["end"][index],
                    titles,
                    attributes=values,
                    label=table,
                )
                self._launched(pid, batch["correlationId"][index], ids)

    def _pids(self, batch: Batch) -> Int64Array:
        """Packed process ids; missing ones become the only process with CUDA calls."""
        pids = batch["globalPid"]
        missing = pids == NULL
        if not missing.any():
            return pids
        if not self._is_searched:
            self._only_process, self._is_searched = self._find_process(), True
        return np.where(missing, self._only_process or 0, pids)

    def _launched(self, global_pid: int, correlation: Int64Array, ids: npt.NDArray[np.int64]) -> None:
        """Registers link keys; the process is their scope, because correlation ids are unique only within it."""
        known = (correlation != NULL) & (correlation != 0) & (ids >= 0)
        scope = self._context.process(global_pid)
        self._context.builder.add_link_keys(LAUNCH, scope, "to", correlation[known], ids[known])


def _clamped(values: Int64Array, count: int) -> npt.NDArray[np.int64]:
    """Indexes into a table of names; unknown values become 0, the entry for unknown."""
    return np.where((values >= 0) & (values < count), values, 0)


def _bytes(attributes: dict[str, Any], *names: str) -> dict[str, Any]:
    """Masks values of enumerations that do not fit a byte."""
    for name in names:
        if name in attributes:
            values = attributes[name]
            data = np.ma.getdata(values)
            bad = np.ma.getmaskarray(values) | (data < 0) | (data > 255)
            attributes[name] = np.ma.MaskedArray(np.where(bad, 0, data), bad) if bad.any() else data
    return attributes
