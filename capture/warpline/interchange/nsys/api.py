"""Converts calls: CUDA API, libraries, operating system. Each row has a thread, a name and two times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.nsys.context import Context, pick
from warpline.interchange.nsys.names import as_is, without_version
from warpline.interchange.nsys.stacks import Stacks
from warpline.interchange.nsys.tables.access import NULL, Batch, Int64Array, groups
from warpline.model import AttributeSpec, KindSpec
from warpline.model.links import LAUNCH
from warpline.model.progress import check_cancelled

_CALL_STACK = 67
_EVENT_CLASSES = {
    0: "runtime",
    1: "driver",
    13: "EGL driver",
    26: "runtime",
    28: "cuDNN",
    29: "cuBLAS",
    _CALL_STACK: "call stack",
}

_OF_CALLS = ("globalTid", "correlationId", "callchainId", "eventClass")
_ID_BITS = 40
"""Correlation ids have 32 bits; larger values are damage."""

API_EXTRA = KindSpec(
    "cuda_api", "CUDA API call", "api", "api", (AttributeSpec("layer", "string", "Layer of the API"),)
)
LIBRARY_KIND = KindSpec(
    "library",
    "Library call",
    "api",
    "api",
    (AttributeSpec("library", "string", "Library"), AttributeSpec("correlation", "int64", "Correlation id")),
)
MPI_KIND = KindSpec(
    "mpi",
    "MPI call",
    "api",
    "communication",
    (
        AttributeSpec("remote_rank", "int64", "Other rank"),
        AttributeSpec("root_rank", "int64", "Root rank"),
        AttributeSpec("bytes", "int64", "Size", "bytes"),
        AttributeSpec("tag", "int64", "Tag"),
    ),
)


def convert_cuda_api(context: Context, table: str) -> None:
    """Adds runtime and driver calls, and the source ends of launch links.

    A row of event class 67 repeats a call to add its stack; it is not another call.
    """
    context.builder.add_kind(API_EXTRA)
    stacks = Stacks(context, "CUDA_CALLCHAINS")
    repetitions = _Repetitions(context, table) if context.tables.count("CUDA_CALLCHAINS") else None
    layers = {number: context.builder.string(text) for number, text in _EVENT_CLASSES.items()}
    columns = (
        "start",
        "end",
        "eventClass",
        "globalTid",
        "correlationId",
        "nameId",
        "returnValue",
        "callchainId",
    )
    for batch in context.batches(table, ints=columns):
        layer = np.zeros(batch.rows, np.uint32)
        for number, text in layers.items():
            layer[batch["eventClass"] == number] = text
        names = context.names.strings(batch["nameId"], without_version)
        chains, is_call = batch["callchainId"], np.ones(batch.rows, bool)
        if repetitions is not None:
            chains, is_call = repetitions.chains_and_calls(batch)
        for (tid,), rows in groups(batch["globalTid"]):
            index = rows[is_call[rows]]
            attributes = pick(batch, index, correlation="correlationId", return_value="returnValue")
            if layer[index].any():
                attributes["layer"] = np.ma.MaskedArray(layer[index], layer[index] == 0)
            attributes |= stacks.attribute(chains[index])
            ids = context.add(
                context.thread_track(tid, "api"),
                "cuda_api",
                batch["start"][index],
                batch["end"][index],
                names[index],
                attributes=attributes,
                label=table,
            )
            correlation = batch["correlationId"][index]
            known = (correlation != NULL) & (correlation != 0) & (ids >= 0)
            scope = context.process(context.process_of(tid))
            context.builder.add_link_keys(LAUNCH, scope, "from", correlation[known], ids[known])
            if known.any():
                window = context.window
                first = int(correlation[known].min())
                window.first_call = first if window.first_call is None else min(first, window.first_call)


class _Repetitions:
    """Rows of event class 67, which repeat a call (same thread, same correlation id) with its call chain."""

    def __init__(self, context: Context, table: str) -> None:
        threads, correlations, chains = [], [], []
        for batch in context.tables.read(table, ints=_OF_CALLS):
            check_cancelled(context.cancelled)
            own = batch["eventClass"] == _CALL_STACK
            threads.append(batch["globalTid"][own])
            correlations.append(batch["correlationId"][own])
            chains.append(batch["callchainId"][own])
        self._threads, number = np.unique(np.concatenate(threads), return_inverse=True)
        correlation = np.concatenate(correlations)
        keys = np.where(_is_id(correlation), (number << _ID_BITS) + correlation, -1)
        self._keys, first = np.unique(keys, return_index=True)
        self._chains = np.concatenate(chains)[first]
        self._is_call = np.zeros(len(self._keys), bool)
        for batch in context.tables.read(table, ints=_OF_CALLS) if len(self._keys) else ():
            check_cancelled(context.cancelled)
            at, is_repeated = self._find(batch)
            self._is_call[at[is_repeated & (batch["eventClass"] != _CALL_STACK)]] = True

    def _find(self, batch: Batch) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """The index of each row's repetition, and which rows have one."""
        thread, correlation = batch["globalTid"], batch["correlationId"]
        number = np.minimum(np.searchsorted(self._threads, thread), len(self._threads) - 1)
        key = (number << _ID_BITS) + np.where(_is_id(correlation), correlation, 0)
        at = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        return at, (self._threads[number] == thread) & (self._keys[at] == key) & _is_id(correlation)

    def chains_and_calls(self, batch: Batch) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
        """The call chain of each row (its own or its repetition's), and which rows are calls."""
        if not len(self._keys):
            return batch["callchainId"], np.ones(batch.rows, bool)
        at, is_repeated = self._find(batch)
        chains = np.where(
            is_repeated & (batch["callchainId"] == NULL), self._chains[at], batch["callchainId"]
        )
        return chains, ~(is_repeated & self._is_call[at] & (batch["eventClass"] == _CALL_STACK))


