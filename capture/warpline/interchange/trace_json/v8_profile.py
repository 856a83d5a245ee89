"""Samples of V8 (Chrome, Node.js): a tree of functions, which node each sample saw, and the time between samples.

The members are those of the DevTools protocol's ``Profiler.Profile``
(https://chromedevtools.github.io/devtools-protocol/tot/Profiler/). A trace has them in pieces (``ProfileChunk``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import (
    MAX_TIME_NS,
    Int64Array,
    clean_text,
    integers,
    nanoseconds,
)
from warpline.interchange.framework.stack_tables import stack_column, stacks_of_nodes
from warpline.interchange.trace_json.piece_columns import ThreadKey
from warpline.interchange.trace_json.target import TraceTarget
from warpline.model import Flag

_ROOT = "(root)"
_NO_LINE = 0


@dataclass(frozen=True)
class SampleRun:
    """Samples in order: the node of each, the ns since the one before, and the line (0: not recorded)."""

    node: Int64Array
    delta: Int64Array
    line: Int64Array


class V8Profile:
    """The nodes and samples of one thread's profile."""

    def __init__(self) -> None:
        self.start_us: Any = None
        self._nodes: dict[int, Mapping[str, Any]] = {}
        self._callers: dict[int, int] = {}
        self._chunks: list[tuple[int, SampleRun]] = []

    def add(self, profile: Mapping[str, Any], data: Mapping[str, Any], time_ns: int = 0) -> None:
        """Add nodes and samples. ``profile`` has nodes and samples; the other members may be in ``data`` instead."""
        for node in _objects(profile.get("nodes")):
            number = _whole(node.get("id"))
            if number is None:
                continue
            self._nodes[number] = node
            caller = _whole(node.get("parent"))
            if caller is not None:
                self._callers[number] = caller
            for callee in node.get("children") or () if isinstance(node.get("children"), list) else ():
                if (callee_number := _whole(callee)) is not None:
                    self._callers[callee_number] = number
        samples = _values(profile, data, "samples")
        deltas = _values(profile, data, "timeDeltas")[: len(samples)]
        lines = _values(profile, data, "lines")[: len(deltas)]
        if deltas:
            whole = integers([*lines, *[_NO_LINE] * (len(deltas) - len(lines))])
            steps, _missing = nanoseconds(deltas)
            nodes = np.ma.filled(integers(samples[: len(deltas)]), -1)
            self._chunks.append((time_ns, SampleRun(nodes, steps, np.ma.filled(whole, _NO_LINE))))

    @property
    def first_ns(self) -> int:
        """The time of the first piece; 0 without any."""
        return min((time for time, _chunk in self._chunks), default=0)

    def add_to(self, target: TraceTarget, key: ThreadKey, start_ns: int) -> int:
        """Add the samples to a thread; ``start_ns`` is the moment the first one counts from. Returns their number.

        Samples of unknown nodes stay without a stack.
        """
        if not self._chunks:
            return 0
        builder = target.builder
        chunks = [chunk for _time, chunk in sorted(self._chunks, key=lambda entry: entry[0])]
        times = start_ns + np.cumsum(np.concatenate([chunk.delta for chunk in chunks]))
        if int(np.abs(times).max()) > MAX_TIME_NS:
            target.losses[english("JavaScript samples"), english("their times do not fit a timeline")] += len(
                times
            )
            return 0
        nodes = np.concatenate([chunk.node for chunk in chunks])
        lines = np.concatenate([chunk.line for chunk in chunks])
        numbers = np.array(sorted(self._nodes), np.int64)
        place = {number: at for at, number in enumerate(numbers.tolist())}
        calls = [frame_of(self._nodes[number]) for number in numbers.tolist()]
        frames = [0 if name == _ROOT else builder.string(_text(name, url, line)) for name, url, line in calls]
        callers = [place.get(self._callers.get(number, -1), -1) for number in numbers.tolist()]
        stacks = np.append(stacks_of_nodes(builder, frames, callers), -1)
        at = np.minimum(np.searchsorted(numbers, nodes), max(len(numbers) - 1, 0))
        known = numbers[at] == nodes if len(numbers) else np.zeros(len(nodes), bool)
        at = np.where(known, at, len(numbers))
        names = self._names(target, at, lines, calls)
        target.saw(times, times)
        track = target.tracks.sub_track(target.tracks.thread(*key), "samples")
        attributes = {"stack": stack_column(stacks[at])}
        builder.add_events(track, "sample", times, 0, names, flags=int(Flag.INSTANT), attributes=attributes)
        return len(times)

    @staticmethod
    def _names(
        target: TraceTarget, at: Int64Array, lines: Int64Array, calls: Sequence[tuple[str, str, int]]
    ) -> npt.NDArray[np.uint32]:
        """Where each sample was: its function with the sampled line, else with the line the function begins at."""
        lines = np.clip(lines, _NO_LINE, (1 << 31) - 1)
        pairs, index = np.unique((at << 31) | lines, return_inverse=True)
        texts = []
        for pair in pairs.tolist():
            node, line = pair >> 31, pair & (1 << 31) - 1
            name, url, begin = calls[node] if node < len(calls) else ("(unknown)", "", _NO_LINE)
            texts.append(_text(name, url, line or begin))
        ids: npt.NDArray[np.uint32] = target.builder.strings(texts)[index.reshape(-1)]
        return ids


def frame_of(node: Mapping[str, Any]) -> tuple[str, str, int]:
    """Function, file and line (from 1; 0: unknown) of a node."""
    call = node.get("callFrame")
    call = call if isinstance(call, dict) else node
    name, url = (clean_text(str(call.get(key) or "")) for key in ("functionName", "url"))
    line = _whole(call.get("lineNumber"))
    return name or "(anonymous)", url, _NO_LINE if line is None or line < 0 else line + 1


def _text(name: str, url: str, line: int) -> str:
    if not url:
        return name
    return f"{name} ({url}:{line})" if line else f"{name} ({url})"


def _values(profile: Mapping[str, Any], data: Mapping[str, Any], key: str) -> list[Any]:
    values = profile.get(key) or data.get(key)
    return values if isinstance(values, list) else []


def _objects(values: Any) -> list[Mapping[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _whole(value: Any) -> int | None:
    """The number; text counts as a number as well. None for anything else."""
    if isinstance(value, str) and value.removeprefix("-").isascii() and value.removeprefix("-").isdigit():
        value = int(value[:20])
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and abs(value) < 1 << 40 else None
