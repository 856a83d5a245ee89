"""The GPU side of a Kineto trace: devices, contexts, streams and their work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.interchange.framework.columns import NO_INTEGER, clean_text, distinct_rows, unmasked, unsigned
from warpline.interchange.framework.copies import copy_codes, memory_code
from warpline.interchange.torch.columns import GPU_ANNOTATION, KERNEL, MEMCPY, MEMSET, SYNC
from warpline.interchange.trace_json.piece_columns import Group, ThreadKey
from warpline.interchange.trace_json.target import payload_of
from warpline.interchange.trace_json.tracks import ProcessEntry, TraceTracks
from warpline.interchange.trace_json.unfinished import SliceRegistry
from warpline.model import Flag
from warpline.model.track_factory import gpu_title
from warpline.recording.symbols.demangle import demangle

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_SYNC_TYPES = {"event sync": 1, "stream wait event": 2, "stream sync": 3, "context sync": 4, "device sync": 4}


_ROLES = {SYNC: "sync", GPU_ANNOTATION: "ranges"}
"""Role of a context's track by kind of event; other kinds go to streams."""


class KinetoGpuTracks:
    """Adds GPU work to the tracks of devices, contexts and streams."""

    def __init__(self, tracks: TraceTracks, builder: CaptureBuilder) -> None:
        self._tracks = tracks
        self._builder = builder
        self._context_of: dict[tuple[int, int | None], int | None] = {}
        self.devices: dict[int, int] = {}
        """Track of each device with events."""
        self.rows: dict[ThreadKey, int] = {}
        """Number in the slice registry of each (device, stream)."""

    def add(
        self,
        name: str,
        group: Group,
        owner_of: Callable[[int | None], ProcessEntry],
        slices: SliceRegistry,
    ) -> tuple[npt.NDArray[np.int64], str]:
        """Add a group of GPU work, also to ``slices``; returns the event ids and their kind.

        ``owner_of`` gives the process of a device.
        """
        kind = name if name in (KERNEL, MEMCPY, MEMSET, SYNC, GPU_ANNOTATION) else "gpu_event"
        # Some kernels of libraries arrive with mangled names.
        names = self._builder.strings(map(demangle, group.name.table))[group.name.codes]
        attributes = {
            key: unmasked(values)
            for key, values in self._attributes(kind, group).items()
            if values is not None
        } | payload_of(self._builder, group)
        ids = np.empty(len(group), np.int64)
        no_duration = group.numbers["no_duration"]
        parts, codes = self._parts(group)
        for code, (place, pid, tid) in enumerate(parts):
            index = np.flatnonzero(codes == code)
            device, context, stream = group.places[place]
            track = self._tracks.row_track(pid, tid)
            if track is None:
                owner = owner_of(device)
                track = self._track(kind, -1 if device is None else device, context, stream, owner)
            elif device is not None:
                self._device_track(device)
            first = self._builder.add_events(
                track,
                kind,
                group.start[index],
                group.duration[index],
                names[index],
                flags=np.where(no_duration[index], np.uint8(Flag.ESTIMATED), np.uint8(0)),
                attributes={key: values[index] for key, values in attributes.items()},
            )
            ids[index] = np.arange(first, first + len(index))
            # Arrows of Warpline's own exports name the exported row.
            row = self.row((device, stream) if NO_INTEGER in (pid, tid) else (pid, tid))
            start = group.start[index]
            slices.add(row, start, start + group.duration[index], ids[index])
        return ids, kind

    def row(self, key: ThreadKey) -> int:
        """Number of a row of GPU work in the slice registry: negative, unlike threads', odd, unlike those of `cpu`."""
        return self.rows.setdefault(key, -1 - 2 * len(self.rows))

    def _parts(self, group: Group) -> tuple[list[tuple[int, ...]], npt.NDArray[np.int64]]:
        """Place, process and thread of the rows of a group, and the row of each event.

        Only in Warpline's own exports the numbers of process and thread say more than the place.
        """
        places = group.thread.astype(np.int64)
        nobody = np.full(len(group), NO_INTEGER)
        if not self._tracks.header.tracks or "tid" not in group.numbers:
            return distinct_rows(places, nobody, nobody)
        return distinct_rows(
            places, *(np.ma.filled(group.numbers[name], NO_INTEGER) for name in ("pid", "tid"))
        )

    def _attributes(self, kind: str, group: Group) -> dict[str, Any]:
        numbers = group.numbers
        if kind == KERNEL:
            return {
                **{
                    axis: _size(numbers, axis)
                    for shape in ("grid", "block")
                    for axis in (f"{shape}_x", f"{shape}_y", f"{shape}_z")
                },
                "registers_per_thread": _size(numbers, "registers"),
                "shared_memory_bytes": _size(numbers, "shared"),
                "blocks_per_sm": numbers.get("blocks"),
                "warps_per_sm": numbers.get("warps"),
                "occupancy_ratio": _exported_or(
                    numbers, "occupancy_ratio", numbers["occupancy"] / 100 if "occupancy" in numbers else None
                ),
                "correlation": numbers["correlation"],
                "priority": numbers.get("priority"),
                # In microseconds; 0 if CUPTI did not measure it.
                "queued_ns": None
                if "queued" not in numbers
                else np.ma.masked_equal(numbers["queued"], 0) * 1000,
                **_graph(numbers),
            }
        if kind == MEMCPY:
            codes = np.array([copy_codes(text) for text in group.name.table], np.uint8).reshape(-1, 3)[
                group.name.codes
            ]
            return {
                "bytes": _size(numbers, "bytes"),
                **{
                    name: _exported_or(numbers, name, codes[:, index])
                    for index, name in enumerate(("copy_kind", "src_kind", "dst_kind"))
                },
                "correlation": numbers["correlation"],
                "bandwidth_gb_per_s": numbers.get("bandwidth"),
                **_graph(numbers),
            }
        if kind == MEMSET:
            codes = np.array([memory_code(text) for text in group.name.table], np.uint8)
            return {
                "bytes": _size(numbers, "bytes"),
                "memory_kind": _exported_or(numbers, "memory_kind", codes[group.name.codes]),
                "value": _size(numbers, "value"),
                "bandwidth_gb_per_s": numbers.get("bandwidth"),
                "correlation": numbers["correlation"],
                **_graph(numbers),
            }
        if kind == SYNC:
            kinds = [_SYNC_TYPES.get((text or name).lower(), 0) for text, name in _pairs(group)]
            return {
                "sync_type": np.array(kinds, np.uint8),
                "stream": numbers.get("stream"),
                "event_id": _size(numbers, "event"),
                "wait_on_stream": numbers.get("wait_on_stream"),
                "recorded_by": numbers.get("recorded_by"),
                "correlation": numbers["correlation"],
            }
        return {"correlation": numbers["correlation"]}

    def _track(
        self, kind: str, device: int, context: int | None, stream: int | None, process: ProcessEntry
    ) -> int:
        exported = self._exported_track(_ROLES.get(kind, "stream"), device, context, stream)
        gpu = self._device_track(device)
        if exported is not None:
            return exported
        tracks, specs = self._tracks, self._tracks.specs
        if context is None:
            context = self._context_of.get((device, stream))
        else:
            self._context_of[device, stream] = context
        place = specs.context(device, process.uri, context)
        parent = gpu if context is None else tracks.add_track(place, gpu, process)
        if kind == SYNC:
            spec = specs.sync(place)
        elif kind == GPU_ANNOTATION:
            spec = specs.annotations(place)
        else:
            spec = specs.stream(place, stream)
        return tracks.add_track(spec, parent, process)

    def _exported_track(self, role: str, device: int, context: int | None, stream: int | None) -> int | None:
        tracks = self._tracks
        place = tracks.gpu_track(role, device, context, stream if role == "stream" else None)
        if place is None and role != "stream":
            place = tracks.gpu_track("stream", device, context, stream)
        # Without a stream number, the row in the trace stands for the stream.
        return tracks.row_track(device, stream) if place is None else place

    def _device_track(self, device: int) -> int:
        track = self.devices.get(device)
        if track is None:
            track = self._tracks.gpu_track("gpu", device, None, None)
            if track is None:
                track = self._tracks.add_track(self._tracks.specs.gpu(device))
            self.devices[device] = track
        return track

    def name_devices(self, properties: Any) -> None:
        """Add the devices with events to the capture, with their properties from the file."""
        known: dict[int, Mapping[str, Any]] = {}
        for entry in properties if isinstance(properties, list) else []:
            if isinstance(entry, dict) and isinstance(entry.get("id"), int):
                known[entry["id"]] = entry
        # A program that sees only some of the GPUs numbers them anew; if all are of one model, its name is sure.
        models = {entry.get("name") for entry in known.values()}
        any_entry = next(iter(known.values()), {}) if len(models) == 1 else {}
        for device, track in sorted(self.devices.items()):
            entry = known.get(device, any_entry)
            name = entry.get("name")
            text = clean_text(name.strip()) if isinstance(name, str) else ""
            self._builder.add_device(
                device,
                text or f"GPU {device}",
                rank=self._tracks.options.rank,
                properties={
                    str(key): value
                    for key, value in entry.items()
                    if isinstance(value, (int, float, str))
                    and not isinstance(value, bool)
                    and key not in ("id", "name")
                },
            )
            if text and text != f"GPU {device}" and not self._tracks.header.tracks:
                self._builder.update_track(track, title=gpu_title(device, text))


