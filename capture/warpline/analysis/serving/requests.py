"""Requests to a model server, one by one: time in the queue, of prefill and decode, to the first token."""

from __future__ import annotations

import numpy as np

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import name_texts, scope_text
from warpline.analysis.serving.batches import batches
from warpline.analysis.serving.served import ATTRIBUTES, KIND, NO_REQUESTS, gpu_time, served_requests
from warpline.i18n import english

_COLUMNS = (
    Column("duration_ns", "Duration", Role.DURATION, lead=1),
    Column("first_token_ns", "Time to first token", Role.DURATION, lead=2),
    Column("token_gap_ns", "Inter-token latency", Role.DURATION, lead=3),
    Column("queue_ns", "Queue", Role.DURATION),
    Column("prefill_ns", "Prefill", Role.DURATION),
    Column("decode_ns", "Decode", Role.DURATION),
    Column("prompt_tokens", "Prompt tokens", Role.COUNT),
    Column("completion_tokens", "Generated tokens", Role.COUNT),
)


def requests(view: View, _options: Options) -> Table | NotRecorded:
    """Each request, in the order of arrival."""
    served = served_requests(view)
    if served is None:
        return NO_REQUESTS
    strings = view.capture.strings
    models = np.ma.filled(served.model, 0).tolist()
    data: dict[str, Values] = {
        "name": name_texts(view, served.name),
        "model": [strings[number] or None for number in models],
        "start_ns": served.start - view.capture.span[0],
        "duration_ns": served.stop - served.start,
        "token_gap_ns": served.token_gap_ns,
        **{name: served.numbers[name] for name in ATTRIBUTES},
    }
    columns = [
        Column("name", "Request", Role.NAME),
        *_COLUMNS,
        Column("start_ns", "Start", Role.TIME),
        Column("model", "Model", Role.TEXT),
    ]
    notes = [
        english("Inter-token latency: the time after the first token, by each further token."),
    ]
    found = batches(view)
    if len(found.steps):
        data["engine_steps"] = np.bincount(found.request, minlength=len(served.row))
        columns.insert(7, Column("engine_steps", "Engine steps", Role.COUNT))
    work = gpu_time(view, served)
    if work is not None:
        data["gpu_ns"] = work
        columns.insert(7, Column("gpu_ns", "GPU busy", Role.DURATION))
        notes.append(
            english("GPU busy: any GPU worked during the request; requests of a batch share the work.")
        )
    return Table(
        tuple(columns),
        data,
        targets=Targets(rows=served.row),
        scope=scope_text(view, english("Requests")),
        notes=tuple(notes),
    )


report = ReportSpec("requests", "Requests", "ranges", requests, needs=(KIND,), place=410)
