"""Recognises the direction of a memory copy, and the memory at both ends, by the name that a profiler gives it."""

from __future__ import annotations

import re

from warpline.model import COPY_KINDS, MEMORY_KINDS

_COPY_CODES = {name: code for code, name in COPY_KINDS.items()}
MEMORY_CODES = {name: code for code, name in MEMORY_KINDS.items()}
_SHORT = {
    "htod": "host to device", "dtoh": "device to host", "dtod": "device to device", "htoh": "host to host",
    "ptop": "peer to peer", "htoa": "host to array", "atoh": "array to host", "atoa": "array to array",
    "atod": "array to device", "dtoa": "device to array",
}  # fmt: skip
_DIRECTIONS = {
    **_SHORT,
    **{name.replace("to", "2"): text for name, text in _SHORT.items()},
    "hosttodevice": "host to device", "devicetohost": "device to host", "devicetodevice": "device to device",
    "hosttohost": "host to host",
}  # fmt: skip
_DIRECTION = re.compile(r"(?:(?:Mem)?cpy|Copy)[\s_]*(\w+?)(?:Async)?(?![a-z0-9_])", re.IGNORECASE)
_PLACE = re.compile(r"\((\w[\w ]*?)\)")
_PLACES = re.compile(r"\((\w[\w ]*?)\s*->\s*(\w[\w ]*?)\)")


def copy_codes(name: str) -> tuple[int, int, int]:
    """Codes of the direction, source memory and destination memory of a copy, from its name; 0 for unknown.

    CUPTI writes ``Memcpy HtoD (Pinned -> Device)``, ROCm ``CopyHostToDevice`` and
    ``MEMORY_COPY_HOST_TO_DEVICE``, XLA ``MemcpyH2D``.
    """
    match = _DIRECTION.search(name)
    direction = _DIRECTIONS.get(match[1].lower().replace("_", ""), "") if match else ""
    places = _PLACES.search(name)
    unknown = MEMORY_CODES["unknown"]
    source = MEMORY_CODES.get(places[1].lower(), unknown) if places else unknown
    target = MEMORY_CODES.get(places[2].lower(), unknown) if places else unknown
    return _COPY_CODES.get(direction, 0), source, target


def memory_code(name: str) -> int:
    """Code of the memory that a set writes, from its name: ``Memset (Device)``."""
    place = _PLACE.search(name)
    return MEMORY_CODES.get(place[1].lower() if place else "", MEMORY_CODES["unknown"])
