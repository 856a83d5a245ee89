"""Lock releases in traces that Warpline exported: instants with their thread and place."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson

from warpline.interchange.torch.cpu import stack_id
from warpline.interchange.trace_json.piece_columns import Group
from warpline.interchange.trace_json.target import TraceTarget, name_ids
from warpline.model import Flag

CATEGORY = "release"


def add_releases(target: TraceTarget, group: Group, rows: dict[Any, int]) -> Group:
    """Add the releases among instants; returns the other instants. ``rows`` as in `cpu.add_scheduling`."""
    if CATEGORY not in group.category.table:
        return group
    payload = group.texts["payload"]
    arguments = [_members(text) for text in payload.table]
    is_release = np.array([type(args.get("tid")) is int for args in arguments], bool)[payload.codes]
    is_release &= np.array([text == CATEGORY for text in group.category.table], bool)[group.category.codes]
    if not is_release.any():
        return group
    taken = group.take(np.flatnonzero(is_release))
    codes = taken.texts["payload"].codes
    stacks = np.array([stack_id(target.builder, _text(args, "Call stack")) for args in arguments], np.int64)[
        codes
    ]
    places = target.builder.strings([_text(args, "place") for args in arguments])[codes]
    addresses = [args.get("address") for args in arguments]
    known = np.array([type(value) is int and 0 <= value < 1 << 64 for value in addresses], bool)[codes]
    numbers = np.array(
        [value if type(value) is int and 0 <= value < 1 << 64 else 0 for value in addresses], np.uint64
    )
    names = name_ids(target.builder, taken.name)
    tids = np.array(
        [args.get("tid", 0) if type(args.get("tid")) is int else 0 for args in arguments], np.int64
    )[codes]
    target.saw(taken.start, taken.start)
    for row, tid in sorted(set(zip(taken.thread.tolist(), tids.tolist(), strict=True))):
        index = np.flatnonzero((taken.thread == row) & (tids == tid))
        key = taken.threads[row]
        first = target.builder.add_events(
            target.tracks.sub_track(target.tracks.thread(key[0], tid), "osrt"),
            "release",
            taken.start[index],
            np.zeros(len(index), np.int64),
            names[index],
            flags=np.full(len(index), Flag.INSTANT, np.uint8),
            attributes={
                "address": np.ma.MaskedArray(numbers[codes][index], ~known[index]),
                "place": np.ma.MaskedArray(places[index], places[index] == 0),
                "stack": np.ma.MaskedArray(np.maximum(stacks[index], 0).astype(np.uint32), stacks[index] < 0),
            },
        )
        number = rows.setdefault(key, -2 - 2 * len(rows))
        target.slices.add(
            number, taken.start[index], taken.start[index], np.arange(first, first + len(index))
        )
    return group.take(np.flatnonzero(~is_release))


def _members(text: str) -> dict[str, Any]:
    try:
        members = orjson.loads(text) if text else {}
    except orjson.JSONDecodeError:
        return {}
    return members if isinstance(members, dict) else {}


def _text(args: dict[str, Any], name: str) -> str:
    text = args.get(name, "")
    return text if isinstance(text, str) else ""
