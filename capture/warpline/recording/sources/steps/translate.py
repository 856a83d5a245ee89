"""Turns records of frameworks into phases and modules below their threads, and steps below their process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.model import AttributeSpec, KindSpec
from warpline.recording.agent.reported_sources import add_agent_source
from warpline.recording.session import LATEST_NS
from warpline.recording.sources.facts import StepsOfProgram
from warpline.recording.sources.steps import records
from warpline.recording.sources.steps.records import HOST, RangeKind
from warpline.recording.sources.steps.training import Phases, Training, find_steps, order_of
from warpline.recording.spool.columns import take
from warpline.recording.spool.reader import Records, SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.recording.spool.string_columns import capture_strings
from warpline.storage import CaptureBuilder

Int64Array = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

_TYPES = {
    RangeKind.LOADER: "Dataloader",
    RangeKind.FORWARD: "Forward",
    RangeKind.EVALUATION: "Forward",
    RangeKind.BACKWARD: "Backward",
    RangeKind.OPTIMIZER: "Optimization",
    RangeKind.COMMUNICATION: "Communication",
}
_OF_USER, _OF_SCRIPT, _OF_STEP = "UserDefined", "PythonUserDefined", "ProfileStep"
"""Paddle's event types of phases (`warpline.analysis.structure.event_types`)."""
STEP = "ProfilerStep#{number}"
"""A step's name, as in PyTorch's own profiler."""


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add steps, phases and modules."""
    is_used = False
    for spool in spools:
        if spool.header.producer != "agent":
            continue
        ranges = _with_valid_times(spool.records(records.FRAMEWORK_RANGE, records.framework_range))
        modules = _with_valid_times(spool.records(records.FRAMEWORK_MODULE, records.framework_module))
        if not is_used and (len(ranges.values) or len(modules.values)):
            is_used = True
            builder.add_kind(
                KindSpec(
                    "phase", "Phase", "range", "phase", (AttributeSpec("category", "string", "Category"),)
                )
            )
        _Process(translation, spool, builder).add(ranges, modules)
    add_agent_source(
        translation,
        spools,
        builder,
        name="steps",
        never_used=english("no recorded process imported PyTorch, Paddle or JAX"),
    )


def _with_valid_times(table: Records) -> Records:
    """Drop the records with invalid times, from a damaged file."""
    start, end = table.values["start_ns"], table.values["end_ns"]
    good = (start > 0) & (start <= end) & (end < LATEST_NS)
    return table if good.all() else take(table, good)


def _split(table: Records, kind: RangeKind) -> tuple[Records, Records]:
    """The ranges of a kind, and the others."""
    is_kind = table.values["kind"] == kind
    return take(table, is_kind), take(table, ~is_kind)


class _Process:
    """Adds the records of one process's hooks."""

    def __init__(self, translation: Translation, spool: SpoolFile, builder: CaptureBuilder) -> None:
        self._translation = translation
        self._spool = spool
        self._builder = builder
        self._pid = spool.header.pid
        self._resumes = translation.pauses[:, 1] + translation.start_ns

    def add(self, ranges: Records, modules: Records) -> None:
        kept, ranges = _split(ranges, RangeKind.KEPT)
        self._add_modules(modules, kept)
        memory, ranges = _split(ranges, RangeKind.MEMORY)
        self._add_memory(memory.values)
        values = ranges.values
        if not len(values):
            return
        start, stop = values["start_ns"].astype(np.int64), values["end_ns"].astype(np.int64)
        thread = self._threads(ranges, start)
        trainers = np.unique(thread[np.isin(values["kind"], (RangeKind.OPTIMIZER, RangeKind.STEP))])
        for number in np.unique(thread).tolist():
            rows = np.flatnonzero(thread == number)
            rows = rows[order_of(start[rows], stop[rows])]
            own = values[rows]
            is_part = own["kind"] == RangeKind.PART
            phases = Phases(
                start[rows],
                stop[rows],
                own["kind"].astype(np.int64),
                own["value"].astype(np.int64),
                (own["kind"] == RangeKind.LOADER) & (own["detail"] == 1),
            )
            training = find_steps(phases.take(~is_part), self._resumes)
            counts = np.zeros(len(rows), bool)
            # Phases of other threads than the training one are part of what it waits for.
            counts[~is_part] = training.in_step if len(trainers) else True
            starts = phases.start.copy()
            starts[~is_part] = training.start
            self._add_phases(number, own, phases, starts, counts)
            self._add_steps(number, training, _first_number(own, phases, training))

    def _threads(self, table: Records, start: Int64Array) -> Int64Array:
        return self._translation.threads.lookup(self._pid, table.tid, start)

    def _add_phases(
        self, thread: int, own: npt.NDArray[np.void], phases: Phases, starts: Int64Array, counts: Booleans
    ) -> None:
        builder = self._builder
        types = builder.strings([_TYPES.get(RangeKind(kind), _OF_USER) for kind in RangeKind])
        kinds = np.clip(phases.kind, 1, len(types)) - 1
        is_part, detail = phases.kind == RangeKind.PART, own["detail"]
        category = np.where(counts, types[kinds], builder.string(_OF_USER))
        category[is_part & (own["value"] == 1)] = builder.string(_OF_SCRIPT)
        has_detail = is_part & (detail > 0)
        attributes: dict[str, npt.ArrayLike] = {"category": category}
        if has_detail.any():
            places = capture_strings(self._spool, builder, np.where(has_detail, detail, 0))
            attributes["arguments"] = np.ma.MaskedArray(places, ~has_detail)
        builder.add_events(
            self._translation.below_thread(thread, "phases"),
            "phase",
            self._translation.capture_time(starts),
            phases.stop - starts,
            capture_strings(self._spool, builder, own["name"]),
            attributes=attributes,
        )

    def _add_steps(self, thread: int, training: Training, first: int) -> None:
        translation, builder = self._translation, self._builder
        has_own_steps = any(self._pid in program.pids for program in translation.given(StepsOfProgram))
        steps = training.steps[:0] if has_own_steps else training.steps
        numbers = first + np.arange(len(steps))
        session = translation.session
        if session.until_step:
            # Another process may have started the recording a step early or ended it late: keep the requested steps.
            is_asked = (numbers >= session.first_step) & (numbers < session.until_step)
            steps, numbers = steps[is_asked], numbers[is_asked]
        if not len(steps) and not (has_own_steps and len(training.evaluations)):
            return
        process = translation.threads.threads[thread].process
        track = builder.add_track(
            translation.tracks.process_steps(translation.process_uri(process)),
            parent=translation.process_track(process),
            process=translation.process_index(process),
        )
        step_type, no_type = builder.string(_OF_STEP), builder.string(_OF_USER)
        runs: tuple[tuple[Int64Array, list[str], dict[str, npt.ArrayLike]], ...] = (
            (
                steps,
                [STEP.format(number=number) for number in numbers.tolist()],
                {"step": numbers, "category": step_type},
            ),
            (training.evaluations, ["evaluation"] * len(training.evaluations), {"category": no_type}),
        )
        for spans, names, attributes in runs:
            if len(spans):
                builder.add_events(
                    track,
                    "phase",
                    translation.capture_time(spans[:, 0]),
                    spans[:, 1] - spans[:, 0],
                    builder.strings(names),
                    attributes=attributes,
                )

    def _add_memory(self, values: npt.NDArray[np.void]) -> None:
        """Add counters of PyTorch's allocator on each GPU and of the C library on the host, to the process."""
        translation, builder = self._translation, self._builder
        if not len(values):
            return
        when = values["end_ns"].astype(np.int64)
        # The main thread has the id of the process.
        main = int(translation.threads.lookup(self._pid, np.array([self._pid]), when[:1])[0])
        process = translation.threads.threads[main].process
        kinds = sorted(set(zip(values["detail"].tolist(), values["name"].tolist(), strict=True)))
        for index, (device, name) in enumerate(kinds):
            own = (values["detail"] == device) & (values["name"] == name)
            owner, where = (f"GPU {device} tensors", str(device)) if device != HOST else ("C library", "host")
            title = f"{owner}: {self._spool.text(name)}"
            spec = translation.tracks.process_counter(
                translation.process_uri(process), f"tensors/{where}/{name}", title, index
            )
            track = builder.add_track(
                spec, parent=translation.process_track(process), process=translation.process_index(process)
            )
            builder.add_counter(track, title, "B", translation.capture_time(when[own]), values["value"][own])

    def _add_modules(self, modules: Records, kept: Records) -> None:
        values = modules.values
        if not len(values):
            return
        start, stop = values["start_ns"].astype(np.int64), values["end_ns"].astype(np.int64)
        thread = self._threads(modules, start)
        kept_thread = self._threads(kept, kept.values["start_ns"].astype(np.int64))
        for number in np.unique(thread).tolist():
            rows = np.flatnonzero(thread == number)
            own = values[rows]
            attributes: dict[str, npt.ArrayLike] = {
                "class_name": capture_strings(self._spool, self._builder, own["class_name"])
            }
            weighed = kept.values[kept_thread == number]
            is_host = weighed["detail"] == HOST
            for name, part in (("gpu_kept_bytes", weighed[~is_host]), ("host_kept_bytes", weighed[is_host])):
                if len(part):
                    attributes[name] = kept_by_calls(start[rows], own["path"], part)
            self._builder.add_events(
                self._translation.below_thread(number, "modules"),
                "module",
                self._translation.capture_time(start[rows]),
                stop[rows] - start[rows],
                capture_strings(self._spool, self._builder, own["path"]),
                attributes=attributes,
            )


