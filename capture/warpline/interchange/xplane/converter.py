"""Adds the events of an XPlane profile to a capture: streams with XLA's modules and ops, and threads of the host."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english, tr
from warpline.interchange.framework.columns import clean_text, integer, real
from warpline.interchange.framework.copies import MEMORY_CODES, copy_codes
from warpline.interchange.framework.event_sink import EventSink, Holder, Int64Array
from warpline.interchange.framework.importer import ImportOptions, ImportSummary
from warpline.interchange.xplane.planes import Plane, PlaneEvents, PlaneLine, read_lines, read_space
from warpline.interchange.xplane.stats import (
    MEMORY_OPERATIONS,
    Stats,
    device_number,
    framework_op,
    host_kind,
    integers,
    payload_of,
    stats_of,
    uint32,
    work_kind,
)
from warpline.model import AttributeSpec, Flag, KindSpec, links
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.model.track_factory import TrackSpec

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_STREAM = re.compile(r"Stream #(\d+)")
_DETAIL = re.compile(r"(\w+):(\S+)")
_GROUPED = {"XLA Modules": 0, "XLA Ops": 1, "Framework Ops": 2, "TensorFlow Ops": 2}
"""Lines of ranges over the work of a device, by their order below it."""
_EPOCH_NS = 946_684_800_000_000_000
"""Times after 2000 count from the epoch; earlier ones from the start of the profile."""
_PAYLOAD = AttributeSpec("payload", "string", "Payload")
_NAMES = (
    AttributeSpec("xla_module", "string", "XLA module"),
    AttributeSpec("xla_op", "string", "XLA op"),
    AttributeSpec("framework_op", "string", "Framework op"),
)
_FLOW_STATS = (("from", "_pt", "_p"), ("to", "_ct", "_c"))


class XPlaneConverter:
    """Converts one file."""

    def __init__(self, path: Path, builder: CaptureBuilder, options: ImportOptions) -> None:
        self.sink = EventSink(builder, options)
        self._builder = builder
        self.space = read_space(path)
        self._groups: dict[tuple[int, int], list[tuple[int, int, str, str, str]]] = defaultdict(list)
        self._grouped: set[int] = set()
        """Devices for which the file has ranges over the work of modules and ops."""
        for kind in ("kernel", "memcpy", "memset"):
            builder.add_kind(KindSpec(kind, "", "gpu", kind, (_PAYLOAD, *_NAMES)))
        for kind, category in (
            ("cuda_api", "api"),
            ("memory", "memory"),
            ("phase", "range"),
            ("operator", "range"),
        ):
            builder.add_kind(KindSpec(kind, "", category, kind, (_PAYLOAD,)))
        self._add_devices()

        is_amd = any(plane.stats.get("device_vendor") == "AMD" for plane in self.space.planes)
        self._api_title = english("HIP API") if is_amd else ""

    def _add_devices(self) -> None:
        for plane in self.space.planes:
            if (number := device_number(plane)) is not None:
                vendor = plane.stats.get("device_vendor", "")
                name = str(plane.stats.get("device_type_string", "") or vendor)
                properties = {key: value for key, value in plane.stats.items() if key and value != ""}
                self.sink.gpu(number, name, properties)

    @property
    def utc_offset_ns(self) -> int | None:
        """Nanoseconds between the file's times and the epoch."""
        for plane in self.space.planes:
            begin = plane.stats.get("profile_start_time")
            if plane.name == "Task Environment" and isinstance(begin, int) and begin > _EPOCH_NS:
                return begin
        return None

    def add_line(self, line: PlaneLine, batches: Any) -> None:
        """Adds the events of a line, which are GPU work or what a thread did."""
        plane = self.space.planes[line.plane]
        device = device_number(plane)
        for events in batches:
            stats = stats_of(events, plane)
            names = self._names(line.plane, events.name)
            if device is None:
                self._add_host(line, plane, events, names, stats)
            else:
                self._add_device(device, line, plane, events, names, stats)

    def _names(self, plane: int, ids: Int64Array) -> npt.NDArray[np.uint32]:
        known = self.space.planes[plane].names
        distinct, codes = np.unique(ids, return_inverse=True)
        texts = [clean_text(known.get(number, f"event {number}")) for number in distinct.tolist()]
        return self._builder.strings(texts)[codes.reshape(-1)]

    # Devices

    def _add_device(
        self,
        device: int,
        line: PlaneLine,
        plane: Plane,
        events: PlaneEvents,
        names: npt.NDArray[np.uint32],
        stats: list[Stats],
    ) -> None:
        stream = _STREAM.match(line.name)
        process = self._host()
        is_work = stream is not None or (line.name == "XLA Ops" and not plane.name.startswith("/device:GPU"))
        if line.name == "Steps":
            track = self.sink.track(self._gpu_row(device, "steps", line.name), self.sink.gpu(device))
            self._add_steps(track, events, names, stats)
            return
        if not is_work:
            if line.name in _GROUPED:
                self._grouped.add(device)
            spec = self._gpu_row(device, f"lines/{line.number}", line.name, _GROUPED.get(line.name, 9))
            track = self.sink.track(spec, self.sink.gpu(device))
            self.sink.add(track, "gpu_annotation", events.start, events.stop, names)
            return
        number = int(stream[1]) if stream else line.number
        track = self.sink.stream(device, process, number, name="" if stream else line.name)
        kinds = np.array(
            [
                work_kind(self._builder.text(name), row)
                for name, row in zip(names.tolist(), stats, strict=True)
            ]
        )
        for kind in np.unique(kinds).tolist():
            index = np.flatnonzero(kinds == kind)
            rows = [stats[place] for place in index.tolist()]
            attributes = self._work_attributes(kind, names[index], rows)
            ids = self.sink.add(
                track, kind, events.start[index], events.stop[index], names[index], attributes=attributes
            )
            self.sink.link(links.LAUNCH, "to", attributes["correlation"], ids)
        for start, stop, row in zip(events.start.tolist(), events.stop.tolist(), stats, strict=True):
            if module := str(row.get("hlo_module", "")):
                op, framework = str(row.get("hlo_op", "")), framework_op(row)
                self._groups[device, number].append((start, stop, module, op, framework))

    def _gpu_row(self, device: int, path: str, title: str, place: int = 0) -> TrackSpec:
        specs = self.sink.specs
        return TrackSpec(
            uri=f"{specs.gpu(device).uri}/{path}",
            title=clean_text(title),
            role="ranges",
            sort_key=place - 20,
            device=device,
        )

    def _work_attributes(self, kind: str, names: npt.NDArray[np.uint32], rows: list[Stats]) -> dict[str, Any]:
        column = self._column
        texts = [str(row.get(f"{kind}_details", "")) for row in rows]
        known_details = {text: dict(_DETAIL.findall(text)) for text in set(texts)}
        details = [known_details[text] for text in texts]
        attributes: dict[str, Any] = {
            "correlation": integers([row.get("correlation_id") for row in rows]),
            "payload": column([payload_of(row) for row in rows]),
            "xla_module": column([str(row.get("hlo_module", "")) for row in rows]),
            "xla_op": column([str(row.get("hlo_op", "")) for row in rows]),
            "framework_op": column([framework_op(row) for row in rows]),
        }
        if kind == "kernel":
            for shape in ("grid", "block"):
                parts = [[*str(row.get(shape, "")).split(","), "", ""][:3] for row in details]
                for place, axis in enumerate("xyz"):
                    attributes[f"{shape}_{axis}"] = uint32([part[place] for part in parts])
            attributes["registers_per_thread"] = uint32([row.get("regs") for row in details])
            attributes["static_shared_memory_bytes"] = uint32([row.get("static_shared") for row in details])
            attributes["dynamic_shared_memory_bytes"] = uint32([row.get("dynamic_shared") for row in details])
            occupancy = [real(row.get("occ_pct")) for row in details]
            ratios = np.array([(value or 0) / 100 for value in occupancy], np.float32)
            attributes["occupancy_ratio"] = np.ma.MaskedArray(ratios, [not value for value in occupancy])
            return attributes
        size = integers([row.get("size") for row in details])
        attributes["bytes"] = np.ma.MaskedArray(size, np.ma.getmaskarray(size) | (np.ma.getdata(size) < 0))
        if kind == "memcpy":
            codes = np.array([copy_codes(self._builder.text(name)) for name in names.tolist()], np.uint8)
            attributes["copy_kind"] = codes[:, 0]
            for end, place in (("src", 1), ("dst", 2)):
                known = [MEMORY_CODES.get(str(row.get(f"kind_{end}", "")).lower()) for row in details]
                attributes[f"{end}_kind"] = np.array(
                    [
                        code if value is None else value
                        for value, code in zip(known, codes[:, place].tolist(), strict=True)
                    ],
                    np.uint8,
                )
        return attributes

    def _column(self, texts: list[str]) -> Any:
        ids = self._builder.strings([clean_text(text) if text else "" for text in texts])
        return np.ma.MaskedArray(ids, ids == 0)

    # The host

    def _host(self) -> Holder:
        return self.sink.process(self.space.hosts[0] if self.space.hosts else "host", english("host"))

    def _add_host(
        self,
        line: PlaneLine,
        plane: Plane,
        events: PlaneEvents,
        names: npt.NDArray[np.uint32],
        stats: list[Stats],
    ) -> None:
        self._host()
        holder = self.space.hosts[0] if self.space.hosts else "host"
        number = line.number if 0 < line.number < 1 << 22 else f"{plane.name} {line.number}"
        thread = self.sink.thread(holder, number, line.name)
        texts = {code: self._builder.text(code) for code in np.unique(names).tolist()}
        # Most events have no stats, and their names decide.
        plain = {code: host_kind(text, {}) for code, text in texts.items()}
        kinds = np.array(
            [
                host_kind(texts[name], row) if row else plain[name]
                for name, row in zip(names.tolist(), stats, strict=True)
            ]
        )
        flags = np.where(events.is_instant, np.uint8(Flag.INSTANT), np.uint8(0)).astype(np.uint8)
        ids = np.full(len(events), -1, np.int64)
        for kind in np.unique(kinds).tolist():
            index = np.flatnonzero(kinds == kind)
            rows = [stats[place] for place in index.tolist()]
            attributes: dict[str, Any] = {}
            payload = self._column([payload_of(row) for row in rows])
            if kind not in {"python", "overhead"} and not np.ma.getmaskarray(payload).all():
                attributes["payload"] = payload
            if kind == "cuda_api":
                attributes["correlation"] = integers([row.get("correlation_id") for row in rows])
            elif kind == "phase":
                attributes["step"] = integers([row.get("step_num") for row in rows])
            elif kind == "memory":
                attributes |= self._memory_attributes([texts[name] for name in names[index].tolist()], rows)
            ids[index] = self.sink.add(
                self.sink.thread_track(thread, _PATHS[kind], self._api_title if kind == "cuda_api" else ""),
                kind,
                events.start[index],
                events.stop[index],
                names[index],
                flags=flags[index],
                attributes=attributes,
            )
            if kind == "cuda_api":
                self.sink.link(links.LAUNCH, "from", attributes["correlation"], ids[index])
            elif kind == "phase":
                self._note_steps(events, index, rows)
        self._add_flows(ids, stats)

    def _memory_attributes(self, names: list[str], rows: list[Stats]) -> dict[str, Any]:
        return {
            "operation": np.array([MEMORY_OPERATIONS[name] for name in names], np.uint8),
            "address": integers([row.get("addr") for row in rows]),
            "bytes": integers([row.get("allocation_bytes") for row in rows]),
            "total_allocated_bytes": integers([row.get("bytes_allocated") for row in rows]),
            "total_reserved_bytes": integers([row.get("bytes_reserved") for row in rows]),
            "device": self._column([str(row.get("allocator_name", "")) for row in rows]),
        }

    def _add_steps(
        self, track: int, events: PlaneEvents, names: npt.NDArray[np.uint32], stats: list[Stats]
    ) -> None:
        steps = [
            row.get("step_num", self._builder.text(name))
            for row, name in zip(stats, names.tolist(), strict=True)
        ]
        self.sink.add(track, "phase", events.start, events.stop, names, attributes={"step": integers(steps)})

    def _note_steps(self, events: PlaneEvents, index: npt.NDArray[np.intp], rows: list[Stats]) -> None:
        for place, row in zip(index.tolist(), rows, strict=True):
            step = integer(row.get("step_num"))
            if step is not None:
                self.sink.steps[step] = (int(events.start[place]), int(events.stop[place]))

    def _add_flows(self, ids: Int64Array, stats: list[Stats]) -> None:
        for end, kind, number in _FLOW_STATS:
            places = [place for place, row in enumerate(stats) if number in row]
            keys = [
                hash((int(integer(stats[place].get(kind)) or 0), int(integer(stats[place][number]) or 0)))
                for place in places
            ]
            if places:
                self.sink.link(
                    links.FLOW, "from" if end == "from" else "to", np.array(keys, np.int64), ids[places]
                )

    def finish(self) -> ImportSummary:
        """Adds what spans lines, and says what was left out."""
        for (device, stream), rows in sorted(self._groups.items()):
            if device not in self._grouped:
                self._add_groups(device, stream, sorted(rows))
        for note in self.space.notes:
            self._builder.add_warning(clean_text(note))
        programs = sum(len(plane.names) for plane in self.space.planes if plane.name == "/host:metadata")
        self._builder.add_skipped(
            english("programs of XLA modules (HLO)"),
            programs,
            english("Warpline does not show compiled programs"),
        )
        if self.space.problem:
            self._builder.add_warning(
                english("The file is damaged or ends early ({error}).", error=self.space.problem),
                is_loss=True,
            )
        return self.sink.summary(self.utc_offset_ns)

    def _add_groups(self, device: int, stream: int, rows: list[tuple[int, int, str, str, str]]) -> None:
        """Ranges over successive work of a stream with the same module, op, and op of the framework."""
        for index, (path, title) in enumerate(
            (
                ("modules", english("XLA modules · Stream {number}", number=stream)),
                ("ops", english("XLA ops · Stream {number}", number=stream)),
                ("framework", english("Framework ops · Stream {number}", number=stream)),
            )
        ):
            merged: list[list[Any]] = []
            previous: tuple[str, str] | None = None
            for start, stop, *levels in rows:
                key = (levels[0], levels[index])
                if key == previous and merged:
                    merged[-1][1] = max(merged[-1][1], stop)
                elif levels[index]:
                    merged.append([start, stop, levels[index]])
                previous = key if levels[index] else None
            if not merged:
                continue
            spec = self._gpu_row(device, f"stream/{stream}/{path}", title, index)
            starts, stops, names = zip(*merged, strict=True)
            self.sink.add(
                self.sink.track(spec, self.sink.gpu(device)),
                "gpu_annotation",
                np.array(starts, np.int64),
                np.array(stops, np.int64),
                self._builder.strings([clean_text(name) for name in names]),
            )


_PATHS = {
    "python": "python", "cuda_api": "api", "phase": "phases", "memory": "memory", "operator": "operators",
    "overhead": "overhead", "range": "ranges",
}  # fmt: skip


def convert(
    path: Path, builder: CaptureBuilder, options: ImportOptions, progress: Progress, cancelled: IsCancelled
) -> ImportSummary:
    """Adds the whole file to the builder. Raises ImportFormatError when it is unreadable, Cancelled."""
    converter = XPlaneConverter(path, builder, options)
    total = max(1, sum(plane.lines for plane in converter.space.planes))
    for done, (line, events) in enumerate(read_lines(path, converter.space)):
        check_cancelled(cancelled)
        progress(done / total, tr("reading {what}", what=line.name))
        converter.add_line(line, events)
    return converter.finish()
