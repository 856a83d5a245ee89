"""Writes a capture as the protobuf file of Paddle's profiler, which its ``load_profiler_result`` reads.

Each thread is a tree of host events; calls of CUDA with the work they launched, allocations and input shapes belong to
the innermost event around them.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import orjson

from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.nesting import enclosing
from warpline.analysis.framework.selection import Selection, View
from warpline.analysis.structure.event_types import HOST_TYPES
from warpline.analysis.structure.host_events import TREE_KINDS, ThreadEvents, neighbours, threads_with_events
from warpline.interchange.export.output_files import writing
from warpline.interchange.export.paddle_pb import messages
from warpline.interchange.export.selection import ExportSelection

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
_VERSION = "1.0.2"
_ROOT = 0
_KINDS = (*TREE_KINDS, "python")


def export_paddle(capture: Capture, out: Path, selection: ExportSelection | None = None) -> Path:
    """Write the selection to ``out``, which appears when complete.

    Events across a border stay whole. Threads without host events are left out. Raises OSError.
    """
    selection = selection or ExportSelection()
    view = View(capture, Selection(selection.start_ns, selection.stop_ns, tracks=selection.tracks))
    with writing(out) as file:
        file.write(messages.block(1, _VERSION) + messages.integer(2, 0))
        for thread_events in threads_with_events(view, _KINDS):
            file.write(messages.block(3, _ThreadTree(view, thread_events).message()))
        for device in capture.devices:
            file.write(
                messages.block(
                    5, messages.device_property(device.index, device.name, dict(device.properties))
                )
            )
    return out


class _ThreadTree:
    """The tree of one thread."""

    def __init__(self, view: View, thread_events: ThreadEvents) -> None:
        capture = view.capture
        self._view = view
        self._thread_events = thread_events
        thread = thread_events.thread
        self._tid = max(capture.threads[thread].tid, 0) if thread >= 0 else 0
        self._pid = capture.processes[capture.threads[thread].process].pid if thread >= 0 else 0
        self._base = int(capture.meta.get("start_monotonic_ns", 0)) - capture.span[0]
        self._tracks = neighbours(view, thread)
        self._nested = nested_events(view, self._tracks, _KINDS)
        place = np.full(len(capture.events) if len(self._nested) else 0, -1, np.int64)
        if len(place):
            place[thread_events.events.row] = np.arange(len(thread_events.events))
        self._places = place

    def message(self) -> bytes:
        """A ThreadNodeTreeProto."""
        host = self._thread_events.events
        below = self._below()
        stop = int(host.stop.max(initial=0)) + self._base
        root = messages.host_event("root node", messages.TYPES["UserDefined"], 0, stop, self._pid, self._tid)
        nodes = [self._node(_ROOT, -1, root, below[-1])]
        names = self._view.capture.strings.get(host.name.tolist())
        for i, name in enumerate(names):
            kind = HOST_TYPES[int(host.type[i])] if host.type[i] >= 0 else "UserDefined"
            event = messages.host_event(
                name,
                messages.TYPES.get(kind, messages.TYPES["UserDefined"]),
                int(host.start[i]) + self._base,
                int(host.stop[i]) + self._base,
                self._pid,
                self._tid,
            )
            nodes.append(self._node(i + 1, int(host.parent[i]) + 1, event, below[i]))
        return messages.integer(1, self._tid) + b"".join(messages.block(2, node) for node in nodes)

    @staticmethod
    def _node(number: int, parent: int, event: bytes, below: list[bytes]) -> bytes:
        return (
            messages.integer(1, number)
            + messages.integer(2, parent)
            + messages.block(3, event)
            + b"".join(below)
        )

    def _below(self) -> defaultdict[int, list[bytes]]:
        """Fields of each event's node below it (−1: the root)."""
        below: defaultdict[int, list[bytes]] = defaultdict(list)
        for owner, message in (*self._calls(), *self._memory(), *self._shapes()):
            below[owner].append(message)
        return below

    def _owners(self, times: Int64Array) -> list[int]:
        """For each time the index of the innermost host event around it, −1 for none."""
        found = enclosing(self._nested, times)
        rows = self._nested.row[np.maximum(found, 0)]
        return (
            np.where(found >= 0, self._places[rows], -1).tolist() if len(self._places) else [-1] * len(times)
        )

    def _calls(self) -> list[tuple[int, bytes]]:
        view = self._view
        calls = nested_events(view, self._tracks, ("cuda_api",))
        launches = self._thread_events.launches
        work_of: defaultdict[int, list[int]] = defaultdict(list)
        for i, call in enumerate(launches.call.tolist()):
            work_of[call].append(i)
        own = _Attributes(view).of(calls.row)
        work = _Work(view, launches.work, self._base)
        names = view.capture.strings.get(view.names(calls.row).tolist())
        result = []
        for i, (row, owner) in enumerate(zip(calls.row.tolist(), self._owners(calls.start), strict=True)):
            values = own[i]
            correlation = int(values.get("correlation", 0)) & 0xFFFF_FFFF
            start, stop = int(calls.start[i]) + self._base, int(calls.stop[i]) + self._base
            callback = int(values.get("callback_id", 0))
            event = messages.runtime_event(names[i], start, stop, self._pid, self._tid, correlation, callback)
            node = messages.block(1, event) + b"".join(work.message(at, correlation) for at in work_of[row])
            result.append((owner, messages.block(4, node)))
        return result

    def _memory(self) -> list[tuple[int, bytes]]:
        view = self._view
        events = nested_events(view, self._tracks, ("memory",))
        values = _Attributes(view).of(events.row)
        names = view.capture.strings.get(view.names(events.row).tolist())
        result = []
        for i, owner in enumerate(self._owners(events.start)):
            own = values[i]
            operation = int(own.get("operation_code", 0)) + (2 if "reserved" in names[i].lower() else 0)
            size = int(own.get("bytes", 0))
            totals = int(own.get("total_allocated_bytes", 0)), int(own.get("total_reserved_bytes", 0))
            event = messages.memory_event(
                int(events.start[i]) + self._base,
                operation,
                int(own.get("address", 0)),
                self._pid,
                self._tid,
                -size if operation % 2 else size,
                str(own.get("device", "")),
                totals,
            )
            result.append((owner, messages.block(5, messages.block(1, event))))
        return result

    def _shapes(self) -> list[tuple[int, bytes]]:
        host = self._thread_events.events
        result = []
        for i, values in enumerate(_Attributes(self._view).of(host.row, ("input_shapes",))):
            try:
                shapes = orjson.loads(values.get("input_shapes", ""))
            except orjson.JSONDecodeError:
                continue
            if isinstance(shapes, dict):
                name = self._view.capture.strings[int(host.name[i])]
                event = messages.supplement(
                    i + 1, int(host.start[i]) + self._base, name, self._pid, self._tid, shapes
                )
                result.append((i, messages.block(6, messages.block(1, event))))
        return result


