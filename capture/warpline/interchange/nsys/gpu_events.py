"""Converts GPU events outside streams: unified-memory page faults and context switches."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english, forms
from warpline.interchange.nsys.context import Context, pick
from warpline.interchange.nsys.devices import Devices
from warpline.interchange.nsys.tables.access import NULL, Batch, Int64Array, groups, read_all
from warpline.model import AttributeSpec, Flag, KindSpec
from warpline.model.track_titles import CONTEXT_OF_PROCESS

PAGE_FAULT = KindSpec(
    "page_fault",
    "Page fault of unified memory",
    "memory",
    "memory",
    (
        AttributeSpec("address", "uint64", "Address"),
        AttributeSpec("faults", "uint32", "Page faults"),
        AttributeSpec("access", "string", "Access"),
        AttributeSpec("module", "string", "Module"),
    ),
)
GPU_SLICE = KindSpec(
    "gpu_slice", "GPU time slice", "gpu", "core", (AttributeSpec("context", "uint64", "Context"),)
)

_ACCESSES = ("unknown", "read", "write", "atomic", "prefetch")
"""`CUpti_ActivityUnifiedMemoryAccessType`."""
_END, _BEGIN = 7, 8


def convert_gpu_faults(context: Context, devices: Devices, table: str) -> None:
    """Adds groups of GPU page faults, with their counts."""
    builder = context.builder
    builder.add_kind(PAGE_FAULT)
    titles = builder.strings(english("GPU page faults ({access})", access=access) for access in _ACCESSES)
    accesses = builder.strings(_ACCESSES)
    columns = ("start", "end", "globalPid", "deviceId", "address", "numberOfPageFaults", "faultAccessType")
    for batch in context.batches(table, ints=columns):
        pids = np.where(batch["globalPid"] == NULL, 0, batch["globalPid"])
        for (pid, device), index in groups(pids, batch["deviceId"]):
            gpu = devices.gpu(pid, device)
            spec = context.specs.gpu_page_faults(gpu, context.process_uri(pid), context.process_title(pid))
            track = context.track(spec, devices.gpu_track(gpu), context.process(pid))
            kind = batch["faultAccessType"][index]
            kind = np.where((kind >= 0) & (kind < len(_ACCESSES)), kind, 0)
            attributes = pick(batch, index, address="address", faults="numberOfPageFaults")
            context.add(
                track,
                "page_fault",
                batch["start"][index],
                batch["end"][index],
                titles[kind],
                attributes={**attributes, "access": accesses[kind]},
                label=table,
            )


def convert_cpu_faults(context: Context, table: str) -> None:
    """Adds CPU page faults, named by the instruction that touched the page."""
    builder = context.builder
    builder.add_kind(PAGE_FAULT)
    title = builder.string(english("CPU page fault"))
    for batch in context.batches(table, ints=("start", "globalPid", "address", "CpuInstruction", "module")):
        pids = np.where(batch["globalPid"] == NULL, 0, batch["globalPid"])
        for (pid,), index in groups(pids):
            uri = context.process_uri(pid)
            spec = context.specs.process_page_faults(uri)
            track = context.track(spec, uri, context.process(pid))
            symbol = batch["CpuInstruction"][index]
            names = np.where(symbol == NULL, title, context.names.strings(symbol))
            attributes: dict[str, Any] = pick(batch, index, address="address")
            modules = context.names.strings(batch["module"][index])
            attributes["module"] = np.ma.MaskedArray(modules, modules == 0)
            context.add(
                track,
                "page_fault",
                batch["start"][index],
                None,
                np.where(names == 0, title, names),
                attributes=attributes,
                label=table,
            )


def convert_context_switches(context: Context, devices: Devices, table: str) -> None:
    """Adds the time slices of GPU contexts, from begin row to end row."""
    context.builder.add_kind(GPU_SLICE)
    columns = ("tag", "vmId", "seqNo", "contextId", "timestamp", "globalPid", "gpuId")
    rows = read_all(context.tables, table, ints=columns)
    context.report_rows(rows.rows)
    pids = np.where(rows["globalPid"] == NULL, 0, rows["globalPid"])
    for (gpu, _machine, number), index in groups(rows["gpuId"], rows["vmId"], rows["contextId"]):
        order = index[np.lexsort((rows["seqNo"][index], rows["timestamp"][index]))]
        starts, stops, flags, first = _slices(rows, order, context.window.start_ns)
        other_kind = forms("{count:,} row of another type skipped", "{count:,} rows of another type skipped")
        context.problem(table, len(order) - _count_switches(rows, order), other_kind)
        gpu = max(gpu, 0)
        for (pid,), part in groups(pids[first]):
            name = context.process_title(pid) if pid else CONTEXT_OF_PROCESS.format(number=number)
            track = context.track(context.specs.gpu_slices(gpu), devices.gpu_track(gpu))
            context.add(
                track,
                "gpu_slice",
                starts[part],
                stops[part],
                context.builder.string(name),
                flags=flags[part],
                attributes={"context": np.full(len(part), max(number, 0), np.uint64)},
                label=table,
            )


def _count_switches(rows: Batch, order: npt.NDArray[np.int64]) -> int:
    return int(np.isin(rows["tag"][order], (_BEGIN, _END)).sum())


def _slices(
    rows: Batch, order: npt.NDArray[np.int64], recording_start_ns: int
) -> tuple[Int64Array, Int64Array, npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Starts, stops, flags and row of each time slice of a context; ``order`` sorts its rows by time.

    A begin without an end lasts until the recording ends (stop `NULL`). An end without a begin is ignored, unless it is
    the first row; then the slice has lasted since the recording began.
    """
    tag, time = rows["tag"][order], rows["timestamp"][order]
    begins = np.flatnonzero(tag == _BEGIN)
    following = np.minimum(begins + 1, len(tag) - 1)
    is_ended = (following > begins) & (tag[following] == _END)
    # Another begin also ends the slice: a context runs only once at a time.
    is_followed = (following > begins) & np.isin(tag[following], (_BEGIN, _END))
    stops = np.where(is_followed, time[following], NULL)
    flags = np.where(is_ended | ~is_followed, 0, int(Flag.TRUNCATED)).astype(np.uint8)
    starts, first = time[begins], order[begins]
    if len(tag) and tag[0] == _END:
        starts = np.r_[min(recording_start_ns, int(time[0])), starts]
        stops = np.r_[time[0], stops]
        flags = np.r_[np.uint8(Flag.CUT_START), flags]
        first = np.r_[order[0], first]
    return starts, stops, flags, first
