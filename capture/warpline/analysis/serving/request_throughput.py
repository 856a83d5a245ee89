"""Throughput of a model server: requests and tokens in each second."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from warpline.analysis.framework.column import Column, Role
from warpline.analysis.framework.options import Options
from warpline.analysis.framework.report import NotRecorded, Table, Targets, Values
from warpline.analysis.framework.report_spec import ReportSpec
from warpline.analysis.framework.selection import View
from warpline.analysis.framework.tables import scope_text
from warpline.analysis.serving.served import KIND, NO_REQUESTS, served_requests
from warpline.i18n import english

Int64Array = npt.NDArray[np.int64]
_SECOND = 1_000_000_000
_MOST_ROWS = 3_600


def request_throughput(view: View, _options: Options) -> Table | NotRecorded:
    """Requests that ended, tokens, and requests that ran and waited, by second of the range."""
    served = served_requests(view)
    if served is None:
        return NO_REQUESTS
    width = _SECOND * max(-(-view.duration_ns // (_SECOND * _MOST_ROWS)), 1)
    count = max(-(-view.duration_ns // width), 1)
    start = view.start_ns + np.arange(count, dtype=np.int64) * width
    stop = np.minimum(start + width, view.stop_ns)
    seconds = np.maximum(stop - start, 1) / _SECOND
    place = (served.stop - 1 - view.start_ns) // width
    ended = (place >= 0) & (place < count) & (served.stop <= view.stop_ns)

    def rate(weights: npt.NDArray[np.int64] | None) -> npt.NDArray[np.float64]:
        known = ended if weights is None else ended & ~np.ma.getmaskarray(weights)
        given = None if weights is None else np.ma.getdata(weights)[known]
        total = np.bincount(place[known], given, minlength=count)
        if weights is not None and not known.any():
            return np.ma.MaskedArray(np.zeros(count), True)
        return np.asarray(total / seconds, np.float64)

    queue = np.ma.filled(served.numbers["queue_ns"], 0)
    data: dict[str, Values] = {
        "start_ns": start - view.capture.span[0],
        "requests_per_second": rate(None),
        "generated_tokens_per_second": rate(served.numbers["completion_tokens"]),
        "prompt_tokens_per_second": rate(served.numbers["prompt_tokens"]),
        "running": _at_once(served.start, served.stop, start, stop),
        "queued": _at_once(served.start, served.start + queue, start, stop),
    }
    if np.ma.getmaskarray(served.numbers["queue_ns"]).all():
        data["queued"] = np.ma.MaskedArray(np.zeros(count), True)
    return Table(
        (
            Column("start_ns", "From", Role.TIME, key=True),
            Column("requests_per_second", "Requests", Role.RATE),
            Column("generated_tokens_per_second", "Generated tokens", Role.RATE),
            Column("prompt_tokens_per_second", "Prompt tokens", Role.RATE),
            Column("running", "Open requests", Role.NUMBER),
            Column("queued", "Of them queued", Role.NUMBER),
        ),
        data,
        targets=Targets(starts=start, stops=stop),
        scope=scope_text(view, english("Throughput of requests")),
        notes=(
            english("Requests and tokens count when the request ends; open and queued ones are averages."),
        ),
    )


def _at_once(
    begin: Int64Array, end: Int64Array, start: Int64Array, stop: Int64Array
) -> npt.NDArray[np.float64]:
    """Average number of intervals [begin, end) that are open in each of the ascending parts [start, stop)."""
    # Counted from the first moment: products of times since the epoch would not fit.
    zero = start[0]
    borders = np.append(start, stop[-1]) - zero
    begin, end = np.maximum(begin - zero, 0), np.maximum(end - zero, 0)
    # The time that intervals have run until a moment: of each the part before it.
    order = np.sort(begin), np.sort(end)
    sums = [np.concatenate([[0], np.cumsum(side)]) for side in order]
    counts = [np.searchsorted(side, borders, "right") for side in order]
    until = (counts[0] * borders - sums[0][counts[0]]) - (counts[1] * borders - sums[1][counts[1]])
    return np.asarray(np.diff(until) / np.maximum(stop - start, 1), np.float64)


report = ReportSpec(
    "request_throughput", "Request throughput", "ranges", request_throughput, needs=(KIND,), place=412
)
