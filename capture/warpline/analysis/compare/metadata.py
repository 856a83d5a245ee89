"""What two captures say of themselves and differ in: versions, command, GPUs, clocks, machine, what was recorded."""

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
    "sources": english("what was recorded"),
    "other": english("other"),
}
"""In the order in which they are told: what most often is the answer comes first."""
_OF_ONE_RUN = re.compile(
    r"(^|\.)(start_\w*|\w*nanoseconds|\w*time_ns|uuid|trace_?(id|name)|thread_accounting|imported_from|series|distributedInfo"
    r"|displayTimeUnit|alignment|page_fault_ns|recording\.(trace|attached)|stderr_tail|pauses?|pid|tid|deviceProperties|id|file)(\.|$)",
    re.IGNORECASE,
)
"""What is another in every run, and what is told better elsewhere."""
_GROUP_OF = (
    ("command", re.compile(r"command|argv|working_directory|exit_status|exit_signal", re.IGNORECASE)),
    ("versions", re.compile(r"version|^tool$|driver|schema|(^|\.)cuda$", re.IGNORECASE)),
    ("gpu", re.compile(r"gpu|device", re.IGNORECASE)),
    ("sources", re.compile(r"^trace$|^recording\.|^trace_header\.|record_|with_|profile_", re.IGNORECASE)),
    ("machine", re.compile(r"^host|cpu|memory|machine|system", re.IGNORECASE)),
)
_CLOCK = re.compile(r"clock|frequency", re.IGNORECASE)
_SAME_CLOCK = 0.02
"""Mean clocks that differ by less are the same."""


@dataclass(frozen=True)
class FactChange:
    """A fact that differs; None where a capture does not tell it. ``group`` is one of `GROUPS`."""

    group: str
    name: str
    a: str | None
    b: str | None


def compare_metadata(a: Capture, b: Capture) -> tuple[FactChange, ...]:
    """The facts in which two captures differ, the most telling groups first."""
    in_a, in_b = facts(a), facts(b)
    found = []
    for key in dict.fromkeys([*in_a, *in_b]):
        one, other = in_a.get(key), in_b.get(key)
        if one != other and not (key[0] == "clocks" and _is_same_clock(one, other)):
            found.append(FactChange(*key, _text(one), _text(other)))
    order = list(GROUPS)
    return tuple(sorted(found, key=lambda fact: (order.index(fact.group), fact.name)))


def facts(capture: Capture) -> dict[tuple[str, str], Any]:
    """What a capture tells of how it came to be, by (group, name)."""
    found: dict[tuple[str, str], Any] = {}
    for path, value in _flat(capture.meta, ""):
        name = path.removeprefix("trace_header.file.")
        if not _OF_ONE_RUN.search(name):
            group = next((group for group, pattern in _GROUP_OF if pattern.search(path)), "other")
            found[group, name] = value
    formats = capture.meta.get("imported_from")
    if isinstance(formats, list):
        found["sources", "format"] = ", ".join(sorted({str(one.get("format")) for one in formats}))
    names = [device.name or f"GPU {device.index}" for device in capture.devices]
    if names:
        found["gpu", "devices"] = ", ".join(names)
    # An importer is called like its file; what it found tells what was recorded.
    own = [source for source in capture.sources if not source.name.startswith("import ")]
    for source in own:
        found["sources", source.name] = source.enabled
    if not own:
        kinds = sorted(name for name, table in capture.kinds.items() if len(table))
        found["sources", "kinds of events"] = ", ".join(kinds)
    return found | _clocks(capture)


def _clocks(capture: Capture) -> dict[tuple[str, str], float]:
    """The mean of each counter that is a clock, over the whole capture."""
    found = {}
    for counter in capture.counters:
        if _CLOCK.search(counter.name):
            mean = float(counter.query(*capture.span, 1)[2][0])
            if not np.isnan(mean):
                title = capture.tracks[counter.track].title or capture.tracks[counter.track].uri
                found["clocks", f"{title} {counter.name} ({counter.unit})"] = mean
    return found


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        if all(not isinstance(one, Mapping | list) for one in value):
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
