"""Recognises the requests of vLLM, SGLang and Triton among spans.

vLLM gives each request a span with ``gen_ai.latency.*`` in seconds (``vllm/tracing/utils.py``), SGLang in addition
spans of its stages (``sglang/srt/observability/req_time_stats.py``), Triton a span of a model with ``QUEUE_START`` and
one called ``compute`` below it (``docs/user_guide/trace.md`` of its server).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from warpline.interchange.framework.columns import integer
from warpline.interchange.framework.event_sink import EventSink, Holder
from warpline.interchange.framework.requests import (
    DECODE,
    PREFILL,
    QUEUE,
    STAGES,
    UNKNOWN,
    RequestRows,
    ServedRequest,
)
from warpline.interchange.otlp.documents import OtlpSpan

_LATENCY = "gen_ai.latency."
_STAGES = {**STAGES, "compute": "compute"}
"""Phases by the names of stages."""
_Phase = tuple[str, int, int]


@dataclass
class _Trace:
    """What one trace holds of requests."""

    requests: dict[str, ServedRequest] = field(default_factory=dict)
    """By the ids of their spans."""
    stages: list[tuple[str, _Phase]] = field(default_factory=list)
    """With the ids of the spans around them."""

    def add(self, span_id: str, request: ServedRequest) -> None:
        """Keeps a request; ids that are missing, or are there twice, lose none."""
        is_taken = not span_id or span_id in self.requests
        self.requests[f"{len(self.requests)} {span_id}" if is_taken else span_id] = request


class ServedRequests:
    """Collects requests while spans are read."""

    def __init__(self, sink: EventSink) -> None:
        self._rows = RequestRows(sink)
        self._traces: dict[str, _Trace] = {}

    def see(self, holder: Holder, span: OtlpSpan, values: dict[str, Any], start: int, stop: int) -> None:
        """Keeps a span if it is a request, or a stage of one."""
        stage = _STAGES.get(span.name)
        if stage is not None:
            self._trace(span).stages.append((span.parent_span_id, (stage, start, stop)))
        elif any(name.startswith(_LATENCY) for name in values):
            self._trace(span).add(span.span_id, _generated(holder, span, values, start, stop))
        elif any(event.name == "QUEUE_START" for event in span.events):
            self._trace(span).add(span.span_id, _inferred(holder, span, values, start, stop))

    def _trace(self, span: OtlpSpan) -> _Trace:
        return self._traces.setdefault(span.trace_id or span.span_id, _Trace())

    def finish(self) -> None:
        """Adds the requests with their stages to the capture."""
        for trace in self._traces.values():
            stages: dict[str, list[_Phase]] = {}
            is_alone = len(trace.requests) == 1
            for parent, stage in trace.stages:
                stages.setdefault("" if is_alone else parent, []).append(stage)
            for span_id, request in trace.requests.items():
                own = tuple(
                    stage
                    for stage in stages.get("" if is_alone else span_id, ())
                    if request.start <= stage[1] < max(request.stop, request.start + 1)
                )
                self._rows.add(_with_stages(request, own) if own else request)
        self._rows.finish()


def _with_stages(request: ServedRequest, stages: tuple[_Phase, ...]) -> ServedRequest:
    """A request with recorded stages in place of those computed from latencies."""
    recorded = {name for name, *_ in stages}
    begin = min(start for _, start, _ in stages)
    # Triton tells when a request was queued, and that it left the queue by the span of its computation.
    kept = tuple(
        (name, start, begin if name == QUEUE and stop == start else stop)
        for name, start, stop in request.phases
        if name not in recorded
    )
    phases = tuple(sorted((*kept, *stages), key=lambda phase: phase[1:]))
    first = request.first_token_ns
    ends = [stop for name, _, stop in stages if name == PREFILL]
    if first == UNKNOWN and ends:
        first = max(ends) - request.start
    return ServedRequest(**{**vars(request), "phases": phases, "first_token_ns": first})


def _generated(
    holder: Holder, span: OtlpSpan, values: dict[str, Any], start: int, stop: int
) -> ServedRequest:
    """A request of vLLM or SGLang. Its phases end with the last token, or begin with the request."""
    queue, prefill, decode, first = (
        _nanoseconds(values.get(_LATENCY + name))
        for name in ("time_in_queue", "time_in_model_prefill", "time_in_model_decode", "time_to_first_token")
    )
    known = [(name, length) for name, length in ((QUEUE, queue), (PREFILL, prefill)) if length != UNKNOWN]
    # The server's clock begins when it accepts a request, the scheduler's when it queues it: both end the prefill
    # with the first token.
    at = start if first == UNKNOWN else max(start, start + first - sum(length for _, length in known))
    phases: list[_Phase] = []
    for name, length in (*known, *(((DECODE, decode),) if decode != UNKNOWN else ())):
        phases.append((name, min(at, stop), min(at + length, stop)))
        at += length
    identity = str(values.get("gen_ai.request.id") or span.span_id)
    return ServedRequest(
        holder=holder,
        id=identity,
        name=identity,
        start=start,
        stop=stop,
        phases=tuple(phases),
        model=str(values.get("gen_ai.response.model") or values.get("gen_ai.request.model") or ""),
        prompt_tokens=_count(values, "prompt_tokens", "input_tokens"),
        completion_tokens=_count(values, "completion_tokens", "output_tokens"),
        first_token_ns=first,
    )


def _inferred(holder: Holder, span: OtlpSpan, values: dict[str, Any], start: int, stop: int) -> ServedRequest:
    """A request of Triton: in the queue until its compute span, or the event of it, begins."""
    moments = {event.name: integer(event.time_unix_nano) for event in span.events}
    queued, computing = moments.get("QUEUE_START"), moments.get("COMPUTE_START")
    ended = moments.get("COMPUTE_END")
    phases: list[_Phase] = []
    if queued is not None and computing is not None:
        phases.append((QUEUE, queued, computing))
        if ended is not None:
            phases.append(("compute", computing, ended))
    elif queued is not None:
        phases.append((QUEUE, queued, queued))
    identity = str(values.get("triton.request_id") or values.get("triton.trace_id") or span.span_id)
    return ServedRequest(
        holder=holder,
        id=identity,
        name=identity,
        start=start,
        stop=stop,
        phases=tuple(phases),
        model=str(values.get("triton.model_name") or span.name),
    )


def _nanoseconds(value: Any) -> int:
    """Seconds of any type as ns; `UNKNOWN` for what is no time."""
    try:
        seconds = float(value)
    except (OverflowError, TypeError, ValueError):
        return UNKNOWN
    return round(seconds * 1e9) if math.isfinite(seconds) and 0 <= seconds < 1e8 else UNKNOWN


def _count(values: dict[str, Any], *names: str) -> int:
    for name in names:
        number = integer(values.get(f"gen_ai.usage.{name}"))
        if number is not None and 0 <= number < 1 << 40:
            return number
    return UNKNOWN
