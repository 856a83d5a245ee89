"""The attributes of an event as text: description, inputs, identifiers, and what was not recorded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.i18n import tr, translated
from warpline.model import Flag
from warpline.model.kinds import BUILTIN_KINDS_BY_NAME, AttributeSpec, KindSpec
from warpline.model.sizes import format_bytes
from warpline.model.times import format_duration
from warpline_app.panels.facts.fact import Fact
from warpline_app.panels.facts.input_facts import (
    INPUT_ATTRIBUTES,
    arguments_of,
    compact,
    input_facts,
    is_input_argument,
)

if TYPE_CHECKING:
    from warpline.storage import Capture

_PAYLOAD = "payload"
"""arguments without a column of their own, as JSON text"""
_WAIT_ATTRIBUTES = frozenset(("reason", "wait", "place", "holder", "ended_by", "holder_place"))
"""Attributes that `wait_facts` describes."""
_TRACK_ATTRIBUTES = frozenset(("process", "thread", "device", "context", "stream", "rank"))
"""Attributes given by the event's track."""


@dataclass(frozen=True)
class AttributeFacts:
    """The attributes in display order."""

    what: tuple[Fact, ...] = ()
    inputs: tuple[Fact, ...] = ()
    identifiers: tuple[Fact, ...] = ()
    missing: tuple[Fact, ...] = ()


def attribute_text(capture: Capture, spec: AttributeSpec, value: Any) -> str:
    """Value of an attribute with its unit; string ids become texts."""
    if value is None:
        return tr("not recorded")
    if spec.dtype == "string":
        text = capture.strings[int(value)]
        return translated(text) if spec.name == "reason" else text
    if spec.enum:
        return translated(spec.enum.get(int(value), f"{value}"))
    if spec.unit == "ns":
        return format_duration(int(value), 6)
    if spec.unit == "bytes":
        exact = f"{int(value):,}"
        short = format_bytes(value)
        return short if short == f"{exact} B" else f"{short}  ({exact})"
    if spec.unit == "ratio":
        return f"{100 * float(value):.4g} %"
    if spec.name.endswith("_argb"):
        return f"#{int(value) & 0xFFFFFF:06x}"
    if spec.name == "address":
        return f"0x{int(value):x}"
    if spec.dtype == "bool":
        return tr("yes") if value else tr("no")
    if isinstance(value, float):
        return f"{value:.6g}" + (f" {translated(spec.unit)}" if spec.unit else "")
    is_id = spec.name.endswith(("_id", "correlation", "process", "thread"))
    return (str(value) if is_id else f"{value:,}") + (f" {translated(spec.unit)}" if spec.unit else "")


def attribute_facts(capture: Capture, kind: str, row: int, values: dict[str, Any]) -> AttributeFacts:
    """All attributes of an event of a kind."""
    table = capture.kinds.get(kind)
    if table is None:
        return AttributeFacts()
    payload = values.get(_PAYLOAD)
    arguments = arguments_of(capture.strings[int(payload)]) if payload is not None else None
    texts = {
        name: capture.strings[int(value)]
        for name in INPUT_ATTRIBUTES
        if (value := values.get(name)) is not None
    }
    inputs = input_facts(texts, arguments or {})
    shown_elsewhere = set(_WAIT_ATTRIBUTES if values.get("wait") else ())
    if inputs:
        shown_elsewhere |= INPUT_ATTRIBUTES
        if arguments is not None:
            arguments = {name: value for name, value in arguments.items() if not is_input_argument(name)}
    if arguments is not None:
        shown_elsewhere.add(_PAYLOAD)
    specs = [
        spec for spec in _in_order(table.spec) if spec.dtype != "stack" and spec.name not in shown_elsewhere
    ]
    what = [_fact_of(capture, spec, values) for spec in specs if not is_identifier(spec.name)]
    duration = int(capture.events.duration[row])
    if values.get("bytes") and duration > 0 and kind in {"memcpy", "memset"}:
        rate = format_bytes(int(values["bytes"]) / duration * 1e9)
        what.append(Fact(tr("Throughput"), f"{rate}/s"))
    what += [
        Fact(name, compact(value)) for name, value in (arguments or {}).items() if not is_identifier(name)
    ]
    identifiers = [_fact_of(capture, spec, values) for spec in specs if is_identifier(spec.name)]
    identifiers += [
        Fact(name, compact(value)) for name, value in (arguments or {}).items() if is_identifier(name)
    ]
    track = capture.tracks[capture.track_of_row(row)]
    missing = [
        spec
        for spec in specs
        if values.get(spec.name) is None
        and _axis(spec.name) in {"", "x"}
        and not (spec.name in _TRACK_ATTRIBUTES and getattr(track, spec.name) is not None)
        and _could_have(kind, int(capture.events.flags[row]), values, spec.name)
    ]
    return AttributeFacts(
        tuple(fact for fact in what if fact is not None),
        inputs,
        tuple(fact for fact in identifiers if fact is not None),
        (Fact("", ", ".join(_stem_title(spec) for spec in missing)),) if missing else (),
    )


