"""Exports Chrome / Perfetto JSON, with the PyTorch profiler's conventions where it has any."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt
import orjson

from warpline.i18n import tr
from warpline.interchange.export.chrome_json.args import EventArguments, JsonTexts, arguments_of
from warpline.interchange.export.chrome_json.counters import named_counters
from warpline.interchange.export.chrome_json.flows import anchors
from warpline.interchange.export.chrome_json.header import header_tables
from warpline.interchange.export.chrome_json.keys import correlation_offsets, external_ids, launches_have_ids
from warpline.interchange.export.chrome_json.rows import Rows, TraceRow
from warpline.interchange.export.chrome_json.text import lines_of, microseconds, quoted, reals
from warpline.interchange.export.exporter import ExportJob, SizeModel
from warpline.interchange.export.output_files import writing
from warpline.interchange.export.selection import (
    CHUNK_EVENTS,
    Int64Array,
    chunks,
    counter_slice,
    lane_slices,
    rows_by_kind,
)
from warpline.interchange.export.title import title_of
from warpline.model import Flag
from warpline.model.links import ANNOTATION, FORWARD_BACKWARD, LAUNCH

if TYPE_CHECKING:
    from warpline.model import Track

_CATEGORIES = {
    "kernel": "kernel",
    "memcpy": "gpu_memcpy",
    "memset": "gpu_memset",
    "operator": "cpu_op",
    "python": "python_function",
    "range": "user_annotation",
    "phase": "user_annotation",
    "gpu_annotation": "gpu_user_annotation",
    "sync": "cuda_sync",
    "memory": "cpu_instant_event",
    "other": "Trace",
}
"""Kind → category of the PyTorch profiler; other kinds keep their names."""
_FLOWS = {LAUNCH: "ac2g", FORWARD_BACKWARD: "fwdbwd"}
_DEVICE_PROPERTIES = {
    "memory_bytes": "totalGlobalMem",
    "sm_count": "numSms",
    "compute_major": "computeMajor",
    "compute_minor": "computeMinor",
    "threads_per_warp": "warpSize",
    "max_registers_per_sm": "regsPerMultiprocessor",
    "max_shared_memory_per_sm_bytes": "sharedMemPerMultiprocessor",
}
_EVENTS_SHARE = 0.8
"""Share of the whole time; counters and links take the rest."""
_BATCH = 1 << 15
"""Events formatted at a time; the text of a batch should stay in the cache."""


class ChromeExporter:
    """Times are capture time in microseconds with three decimals, which keeps nanoseconds."""

    name = "chrome"
    position = 20
    suffixes = (".json", ".json.gz")
    size_model = SizeModel(per_event=110, per_attribute=20, per_text_byte=1.1)

    @property
    def title(self) -> str:
        return tr("Chrome / Perfetto JSON")

    def export(self, job: ExportJob) -> Path:
        # `writing` compresses if the name ends in .gz.
        with writing(job.out) as file:
            _Writer(job, file).run()
        return job.out


class _Writer:
    """Writes one trace in batches of events; keeps only rows and used texts in memory."""

    def __init__(self, job: ExportJob, file: BinaryIO) -> None:
        self._job = job
        self._capture = capture = job.capture
        self._selection = job.selection
        self._file = file
        self._rows = Rows(capture=capture)
        self._texts = JsonTexts(capture)
        self._row_of_track: dict[int, TraceRow] = {}
        self._correlation = correlation_offsets(capture)
        self._external = external_ids(capture)
        self._stacks: set[int] = set()
        self._is_first = True
        self._counter_names = named_counters(capture, job.selection, self._rows)

    def run(self) -> None:
        """Write the whole document."""
        for track, _rows in lane_slices(self._capture, self._selection):
            self._row(self._capture.tracks[track])
        self._file.write(self._header())
        count = self._job.counted(tr("writing events"), _EVENTS_SHARE)
        for track, rows in chunks(self._capture, self._selection):
            for first in range(rows.start, rows.stop, _BATCH):
                part = slice(first, min(first + _BATCH, rows.stop))
                self._events(self._capture.tracks[track], part)
                count(part.stop - part.start)
        self._counters()
        self._job.progress(0.85, tr("writing links"))
        self._links()
        self._metadata()
        self._file.write(b"\n]")
        self._stack_frames()
        self._file.write(b"}\n")
        self._job.progress(1.0, tr("done"))

    def _write(self, text: str) -> None:
        """Write events as lines, without a comma after the last."""
        if text:
            self._file.write(b"\n" if self._is_first else b",\n")
            self._file.write(text.encode())
            self._is_first = False

    def _header(self) -> bytes:
        capture = self._capture
        head: dict[str, Any] = {
            "schemaVersion": 1,
            "displayTimeUnit": "ms",
            "deviceProperties": [
                {
                    "id": device.index,
                    "name": device.name,
                    **{_DEVICE_PROPERTIES.get(key, key): value for key, value in device.properties},
                }
                for device in capture.devices
            ],
        }
        ranks = {process.rank for process in capture.processes if process.rank is not None}
        if len(ranks) == 1:
            head["distributedInfo"] = {"rank": ranks.pop()}
        utc = capture.meta.get("start_utc_ns")
        if isinstance(utc, int):
            head["baseTimeNanoseconds"] = utc
        head["traceName"] = title_of(capture)
        head["warpline"] = {
            "uuid": capture.uuid,
            "range_ns": self._selection.range_ns(capture),
            "span_ns": self._selection.interval(capture),
            "launches_are_arrows": not launches_have_ids(capture, self._correlation),
            **header_tables(
                capture,
                self._rows,
                self._row_of_track,
                ((number, pid, name) for number, (pid, name) in self._counter_names.items()),
            ),
        }
        return orjson.dumps(head)[:-1] + b',"traceEvents":['

    # Events

    def _row(self, track: Track) -> TraceRow:
        row = self._row_of_track.get(track.index)
        if row is None:
            row = self._row_of_track[track.index] = self._rows.row(track)
        return row

    def _events(self, track: Track, part: slice) -> None:
        capture = self._capture
        row = self._row(track)
        for kind, rows in rows_by_kind(capture, part):
            instant = (capture.events.flags[rows] & np.uint8(Flag.INSTANT)) != 0
            # Instants of a process are written as instants.
            is_async = row.is_async and not track.uri.endswith("/instants")
            for is_instant in (False, True):
                chosen = rows[instant == is_instant]
                if len(chosen) and is_async:
                    self._async_events(track, row, kind, chosen)
                elif len(chosen):
                    self._write(self._plain(track, row, kind, chosen, is_instant))

    def _category(self, kind: str, rows: Int64Array, names: npt.NDArray[np.uint32]) -> npt.NDArray[Any] | str:
        """Category of each event as JSON text, or one for all."""
        table = self._capture.kinds[kind]
        if kind in ("range", "other", "phase") and "category" in table.attributes:
            ids, validity = table.column("category")
            position = table.indices_of(rows)
            valid = validity[position]
            default = np.full(len(rows), quoted(_CATEGORIES[kind]), object)
            return np.where(valid, self._texts.quoted(np.where(valid, ids[position], 0)), default)
        if kind != "cuda_api":
            return quoted(_CATEGORIES.get(kind, kind))
        unique, inverse = np.unique(names, return_inverse=True)
        texts = [quoted(_api_category(text)) for text in self._capture.strings.get(unique.tolist())]
        return np.array(texts, object)[inverse.reshape(-1)] if len(set(texts)) > 1 else texts[0]

    def _plain(self, track: Track, row: TraceRow, kind: str, rows: Int64Array, is_instant: bool) -> str:
        events = self._capture.events
        starts, stops = self._capture.event_times(rows)
        names = events.name[rows]
        arguments = arguments_of(self._capture, self._texts, track, kind, rows, self._correlation)
        if self._external is not None and kind in ("range", "phase", "gpu_annotation"):
            self._add_external(arguments, rows)
        category = self._category(kind, rows, names)
        is_memory = kind == "memory" and track.thread is not None
        columns: list[npt.NDArray[Any]] = []
        stack = self._sample_stacks(kind, rows) if is_instant else None
        phase = "P" if stack is not None else "i" if is_instant else "X"
        template = f'{{"ph":"{phase}",'
        if isinstance(category, str):
            template += f'"cat":{category},'.replace("%", "%%")
        else:
            template += '"cat":%s,'
            columns.append(category)
        template += f'"name":%s,"pid":{row.pid},"tid":{row.tid},"ts":%s'
        columns += [np.full(len(rows), '"[memory]"', object) if is_memory else self._texts.quoted(names)]
        columns.append(microseconds(starts))
        if stack is not None:
            template += "%s"
            columns.append(stack)
        elif is_instant:
            template += f',"s":"{_scope(track)}"'
        else:
            template += ',"dur":%s'
            columns.append(microseconds(stops - starts))
        template += f',"args":{{{arguments.template}}}}}'
        return lines_of(template, [*columns, *arguments.columns])

    def _sample_stacks(self, kind: str, rows: Int64Array) -> npt.NDArray[Any] | None:
        """References of samples to ``stackFrames``; None when the events are not samples."""
        table = self._capture.kinds[kind]
        if kind not in ("sample", "cpu_sample"):
            return None
        pieces = np.full(len(rows), "", object)
        if "stack" in table.attributes:
            values, validity = table.column("stack")
            position = table.indices_of(rows)
            valid = validity[position] & (values[position] < len(self._capture.stacks[0]))
            unique, inverse = np.unique(values[position][valid], return_inverse=True)
            self._stacks.update(unique.tolist())
            references = np.array([*(f',"sf":{stack}' for stack in unique.tolist()), ""], object)
            pieces[valid] = references[inverse.reshape(-1)]
        return pieces

    def _stack_frames(self) -> None:
        """Write the frames of samples, each with its caller."""
        frame, parent = self._capture.stacks
        todo, stacks = sorted(self._stacks, reverse=True), set(self._stacks)
        while todo:
            above = int(parent[todo.pop()])
            if above < len(frame) and above not in stacks:
                stacks.add(above)
                todo.append(above)
        frames: dict[str, dict[str, str]] = {}
        for stack in sorted(stacks):
            entry = frames[str(stack)] = {"name": self._capture.strings[int(frame[stack])]}
            if int(parent[stack]) < stack:
                entry["parent"] = str(int(parent[stack]))
        if frames:
            self._file.write(b',"stackFrames":' + orjson.dumps(frames))

    def _add_external(self, arguments: EventArguments, rows: Int64Array) -> None:
        assert self._external is not None
        known, number = self._external
        at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
        arguments.column("External id", number[at], known[at] == rows)

    def _async_events(self, track: Track, row: TraceRow, kind: str, rows: Int64Array) -> None:
        """Write ranges that may overlap, as pairs of begin and end with an id."""
        capture = self._capture
        starts, stops = capture.event_times(rows)
        names = self._texts.quoted(capture.events.name[rows])
        arguments = arguments_of(capture, self._texts, track, kind, rows, self._correlation)
        category = self._category(kind, rows, capture.events.name[rows])
        if isinstance(category, str):
            category = np.full(len(rows), category, object)
        base = f'"cat":%s,"name":%s,"pid":{row.pid},"tid":{row.tid},"id":"%s","ts":%s'
        begin = f'{{"ph":"b",{base},"args":{{{arguments.template}}}}}'
        self._write(lines_of(begin, [category, names, rows, microseconds(starts), *arguments.columns]))
        self._write(lines_of(f'{{"ph":"e",{base}}}', [category, names, rows, microseconds(stops)]))

    # Counters, links, names

    def _counters(self) -> None:
        for index, (pid, written_name) in self._counter_names.items():
            counter = self._capture.counters[index]
            self._job.check_cancelled()
            rows = counter_slice(self._capture, counter.index, self._selection)
            times, values = counter.times[rows], counter.values[rows]
            known = np.isfinite(values)
            if not known.any():
                continue
            name = orjson.dumps(written_name).decode().replace("%", "%%")
            template = f'{{"ph":"C","name":{name},"pid":{pid},"ts":%s,"args":{{"value":%s}}}}'
            for first in range(0, len(times), _BATCH):
                at = np.flatnonzero(known[first : first + _BATCH]) + first
                if len(at):
                    self._write(lines_of(template, [microseconds(times[at]), reals(values[at])]))

    def _links(self) -> None:
        """Write each link as a flow, unless an end is outside."""
        capture = self._capture
        links = capture.links
        for first in range(0, len(links), CHUNK_EVENTS // 4):
            self._job.check_cancelled()
            part = slice(first, first + CHUNK_EVENTS // 4)
            sources, targets, kinds = links.from_row[part], links.to_row[part], links.kind[part]
            both = (sources >= 0) & (targets >= 0)
            both[both] &= self._is_selected(sources[both]) & self._is_selected(targets[both])
            numbers = np.arange(first, first + len(sources)) + 1
            for code in np.unique(kinds[both]).tolist():
                chosen = both & (kinds == code)
                kind = links.kind_name(code)
                if kind == ANNOTATION:
                    continue
                category = orjson.dumps(_FLOWS.get(kind, kind)).decode().replace("%", "%%")
                begins = anchors(capture, sources[chosen])
                ends = anchors(capture, targets[chosen], begins)
                self._flow_points("s", category, numbers[chosen], sources[chosen], begins)
                self._flow_points("f", category, numbers[chosen], targets[chosen], ends)

    def _flow_points(
        self, phase: str, category: str, ids: Int64Array, rows: Int64Array, times: Int64Array
    ) -> None:
        tracks = self._capture.tracks_of_rows(rows)
        unique, inverse = np.unique(tracks, return_inverse=True)
        places = [self._row(self._capture.tracks[track]) for track in unique.tolist()]
        inverse = inverse.reshape(-1)
        pids, tids = (
            np.array(values)[inverse] for values in zip(*((p.pid, p.tid) for p in places), strict=True)
        )
        on_row = ~np.array([place.is_async for place in places])[inverse]
        # Binds to the event around the point, not to the next one.
        extra = ',"bp":"e"' if phase == "f" else ""
        template = (
            f'{{"ph":"{phase}","cat":{category},"name":{category},"id":%s,"pid":%s,"tid":%s,"ts":%s{extra}}}'
        )
        columns = [ids, pids, tids, microseconds(times)]
        self._write(lines_of(template, [column[on_row] for column in columns]))

    def _is_selected(self, rows: Int64Array) -> npt.NDArray[np.bool_]:
        selected = np.ones(len(rows), bool)
        if self._selection.tracks is not None:
            selected &= np.isin(self._capture.tracks_of_rows(rows), list(self._selection.tracks))
        if self._selection.is_bounded:
            start, stop = self._selection.interval(self._capture)
            starts, stops = self._capture.event_times(rows)
            # As in `lane_slice`: events that overlap the range, and instants at its start.
            selected &= (starts < stop) & ((stops > start) | (starts >= start))
        return selected

    def _metadata(self) -> None:
        rows = self._rows
        for (pid, tid), name in rows.names.items():
            self._meta("process_name" if tid is None else "thread_name", pid, tid, "name", name)
        for (pid, tid), key in rows.sort_keys.items():
            self._meta(
                "process_sort_index" if tid is None else "thread_sort_index", pid, tid, "sort_index", key
            )
        for pid, label in rows.labels.items():
            self._meta("process_labels", pid, None, "labels", label)

    def _meta(self, name: str, pid: int, tid: int | None, key: str, value: str | int) -> None:
        event = {"ph": "M", "name": name, "pid": pid, "tid": tid or 0, "ts": 0, "args": {key: value}}
        self._write(orjson.dumps(event).decode())


def _scope(track: Track) -> str:
    """Scope of an instant: global, process or thread."""
    if track.process is None and track.device is None and track.role == "ranges":
        return "g"
    return "p" if track.thread is None and track.device is None and track.role == "ranges" else "t"


def _api_category(name: str) -> str:
    """Driver for ``cuLaunchKernel``, runtime for ``cudaLaunchKernel`` and ``hipLaunchKernel``."""
    return "cuda_driver" if name.startswith("cu") and not name.startswith(("cuda", "cub")) else "cuda_runtime"


exporter = ChromeExporter()
