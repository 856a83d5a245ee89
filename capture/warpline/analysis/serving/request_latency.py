"""Latencies of requests to a model server: time to the first token, between tokens, in each phase, as percentiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import scope_text
from warpline.analysis.serving.served import KIND, NO_REQUESTS, served_requests
from warpline.i18n import english

_PERCENTILES = (50, 90, 99)


def request_latency(view: View, _options: Options) -> Table | NotRecorded:
    """Average, percentiles and maximum of each latency."""
    served = served_requests(view)
    if served is None:
        return NO_REQUESTS
    rows: list[tuple[str, npt.NDArray[Any]]] = [
        (english("Time to first token"), served.numbers["first_token_ns"]),
        (english("Inter-token latency"), served.token_gap_ns),
        (english("Duration"), served.stop - served.start),
        (english("Queue"), served.numbers["queue_ns"]),
        (english("Prefill"), served.numbers["prefill_ns"]),
        (english("Decode"), served.numbers["decode_ns"]),
    ]
    known = [(name, np.ma.compressed(np.ma.asarray(values)).astype(np.float64)) for name, values in rows]
    known = [(name, values) for name, values in known if len(values)]
    data: dict[str, Values] = {
        "name": [name for name, _ in known],
        "count": np.array([len(values) for _, values in known], np.int64),
        "avg_ns": np.array([values.mean() for _, values in known], np.float64),
        "min_ns": np.array([values.min() for _, values in known], np.float64),
        "max_ns": np.array([values.max() for _, values in known], np.float64),
    }
    for percent in _PERCENTILES:
        data[f"p{percent}_ns"] = np.array([np.percentile(values, percent) for _, values in known], np.float64)
    return Table(
        (
            Column("name", "Latency", Role.NAME, key=True, ours=True),
            Column("count", "Requests", Role.COUNT),
            Column("avg_ns", "Avg", Role.DURATION),
            *(Column(f"p{percent}_ns", f"P{percent}", Role.DURATION) for percent in _PERCENTILES),
            Column("min_ns", "Min", Role.DURATION),
            Column("max_ns", "Max", Role.DURATION),
        ),
        data,
        scope=scope_text(view, english("Latencies of requests")),
        notes=(english("Percentiles between two requests are interpolated."),),
    )


report = ReportSpec("request_latency", "Request latency", "ranges", request_latency, needs=(KIND,), place=411)
