"""Requests to a model server as rows: each with its phases, in as many rows as requests ran at once."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import clean_text
from warpline.interchange.framework.event_sink import EventSink, Holder, masked
from warpline.model import AttributeSpec, KindSpec
from warpline.model.track_factory import TrackSpec

UNKNOWN = -1
"""A number that was not recorded."""
QUEUE, PREFILL, DECODE = "queue", "prefill", "decode"
STAGES = {
    "queue": QUEUE,
    "prefill": PREFILL,
    "decode": DECODE,
    "prefill_waiting": QUEUE,
    "decode_waiting": QUEUE,
    "prefill_forward": PREFILL,
    "chunked_prefill": PREFILL,
    "decode_loop": DECODE,
    "decode_forward": DECODE,
}
"""Phases by the names that servers give to stages (SGLang: ``sglang/srt/observability/req_time_stats.py``)."""
REQUEST = KindSpec(
    "request",
    english("Request"),
    "range",
    "phase",
    (
        AttributeSpec("request", "string", "Request"),
        AttributeSpec("model", "string", "Model"),
        AttributeSpec("prompt_tokens", "int64", "Prompt tokens"),
        AttributeSpec("completion_tokens", "int64", "Generated tokens"),
        AttributeSpec("first_token_ns", "int64", "Time to first token", "ns"),
        AttributeSpec("queue_ns", "int64", "In the queue", "ns"),
        AttributeSpec("prefill_ns", "int64", "Prefill", "ns"),
        AttributeSpec("decode_ns", "int64", "Decode", "ns"),
    ),
)
REQUEST_PHASE = KindSpec(
    "request_phase",
    english("Phase of a request"),
    "range",
    "range",
    (AttributeSpec("request", "string", "Request"),),
)
_MOST_ROWS = 256


@dataclass(frozen=True, kw_only=True)
class ServedRequest:
    """One request. Times in ns of the file's clock; `UNKNOWN` where not recorded.

    ``phases`` are (name, start, stop).
    """

    holder: Holder
    id: str
    name: str
    start: int
    stop: int
    phases: tuple[tuple[str, int, int], ...] = ()
    model: str = ""
    prompt_tokens: int = UNKNOWN
    completion_tokens: int = UNKNOWN
    first_token_ns: int = UNKNOWN

    def phase_ns(self, name: str) -> int:
        """Time in a phase; `UNKNOWN` if it was not recorded."""
        own = [stop - start for phase, start, stop in self.phases if phase == name]
        return sum(own) if own else UNKNOWN


class RequestRows:
    """Collects the requests of a file and adds them at its end."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self._requests: list[ServedRequest] = []

    def add(self, request: ServedRequest) -> None:
        """Keeps a request; times that make no sense are mended to an instant."""
        self._requests.append(request)

    def finish(self) -> None:
        """Adds all of them: a request and its phases nested in one row, requests that overlap in different rows."""
        if not self._requests:
            return
        builder = self._sink.builder
        builder.add_kind(REQUEST)
        builder.add_kind(REQUEST_PHASE)
        rows: dict[int, list[ServedRequest]] = {}
        busy: dict[str, list[tuple[int, int]]] = {}
        counts: dict[str, int] = {}
        for request in sorted(self._requests, key=lambda request: (request.start, request.stop)):
            holder = request.holder
            free = busy.setdefault(holder.uri, [])
            if free and (free[0][0] <= request.start or counts[holder.uri] >= _MOST_ROWS):
                track = heapq.heappop(free)[1]
            else:
                counts[holder.uri] = number = counts.get(holder.uri, 0) + 1
                track = self._track(holder, number)
            heapq.heappush(free, (request.stop, track))
            rows.setdefault(track, []).append(request)
        for track, requests in rows.items():
            self._add_row(track, requests)

    def _track(self, holder: Holder, number: int) -> int:
        group = self._sink.track(
            TrackSpec(uri=f"{holder.uri}/requests", title=english("Requests"), role="group", sort_key=-1),
            row=holder,
        )
        spec = TrackSpec(
            uri=f"{holder.uri}/requests/{number}",
            title=english("Requests {number}", number=number),
            role="ranges",
            sort_key=number,
        )
        return self._sink.track(spec, group, row=holder)

    def _add_row(self, track: int, requests: list[ServedRequest]) -> None:
        string = self._sink.builder.string
        self._sink.add(
            track,
            "request",
            np.array([request.start for request in requests], np.int64),
            np.array([max(request.stop, request.start) for request in requests], np.int64),
            np.array([string(clean_text(request.name)) for request in requests], np.uint32),
            attributes={
                "request": self._texts([request.id for request in requests]),
                "model": self._texts([request.model for request in requests]),
                **{
                    name: _numbers([getattr(request, name) for request in requests])
                    for name in ("prompt_tokens", "completion_tokens", "first_token_ns")
                },
                **{
                    f"{phase}_ns": _numbers([request.phase_ns(phase) for request in requests])
                    for phase in (QUEUE, PREFILL, DECODE)
                },
            },
        )
        phases = [
            (request, name, max(start, request.start), min(stop, request.stop))
            for request in requests
            for name, start, stop in request.phases
            if min(stop, request.stop) > max(start, request.start)
        ]
        if phases:
            self._sink.add(
                track,
                "request_phase",
                np.array([start for _, _, start, _ in phases], np.int64),
                np.array([stop for *_, stop in phases], np.int64),
                np.array([string(clean_text(name)) for _, name, _, _ in phases], np.uint32),
                attributes={"request": self._texts([request.id for request, *_ in phases])},
            )

    def _texts(self, texts: list[str]) -> npt.NDArray[Any]:
        ids = np.array([self._sink.builder.string(clean_text(text)) for text in texts], np.int64)
        return masked(ids, ids == 0)


def _numbers(values: list[int]) -> npt.NDArray[Any]:
    numbers = np.array(values, np.int64)
    return masked(numbers, numbers < 0)
