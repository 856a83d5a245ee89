"""The JavaScript samples of a trace (``Profile`` and ``ProfileChunk`` of V8), each on the thread that was sampled."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpline.interchange.framework.columns import nanoseconds
from warpline.interchange.trace_json.json_repair import json_object
from warpline.interchange.trace_json.piece_columns import Group, ThreadKey
from warpline.interchange.trace_json.target import TraceTarget
from warpline.interchange.trace_json.v8_profile import V8Profile

_BEGIN, _CHUNK, _WHOLE = "Profile", "ProfileChunk", "CpuProfile"
"""Event names: the beginning, whose thread is the sampled one; a piece; a whole profile of older Chrome."""


class JavaScriptSamples:
    """The profiles of a trace, by process and the id that their events share."""

    def __init__(self) -> None:
        self._profiles: dict[tuple[Any, Any], V8Profile] = {}
        self._threads: dict[tuple[Any, Any], ThreadKey] = {}
        self._taken = 0
        self._start_us: dict[tuple[Any, Any], Any] = {}

    def take(self, group: Group) -> Group:
        """Keep the profiles among instants and return the others."""
        is_profile = np.array([name in (_BEGIN, _CHUNK, _WHOLE) for name in group.name.table], bool)
        is_telling = np.array(['"data"' in text for text in group.texts["payload"].table], bool)
        chosen = is_profile[group.name.codes] & is_telling[group.texts["payload"].codes]
        if not chosen.any():
            return group
        self._taken += int(chosen.sum())
        for row in np.flatnonzero(chosen).tolist():
            self._add(group, row)
        return group.take(np.flatnonzero(~chosen))

    def _add(self, group: Group, row: int) -> None:
        payload = json_object(group.texts["payload"].table[group.texts["payload"].codes[row]]) or {}
        data = payload.get("data")
        data = data if isinstance(data, dict) else {}
        thread = group.threads[group.thread[row]]
        key = (thread[0], group.ids[row] if group.ids else None)
        name = group.name.table[group.name.codes[row]]
        profile = self._profiles.setdefault(key, V8Profile())
        if name == _BEGIN:
            self._threads[key] = thread
            self._start_us[key] = data.get("startTime")
        else:
            # Chunks carry the id of the sampling thread, which counts only if no other is known.
            self._threads.setdefault(key, thread)
            pieces = data.get("cpuProfile")
            pieces = pieces if isinstance(pieces, dict) else {}
            profile.add(pieces, data, int(group.start[row]))
            self._start_us.setdefault(key, pieces.get("startTime", data.get("startTime")))

    def finish(self, target: TraceTarget) -> int:
        """Add the samples of all profiles; returns how many more events there are than in the trace."""
        count = -self._taken
        for key, profile in self._profiles.items():
            start, missing = nanoseconds([self._start_us.get(key)])
            begin = profile.first_ns if missing[0] else int(start[0])
            count += profile.add_to(target, self._threads[key], begin)
        return count
