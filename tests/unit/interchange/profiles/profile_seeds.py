"""Small files of each format of stacks and samples, for tests and for fuzzing."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from tests.fuzz.campaign.mutate_json import by_bytes

from warpline.interchange.collapsed.collapsed_importer import importer as collapsed
from warpline.interchange.firefox.firefox_importer import importer as firefox
from warpline.interchange.framework.importer import Importer
from warpline.interchange.pyinstrument.pyinstrument_importer import importer as pyinstrument
from warpline.interchange.speedscope.speedscope_importer import importer as speedscope
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


def speedscope_file() -> bytes:
    frames = [{"name": "main", "file": "a.py", "line": 1}, {"name": "work"}]
    events = [{"type": "O", "frame": 0, "at": 1}, {"type": "O", "frame": 1, "at": 2},
              {"type": "C", "frame": 1, "at": 5}, {"type": "C", "frame": 0, "at": 9}]  # fmt: skip
    shared = {"type": "evented", "name": "loop", "unit": "milliseconds", "startValue": 0, "endValue": 9}
    samples = {"samples": [[0], [0, 1], [0, 1]], "weights": [2, 3.5, 1]}
    sampled = {"type": "sampled", "name": "worker", "unit": "seconds", "startValue": 1, "endValue": 7.5}
    profiles = [{**shared, "events": events}, {**sampled, **samples}]
    return json.dumps({"shared": {"frames": frames}, "profiles": profiles, "name": "run"}).encode()


def collapsed_stacks() -> bytes:
    return (
        b"process 12:python a.py;thread (7): MainThread;main (a.py:1);work (a.py:3) 20\n"
        b"process 12:python a.py;thread (7): MainThread;main (a.py:1) 3\r\njava;main;[unknown] 5\n\n"
    )


def pyinstrument_tree() -> bytes:
    leaf = {"function": "work", "file_path_short": "a.py", "line_no": 3, "time": 0.25, "children": []}
    root = {"function": "main", "file_path_short": "a.py", "line_no": 1, "time": 0.75, "children": [leaf]}
    head = {"start_time": 1.7e9, "duration": 0.75, "sample_count": 7, "program": "a.py"}
    return json.dumps({**head, "root_frame": root}).encode()


def pyinstrument_session() -> bytes:
    main, work = "main\x00a.py\x001\x01l3", "work\x00a.py\x003"
    records = [[[main], 0.1], [[main, work], 0.2], [[main], 0.1]]
    return json.dumps({"start_time": 1.7e9, "frame_records": records, "target_description": "a.py"}).encode()


def firefox_profile() -> bytes:
    thread = {
        "name": "main", "pid": "71", "tid": 72, "processName": "app",
        "stringArray": ["main", "work", "a.js", "lib.so", "GC"],
        "funcTable": {"name": [0, 1], "fileName": [2, None], "lineNumber": [1, None], "resource": [-1, 0]},
        "resourceTable": {"name": [3]},
        "frameTable": {"func": [0, 1], "line": [4, None]},
        "stackTable": {"frame": [0, 1], "prefix": [None, 0]},
        "samples": {"stack": [0, 1, None], "time": [1.0, 2.5, 3.0]},
        "markers": {"name": [4, 4, 4], "startTime": [1.0, 2.0, None], "endTime": [1.5, None, 2.75],
                    "phase": [1, 2, 3], "data": [{"type": "GC", "n": 3}, None, None]},
    }  # fmt: skip
    counter = {
        "name": "malloc",
        "category": "Memory",
        "pid": "71",
        "samples": {"time": [1, 2], "count": [100, -40]},
    }
    meta = {"interval": 1, "startTime": 1.7e12, "stackwalk": 1, "preprocessedProfileVersion": 50}
    return json.dumps({"meta": meta, "threads": [thread], "counters": [counter]}).encode()


def gecko_profile() -> bytes:
    thread = {
        "name": "GeckoMain", "tid": 5, "pid": 4, "processType": "default",
        "stringTable": ["(root)", "f (a.js:3)", "load"],
        "frameTable": {"schema": {"location": 0, "line": 1}, "data": [[0], [1, 3]]},
        "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[None, 0], [0, 1]]},
        "samples": {"schema": {"stack": 0, "time": 1}, "data": [[1, 2.0], [None, 3.0]]},
        "markers": {"schema": {"name": 0, "time": 1, "data": 2}, "data": [[2, 1.5, {"startTime": 1, "endTime": 1.5}]]},
    }  # fmt: skip
    return json.dumps(
        {"meta": {"interval": 1, "startTime": 1.7e12, "stackwalk": 0}, "threads": [thread]}
    ).encode()


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


SEEDS: dict[str, tuple[Importer, Callable[[], bytes]]] = {
    "v8": (v8, v8_profile),
    "speedscope": (speedscope, speedscope_file),
    "collapsed": (collapsed, collapsed_stacks),
    "pyinstrument": (pyinstrument, pyinstrument_tree),
    "pyinstrument-session": (pyinstrument, pyinstrument_session),
    "firefox": (firefox, firefox_profile),
    "gecko": (firefox, gecko_profile),
}
"""Importer and content by a name."""
