"""Requests to a model server in a Chrome trace: slices and asynchronous events whose arguments name the request.

SGLang's converter writes a slice for each stage, with the request as ``rid`` (``scripts/convert_otel_2_perfetto.py``).
Other servers may write the same, or nestable asynchronous events (``b``, ``e``) whose id is the request's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.interchange.framework.columns import TextColumn, integer
from warpline.interchange.framework.event_sink import EventSink
from warpline.interchange.framework.importer import ImportOptions
from warpline.interchange.framework.requests import (
    PREFILL,
    STAGES,
    UNKNOWN,
    RequestRows,
    ServedRequest,
)
from warpline.interchange.trace_json.json_repair import json_object
from warpline.interchange.trace_json.piece_columns import Group

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_WHOLE = frozenset({"request", "llm_request"})
"""Names of events that stand for a request with all its stages."""
_IDS = ("rid", "request_id", "req_id")
_SERVERS = frozenset({"sglang"})
"""Categories all of whose events with an id are parts of requests."""
_COMMON = frozenset({"queue", "decode"})
"""Stages whose names other programs use, too."""


@dataclass
class _Parts:
    """What is known of one request."""

    start: int
    stop: int
    phases: list[tuple[str, int, int]] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, start: int, stop: int) -> None:
        self.start, self.stop = min(self.start, start), max(self.stop, stop)
        if name in STAGES:
            self.phases.append((STAGES[name], start, stop))


class TraceRequests:
    """Collects the requests of a trace, and adds them at its end."""

    def __init__(self) -> None:
        self._found: dict[str, _Parts] = {}
        self._open: dict[tuple[str, str], list[tuple[str, int]]] = {}
        self._is_server = False

    def see(self, group: Group) -> None:
        """Keep the slices of a group that belong to requests."""
        payload = group.texts.get("payload")
        chosen = self._of_requests(group)
        if payload is None or not chosen.any():
            return
        # Of the chosen events alone: other programs have slices of these names, too, among millions of others.
        used = np.unique(payload.codes[chosen])
        arguments = {code: _arguments(payload.table[code]) for code in used.tolist()}
        with_id = [code for code, values in arguments.items() if _identity(values)]
        for row in np.flatnonzero(chosen & np.isin(payload.codes, with_id)).tolist():
            values = arguments[int(payload.codes[row])]
            start = int(group.start[row])
            stop = start + int(group.duration[row])
            self._add(_identity(values), _text(group.name, row), start, stop, values)

    def see_async(self, group: Group) -> None:
        """Keep the asynchronous events of a group that begin or end a request or a stage of one."""
        chosen = self._of_requests(group)
        if not chosen.any():
            return
        begins, ends = group.of_phase("b"), group.of_phase("e")
        payload = group.texts["payload"]
        for row in np.flatnonzero(chosen & (begins | ends)).tolist():
            name, identity = _text(group.name, row), _event_id(group.ids[row])
            open_ones = self._open.setdefault((identity, name), [])
            if begins[row]:
                open_ones.append((_text(payload, row), int(group.start[row])))
            elif open_ones:
                text, start = open_ones.pop()
                values = {**_arguments(text), **_arguments(_text(payload, row))}
                self._add(_identity(values) or identity, name, start, int(group.start[row]), values)

    def _of_requests(self, group: Group) -> np.ndarray[Any, np.dtype[np.bool_]]:
        names = np.array([text in STAGES or text in _WHOLE for text in group.name.table], bool)
        servers = np.array([text in _SERVERS for text in group.category.table], bool)
        if not names.any() and not servers.any():
            return np.zeros(len(group), bool)
        chosen: np.ndarray[Any, np.dtype[np.bool_]] = names[group.name.codes] | servers[group.category.codes]
        return chosen

    def _add(self, identity: str, name: str, start: int, stop: int, values: dict[str, Any]) -> None:
        if not identity:
            return
        self._is_server |= name in STAGES and name not in _COMMON
        parts = self._found.setdefault(identity, _Parts(start, stop))
        parts.add(name, start, stop)
        parts.values |= values

    def finish(self, builder: CaptureBuilder, options: ImportOptions) -> None:
        """Add the requests, if stages tell that they were served by a model."""
        if not self._is_server:
            return
        sink = EventSink(builder, options)
        rows, holder = RequestRows(sink), sink.process("requests", "Model server")
        for identity, parts in self._found.items():
            ends = [stop for phase, _, stop in parts.phases if phase == PREFILL]
            rows.add(
                ServedRequest(
                    holder=holder,
                    id=identity,
                    name=identity,
                    start=parts.start,
                    stop=parts.stop,
                    phases=tuple(sorted(parts.phases, key=lambda phase: phase[1:])),
                    model=str(parts.values.get("model") or ""),
                    prompt_tokens=_count(parts.values, "prompt_tokens", "input_tokens"),
                    completion_tokens=_count(parts.values, "completion_tokens", "output_tokens"),
                    first_token_ns=max(ends) - parts.start if ends else UNKNOWN,
                )
            )
        rows.finish()


def _event_id(value: Any) -> str:
    """The id of an asynchronous event, of which the key has a scope, too; "" without one."""
    identity = value[0] if isinstance(value, tuple) and value else value
    return identity.decode("utf-8", "replace") if isinstance(identity, bytes) else str(identity or "")


def _text(column: TextColumn, row: int) -> str:
    return column.table[int(column.codes[row])]


def _arguments(text: str) -> dict[str, Any]:
    return (json_object(text) or {}) if text else {}


def _identity(values: dict[str, Any]) -> str:
    return next((str(values[name]) for name in _IDS if isinstance(values.get(name), str | int)), "")


def _count(values: dict[str, Any], *names: str) -> int:
    for name in names:
        number = integer(values.get(name))
        if number is not None and 0 <= number < 1 << 40:
            return number
    return UNKNOWN