def _pairs(group: Group) -> list[tuple[str, str]]:
    kinds = group.texts["sync_kind"]
    return [
        (kinds.table[kind], group.name.table[name])
        for kind, name in zip(kinds.codes.tolist(), group.name.codes.tolist(), strict=True)
    ]


def _exported_or(numbers: Mapping[str, Any], name: str, otherwise: Any) -> Any:
    """The column from Warpline's own export; the fallback where it is missing."""
    if name not in numbers or np.ma.getmaskarray(numbers[name]).all():
        return otherwise
    own = numbers[name]
    if otherwise is None:
        return own
    missing = np.ma.getmaskarray(own)
    values = np.where(missing, np.ma.getdata(otherwise), np.ma.getdata(own))
    if values.dtype.kind == "i":
        values = np.clip(values, 0, 255)  # codes
    return np.ma.MaskedArray(values, missing & np.ma.getmaskarray(otherwise))


def _size(numbers: Mapping[str, Any], name: str) -> Any:
    return unsigned(numbers[name]) if name in numbers else None


def _graph(numbers: Mapping[str, Any]) -> dict[str, Any]:
    # 0 means "not part of a graph".
    return {
        "graph_id": None if "graph" not in numbers else np.ma.masked_less_equal(numbers["graph"], 0),
        "graph_node_id": None
        if "graph_node" not in numbers
        else np.ma.masked_less_equal(numbers["graph_node"], 0),
    }
