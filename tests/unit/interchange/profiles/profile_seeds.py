"""Small files of each format of stacks and samples, for tests and for fuzzing."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from tests.fuzz.campaign.mutate_json import by_bytes

from warpline.interchange.framework.importer import Importer
from warpline.interchange.v8.v8_importer import importer as v8


def call(name: str, line: int = -1, url: str = "") -> dict[str, Any]:
    """A ``callFrame`` of V8; lines count from 0."""
    return {"functionName": name, "scriptId": "1", "url": url, "lineNumber": line, "columnNumber": 0}


def v8_profile() -> bytes:
    nodes = [
        {"id": 1, "callFrame": call("(root)"), "hitCount": 0, "children": [2, 4]},
        {"id": 2, "callFrame": call("main", 0, "file:///a.js"), "hitCount": 1, "children": [3]},
        {"id": 3, "callFrame": call("", 9, "file:///a.js"), "hitCount": 2},
        {"id": 4, "callFrame": call("(idle)"), "hitCount": 1},
    ]
    samples = {"samples": [2, 3, 3, 4], "timeDeltas": [10, 100, 100, 250]}
    return json.dumps({"nodes": nodes, "startTime": 1000, "endTime": 1460, **samples}).encode()


_ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    3,
    1 << 40,
    -(1 << 63),
    1 << 64,
    2.5,
    1e300,
    "",
    "12",
    "\ud800",
    [],
    [[]],
    {},
    {"id": 1},
)


def with_odd_value(content: bytes, rng: random.Random) -> bytes:
    """A JSON document in which a value, at any depth, is another, is missing, or stands twice."""
    document = json.loads(content)
    holders: list[Any] = [document]
    for holder in holders:
        values = holder.values() if isinstance(holder, dict) else holder
        holders += [value for value in values if isinstance(value, dict | list) and value]
    holder = rng.choice(holders)
    key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    if (action := rng.random()) < 0.2:
        del holder[key]
    elif action < 0.3 and isinstance(holder, list):
        holder.insert(key, holder[key])
    else:
        holder[key] = rng.choice(_ODD)
    return json.dumps(document).encode()


def damaged(content: bytes, rng: random.Random) -> bytes:
    """The content with something else in it: a value where it is JSON, else bytes."""
    if content[:1] in (b"{", b"[") and rng.random() < 0.7:
        return with_odd_value(content, rng)
    return by_bytes(content, rng)


SEEDS: dict[str, tuple[Importer, Callable[[], bytes]]] = {"v8": (v8, v8_profile)}
"""Importer and content by the importer's name."""
