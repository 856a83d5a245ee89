"""Adds the columns of an Ascend trace to a capture: NPU streams become GPU streams, CANN calls become API calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.ascend.tasks import COPY, KERNEL, OTHER, WAIT, TaskArgs, decoded, task_kind
from warpline.interchange.framework.collectives import CollectiveLog
from warpline.interchange.framework.columns import NO_INTEGER, clean_text
from warpline.interchange.framework.importer import ImportOptions, ImportSummary
from warpline.interchange.torch.converter import TorchConverter
from warpline.interchange.trace_json.json_repair import json_object
from warpline.interchange.trace_json.json_stream import StreamState
from warpline.interchange.trace_json.piece_columns import SLICES, Group, ThreadKey
from warpline.interchange.trace_json.target import name_ids, optional_ids
from warpline.interchange.trace_json.tracks import number_of
from warpline.model import AttributeSpec, KindSpec, links
from warpline.model.track_factory import TrackSpec
from warpline.model.track_titles import ACL_API, NPU

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

HARDWARE, COLLECTIVES, CALLS = "Ascend Hardware", ("HCCL", "Communication"), "CANN"
_GROUP = re.compile(r"Group .*Communication", re.IGNORECASE)
_PAYLOAD = AttributeSpec("payload", "string", "Payload")
_KINDS = (
    ("kernel", "Kernel", "gpu", "kernel"),
    ("memcpy", "Memory copy", "gpu", "copy"),
    ("sync", "Synchronization", "gpu", "sync"),
    ("cuda_api", "CUDA API call", "api", "api"),
    ("other", "Event", "range", "range"),
)
_WAITS_FOR_EVENT = 2
"""The synchronisation type of a stream's wait for an event."""


