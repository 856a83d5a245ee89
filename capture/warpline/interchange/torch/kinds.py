"""Attributes that PyTorch traces add to the built-in kinds."""

from __future__ import annotations

from warpline.model import BUILTIN_KINDS_BY_NAME, AttributeSpec, KindSpec

PAYLOAD = AttributeSpec("payload", "string", "Other arguments")
"""All arguments without their own attribute, as a JSON object."""
_INDEX = AttributeSpec("event_index", "int64", "Event index")
_FUNCTION = AttributeSpec("record_function_id", "int64", "Record function id")
_BANDWIDTH = AttributeSpec("bandwidth_gb_per_s", "float64", "Memory bandwidth", "GB/s")

_MORE: dict[str, tuple[AttributeSpec, ...]] = {
    "kernel": (AttributeSpec("shared_memory_bytes", "uint32", "Shared memory, static and dynamic", "bytes"),),
    "memcpy": (_BANDWIDTH,),
    "memset": (_BANDWIDTH,),
    "sync": (
        AttributeSpec("wait_on_stream", "int64", "Waits for stream"),
        AttributeSpec("recorded_by", "int64", "Event recorded by the call with correlation"),
    ),
    "gpu_event": (),
    "gpu_annotation": (),
    "cuda_api": (AttributeSpec("external_id", "int64", "External id"),),
    "operator": (_INDEX, _FUNCTION),
    "python": (AttributeSpec("module_id", "int64", "Module"), _INDEX),
    "phase": (_INDEX,),
    "range": (_INDEX, _FUNCTION),
    "memory": (_INDEX,),
    "overhead": (),
    "other": (),
    "diagnostic": (),
}


def _extended(name: str, more: tuple[AttributeSpec, ...]) -> KindSpec:
    known = BUILTIN_KINDS_BY_NAME[name]
    payload = () if any(spec.name == PAYLOAD.name for spec in known.attributes) else (PAYLOAD,)
    return KindSpec(name, known.title, known.category, known.color, (*more, *payload))


KINDS_WITH_MORE = tuple(_extended(name, more) for name, more in _MORE.items())
