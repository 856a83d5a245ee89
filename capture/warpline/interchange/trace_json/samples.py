"""Adds the stack samples (P) of a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from warpline.i18n import english
from warpline.interchange.framework.columns import clean_text, nanoseconds
from warpline.interchange.framework.stack_tables import stack_column
from warpline.interchange.trace_json.piece_columns import Group, ThreadKey
from warpline.interchange.trace_json.target import TraceTarget
from warpline.model import Flag

# Kind of sample by category, with its track below the thread. Other categories are plain samples.
_ON_A_CORE = "cpu_sample"
_ROWS = {"sample": "samples", _ON_A_CORE: "cpu-samples"}
_NUMBERS = {"cpu": (np.int32, 1 << 16), "python": (np.uint8, 3), "is_cut": (np.bool_, 2)}


def add_samples(target: TraceTarget, groups: Sequence[Group], frames: Any) -> None:
    """Add the samples among ``groups``. ``frames`` is the table ``stackFrames``, which may follow the events."""
    known = frames if isinstance(frames, dict) else {}
    stacks: dict[str, int] = {}
    for group in groups:
        sample = np.flatnonzero(group.of_phase("P"))
        names = target.builder.strings(group.name.table)[group.name.codes]
        refs, ref = np.unique(group.texts["frame"].codes[sample], return_inverse=True)
        table = [group.texts["frame"].table[code] for code in refs.tolist()]
        values = np.array([_stack_of(target, text, known, stacks) for text in table], np.int64)[ref]
        columns = {"stack": np.ma.MaskedArray(np.maximum(values, 0).astype(np.uint32), values < 0)}
        is_on_core = np.array([text == _ON_A_CORE for text in group.category.table])
        on_core = is_on_core[group.category.codes[sample]]
        if on_core.any():
            columns |= _numbers(group, sample)
        places = group.thread[sample].astype(np.int64) * 2 + on_core
        tracks = {
            place: _track(target, group.threads[place // 2], place % 2)
            for place in np.unique(places).tolist()
        }
        for kind in _ROWS:
            chosen = np.flatnonzero(on_core == (kind == _ON_A_CORE))
            if not len(chosen):
                continue
            chosen = chosen[np.argsort(places[chosen], kind="stable")]
            distinct, counts = np.unique(places[chosen], return_counts=True)
            attributes = columns if kind == _ON_A_CORE else {"stack": columns["stack"]}
            target.builder.add_events(
                np.repeat([tracks[place] for place in distinct.tolist()], counts),
                kind,
                group.start[sample[chosen]],
                0,
                names[sample[chosen]],
                flags=int(Flag.INSTANT),
                attributes={name: column[chosen] for name, column in attributes.items()},
            )


def add_sample_list(target: TraceTarget, values: Any, frames: Any) -> int:
    """Add the samples of the member ``samples`` beside the events; returns their number."""
    known = frames if isinstance(frames, dict) else {}
    stacks: dict[str, int] = {}
    rows: list[tuple[int, int, int, int]] = []
    samples = [entry for entry in values if isinstance(entry, dict)] if isinstance(values, list) else []
    times, missing = nanoseconds([entry.get("ts") for entry in samples])
    for entry, time, is_missing in zip(samples, times.tolist(), missing.tolist(), strict=True):
        if not is_missing:
            pid, tid = (
                entry.get(key) if isinstance(entry.get(key), int | str) else None for key in ("pid", "tid")
            )
            stack = _stack_of(target, str(entry.get("sf", "")), known, stacks)
            name = target.builder.string(clean_text(str(entry.get("name", ""))))
            rows.append(
                (target.tracks.sub_track(target.tracks.thread(pid, tid), "samples"), time, stack, name)
            )
    target.losses[english("samples"), english("their times are missing or not numbers")] += len(
        samples
    ) - len(rows)
    if rows:
        tracks, starts, ids, names = np.array(sorted(rows), np.int64).T
        target.saw(starts, starts)
        target.builder.add_events(
            tracks, "sample", starts, 0, names.astype(np.uint32), flags=int(Flag.INSTANT),
            attributes={"stack": stack_column(ids)},
        )  # fmt: skip
    return len(rows)


def _track(target: TraceTarget, key: ThreadKey, on_core: int) -> int:
    thread = target.tracks.thread(*target.thread_of(key))
    return target.tracks.sub_track(thread, _ROWS[_ON_A_CORE] if on_core else _ROWS["sample"])


def _numbers(group: Group, sample: npt.NDArray[np.intp]) -> dict[str, np.ma.MaskedArray[Any, Any]]:
    """The numbers in the arguments of samples on a core, masked where missing."""
    payload = group.texts["payload"]
    arguments: list[Any] = []
    for text in payload.table:
        try:
            arguments.append(msgspec.json.decode(text))
        except msgspec.MsgspecError:
            arguments.append(None)
    columns: dict[str, np.ma.MaskedArray[Any, Any]] = {}
    for name, (dtype, room) in _NUMBERS.items():
        values = [entry.get(name) if isinstance(entry, dict) else None for entry in arguments]
        good = np.array([isinstance(value, int) and 0 <= value < room for value in values])
        table = np.array([value if is_good else 0 for value, is_good in zip(values, good, strict=True)])
        codes = payload.codes[sample]
        columns[name] = np.ma.MaskedArray(table[codes].astype(dtype), ~good[codes])
    return columns


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
