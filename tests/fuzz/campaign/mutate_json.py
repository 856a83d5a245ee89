"""Chrome, Kineto and Paddle JSON that is wrong in its bytes, its values or its structure."""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import zipfile
from pathlib import Path
from typing import Any

TOKENS = (
    b"NaN",
    b"null",
    b"-1",
    b"1e999",
    b"1e308",
    b"-1e308",
    b"18446744073709551616",
    b'""',
    b"{}",
    b"[]",
    b"}",
    b"{",
    b"]",
    b"[",
    b",",
    b'"',
    b"\\",
    b"\x00",
    b"\xff\xfe",
    b'"\\ud800"',
    b'"\\udc00\\ud800"',
    b'"ph":"E"',
    b'"ph":"f"',
    b"true",
    b'"ts":',
    b'"dur":-5',
    b"9" * 400,
    b"[" * 300,
    b'{"a":' * 300,
    b'"traceEvents":[',
    b"\xef\xbb\xbf",
    b"/*",
    b"1e-400",
    b"0x10",
    b"+1",
    b".5",
    b"\xed\xa0\x80",
    b'"\\u0000"',
    b"1" * 5000,
)
VALUES: tuple[Any, ...] = (
    None,
    -1,
    0,
    2**31,
    2**32,
    2**53,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    2**70,
    10**400,
    1e308,
    -1e308,
    1e18,
    9.3e15,
    "text",
    "",
    "1e308",
    [],
    {},
    [1],
    {"a": [1]},
    True,
    "stream 7",
    -0.5,
    "0x10",
    "9" * 5000,
    "\ud800",
    "\x00",
    "\u202e",
    [[[[[]]]]],
    "-1",
    " 12",
    "１２",
)
PHASES = "BEXiIbnesftPCMNODRcv(),SpF"
KEYS = (
    "ph",
    "ts",
    "dur",
    "pid",
    "tid",
    "name",
    "cat",
    "args",
    "id",
    "id2",
    "bind_id",
    "s",
    "bp",
    "tdur",
    "tts",
    "sf",
    "stack",
    "esf",
    "cname",
    "scope",
)


def _documents(content: bytes) -> tuple[Any, list[Any]]:
    document = json.loads(content)
    events = document if isinstance(document, list) else document["traceEvents"]
    return document, events


def by_value(content: bytes, rng: random.Random) -> bytes:
    document, events = _documents(content)
    for _ in range(rng.randint(1, 60)):
        if not events:
            break
        event = rng.choice(events)
        if not isinstance(event, dict) or not event:
            continue
        target = event
        if isinstance(event.get("args"), dict) and event["args"] and rng.random() < 0.5:
            target = event["args"]
        # A copy: the same list in two events would change in both, and could come to hold itself.
        target[rng.choice([*target, *KEYS])] = copy.deepcopy(rng.choice(VALUES))
    for _ in range(rng.randint(0, 20)):
        events.insert(rng.randrange(len(events) + 1), random_event(rng))
    if isinstance(document, dict) and rng.random() < 0.4:
        document[
            rng.choice(
                [
                    "schemaVersion",
                    "deviceProperties",
                    "distributedInfo",
                    "displayTimeUnit",
                    "ExtraInfo",
                    "traceName",
                    "stackFrames",
                    "samples",
                    "otherData",
                    "systemTraceEvents",
                    "baseTimeNanoseconds",
                    "zzz",
                ]
            )
        ] = rng.choice(
            [
                *VALUES,
                [{"id": rng.choice(VALUES), "name": rng.choice(VALUES)}],
                {"1": {"name": "f", "parent": "1"}, "2": {"parent": "3"}, "3": {"parent": "2"}},
                "{'a': " * 50,
                "[" * 3000,
                {"rank": rng.choice(VALUES), "world_size": rng.choice(VALUES)},
            ]
        )
    return json.dumps(document).encode("utf-8", "surrogatepass")


def random_event(rng: random.Random) -> dict[str, Any]:
    event: dict[str, Any] = {
        "ph": rng.choice(PHASES),
        "ts": rng.choice([*range(0, 2000, 100), *VALUES]),
        "pid": rng.choice([1, 2, *VALUES]),
        "tid": rng.choice([1, 2, *VALUES]),
        "name": rng.choice(["a", "b", "process_name", "thread_name", "[memory]", *VALUES]),
    }
    if rng.random() < 0.7:
        event["dur"] = rng.choice([*range(0, 500, 50), *VALUES])
    if rng.random() < 0.6:
        event["cat"] = rng.choice(
            [
                "kernel",
                "gpu_memcpy",
                "cuda_runtime",
                "cpu_op",
                "ac2g",
                "python_function",
                "user_annotation",
                "Operator",
                *VALUES,
            ]
        )
    if rng.random() < 0.6:
        event["args"] = {
            rng.choice(
                [
                    "name",
                    "External id",
                    "correlation",
                    "stream",
                    "device",
                    "Bytes",
                    "Addr",
                    "Device Id",
                    "Total Allocated",
                    "sort_index",
                    "Input Dims",
                    "grid",
                    "block",
                    "Python id",
                    "Python parent id",
                    "value",
                    "labels",
                ]
            ): rng.choice(VALUES)
            for _ in range(rng.randint(0, 5))
        }
    if rng.random() < 0.4:
        event["id"] = rng.choice([1, 2, "0x1", *VALUES])
    if rng.random() < 0.1:
        event[rng.choice(["id2", "sf", "stack", "bind_id", "s", "scope"])] = rng.choice(
            [*VALUES, {"local": 1}, {"global": "x"}]
        )
    return copy.deepcopy(event)


