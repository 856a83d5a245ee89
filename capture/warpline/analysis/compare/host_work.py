"""What the threads of a program did, as stretches: phases, operators, functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from warpline.analysis.compare.stretches import Stretches, first_come, layered, no_stretches
from warpline.analysis.findings.thread_time import Threads
from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.nested_events import nested_events
from warpline.analysis.framework.selected.selected_events import SelectedEvents, join_events
from warpline.analysis.framework.selection import View
from warpline.analysis.structure.event_types import HOST_TYPES, STEP, event_types
from warpline.analysis.structure.overlap import Intervals
from warpline.model.intervals import merge_intervals

Int64Array = npt.NDArray[np.int64]
HOST_PHASES = ("Forward", "Backward", "Optimization")
_RANGE_KINDS = ("phase", "range", "operator", "other")
_OPERATORS = ("Operator", "OperatorInner", "Communication")


class LabelTexts:
    """Numbers the texts of labels; equal texts share a number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._code: dict[str, int] = {}

    def code(self, text: str) -> int:
        """The number of a text; −1 for an empty one."""
        if not text:
            return -1
        code = self._code.setdefault(text, len(self.texts))
        if code == len(self.texts):
            self.texts.append(text)
        return code

    def codes(self, view: View, names: npt.NDArray[np.generic]) -> Int64Array:
        """The numbers of string ids of a capture; −1 for ids below 0."""
        distinct, place = np.unique(names.astype(np.int64), return_inverse=True)
        texts = view.capture.strings.get(np.maximum(distinct, 0).tolist())
        numbers = [
            self.code(text) if number >= 0 else -1
            for number, text in zip(distinct.tolist(), texts, strict=True)
        ]
        return np.array(numbers or [-1], np.int64)[place.reshape(-1)]


@dataclass(frozen=True, eq=False)
class _Typed:
    """CPU events of several kinds, with their type (code into `HOST_TYPES`), thread and process."""

    events: SelectedEvents
    code: Int64Array
    thread: Int64Array
    process: Int64Array


class HostWork:
    """The CPU side of a range of a capture, read once."""

    def __init__(self, view: View, labels: LabelTexts) -> None:
        self.view, self.labels = view, labels
        self.threads = Threads(view)
        self._typed = self._read()
        self._names: dict[int, Stretches] = {}

    def _read(self) -> _Typed:
        view = self.view
        tracks = frozenset(t.index for t in view.capture.tracks if t.device is None)
        events: list[SelectedEvents] = []
        codes: list[Int64Array] = [np.empty(0, np.int64)]
        for kind in _RANGE_KINDS:
            if kind in view.capture.kinds:
                for batch in view.batches(kind, tracks):
                    events.append(batch)
                    codes.append(event_types(view, kind, batch))
        joined = join_events(events)
        track = view.track_of(joined.row) if len(joined) else np.empty(0, np.int64)
        thread = np.array(
            [-1 if t.thread is None else t.thread for t in view.capture.tracks] or [-1], np.int64
        )
        process = np.array(
            [-1 if t.process is None else t.process for t in view.capture.tracks] or [-1], np.int64
        )
        return _Typed(joined, np.concatenate(codes), thread[track], process[track])

    def _of_type(self, *names: str) -> npt.NDArray[np.bool_]:
        return np.isin(self._typed.code, [HOST_TYPES.index(name) for name in names])

    def phase(self, name: str, process: int) -> Intervals:
        """When a process (−1: any) was in a phase."""
        wanted = self._of_type(name)
        if process >= 0:
            wanted &= (self._typed.process == process) | (self._typed.process < 0)
        events = self._typed.events.take(wanted)
        return merge_intervals(events.start, events.stop)

    def loading(self, thread: int) -> Stretches:
        """When a thread waited for its data loader, or loaded data itself."""
        return self._named(self._of_type("Dataloader") & (self._typed.thread == thread))

    def busiest_thread(self) -> int | None:
        """The thread with the most CPU events; None without any."""
        threads = self._typed.thread[self._typed.thread >= 0]
        return int(np.bincount(threads).argmax()) if len(threads) else None

    def activity(self, thread: int) -> Stretches:
        """What a thread did, by name: its outermost operator, else its innermost range, else its sampled function."""
        stretches = self._names.get(thread)
        if stretches is None:
            stretches = self._names[thread] = layered(
                [self.operators(thread), self._ranges(thread), self._functions(thread)]
            )
        return stretches

    def operators(self, thread: int) -> Stretches:
        """The outermost operators of a thread."""
        return self._named(self._of_type(*_OPERATORS) & (self._typed.thread == thread))

    def _named(self, wanted: npt.NDArray[np.bool_]) -> Stretches:
        events = self._typed.events.take(wanted)
        return first_come(events.start, events.stop, self.labels.codes(self.view, events.name))

    def _ranges(self, thread: int) -> Stretches:
        """Ranges and phases of a thread, innermost first; without steps, whose names say nothing."""
        view = self.view
        tracks = [track.index for track in view.tracks_of_thread(thread)]
        events = nested_events(view, tracks, ("phase", "range", "other"))
        events = events.where(~matching_names(view.capture, STEP)[view.names(events.row)])
        labels = self.labels.codes(view, view.names(events.row))
        borders = zip(events.first[:-1].tolist(), events.first[1:].tolist(), strict=True)
        lanes = [Stretches(events.start[a:b], events.stop[a:b], labels[a:b]) for a, b in borders]
        return layered(lanes[::-1])

    def stack_label(self, stack: int, thread: int) -> int:
        """The label of a stack: ``load (dataset.py:41)``, or the function alone."""
        where = self.threads.where(stack, thread)
        place = f"{where.function} ({where.file}:{where.line})" if where.file else where.function
        return self.labels.code(place)

    def _functions(self, thread: int) -> Stretches:
        """The sampled functions of a thread; each sample covers the time nearest to it."""
        times, stacks = self.threads.samples_of(thread)
        if not len(times):
            return no_stretches()
        middle = (times[:-1] + times[1:]) // 2
        start = np.concatenate([[self.view.start_ns], middle])
        stop = np.concatenate([middle, [self.view.stop_ns]])
        distinct, place = np.unique(stacks, return_inverse=True)
        codes = [self.stack_label(stack, thread) for stack in distinct.tolist()]
        label = np.array(codes, np.int64)[place.reshape(-1)]
        keep = stop > start
        return Stretches(start[keep], stop[keep], label[keep])
