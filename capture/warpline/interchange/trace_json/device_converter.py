"""Converts traces of any origin; what their GPU processes hold becomes GPU work."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.i18n import english
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.importer import ImportOptions, ImportSummary
from warpline.interchange.trace_json.converter import TraceConverter
from warpline.interchange.trace_json.device_work import (
    ANNOTATION,
    CALL,
    COPY,
    KERNEL,
    SET,
    DeviceProcess,
    DeviceRow,
    device_process,
    device_row,
    work_attributes,
    work_kinds,
)
from warpline.interchange.trace_json.json_repair import json_object
from warpline.interchange.trace_json.json_stream import StreamState
from warpline.interchange.trace_json.piece_columns import SLICES, Group, Metadata, ThreadKey
from warpline.interchange.trace_json.target import name_ids, optional_ids
from warpline.interchange.trace_json.tracks import number_of
from warpline.model import AttributeSpec, KindSpec, links
from warpline.model.track_titles import HIP_API

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_PAYLOAD = AttributeSpec("payload", "string", "Other arguments")
_KINDS = (
    ("kernel", "Kernel", "gpu", "kernel"),
    ("memcpy", "Memory copy", "gpu", "copy"),
    ("memset", "Memory set", "gpu", "set"),
    ("cuda_api", "CUDA API call", "api", "api"),
    ("gpu_annotation", "GPU annotation", "range", "range"),
)
_API_ARROWS = frozenset({"api_op"})
_ROCPROF_CALLS = "CPU HIP API"
_WORK = "work"
"""Stands for the process in the URIs of streams, because such traces do not say which one a GPU worked for."""


class DeviceTraceConverter(TraceConverter):
    """Like `TraceConverter`; the events of devices become kernels, copies and sets on streams.

    Names of processes precede their events in the traces of all tools that write GPUs as processes.
    """

    def __init__(self, builder: CaptureBuilder, options: ImportOptions) -> None:
        super().__init__(builder, options)
        self._read = 0
        self._devices: dict[str, DeviceProcess] = {}
        self._thread_names: dict[tuple[str, str], str] = {}
        self._rows: dict[ThreadKey, int] = {}
        self._tracks: set[int] = set()
        self._gpus: dict[int, int] = {}
        self._has_streams = False
        self._is_rocprof = False

    def absorb_group(self, name: str, group: Group) -> None:
        """See `TraceConverter.absorb_group`."""
        if name == SLICES:
            self._read_names()
            group = self._without_work(group)
            if self._devices and len(group):
                group = self._without_calls(group)
        if len(group):
            super().absorb_group(name, group)

    def _read_names(self) -> None:
        if len(self.metadata) == self._read:
            return
        self._read = len(self.metadata)
        for event in self.metadata:
            self._read_name(event)
        self._has_streams = any(device.stream is not None for device in self._devices.values())

    def _read_name(self, event: Metadata) -> None:
        name, pid, tid, raw = event
        if name not in ("process_name", "thread_name"):
            return
        text = str((json_object(raw.decode("utf-8", "replace")) or {}).get("name", "")).strip()
        if name == "thread_name":
            self._thread_names[str(pid), str(tid)] = clean_text(text)
        elif (device := device_process(text)) is not None:
            if not self._devices:
                for kind in _KINDS:
                    self.builder.add_kind(KindSpec(*kind, (_PAYLOAD,)))
            self._devices[str(pid)] = device
        self._is_rocprof |= text.endswith(_ROCPROF_CALLS)

    # Work of devices

    def _without_work(self, group: Group) -> Group:
        """Add the events of devices; returns the others."""
        of_device = np.array([str(pid) in self._devices for pid, _tid in group.threads], bool)[group.thread]
        if not of_device.any():
            return group
        for code, key in enumerate(group.threads):
            index = np.flatnonzero(of_device & (group.thread == code))
            if len(index):
                self._add_row(key, group.take(index))
        return group.take(np.flatnonzero(~of_device))

    def _add_row(self, key: ThreadKey, group: Group) -> None:
        device = self._devices[str(key[0])]
        row = device_row(device, self._thread_names.get((str(key[0]), str(key[1])), ""), number_of(key[1]))
        if device.repeats and not self._has_streams:
            row = DeviceRow(number_of(key[1]), True)
        track = self._track(device, row)
        self.saw(group.start, group.start + group.duration)
        kinds = work_kinds(group.name, group.texts["payload"]) if row.is_work else None
        for kind in (KERNEL, COPY, SET) if kinds is not None else (ANNOTATION,):
            part = group if kinds is None else group.take(np.flatnonzero(kinds == kind))
            if len(part):
                self._add_part(key, track, kind, part)

    def _add_part(self, key: ThreadKey, track: int, kind: str, group: Group) -> None:
        payload = group.texts["payload"]
        attributes: dict[str, Any] = {"payload": optional_ids(self.builder, payload)}
        if kind != ANNOTATION:
            attributes |= work_attributes(kind, group.name, payload)
        first = self.builder.add_events(
            track,
            kind,
            group.start,
            group.duration,
            name_ids(self.builder, group.name),
            flags=self.duration_flags(group),
            attributes=attributes,
        )
        ids = np.arange(first, first + len(group))
        # Negative numbers do not clash with the indexes of threads.
        self.slices.add(
            self._rows.setdefault(key, -1 - len(self._rows)), group.start, group.start + group.duration, ids
        )
        if kind != ANNOTATION:
            self._link(attributes["correlation"], ids, "to")

    def _link(self, correlation: Any, ids: Any, end: Any) -> None:
        known = ~np.ma.getmaskarray(correlation) & (np.ma.getdata(correlation) != 0)
        if known.any():
            scope = -1 - self.options.clock
            self.builder.add_link_keys(
                links.LAUNCH, scope, end, np.ma.getdata(correlation)[known], ids[known]
            )

    def _track(self, device: DeviceProcess, row: DeviceRow) -> int:
        specs = self.tracks.specs
        if device.device not in self._gpus:
            self._gpus[device.device] = self.tracks.add_track(specs.gpu(device.device))
            self.builder.add_device(device.device, f"GPU {device.device}", rank=self.options.rank)
        place = specs.context(device.device, _WORK, None)
        if row.is_work:
            spec = specs.stream(place, row.stream, name=row.title)
        else:
            spec = specs.annotations(place)
            spec = replace(spec, uri=f"{spec.uri}/{specs.style.segment(row.title)}", title=row.title)
        track = self.tracks.add_track(spec, self._gpus[device.device])
        self._tracks.add(track)
        return track

    # Calls

    def _without_calls(self, group: Group) -> Group:
        """Add calls of a driver or runtime; returns the other events."""
        is_call = np.array([CALL.fullmatch(name) is not None for name in group.name.table], bool)[
            group.name.codes
        ]
        if not is_call.any():
            return group
        calls = group.take(np.flatnonzero(is_call))
        if "api" not in self.tracks.titles and any(
            name.startswith(("hip", "hsa")) for name in calls.name.table
        ):
            self.tracks.titles["api"] = HIP_API
            self.builder.rename_kind("cuda_api", english("HIP API call"))
        payload = calls.texts["payload"]
        correlation = work_attributes(ANNOTATION, calls.name, payload)["correlation"]
        attributes = {"payload": optional_ids(self.builder, payload), "correlation": correlation}
        ids = self.add_slices(calls, "cuda_api", "api", attributes, flags=self.duration_flags(calls))
        self._link(correlation, ids, "from")
        return group.take(np.flatnonzero(~is_call))

    def row_of(self, key: ThreadKey) -> int:
        """See `TraceTarget.row_of`."""
        row = self._rows.get(key)
        return super().row_of(key) if row is None else row

    def link_kind(self, category: str) -> str:
        """See `TraceConverter.link_kind`; arrows of AMD's tools lead from a call to its work."""
        is_launch = category in _API_ARROWS or (category == "DataFlow" and self._is_rocprof)
        return links.LAUNCH if is_launch and self._devices else super().link_kind(category)

    def finish(self, state: StreamState) -> ImportSummary:
        """See `TraceConverter.finish`."""
        processes = list(self.tracks.processes.values())
        if len(processes) == 1:  # then the GPUs worked for that process
            for track in self._tracks:
                self.builder.update_track(track, process=processes[0].index)
        return super().finish(state)
