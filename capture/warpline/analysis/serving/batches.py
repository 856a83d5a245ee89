"""The steps of an inference engine, and which requests ran in which of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.name_matches import matching_names
from warpline.analysis.framework.nesting import window_pairs
from warpline.analysis.framework.selected.selected_events import SelectedEvents, join_events
from warpline.analysis.framework.selection import View
from warpline.analysis.serving.step_names import STEP_NAMES, StepName, parse_step_name

if TYPE_CHECKING:
    from warpline.storage import Capture

Int64Array = npt.NDArray[np.int64]
STEP_KINDS = ("range", "operator", "phase", "other", "gpu_annotation")
_QUEUE = "queue"
_IDS = ("request_ids", "req_ids", "rids")
"""Arguments in which a step names its requests."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EngineSteps:
    """Steps by start; arrays of equal length.

    ``row`` event rows, ``start`` and ``stop`` (capture ns), ``names`` what each name says, ``is_host`` whether they
    were recorded on the host, where the GPU's work is launched.
    """

    row: Int64Array
    start: Int64Array
    stop: Int64Array
    names: tuple[StepName, ...]
    is_host: bool

    def __len__(self) -> int:
        return len(self.row)


def engine_steps(view: View) -> EngineSteps:
    """The engine steps of the selection: those of threads, or, in a trace of the GPU alone, those of streams."""
    wanted = matching_names(view.capture, STEP_NAMES)
    found = join_events([])
    is_host = True
    for is_host in (True, False) if wanted.any() else ():
        tracks = frozenset(t.index for t in view.capture.tracks if (t.device is None) == is_host)
        parts: list[SelectedEvents] = []
        for kind in STEP_KINDS:
            if view.has(kind):
                parts += view.batches(kind, tracks, named=wanted)
        found = join_events(parts)
        if len(found):
            break
    # A step that was recorded as range and operator counts once.
    order = np.lexsort((found.row, found.name, found.start))
    found = found.take(order)
    same = np.zeros(len(found), bool)
    same[1:] = (found.start[1:] == found.start[:-1]) & (found.name[1:] == found.name[:-1])
    if is_host and len(found):
        thread = view.thread_of(found.row)
        same[1:] &= thread[1:] == thread[:-1]
    found = found.take(~same)
    texts = view.capture.strings.get(found.name.tolist())
    parsed = {text: parse_step_name(text) for text in set(texts)}
    return EngineSteps(
        row=found.row,
        start=found.start,
        stop=found.stop,
        names=tuple(parsed[text] for text in texts),
        is_host=is_host,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Computed:
    """When requests were computed: from the end of their queue until their own end (capture ns), by start.

    ``id`` are string ids, 0 where not recorded.
    """

    row: Int64Array
    id: Int64Array
    start: Int64Array
    stop: Int64Array


def computed_requests(view: View) -> Computed:
    """The requests of the selection."""
    nothing = np.empty(0, np.int64)
    if not view.has("request"):
        return Computed(row=nothing, id=nothing, start=nothing, stop=nothing)
    requests = view.events("request")
    requests = requests.take(np.argsort(requests.start, kind="stable"))
    start = requests.start.copy()
    if view.has("request_phase"):
        phases = view.events("request_phase")
        queued = [name == _QUEUE for name in view.capture.strings.get(phases.name.tolist())]
        phases = phases.take(np.array(queued, bool))
        tracks, phase_tracks = view.track_of(requests.row), view.track_of(phases.row)
        for track in np.unique(phase_tracks).tolist():
            own, here = np.flatnonzero(tracks == track), np.flatnonzero(phase_tracks == track)
            # Requests of a track follow each other: a phase is of the last one that began before it.
            place = np.searchsorted(requests.start[own], phases.start[here], "right") - 1
            own, here = own[place[place >= 0]], here[place >= 0]
            inside = phases.start[here] < requests.stop[own]
            np.maximum.at(start, own[inside], phases.stop[here][inside])
    ids = np.ma.asarray(view.column("request", "request", requests.index)).astype(np.int64)
    return Computed(row=requests.row, id=np.ma.filled(ids, 0), start=start, stop=requests.stop)


@dataclass(frozen=True, eq=False, kw_only=True)
class Batches:
    """Which requests ran in which steps: pairs of indices, by request."""

    steps: EngineSteps
    requests: Computed
    step: Int64Array
    request: Int64Array

    def of_request(self, row: int) -> Int64Array:
        """Rows of the steps in which the request of a row ran, by start."""
        found: Int64Array = self.steps.row[self.step[self.requests.row[self.request] == row]]
        return found

    def of_step(self, row: int) -> Int64Array:
        """Rows of the requests that ran in the step of a row."""
        found: Int64Array = self.requests.row[self.request[self.steps.row[self.step] == row]]
        return found


def batches(view: View) -> Batches:
    """The requests of each step: those that it names, else those that were computed when it began.

    Servers record how many requests a step has, not which: those that ran at its beginning.
    """
    steps, requests = engine_steps(view), computed_requests(view)
    first, last = (np.searchsorted(steps.start, side, "left") for side in (requests.start, requests.stop))
    request, step = window_pairs(first, np.maximum(first, last))
    named = _named_requests(view, steps)
    if named:
        ids = view.capture.strings.get(requests.id.tolist())
        keep = [
            number not in named or ids[place] in named[number]
            for place, number in zip(request.tolist(), step.tolist(), strict=True)
        ]
        request, step = request[keep], step[keep]
    return Batches(steps=steps, requests=requests, step=step, request=request)


def _named_requests(view: View, steps: EngineSteps) -> dict[int, frozenset[str]]:
    """The ids that arguments of steps give, by the index of the step."""
    table = view.capture.kinds.get("range")
    if table is None:
        return {}
    index = table.indices_of(steps.row)
    here = np.flatnonzero(index >= 0)
    payloads = np.ma.filled(view.column("range", "payload", index[here]), 0)
    used, which = np.unique(payloads, return_inverse=True)
    texts = view.capture.strings.get(used.tolist())
    ids = [_ids_in(text) if any(f'"{name}"' in text for name in _IDS) else None for text in texts]
    pairs = [(number, ids[place]) for number, place in zip(here.tolist(), which.tolist(), strict=True)]
    return {number: own for number, own in pairs if own is not None}


def _ids_in(payload: str) -> frozenset[str]:
    try:
        values: Any = json.loads(payload)
    except ValueError:
        return frozenset()
    if not isinstance(values, dict):
        return frozenset()
    lists = [values[name] for name in _IDS if isinstance(values.get(name), list)]
    return frozenset(str(item) for items in lists for item in items if isinstance(item, str | int))


_BATCHES: WeakKeyDictionary[Capture, Batches] = WeakKeyDictionary()


def batches_of(capture: Capture) -> Batches:
    """`batches` of a whole capture, found once."""
    known = _BATCHES.get(capture)
    if known is None:
        known = _BATCHES[capture] = batches(View(capture))
    return known


def steps_of_request(capture: Capture, row: int) -> Int64Array | None:
    """Rows of the engine steps in which a request ran, or that began in one of its phases, by start.

    None if the capture has no steps.
    """
    found = batches_of(capture)
    if not len(found.steps):
        return None
    if (found.requests.row == row).any():
        return found.of_request(row)
    begin, end = capture.event_span(row)
    own = found.of_request(_request_around(capture, row))
    start = capture.event_times(own)[0]
    return own[(start >= begin) & (start < end)]


def _request_around(capture: Capture, row: int) -> int:
    """Row of the request of a phase; −1 without one."""
    depth = capture.lane_of_row(row)
    lanes = capture.track_lanes(capture.track_of_row(row))
    begin = capture.event_span(row)[0]
    found = [capture.event_at(lane, begin) for lane in lanes if lane < depth]
    return next((other for other in found if other is not None), -1)


def requests_of_step(capture: Capture, row: int) -> Int64Array:
    """Rows of the requests that ran in an engine step, by start; empty for other events."""
    name = capture.strings[int(capture.events.name[row])]
    if "request" not in capture.kinds or not STEP_NAMES.match(name):
        return np.empty(0, np.int64)
    return batches_of(capture).of_step(row)
