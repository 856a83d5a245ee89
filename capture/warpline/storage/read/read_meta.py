"""Reads the JSON description of a capture (`meta`) into values with checked types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from warpline.i18n.message import Message, read_messages, restored
from warpline.model import Device, Process, ProgramEnd, Skipped, Source, Thread
from warpline.untrusted import INT64, bounded

MAX_TIME = 1 << 62
_ENTRIES = {
    "sources": Source,
    "skipped": Skipped,
    "processes": Process,
    "threads": Thread,
    "devices": Device,
}


@dataclass(frozen=True, kw_only=True)
class Description:
    """The contents of `meta`; times are capture time in ns, ``pauses`` int64 of shape (n, 2)."""

    span: tuple[int, int]
    meta: Mapping[str, Any]
    sources: tuple[Source, ...]
    skipped: tuple[Skipped, ...]
    warnings: tuple[str, ...]
    pauses: npt.NDArray[np.int64]
    processes: tuple[Process, ...]
    threads: tuple[Thread, ...]
    devices: tuple[Device, ...]
    unknown: tuple[str, ...]
    """Keys with a fixed place that are not known, such as ``sources.colour``."""
    messages: Mapping[str, Message]
    """English texts by themselves, with the messages they were made from."""


def read_description(data: bytes) -> Description:
    """The description in a JSON document. Raises ValueError that names a part of the wrong type."""
    document = dict(_dict("the whole", orjson.loads(data)))
    messages = read_messages(document.get("messages"))
    for key in ("sources", "skipped", "warnings"):
        document[key] = restored(_list(document, key), messages)
    start, stop = _pair("span_ns", document.get("span_ns"))
    processes = tuple(_process(entry) for entry in _dicts(document, "processes"))
    threads = tuple(_thread(entry) for entry in _dicts(document, "threads"))
    if any(not 0 <= thread.process < len(processes) for thread in threads):
        raise ValueError("a thread names a process that is not there")
    pauses = [_pair("pauses_ns", entry) for entry in _list(document, "pauses_ns")]
    meta = _known(_dict("meta", document.get("meta", {})))
    if "incomplete" in meta:
        meta["incomplete"] = restored(meta["incomplete"], messages)
    return Description(
        span=(start, max(start, stop)),
        meta=meta,
        sources=tuple(
            Source(
                _text(entry, "name"),
                bool(entry.get("enabled")),
                _text(entry, "reason"),
                _count(entry, "lost"),
                _text(entry, "remedy"),
            )
            for entry in _dicts(document, "sources")
        ),
        skipped=tuple(
            Skipped(_text(entry, "what"), _count(entry, "count"), _text(entry, "reason"))
            for entry in _dicts(document, "skipped")
        ),
        warnings=tuple(text if isinstance(text, str) else str(text) for text in document["warnings"]),
        pauses=np.array(pauses, np.int64).reshape(-1, 2),
        processes=processes,
        threads=threads,
        devices=tuple(_device(entry) for entry in _dicts(document, "devices")),
        unknown=tuple(_unknown(document)),
        messages=messages,
    )


def read_program_end(meta: Mapping[str, Any]) -> ProgramEnd:
    """How the recorded program ended, from the free metadata of a description."""
    tail = meta.get("stderr_tail")
    return ProgramEnd(
        meta.get("exit_status"),
        meta.get("exit_signal"),
        None if tail is None else tuple(str(line) for line in tail),
    )


def _unknown(document: Mapping[str, Any]) -> Iterator[str]:
    known = {"span_ns", "messages", "warnings", "pauses_ns", "meta", *_ENTRIES}
    yield from (key for key in document if key not in known)
    for name, value in _ENTRIES.items():
        fields_of_entry = {field.name for field in fields(value)}
        keys = dict.fromkeys(key for entry in _dicts(document, name) for key in entry)
        yield from (f"{name}.{key}" for key in keys if key not in fields_of_entry)


def _process(entry: Mapping[str, Any]) -> Process:
    return Process(
        pid=_integer(entry, "pid"),
        name=_text(entry, "name"),
        command=_text(entry, "command"),
        parent_pid=_optional(entry, "parent_pid"),
        start_ns=_optional(entry, "start_ns"),
        stop_ns=_optional(entry, "stop_ns"),
        exit_status=_optional(entry, "exit_status"),
        rank=_optional(entry, "rank"),
    )


def _thread(entry: Mapping[str, Any]) -> Thread:
    return Thread(
        _integer(entry, "process"),
        _integer(entry, "tid"),
        _text(entry, "name"),
        _optional(entry, "start_ns"),
        _optional(entry, "stop_ns"),
    )


def _device(entry: Mapping[str, Any]) -> Device:
    properties = []
    for pair in _list(entry, "properties"):
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError("a property of a device is not a pair")
        value = pair[1]
        properties.append((str(pair[0]), value if isinstance(value, str | int | float) else str(value)))
    return Device(
        _integer(entry, "index"),
        _text(entry, "name"),
        _text(entry, "kind") or "gpu",
        _optional(entry, "rank"),
        tuple(properties),
    )


def _known(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Free metadata, without the keys that have a fixed meaning but a value of the wrong type."""
    expected: dict[str, type | tuple[type, ...]] = {
        "command_line": list,
        "working_directory": str,
        "host": dict,
        "start_utc_ns": int,
        "tool": str,
        "exit_status": (int, NoneType),
        "exit_signal": (int, NoneType),
        "stderr_tail": (list, NoneType),
        "incomplete": list,
    }
    kept = {key: value for key, value in meta.items() if isinstance(value, expected.get(key, object))}
    if "command_line" in kept:
        kept["command_line"] = [str(word) for word in meta["command_line"]]
    return {key: bounded(value) for key, value in kept.items()}


def _dict(what: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not an object")
    return value


def _list(entry: Mapping[str, Any], key: str) -> list[Any]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key} is not a list")
    return value


def _dicts(entry: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    return [_dict(f"an entry of {key}", value) for value in _list(entry, key)]


def _text(entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} is not a text")
    return value or ""


def _optional(entry: Mapping[str, Any], key: str) -> int | None:
    value = entry.get(key)
    if value is None:
        return None
    if not isinstance(value, int) or value not in INT64:
        raise ValueError(f"{key} is not a number")
    return int(value)


def _integer(entry: Mapping[str, Any], key: str) -> int:
    value = _optional(entry, key)
    if value is None:
        raise ValueError(f"{key} is missing")
    return value


def _count(entry: Mapping[str, Any], key: str) -> int:
    return max(0, _optional(entry, key) or 0)


def _pair(what: str, value: Any) -> tuple[int, int]:
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(isinstance(number, int) and abs(number) <= MAX_TIME for number in value)
    ):
        raise ValueError(f"{what} is not a pair of times")
    return int(value[0]), int(value[1])
