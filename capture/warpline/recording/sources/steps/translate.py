"""Records of frameworks -> phases and modules on rows of their threads, steps on a row of their process."""

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
from warpline.recording.sources.steps.training import Phases, Training, order_of, understand
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
"""Which of Paddle's types of events a phase is (`warpline.analysis.structure.event_types`)."""
STEP = "ProfilerStep#{number}"
"""A step's name, as PyTorch's own profiler has it."""


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add steps, phases and modules; nothing where no framework ran."""
    is_used = False
    for spool in spools:
        if spool.header.producer != "agent":
            continue
        ranges = _possible(spool.records(records.FRAMEWORK_RANGE, records.framework_range))
        modules = _possible(spool.records(records.FRAMEWORK_MODULE, records.framework_module))
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
        never_used=english("no recorded process imported PyTorch or Paddle"),
    )


def _possible(found: Records) -> Records:
    """Without the records of a damaged file whose times cannot be."""
    start, end = found.values["start_ns"], found.values["end_ns"]
    good = (start > 0) & (start <= end) & (end < LATEST_NS)
    return found if good.all() else Records(found.values[good], found.tid[good], found.free[good])


def _apart(found: Records, kind: RangeKind) -> tuple[Records, Records]:
    """Ranges of a kind, and the others."""
    is_one = found.values["kind"] == kind
    return (
        Records(found.values[is_one], found.tid[is_one], found.free[is_one]),
        Records(found.values[~is_one], found.tid[~is_one], found.free[~is_one]),
    )


class _Process:
    """What one process's hooks wrote."""

    def __init__(self, translation: Translation, spool: SpoolFile, builder: CaptureBuilder) -> None:
        self._translation = translation
        self._spool = spool
        self._builder = builder
        self._pid = spool.header.pid
        self._resumes = translation.pauses[:, 1] + translation.start_ns

    def add(self, ranges: Records, modules: Records) -> None:
        kept, ranges = _apart(ranges, RangeKind.KEPT)
        self._add_modules(modules, kept)
        memory, ranges = _apart(ranges, RangeKind.MEMORY)
        self._add_memory(memory.values)
        values = ranges.values
        if not len(values):
            return
        start, stop = values["start_ns"].astype(np.int64), values["end_ns"].astype(np.int64)
        thread = self._threads(ranges, start)
        trainers = np.unique(thread[np.isin(values["kind"], (RangeKind.OPTIMIZER, RangeKind.STEP))])
        for one in np.unique(thread).tolist():
            rows = np.flatnonzero(thread == one)
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
            found = understand(phases.take(~is_part), self._resumes)
            counts = np.zeros(len(rows), bool)
            # What other threads than the one that trains compute is part of what that one waits for.
            counts[~is_part] = found.in_step if len(trainers) else True
            starts = phases.start.copy()
            starts[~is_part] = found.start
            self._add_phases(one, own, phases, starts, counts)
            self._add_steps(one, found)

    def _threads(self, found: Records, start: Int64Array) -> Int64Array:
        return self._translation.threads.lookup(self._pid, found.tid, start)

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

    def _add_steps(self, thread: int, found: Training) -> None:
        translation, builder = self._translation, self._builder
        is_told = any(self._pid in told.pids for told in translation.given(StepsOfProgram))
        steps = found.steps[:0] if is_told else found.steps
        if not len(steps) and not (is_told and len(found.evaluations)):
            return
        process = translation.threads.threads[thread].process
        track = builder.add_track(
            translation.tracks.process_steps(translation.process_uri(process)),
            parent=translation.process_track(process),
            process=translation.process_index(process),
        )
        numbers = np.arange(len(steps))
        step_type, no_type = builder.string(_OF_STEP), builder.string(_OF_USER)
        runs: tuple[tuple[Int64Array, list[str], dict[str, npt.ArrayLike]], ...] = (
            (
                steps,
                [STEP.format(number=number) for number in numbers.tolist()],
                {"step": numbers, "category": step_type},
            ),
            (found.evaluations, ["evaluation"] * len(found.evaluations), {"category": no_type}),
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
        """What PyTorch's allocator had of each GPU, and the C library's of the host, as counters of the process."""
        translation, builder = self._translation, self._builder
        if not len(values):
            return
        when = values["end_ns"].astype(np.int64)
        # The first thread has the id of the process.
        main = int(translation.threads.lookup(self._pid, np.array([self._pid]), when[:1])[0])
        process = translation.threads.threads[main].process
        kinds = sorted(set(zip(values["detail"].tolist(), values["name"].tolist(), strict=True)))
        for place, (device, name) in enumerate(kinds):
            own = (values["detail"] == device) & (values["name"] == name)
            of, where = (f"GPU {device} tensors", str(device)) if device != HOST else ("C library", "host")
            title = f"{of}: {self._spool.text(name)}"
            spec = translation.tracks.process_counter(
                translation.process_uri(process), f"tensors/{where}/{name}", title, place
            )
            track = builder.add_track(
                spec, parent=translation.process_track(process), process=translation.process_index(process)
            )
            builder.add_counter(track, title, "B", translation.capture_time(when[own]), values["value"][own])

    def _add_modules(self, found: Records, kept: Records) -> None:
        values = found.values
        if not len(values):
            return
        start, stop = values["start_ns"].astype(np.int64), values["end_ns"].astype(np.int64)
        thread = self._threads(found, start)
        of_thread = self._threads(kept, kept.values["start_ns"].astype(np.int64))
        for one in np.unique(thread).tolist():
            rows = np.flatnonzero(thread == one)
            own = values[rows]
            attributes: dict[str, npt.ArrayLike] = {
                "class_name": capture_strings(self._spool, self._builder, own["class_name"])
            }
            weighed = kept.values[of_thread == one]
            is_host = weighed["detail"] == HOST
            for name, part in (("gpu_kept_bytes", weighed[~is_host]), ("host_kept_bytes", weighed[is_host])):
                if len(part):
                    attributes[name] = kept_by_calls(start[rows], own["path"], part)
            self._builder.add_events(
                self._translation.below_thread(one, "modules"),
                "module",
                self._translation.capture_time(start[rows]),
                stop[rows] - start[rows],
                capture_strings(self._spool, self._builder, own["path"]),
                attributes=attributes,
            )


def kept_by_calls(
    start: Int64Array, path: npt.NDArray[np.uint32], kept: npt.NDArray[np.void]
) -> npt.ArrayLike:
    """What each call of a module in a thread kept (bytes, masked where nothing tells).

    ``start`` (int64 ns) and ``path`` are those of the calls. What one kept is told from inside of it: by the next
    record of that module that begins after the call does.
    """
    found, is_missing = np.zeros(len(start), np.int64), np.ones(len(start), bool)
    when = kept["start_ns"].astype(np.int64)
    calls, records_ = np.lexsort((start, path)), np.lexsort((when, kept["name"]))
    # Calls and records of a module alternate where both are sorted by module and time.
    key = np.concatenate([path[calls], kept["name"][records_]])
    time = np.concatenate([start[calls], when[records_]])
    is_record = np.arange(len(key)) >= len(calls)
    row = np.concatenate([calls, records_])
    order = np.lexsort((is_record, time, key))
    last = np.maximum.accumulate(np.where(is_record[order], -1, np.arange(len(order))))
    at = np.flatnonzero(is_record[order] & (last >= 0))
    of_call = order[last[at]]
    same = key[of_call] == key[order[at]]
    told = row[of_call[same]]
    found[told] = kept["value"][row[order[at[same]]]]
    is_missing[told] = False
    return np.ma.MaskedArray(found, is_missing)