def _first_number(own: npt.NDArray[np.void], phases: Phases, training: Training) -> int:
    """The number of the first step, counted from the start of the program, whose beginning may not be recorded."""
    ends = np.isin(phases.kind, (RangeKind.OPTIMIZER, RangeKind.STEP))
    if not len(training.steps):
        return 0
    rows = np.flatnonzero(ends & (phases.start >= training.steps[0, 0]))
    return int(own["step"][rows[0]]) if len(rows) else 0


def kept_by_calls(
    start: Int64Array, path: npt.NDArray[np.uint32], kept: npt.NDArray[np.void]
) -> npt.ArrayLike:
    """Bytes that each call of a module in a thread kept, masked if unknown.

    ``start`` (int64 ns) and ``path`` are those of the calls. The record of a call is made inside it: it is the next
    record of that module after the call's start.
    """
    kept_bytes, is_missing = np.zeros(len(start), np.int64), np.ones(len(start), bool)
    when = kept["start_ns"].astype(np.int64)
    calls, records_ = np.lexsort((start, path)), np.lexsort((when, kept["name"]))
    # Sorted by module and time, calls and records alternate.
    key = np.concatenate([path[calls], kept["name"][records_]])
    time = np.concatenate([start[calls], when[records_]])
    is_record = np.arange(len(key)) >= len(calls)
    row = np.concatenate([calls, records_])
    order = np.lexsort((is_record, time, key))
    last = np.maximum.accumulate(np.where(is_record[order], -1, np.arange(len(order))))
    at = np.flatnonzero(is_record[order] & (last >= 0))
    of_call = order[last[at]]
    same = key[of_call] == key[order[at]]
    known = row[of_call[same]]
    kept_bytes[known] = kept["value"][row[order[at[same]]]]
    is_missing[known] = False
    return np.ma.MaskedArray(kept_bytes, is_missing)
