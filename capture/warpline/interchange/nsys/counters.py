"""Converts counters: GPU, network and CPU metrics, and allocated CUDA memory."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.nsys.context import FAR, Context, pick
from warpline.interchange.nsys.devices import Devices
from warpline.interchange.nsys.tables.access import NULL, Batch, decode, groups, read_all
from warpline.model import MEMORY_KINDS
from warpline.model.track_factory import joined
from warpline.model.track_titles import GPU_METRICS

_UNIT = re.compile(r"\s*\[([^\]]+)\]\s*$")


def split_unit(name: str) -> tuple[str, str]:
    """``SM Active [Throughput %]`` → (``SM Active``, ``%``); a name without a unit keeps none."""
    match = _UNIT.search(name)
    if match is None:
        return name, ""
    unit = match[1].strip()
    return name[: match.start()], "%" if unit.endswith("%") else unit


def convert_gpu_metrics(context: Context, table: str) -> None:
    """One counter per metric and source. Metrics are known by name, because their numbers change between versions.

    The encoding of the GPU in ``typeId`` is undocumented, so the group has the name from the export.
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
            group = context.specs.group("gpu-metrics", title, joined(GPU_METRICS, title))
            track = context.track(
                context.specs.group_counter(group, name, metric_id), parent=context.track(group)
            )
            times, values = batch["timestamp"][index], batch["value"][index].astype(np.float64)
            values[batch["value"][index] == NULL] = np.nan
            context.add_counter(track, name, unit, times, values, label=table)


def convert_network(context: Context, table: str) -> None:
    """One counter per network port and metric; a value is valid from the start of its interval."""
    rows = read_all(
        context.tables,
        "TARGET_INFO_NETWORK_METRICS",
        ints=("metricsListId", "metricsIdx"),
        texts=("name", "unit"),
    )
    metrics = {
        key: (decode(name), decode(unit))
        for *key_parts, name, unit in zip(
            rows["metricsListId"].tolist(),
            rows["metricsIdx"].tolist(),
            rows.texts["name"],
            rows.texts["unit"],
            strict=True,
        )
        for key in [tuple(key_parts)]
    }
    rows = read_all(context.tables, "TARGET_INFO_NIC_INFO", ints=("nicId",), texts=("name",))
    names = dict(zip(rows["nicId"].tolist(), map(decode, rows.texts["name"]), strict=True))
    rows = read_all(context.tables, "NIC_ID_MAP", ints=("nicId", "globalId"))
    nic_of = dict(zip(rows["globalId"].tolist(), rows["nicId"].tolist(), strict=True))
    columns = ("start", "end", "globalId", "portId", "metricsListId", "metricsIdx", "value")
    for batch in context.batches(table, ints=columns):
        keys = (batch["globalId"], batch["portId"], batch["metricsListId"], batch["metricsIdx"])
        for (nic, port, metric_list, metric), index in groups(*keys):
            name, unit = metrics.get((metric_list, metric)) or (f"metric {metric_list}.{metric}", "")
            title = names.get(nic_of.get(nic, nic)) or english("network interface {number}", number=nic)
            if port not in (NULL, 0):
                title = english("{name}, port {port}", name=title, port=port)
            _add_intervals(
                context, batch, index, ("network", f"{nic}.{max(port, 0)}", title), name, unit, metric
            )


def convert_cpu_metrics(context: Context, table: str) -> None:
    """One counter per CPU or system component and metric; a value is valid from the start of its interval."""
    rows = read_all(
        context.tables, "TARGET_INFO_PERF_METRIC", ints=("id",), texts=("name", "displayName", "unit")
    )
    metrics = {
        number: (decode(display) or decode(name), decode(unit))
        for number, name, display, unit in zip(
            rows["id"].tolist(),
            rows.texts["name"],
            rows.texts["displayName"],
            rows.texts["unit"],
            strict=True,
        )
    }
    rows = read_all(
        context.tables, "TARGET_INFO_COMPONENT", ints=("componentId", "instance"), texts=("name",)
    )
    components = {
        number: decode(name) + ("" if instance == NULL else f" {instance}")
        for number, instance, name in zip(
            rows["componentId"].tolist(), rows["instance"].tolist(), rows.texts["name"], strict=True
        )
    }
    is_event = table.endswith("RAW_EVENT")
    id_column, value_column = ("eventId", "count") if is_event else ("metricId", "value")
    for batch in context.batches(
        table, ints=("start", "end", "componentId", id_column), reals=(value_column,)
    ):
        for (component, metric), index in groups(batch["componentId"], batch[id_column]):
            name, unit = metrics.get(metric) or (f"metric {metric}", "")
            title = components.get(component) or english("component {number}", number=component)
            _add_intervals(
                context,
                batch,
                index,
                ("cpu-metrics", str(max(component, 0)), title),
                name,
                unit,
                metric,
                value_column,
            )


def _add_intervals(
    context: Context,
    batch: Batch,
    index: npt.NDArray[np.int64],
    place: tuple[str, str, str],
    name: str,
    unit: str,
    place_in_group: int,
    value_column: str = "value",
) -> None:
    """Adds values over intervals as a counter; ``place`` is folder and part of the URI, and the title."""
    folder, part, title = place
    group = context.specs.group(folder, part, title)
    track = context.track(context.specs.group_counter(group, name, place_in_group), context.track(group))
    if value_column in batch.reals:
        values = batch.reals[value_column][index]
    else:
        whole = batch[value_column][index]
        values = np.where(whole == NULL, np.nan, whole.astype(np.float64))
    context.add_counter(track, name, unit, batch["start"][index], values, label=folder)
    ends = batch["end"][index]
    ends = ends[(ends > -FAR) & (ends < FAR)]
    context.window.include(ends, ends)


def _distinct(types: Mapping[int, str]) -> dict[int, str]:
    """Titles of metric sources; numbers equal names (several GPUs of a kind)."""
    several = {name for name in types.values() if list(types.values()).count(name) > 1}
    titles: dict[int, str] = {}
    for type_id in sorted(types):
        name = types[type_id]
        titles[type_id] = f"{name} ({type_id})" if name in several else name
    return titles


def convert_memory_usage(context: Context, devices: Devices, table: str) -> None:
    """Allocations and releases as events, and a counter of allocated bytes per GPU and kind of memory.

    The counter starts at 0: earlier allocations are unknown.
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
            label=table,
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
        name = english("CUDA memory, {kind}", kind=MEMORY_KINDS.get(kind, MEMORY_KINDS[7]))
        spec = context.specs.gpu_counter(gpu, f"memory-{max(kind, 0)}", name)
        track = context.track(spec, devices.gpu_track(gpu))
        context.add_counter(track, name, "bytes", rows["start"][index], held.astype(np.float64), label=table)