class _Work:
    """Work of GPUs, read all at once; ``rows`` are event rows."""

    def __init__(self, view: View, rows: Int64Array, base_ns: int) -> None:
        capture = view.capture
        start, stop = capture.event_times(rows)
        self._start, self._stop = (start + base_ns).tolist(), (stop + base_ns).tolist()
        self._names = capture.strings.get(view.names(rows).tolist())
        self._values = _Attributes(view).of(rows)
        places = [
            tuple(max(number or 0, 0) for number in (track.device, track.context, track.stream))
            for track in capture.tracks
        ]
        self._places = [places[track] for track in view.track_of(rows).tolist()]
        kinds = {table.code: name for name, table in capture.kinds.items()}
        codes = capture.events.kind[rows].tolist()
        self._kinds = [kinds[code] if kinds[code] in messages.DEVICE_TYPES else "kernel" for code in codes]

    def message(self, at: int, correlation: int) -> bytes:
        """The field of one piece of work, by index, below the call with this correlation id."""
        device, context, stream = self._places[at]
        event = messages.device_event(
            self._kinds[at],
            self._names[at],
            self._start[at],
            self._stop[at],
            (device, context, stream),
            correlation,
            self._values[at],
        )
        return messages.block(2, messages.block(1, event))


class _Attributes:
    """Reads attributes of events as values: numbers, and texts of strings and enumerations."""

    def __init__(self, view: View) -> None:
        self._capture = view.capture

    def of(self, rows: Int64Array, only: tuple[str, ...] = ()) -> list[dict[str, Any]]:
        """Recorded attributes of each row. An enumeration ``x`` also has its number as ``x_code``."""
        result: list[dict[str, Any]] = [{} for _row in range(len(rows))]
        codes = self._capture.events.kind[rows]
        for table in self._capture.kinds.values():
            here = np.flatnonzero(codes == table.code)
            if not len(here):
                continue
            index = table.indices_of(rows[here])
            for spec in table.spec.attributes:
                if only and spec.name not in only:
                    continue
                values, validity = table.column(spec.name)
                for at, value, is_valid in zip(
                    here, values[index].tolist(), validity[index].tolist(), strict=True
                ):
                    if is_valid:
                        self._put(result[at], spec, value)
        return result

    def _put(self, into: dict[str, Any], spec: Any, value: Any) -> None:
        if spec.dtype == "string":
            into[spec.name] = self._capture.strings[value]
        elif spec.enum:
            into[spec.name] = spec.enum.get(value, str(value))
            into[f"{spec.name}_code"] = value
        else:
            into[spec.name] = value
