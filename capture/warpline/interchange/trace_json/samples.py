"""Stack samples of a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from warpline.interchange.framework.columns import clean_text
from warpline.interchange.trace_json.piece_columns import Group
from warpline.interchange.trace_json.target import TraceTarget
from warpline.model import Flag


def add_samples(target: TraceTarget, groups: Sequence[Group], frames: Any) -> None:
    """Add the stack samples (P) of groups; the frames they refer to may stand behind the events."""
    known = frames if isinstance(frames, dict) else {}
    stacks: dict[str, int] = {}
    for group in groups:
        sample = np.flatnonzero(np.array(group.phases) == "P")
        names = target.builder.strings(group.name.table)[group.name.codes]
        refs = [group.texts["frame"].table[code] for code in group.texts["frame"].codes[sample].tolist()]
        values = np.array([_stack_of(target, ref, known, stacks) for ref in refs], np.int64)
        stack = np.ma.MaskedArray(np.maximum(values, 0).astype(np.uint32), values < 0)
        for code, key in enumerate(group.threads):
            chosen = np.flatnonzero(group.thread[sample] == code)
            if not len(chosen):
                continue
            thread = target.tracks.thread(*target.thread_of(key))
            target.builder.add_events(
                target.tracks.sub_track(thread, "samples"),
                "sample",
                group.start[sample[chosen]],
                0,
                names[sample[chosen]],
                flags=int(Flag.INSTANT),
                attributes={"stack": stack[chosen]},
            )


def _stack_of(target: TraceTarget, ref: str, frames: Mapping[str, Any], stacks: dict[str, int]) -> int:
    if ref in stacks:
        return stacks[ref]
    chain: list[str] = []
    at: Any = ref
    while isinstance(at, (str, int)) and isinstance(frames.get(str(at)), dict) and len(chain) < 1000:
        chain.append(str(at))
        at = frames[str(at)].get("parent")
    stack = -1
    for frame in reversed(chain):
        text = target.builder.string(clean_text(str(frames[frame].get("name", ""))))
        stack = target.builder.stack(text, stack) if stack >= 0 else target.builder.stack(text)
    stacks[ref] = stack
    return stack
