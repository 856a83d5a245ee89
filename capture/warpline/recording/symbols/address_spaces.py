"""Which file lies at which address of which process, as programs begin, fork and load libraries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Mapping:
    """Executable memory: ``size`` bytes from ``start`` on are those of ``path`` from ``offset`` on."""

    start: int
    size: int
    offset: int
    path: str


class AddressSpace:
    """The executable memory of one process while it runs one program. Of what lay at one place the last counts."""

    def __init__(self, inherited: Iterable[Mapping] = ()) -> None:
        self.mappings: list[Mapping] = list(inherited)
        self._starts: list[int] | None = None

    def add(self, mapping: Mapping) -> None:
        """Something was mapped, over what was there."""
        stop = mapping.start + mapping.size
        self.mappings = [
            other
            for other in self.mappings
            if other.start >= stop or other.start + other.size <= mapping.start
        ]
        self.mappings.append(mapping)
        self._starts = None

    def find(self, address: int) -> Mapping | None:
        """What lies at an address."""
        if self._starts is None:
            self.mappings.sort(key=lambda mapping: mapping.start)
            self._starts = [mapping.start for mapping in self.mappings]
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self.mappings[at].start + self.mappings[at].size:
            return None
        return self.mappings[at]


class AddressSpaces:
    """Those of all processes; told of what happens in the order of time, then asked."""

    def __init__(self) -> None:
        self._of: dict[int, list[tuple[int, AddressSpace]]] = {}

    def begin(self, time_ns: int, pid: int, parent: int) -> None:
        """A process was forked from ``parent``, or begins a program where that is 0."""
        known = self._of.get(parent)
        inherited = known[-1][1].mappings if parent and known else ()
        self._of.setdefault(pid, []).append((time_ns, AddressSpace(inherited)))

    def add(self, time_ns: int, pid: int, mapping: Mapping) -> None:
        """Something was mapped."""
        self._of.setdefault(pid, [(time_ns, AddressSpace())])[-1][1].add(mapping)

    def at(self, pid: int, time_ns: int) -> AddressSpace | None:
        """The memory of a process at a moment."""
        known = self._of.get(pid)
        if not known:
            return None
        return known[max(bisect_right(known, time_ns, key=lambda entry: entry[0]) - 1, 0)][1]