class AscendConverter(TorchConverter):
    """Converts PyTorch's events like `TorchConverter`, and the rest by the processes that msprof sorts it into."""

    def __init__(self, builder: CaptureBuilder, options: ImportOptions) -> None:
        super().__init__(builder, options)
        self._sorted_late: list[Group] = []
        self._names: dict[str, str] = {}
        self._thread_names: dict[tuple[str, str], str] = {}
        self._devices: dict[str, int] = {}
        self._rows: dict[ThreadKey, int] = {}
        self._log = CollectiveLog(builder)
        for name, title, family, colour in _KINDS:
            builder.add_kind(KindSpec(name, title, family, colour, (_PAYLOAD,)))
        self.name_calls(ACL_API, english("AscendCL call"))

    def absorb_group(self, name: str, group: Group) -> None:
        """See `TraceConverter.absorb_group`; waits for the process names, which may follow the events."""
        if name == SLICES:
            self._sorted_late.append(group)
        else:
            super().absorb_group(name, group)

    def finish(self, state: StreamState) -> ImportSummary:
        """See `TraceConverter.finish`."""
        self._read_names()
        for group in self._sorted_late:
            for subject, part in self._by_process(group):
                self._add(subject, part)
        self._sorted_late.clear()
        summary = super().finish(state)
        for pid, device in self._devices.items():
            label = self._names.get(f"label {pid}", "NPU")
            self.builder.add_device(device, label, rank=self.options.rank)
        return replace(summary, collectives=self._log.result())

    def _read_names(self) -> None:
        for name, pid, tid, raw in self.metadata:
            arguments = json_object(raw.decode("utf-8", "replace")) or {}
            if name == "process_name":
                self._names[str(pid)] = clean_text(str(arguments.get("name", "")).strip())
            elif name == "thread_name":
                self._thread_names[str(pid), str(tid)] = clean_text(str(arguments.get("name", "")).strip())
        hardware = [pid for pid, name in self._names.items() if name.startswith(HARDWARE)]
        self._devices = {pid: number for number, pid in enumerate(hardware)}
        # CANN's calls move into the program's process, which keeps its own name and place.
        self.metadata = {
            event: count
            for event, count in self.metadata.items()
            if not (event[0].startswith("process_") and self._names.get(str(event[1])) == CALLS)
        }

    def _by_process(self, group: Group) -> Iterator[tuple[str, Group]]:
        names = [self._names.get(str(pid), "") for pid, _tid in group.threads]
        for name in dict.fromkeys(names):
            chosen = np.array([text == name for text in names], bool)[group.thread]
            if chosen.any():
                yield name, group.take(np.flatnonzero(chosen))

    def _add(self, subject: str, group: Group) -> None:
        if subject.startswith(HARDWARE):
            self._add_tasks(group)
        elif subject in COLLECTIVES:
            self._add_collectives(group)
        elif subject == CALLS:
            self._add_calls(group)
        else:
            self.add_ranges(group)

    # CPU side

    def thread_of(self, key: ThreadKey) -> ThreadKey:
        """CANN's calls belong to threads of the program."""
        if self._main is not None and self._names.get(str(key[0])) == CALLS:
            return self._main.pid, key[1]
        return super().thread_of(key)

    def _add_calls(self, group: Group) -> None:
        _table, ids = decoded(group.texts["payload"])
        attributes: dict[str, npt.NDArray[Any]] = {
            "correlation": np.ma.masked_equal(ids, NO_INTEGER),
            "payload": optional_ids(self.builder, group.texts["payload"]),
        }
        self.add_slices(group, "cuda_api", "api", attributes, flags=self.duration_flags(group))

    # NPU side

    def _add_tasks(self, group: Group) -> None:
        table, ids = decoded(group.texts["payload"])
        for key, index in self.groups_by_thread(group):
            part = group.take(np.arange(len(group))[index])
            device = self._devices[str(key[0])]
            place = self._place(device)
            track = self._track(device, self.tracks.specs.stream(place, number_of(key[1])))
            kinds = _kinds_of(part, table)
            for kind in (KERNEL, COPY, WAIT, OTHER):
                chosen = np.flatnonzero(kinds == kind)
                if len(chosen):
                    self._add_work(key, track, kind, part.take(chosen), ids[index][chosen])

    def _add_collectives(self, group: Group) -> None:
        _table, ids = decoded(group.texts["payload"])
        device = next(iter(self._devices.values()), 0)
        for key, index in self.groups_by_thread(group):
            title = self._thread_names.get((str(key[0]), str(key[1])), "")
            spec = self.tracks.specs.collectives(self._place(device), str(key[1]), title)
            part = group.take(np.arange(len(group))[index])
            kind = KERNEL if _GROUP.match(title) else OTHER
            if kind == KERNEL:
                self._log.add(name_ids(self.builder, part.name), part.start + part.duration)
            self._add_work(key, self._track(device, spec), kind, part, ids[index])

    def _add_work(
        self, key: ThreadKey, track: int, kind: str, group: Group, ids: npt.NDArray[np.int64]
    ) -> None:
        stop = group.start + group.duration
        self.saw(group.start, stop)
        attributes: dict[str, Any] = {"payload": optional_ids(self.builder, group.texts["payload"])}
        if kind != OTHER:
            attributes["correlation"] = np.ma.masked_equal(ids, NO_INTEGER)
        if kind == WAIT:
            attributes["sync_type"] = np.full(len(group), _WAITS_FOR_EVENT, np.uint8)
        first = self.builder.add_events(
            track,
            kind,
            group.start,
            group.duration,
            name_ids(self.builder, group.name),
            flags=self.duration_flags(group),
            attributes=attributes,
        )
        # Negative numbers do not clash with thread indexes; such traces have no Kineto streams.
        row = self._rows.setdefault(key, -1 - len(self._rows))
        self.slices.add(row, group.start, stop, np.arange(first, first + len(group)))

    def _place(self, device: int) -> TrackSpec:
        return self.tracks.specs.context(device, self._owner().uri, None)

    def _track(self, device: int, spec: TrackSpec) -> int:
        owner = self._owner()
        parent = self.tracks.add_track(
            replace(self.tracks.specs.gpu(device), title=NPU.format(number=device))
        )
        return self.tracks.add_track(spec, parent, owner)

    def _owner(self) -> Any:
        if self._main is None:
            self._main = self.tracks.process("unknown")
        return self._main

    # arrows

    def row_of(self, key: ThreadKey) -> int:
        """See `TraceTarget.row_of`."""
        row = self._rows.get(key)
        return super().row_of(key) if row is None else row

    def link_kind(self, category: str) -> str:
        """See `TraceConverter.link_kind`; CANN's arrows lead from a call to its task."""
        return links.LAUNCH if category == "HostToDevice" else super().link_kind(category)


def _kinds_of(group: Group, table: list[TaskArgs]) -> npt.NDArray[Any]:
    codes = np.stack([group.name.codes, group.texts["payload"].codes])
    pairs, index = np.unique(codes, axis=1, return_inverse=True)
    kinds = np.array(
        [task_kind(group.name.table[name], table[args].task_type) for name, args in pairs.T.tolist()]
    )
    return kinds[index.reshape(-1)]