def by_bytes(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(rng.randint(1, 8)):
        if not data:
            break
        at = rng.randrange(len(data))
        action = rng.randrange(7)
        if action == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif action == 1:
            del data[at : at + rng.randint(1, 200)]
        elif action == 2:
            data[at:at] = data[at : at + rng.randint(1, 200)]
        elif action == 3:
            data[at:at] = rng.choice(TOKENS)
        elif action == 4:
            token = rng.choice(TOKENS)
            data[at : at + len(token)] = token
        elif action == 5:
            piece = bytes(data[at : at + rng.randint(1, 2000)])
            where = rng.randrange(len(data))
            data[where:where] = piece
        else:
            del data[at:]
    return bytes(data)


def duplicated_keys(content: bytes, rng: random.Random) -> bytes:
    text = bytearray(content)
    for _ in range(rng.randint(1, 30)):
        at = text.find(b'"', rng.randrange(len(text)))
        if at < 0:
            continue
        stop = text.find(b",", at)
        if 0 < stop - at < 300:
            text[stop:stop] = b"," + text[at:stop]
    return bytes(text)


def packed(content: bytes, rng: random.Random) -> bytes:
    choice = rng.randrange(8)
    if choice == 0:
        data = bytearray(gzip.compress(content))
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(data)
    if choice == 1:
        whole = gzip.compress(content)
        return whole[: rng.randrange(len(whole))]
    if choice == 2:
        return gzip.compress(content) + rng.choice([b"\x1f\x8b", b"\0" * 99, gzip.compress(content), b"junk"])
    if choice == 3:
        return gzip.compress(gzip.compress(content))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            rng.choice(["a.json", "../../evil.json", "/etc/evil", "a/../../b", "con\x00.json"[:3] + ".json"]),
            content,
        )
        if rng.random() < 0.5:
            archive.writestr("b.json", content[: rng.randrange(len(content))])
    archived = bytearray(out.getvalue())
    for _ in range(rng.randint(0, 4)):
        archived[rng.randrange(len(archived))] ^= 1 << rng.randrange(8)
    return bytes(archived)


def mutate(seed: bytes, rng: random.Random) -> tuple[bytes, str]:
    kind = rng.choice(["value", "value", "bytes", "bytes", "keys", "packed", "cut"])
    if kind == "value":
        try:
            return by_value(seed, rng), kind
        except (ValueError, KeyError, TypeError):
            kind = "bytes"
    if kind == "bytes":
        return by_bytes(seed, rng), kind
    if kind == "keys":
        return duplicated_keys(seed, rng), kind
    if kind == "packed":
        return packed(seed, rng), kind
    return seed[: rng.randrange(len(seed) + 1)], "cut"


def seeds(data: Path, limit: int = 120_000) -> list[tuple[str, bytes]]:
    found = []
    for path in sorted([*data.glob("**/*.json"), *data.glob("**/*.json.gz")]):
        if path.stat().st_size > 3_000_000 or "expected" in str(path):
            continue
        raw = path.read_bytes()
        if path.name.endswith(".gz"):
            raw = gzip.decompress(raw)
        if b'"ph"' not in raw[:200_000]:
            continue
        try:
            document = json.loads(raw)
        except ValueError:
            found.append((path.name, raw[:limit]))
            continue
        if isinstance(document, dict) and isinstance(document.get("traceEvents"), list) and len(raw) > limit:
            events = document["traceEvents"]
            step = max(1, len(events) * limit // len(raw))
            first = len(events) // 3 if len(events) > 3 * step else 0
            document["traceEvents"] = [*events[: max(4, limit // 2400)], *events[first : first + step]]
            raw = json.dumps(document).encode()
        elif isinstance(document, list) and len(raw) > limit:
            raw = json.dumps(document[: max(1, len(document) * limit // len(raw))]).encode()
        if len(raw) < max(4 * limit, 20_000):
            found.append((path.name, raw))
    return found
