"""Table of one rank's communication: its times, and how much of it no computation overlaps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.not_recorded import missing
from warpline.analysis.framework.report import NotRecorded, Table, Texts
from warpline.analysis.framework.selected.selected_events import SelectedEvents, join_events
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import combine_keys
from warpline.analysis.jobs.communication_facts import communication_facts
from warpline.analysis.jobs.rank_case import RankCase
from warpline.analysis.structure.gpus import gpus
from warpline.analysis.structure.kernels import communication_ids
from warpline.analysis.structure.overlap import covered_ns
from warpline.analysis.structure.steps import missing_steps
from warpline.i18n import english
from warpline.model.intervals import merge_intervals

Int64Array = npt.NDArray[np.int64]
COLLECTIVES = "rank_collectives"
_KINDS = ("kernel", "gpu_event")


def rank_collectives(case: RankCase) -> Table | NotRecorded:
    """A row for each communication in a step: step, kind (`CommunicationFacts.text`), place, times.

    ``place`` numbers equal communication within a step by start. Times are since the start of the capture;
    ``exposed_ns`` is the part that no computation on the same GPU overlaps.
    """
    view, windows = case.view, case.windows
    if windows is None:
        return missing_steps(case.options)
    wanted = communication_ids(view)
    parts, exposed, facts = [], [], []
    codes: dict[str, int] = {}
    for gpu in gpus(view):
        busy = _computation(view, gpu.tracks, wanted)
        for kind in _KINDS:
            if kind in view.capture.kinds:
                for batch in view.batches(kind, gpu.tracks):
                    events = batch.take(np.flatnonzero(wanted[batch.name]))
                    parts.append(events)
                    exposed.append(events.duration - covered_ns(busy, events.start, events.stop))
                    facts.append(_facts(view, kind, events, codes))
    events = join_events(parts)
    kind_codes = np.concatenate([np.empty(0, np.int64), *facts])
    exposed_ns = np.concatenate([np.empty(0, np.int64), *exposed])
    order = np.argsort(events.start, kind="stable")
    start, stop = windows.start, windows.stop
    step = np.searchsorted(start, events.start[order], "right") - 1
    order = order[(step >= 0) & (events.start[order] < stop[np.maximum(step, 0)])]
    if not len(order):
        return _none_found(view)
    events, kind_codes = events.take(order), kind_codes[order]
    step = np.searchsorted(start, events.start, "right") - 1
    origin = view.capture.span[0]
    texts = list(codes)
    return Table(
        (
            Column("step", english("Step"), Role.ORDINAL, key=True),
            Column("facts", english("Communication"), Role.CODE, key=True),
            Column("place", english("Place"), Role.ORDINAL, key=True),
            Column("start_ns", english("Start"), Role.TIME),
            Column("stop_ns", english("End"), Role.TIME),
            Column("exposed_ns", english("Exposed"), Role.DURATION),
        ),
        {
            "step": windows.number[step],
            "facts": Texts(kind_codes, texts.__getitem__),
            "place": _places(step, kind_codes),
            "start_ns": events.start - origin,
            "stop_ns": events.stop - origin,
            "exposed_ns": exposed_ns[order],
        },
    )


def _none_found(view: View) -> NotRecorded:
    if not view.has(*_KINDS):
        return missing("gpu")
    return NotRecorded(english("no communication kernel was recorded in a step"))


def _computation(
    view: View, tracks: frozenset[int], is_communication: npt.NDArray[np.bool_]
) -> tuple[Int64Array, Int64Array]:
    """When a GPU computes, as merged intervals."""
    parts = []
    for kind in (*_KINDS, "graph"):
        if kind in view.capture.kinds:
            parts += [
                batch.take(np.flatnonzero(~is_communication[batch.name]))
                for batch in view.batches(kind, tracks)
            ]
    events = join_events(parts)
    return merge_intervals(events.start, events.stop)


def _facts(view: View, kind: str, events: SelectedEvents, codes: dict[str, int]) -> Int64Array:
    """The code of each event's facts; adds new ones to ``codes``."""
    payload = view.column(kind, "payload", events.index)
    ids = np.where(np.ma.getmaskarray(payload), -1, np.ma.getdata(payload).astype(np.int64))
    keys, first = combine_keys(events.name.astype(np.int64), ids)
    strings = view.capture.strings
    codes_of_keys = np.empty(len(first), np.int64)
    for key, row in enumerate(first.tolist()):
        text = strings[int(ids[row])] if ids[row] >= 0 else None
        facts = communication_facts(strings[int(events.name[row])], text)
        codes_of_keys[key] = codes.setdefault(facts.text(), len(codes))
    return codes_of_keys[keys]


def _places(step: Int64Array, kind_codes: Int64Array) -> Int64Array:
    """The number of earlier rows with the same step and kind; int64 (rows)."""
    key, _ = combine_keys(step, kind_codes)
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    is_first = np.ones(len(key), bool)
    is_first[1:] = sorted_key[1:] != sorted_key[:-1]
    rows = np.arange(len(key))
    result = np.empty(len(key), np.int64)
    result[order] = rows - np.maximum.accumulate(np.where(is_first, rows, 0))
    return result