def _could_have(kind: str, flags: int, values: dict[str, Any], name: str) -> bool:
    """Whether there is a value to record: a waiting thread is on no core, a running one waits for nothing, and most
    code is not an asyncio task.
    """
    if name == "task":
        return False
    if kind == "thread_state":
        if flags & Flag.WAITING:
            return name == "woken_by"
        return (name == "cpu") != bool(flags & Flag.IDLE)
    return not (kind == "osrt" and values.get("wait")) or name == "caller"


def is_identifier(name: str) -> bool:
    """Whether an attribute only identifies something; ``external id`` counts like ``external_id``."""
    return name.casefold().replace(" ", "_").endswith(("_id", "correlation", "event_index", "address"))


def _in_order(kind: KindSpec) -> list[AttributeSpec]:
    """Attributes in the order of the built-in kind, then those added by the capture."""
    builtin = BUILTIN_KINDS_BY_NAME.get(kind.name)
    usual = {spec.name: index for index, spec in enumerate(builtin.attributes)} if builtin is not None else {}
    return sorted(kind.attributes, key=lambda spec: usual.get(spec.name, len(usual)))


def _axis(name: str) -> str:
    """``x``, ``y`` or ``z`` of a three-part size; empty otherwise."""
    return name[-1] if name[-2:] in {"_x", "_y", "_z"} else ""


def _stem_title(spec: AttributeSpec) -> str:
    return translated(spec.name[:-2].capitalize() if _axis(spec.name) else spec.title)


def _title(capture: Capture, spec: AttributeSpec) -> str:
    """Title of an attribute; PyTorch's occupancy estimate keeps its name."""
    formats = capture.meta.get("imported_from")
    sources = formats if isinstance(formats, list) and spec.name == "occupancy_ratio" else []
    is_estimate = any(isinstance(entry, dict) and entry.get("format") == "torch" for entry in sources)
    return translated("Est. Achieved Occupancy" if is_estimate else spec.title)


def _fact_of(capture: Capture, spec: AttributeSpec, values: dict[str, Any]) -> Fact | None:
    """The line of an attribute, one for all three parts of a size; None if not recorded."""
    axis = _axis(spec.name)
    if not axis:
        value = values.get(spec.name)
        if spec.name == "occupancy_ratio":
            # A kernel that ran had warps: profilers write 0 if they could not estimate.
            value = value or None
        return None if value is None else Fact(_title(capture, spec), attribute_text(capture, spec, value))
    parts = [values.get(f"{spec.name[:-2]}_{letter}") for letter in "xyz"]
    if axis != "x" or None in parts:
        return None
    total = int(np.prod([int(part) for part in parts if part is not None], dtype=object))
    text = " × ".join(str(part) for part in parts)
    return Fact(_stem_title(spec), text, note=f"= {total:,} {translated(spec.unit)}")
