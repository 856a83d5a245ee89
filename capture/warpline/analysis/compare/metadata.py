"""Compares the metadata of two captures: command, versions, GPUs, clocks, machine, recorded sources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.i18n import english

if TYPE_CHECKING:
    from warpline.storage import Capture

GROUPS = {
    "command": english("command"),
    "versions": english("versions"),
    "gpu": english("GPUs"),
    "clocks": english("clocks"),
    "machine": english("machine"),
    "sources": english("recording"),
    "other": english("other"),
}
"""In display order; the most likely explanation comes first."""
_RUN_SPECIFIC = re.compile(
    r"(^|\.)(start_\w*|\w*nanoseconds|\w*time_ns|uuid|trace_?(id|name)|thread_accounting|imported_from|series|distributedInfo"
    r"|displayTimeUnit|alignment|page_fault_ns|recording\.(trace|attached)|stderr_tail|pauses?|pid|tid|deviceProperties|id|file)(\.|$)",
    re.IGNORECASE,
)
"""Values that differ in every run, or that are shown elsewhere."""
_GROUP_OF = (
    ("command", re.compile(r"command|argv|working_directory|exit_status|exit_signal", re.IGNORECASE)),
    ("versions", re.compile(r"version|^tool$|driver|schema|(^|\.)cuda$", re.IGNORECASE)),
    ("gpu", re.compile(r"gpu|device", re.IGNORECASE)),
    ("sources", re.compile(r"^trace$|^recording\.|^trace_header\.|record_|with_|profile_", re.IGNORECASE)),
    ("machine", re.compile(r"^host|cpu|memory|machine|system", re.IGNORECASE)),
)
_CLOCK = re.compile(r"clock|frequency", re.IGNORECASE)
_SAME_CLOCK = 0.02
"""Mean clocks within this share of each other count as equal."""


@dataclass(frozen=True)
class FactChange:
    """A fact that differs; None when a capture does not have it. ``group`` is one of `GROUPS`."""

    group: str
    name: str
    a: str | None
    b: str | None


def compare_metadata(a: Capture, b: Capture) -> tuple[FactChange, ...]:
    """The facts in which two captures differ, in the order of `GROUPS`."""
    in_a, in_b = facts(a), facts(b)
    changes = []
    for key in dict.fromkeys([*in_a, *in_b]):
        value_a, value_b = in_a.get(key), in_b.get(key)
        if value_a != value_b and not (key[0] == "clocks" and _is_same_clock(value_a, value_b)):
            changes.append(FactChange(*key, _text(value_a), _text(value_b)))
    order = list(GROUPS)
    return tuple(sorted(changes, key=lambda fact: (order.index(fact.group), fact.name)))


def facts(capture: Capture) -> dict[tuple[str, str], Any]:
    """The facts about how a capture was made, by (group, name)."""
    result: dict[tuple[str, str], Any] = {}
    for path, value in _flat(capture.meta, ""):
        name = path.removeprefix("trace_header.file.")
        if not _RUN_SPECIFIC.search(name):
            group = next((group for group, pattern in _GROUP_OF if pattern.search(path)), "other")
            result[group, name] = value
    formats = capture.meta.get("imported_from")
    if isinstance(formats, list):
        result["sources", "format"] = ", ".join(sorted({str(file.get("format")) for file in formats}))
    names = [device.name or f"GPU {device.index}" for device in capture.devices]
    if names:
        result["gpu", "devices"] = ", ".join(names)
    # An importer's source is named after its file; its kinds of events say what was recorded.
    own = [source for source in capture.sources if not source.name.startswith("import ")]
    for source in own:
        result["sources", source.name] = source.enabled
    if not own:
        kinds = sorted(name for name, table in capture.kinds.items() if len(table))
        result["sources", "kinds of events"] = ", ".join(kinds)
    return result | _clocks(capture)


def _clocks(capture: Capture) -> dict[tuple[str, str], float]:
    """The mean of each clock counter over the whole capture."""
    means = {}
    for counter in capture.counters:
        if _CLOCK.search(counter.name):
            mean = float(counter.query(*capture.span, 1)[2][0])
            if not np.isnan(mean):
                title = capture.tracks[counter.track].title or capture.tracks[counter.track].uri
                means["clocks", f"{title} {counter.name} ({counter.unit})"] = mean
    return means


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        if all(not isinstance(item, Mapping | list) for item in value):
            yield path, " ".join(map(str, value))
    elif value not in (None, ""):
        yield path, value


def _is_same_clock(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and abs(b - a) <= _SAME_CLOCK * max(abs(a), abs(b))


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.0f}" if isinstance(value, float) else str(value)
