"""Values over time: GPU metrics, and the memory that CUDA allocations hold."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from warpline.i18n import tr
from warpline.interchange.nsys.context import Context, pick
from warpline.interchange.nsys.devices import Devices
from warpline.interchange.nsys.tables import NULL, decode, groups, read_all
from warpline.model import MEMORY_KINDS

_UNIT = re.compile(r"\s*\[([^\]]+)\]\s*$")


def split_unit(name: str) -> tuple[str, str]:
    """``SM Active [Throughput %]`` → (``SM Active``, ``%``); a name without a unit keeps none."""
    match = _UNIT.search(name)
    if match is None:
        return name, ""
    unit = match[1].strip()
    return name[: match.start()], "%" if unit.endswith("%") else unit


def convert_gpu_metrics(context: Context, table: str) -> None:
    """One counter per metric and source. Metric numbers change between versions: the names are what counts.

    How ``typeId`` encodes the GPU is not documented, so the metrics stand in a group named as the export names it.
    """
    rows = read_all(
        context.tables,
        "TARGET_INFO_GPU_METRICS",
        ints=("typeId", "metricId"),
        texts=("typeName", "metricName"),
    )
    names: dict[tuple[int, int], str] = {}
    types: dict[int, str] = {}
    for type_id, metric_id, type_name, metric_name in zip(
        rows["typeId"].tolist(),
        rows["metricId"].tolist(),
        rows.texts["typeName"],
        rows.texts["metricName"],
        strict=True,
    ):
        names[type_id, metric_id] = decode(metric_name)
        types[type_id] = decode(type_name)
    titles = _distinct(types)
    for batch in context.batches(table, ints=("timestamp", "typeId", "metricId", "value")):
        for (type_id, metric_id), index in groups(batch["typeId"], batch["metricId"]):
            title = titles.get(type_id) or f"source {type_id}"
            name, unit = split_unit(names.get((type_id, metric_id)) or f"metric {metric_id}")
            group = context.track(
                f"gpu-metrics/{title.replace('/', '∕')}",
                title=tr("GPU metrics · {name}", name=title),
                role="group",
                sort_key=2500,
            )
            track = context.track(
                f"gpu-metrics/{title.replace('/', '∕')}/counters/{name.replace('/', '∕')}",
                title=name,
                role="counter",
                parent=group,
                sort_key=max(metric_id, 0),
            )
            times, values = batch["timestamp"][index], batch["value"][index].astype(np.float64)
            values[batch["value"][index] == NULL] = np.nan
            usable = times != NULL
            context.builder.add_counter(track, name, unit, times[usable], values[usable])
            context.window.include(times[usable], times[usable])


def _distinct(types: Mapping[int, str]) -> dict[int, str]:
    """Titles of metric sources; equal names (several GPUs of a kind) are numbered."""
    several = {name for name in types.values() if list(types.values()).count(name) > 1}
    found: dict[int, str] = {}
    for type_id in sorted(types):
        name = types[type_id]
        found[type_id] = f"{name} ({type_id})" if name in several else name
    return found


def convert_memory_usage(context: Context, devices: Devices, table: str) -> None:
    """Allocations and releases as events, and per GPU and kind of memory how much is held.

    The counter starts at 0 with the file: what was allocated before is not known to it.
    """
    columns = (
        "start",
        "globalPid",
        "deviceId",
        "contextId",
        "address",
        "bytes",
        "memKind",
        "memoryOperationType",
    )
    rows = read_all(context.tables, table, ints=columns, texts=("name",))
    context.report_rows(rows.rows)
    pids = np.where(rows["globalPid"] == NULL, 0, rows["globalPid"])
    is_release = rows["memoryOperationType"] == 1
    titles = context.builder.strings(("Allocation", "Release"))
    names = titles[is_release.astype(np.int64)]
    variables = np.array([context.builder.string(decode(text)) for text in rows.texts["name"]], np.uint32)
    names = np.where(variables == 0, names, variables)
    for (pid, device, cuda_context), index in groups(pids, rows["deviceId"], rows["contextId"]):
        attributes = pick(rows, index, address="address", bytes="bytes", memory_kind="memKind")
        attributes["operation"] = is_release[index].astype(np.uint8)
        context.add(
            devices.memory_track(pid, device, cuda_context),
            "memory",
            rows["start"][index],
            None,
            names[index],
            attributes=attributes,
            what=table,
        )
    gpus = np.array(
        [
            devices.gpu(pid, device)
            for pid, device in zip(pids.tolist(), rows["deviceId"].tolist(), strict=True)
        ]
    )
    size = np.where(rows["bytes"] == NULL, 0, rows["bytes"])
    change = np.where(is_release, -size, size)
    for (gpu, kind), index in groups(gpus.astype(np.int64), rows["memKind"]):
        index = index[np.argsort(rows["start"][index], kind="stable")]
        index = index[rows["start"][index] != NULL]
        held = np.cumsum(change[index])
        name = f"CUDA memory, {MEMORY_KINDS.get(kind, MEMORY_KINDS[7])}"
        track = context.track(
            f"gpu/{gpu}/counters/memory-{max(kind, 0)}",
            title=name,
            role="counter",
            parent=devices.gpu_track(gpu),
            device=gpu,
            sort_key=100,
        )
        context.builder.add_counter(track, name, "bytes", rows["start"][index], held.astype(np.float64))
