"""Writes fields of protobuf messages, and Paddle's messages of events (``nodetree.proto`` of PaddlePaddle)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any

TYPES = {
    "Operator": 0,
    "Dataloader": 1,
    "ProfileStep": 2,
    "UserDefined": 7,
    "OperatorInner": 8,
    "Forward": 9,
    "Backward": 10,
    "Optimization": 11,
    "Communication": 12,
    "PythonOp": 13,
    "PythonUserDefined": 14,
    # Paddle's own numbers 15 and 16 are not in its schema: version 3.3 cannot read files that have them.
    "DygraphKernelLaunch": 8,
    "StaticKernelLaunch": 8,
}
"""Paddle's numbers of host types."""
DEVICE_TYPES = {"kernel": 4, "memcpy": 5, "memset": 6}
_KERNEL = {
    1: "block_x", 2: "block_y", 3: "block_z", 4: "grid_x", 5: "grid_y", 6: "grid_z", 7: "dynamic_shared_memory_bytes",
    8: "static_shared_memory_bytes", 9: "registers_per_thread", 10: "local_memory_per_thread_bytes", 11: "",
    12: "queued_ns", 13: "submitted_ns", 14: "",
}  # fmt: skip
"""Fields of a kernel, and our attributes; Paddle requires all of them."""
_DEVICE_PROPERTIES = {
    3: "memory_bytes", 4: "compute_major", 5: "compute_minor", 6: "max_threads_per_block", 7: "max_threads_per_sm",
    8: "max_registers_per_block", 9: "max_registers_per_sm", 10: "threads_per_warp",
    11: "max_shared_memory_per_block_bytes", 12: "max_shared_memory_per_sm_bytes", 13: "sm_count",
    14: "max_shared_memory_per_block_optin_bytes",
}  # fmt: skip


_SHORT = tuple(
    bytes([number]) if number < 128 else bytes([number & 127 | 128, number >> 7]) for number in range(1 << 14)
)
"""Varints of one and two bytes: tags, lengths and most numbers."""


def varint(number: int) -> bytes:
    """A number as a varint; a negative one in two's complement of 64 bits."""
    if 0 <= number < len(_SHORT):
        return _SHORT[number]
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    """A field with a number."""
    return varint(field << 3) + varint(value)


def block(field: int, content: bytes | str) -> bytes:
    """A field with a text or a message."""
    raw = content.encode("utf-8", "replace") if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def real(field: int, value: float) -> bytes:
    """A field with a float of 32 bits."""
    return varint(field << 3 | 5) + struct.pack("<f", value)


def host_event(name: str, code: int, start: int, stop: int, process: int, thread: int) -> bytes:
    """A HostTraceEventProto."""
    numbers = ((2, code), (3, start), (4, stop), (5, process), (6, thread))
    return block(1, name) + b"".join(integer(field, number) for field, number in numbers)


def runtime_event(
    name: str, start: int, stop: int, process: int, thread: int, correlation: int, callback: int
) -> bytes:
    """A CudaRuntimeTraceEventProto."""
    numbers = ((2, start), (3, stop), (4, process), (5, thread), (6, correlation), (7, callback))
    return block(1, name) + b"".join(integer(field, number) for field, number in numbers)


def device_event(
    kind: str,
    name: str,
    start: int,
    stop: int,
    place: tuple[int, int, int],
    correlation: int,
    values: Mapping[str, Any],
) -> bytes:
    """A DeviceTraceEventProto; ``place`` is device, context and stream, ``values`` our attributes."""
    numbers = (
        (2, DEVICE_TYPES[kind]),
        (3, start),
        (4, stop),
        *zip((5, 6, 7), place, strict=True),
        (8, correlation),
    )
    head = block(1, name) + b"".join(integer(field, number) for field, number in numbers)
    if kind == "kernel":
        detail = b"".join(integer(field, int(values.get(column, 0))) for field, column in _KERNEL.items())
        reals = ((15, "blocks_per_sm"), (16, "warps_per_sm"), (17, "occupancy_ratio"))
        return head + block(
            9, detail + b"".join(real(field, float(values.get(name, 0))) for field, name in reals)
        )
    size = integer(1, int(values.get("bytes", 0)))
    if kind == "memcpy":
        texts = ((2, "copy_kind"), (3, "src_kind"), (4, "dst_kind"))
        return head + block(
            10, size + b"".join(block(field, str(values.get(name, ""))) for field, name in texts)
        )
    return head + block(11, size + block(2, "") + integer(3, int(values.get("value", 0))))


def memory_event(
    time: int,
    operation: int,
    address: int,
    process: int,
    thread: int,
    change: int,
    device: str,
    totals: tuple[int, int],
) -> bytes:
    """A MemTraceEventProto; ``change`` is negative for a release. Peaks are written as the totals."""
    numbers = ((1, time), (2, operation), (3, address), (4, process), (5, thread), (6, change))
    head = b"".join(integer(field, number) for field, number in numbers)
    own, number = device.lower().partition(" ")[::2]
    place = f"Place({own or 'undefined'}{f':{number}' if number else ''})"
    sums = ((8, totals[0]), (9, totals[1]), (10, totals[0]), (11, totals[1]))
    return head + block(7, place) + b"".join(integer(field, number) for field, number in sums)


def supplement(
    number: int,
    time: int,
    name: str,
    process: int,
    thread: int,
    shapes: Mapping[str, Iterable[Iterable[int]]],
) -> bytes:
    """An OperatorSupplementEventProto with the shapes of inputs; ``number`` is that of the operator."""
    keys = b"".join(block(1, key) for key in shapes)
    vectors = b"".join(
        block(2, b"".join(block(1, b"".join(integer(1, size) for size in shape)) for shape in vector))
        for vector in shapes.values()
    )
    head = integer(1, time) + block(2, name) + integer(3, process) + integer(4, thread)
    return head + block(5, keys + vectors) + block(6, b"") + block(7, "") + integer(8, number)


def device_property(number: int, name: str, properties: Mapping[str, Any]) -> bytes:
    """A DevicePropertyProto."""
    own = (integer(field, int(properties.get(column, 0))) for field, column in _DEVICE_PROPERTIES.items())
    return integer(1, number) + block(2, name) + b"".join(own)