def _is_id(correlation: Int64Array) -> npt.NDArray[np.bool_]:
    is_valid: npt.NDArray[np.bool_] = (correlation > 0) & (correlation < 1 << _ID_BITS)
    return is_valid


def only_calling_process(context: Context) -> int | None:
    """Packed id of the only process with CUDA calls; None when there are several or none."""
    processes: set[int] = set()
    for batch in context.tables.read("CUPTI_ACTIVITY_KIND_RUNTIME", ints=("globalTid",)):
        tids = batch["globalTid"]
        processes.update(context.process_of(tid) for tid in np.unique(tids[tids != NULL]).tolist())
        if len(processes) > 1:
            return None
    return processes.pop() if processes else None


@dataclass(frozen=True, kw_only=True)
class CallTable:
    """How a table of calls becomes events on a track below each thread."""

    table: str
    kind: str
    path: str
    role: str
    title: str
    name_column: str = "nameId"
    library: str = ""
    stacks: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    kinds: tuple[KindSpec, ...] = ()


_MPI_SIZES = (("remote_rank", "remoteRank"), ("root_rank", "rootRank"), ("bytes", "size"), ("tag", "tag"))

OSRT = CallTable(
    table="OSRT_API",
    kind="osrt",
    path="osrt",
    role="osrt",
    title=english("OS runtime"),
    stacks="OSRT_CALLCHAINS",
    attributes=(("return_value", "returnValue"),),
)
SYSCALL = CallTable(
    table="SYSCALL",
    kind="osrt",
    path="syscalls",
    role="osrt",
    title=english("System calls"),
    stacks="SYSCALL_CALLCHAINS",
)


def _library(table: str, title: str) -> CallTable:
    return CallTable(
        table=table, kind="library", path=title.lower(), role="api", title=title, library=title,
        attributes=(("correlation", "correlationId"),), kinds=(LIBRARY_KIND,),
    )  # fmt: skip


CUDNN = _library("CUDNN_EVENTS", "cuDNN")
CUBLAS = _library("CUBLAS_EVENTS", "cuBLAS")
HOST_CALLBACKS = _library("CUDA_HOST_CALLBACK", english("Host callbacks"))
MPI_P2P = CallTable(
    table="MPI_P2P_EVENTS",
    kind="mpi",
    path="mpi",
    role="api",
    title="MPI",
    name_column="textId",
    attributes=_MPI_SIZES,
    kinds=(MPI_KIND,),
)
MPI_COLLECTIVE = CallTable(
    table="MPI_COLLECTIVES_EVENTS",
    kind="mpi",
    path="mpi",
    role="api",
    title="MPI",
    name_column="textId",
    attributes=_MPI_SIZES,
    kinds=(MPI_KIND,),
)


def convert_calls(spec: CallTable) -> Callable[[Context, str], None]:
    """A function that converts the table."""

    def convert(context: Context, table: str) -> None:
        for kind in spec.kinds:
            context.builder.add_kind(kind)
        stacks = Stacks(context, spec.stacks) if spec.stacks else None
        library = context.builder.string(spec.library)
        columns = ["start", "end", "globalTid", spec.name_column, *(column for _, column in spec.attributes)]
        if stacks is not None:
            columns.append("callchainId")
        for batch in context.batches(table, ints=tuple(columns)):
            names = context.names.strings(batch[spec.name_column], as_is)
            for (tid,), index in groups(batch["globalTid"]):
                attributes = pick(batch, index, **dict(spec.attributes))
                if spec.library:
                    attributes["library"] = np.full(len(index), library, np.uint32)
                if stacks is not None:
                    attributes |= stacks.attribute(batch["callchainId"][index])
                context.add(
                    context.thread_track(tid, spec.path.replace(" ", "-"), spec.role, spec.title),
                    spec.kind,
                    batch["start"][index],
                    batch["end"][index],
                    names[index],
                    attributes=attributes,
                    label=table,
                )

    return convert


_OVERHEAD_NAMES = (
    "Overhead",
    "Overhead",
    "Driver compiler",
    "Buffer flush",
    "Instrumentation",
    "Resource",
    "Runtime-triggered module loading",
    "Lazy function loading",
    "Command buffer full",
)


def convert_overhead(context: Context, table: str) -> None:
    """Adds the overhead of profiler and driver per thread, named by its text or type."""
    types = context.builder.strings(_OVERHEAD_NAMES)
    columns = ("start", "end", "globalTid", "nameId", "overheadType", "correlationId")
    for batch in context.batches(table, ints=columns):
        names: npt.NDArray[np.uint32] = context.names.strings(batch["nameId"])
        kind = batch["overheadType"]
        by_type = types[np.where((kind >= 0) & (kind < len(types)), kind, 0)]
        names = np.where(names == 0, by_type, names)
        for (tid,), index in groups(batch["globalTid"]):
            context.add(
                context.thread_track(tid, "overhead"),
                "overhead",
                batch["start"][index],
                batch["end"][index],
                names[index],
                attributes=pick(batch, index, correlation="correlationId"),
                label=table,
            )
