"""Tracks which file is mapped at which address of each process, across execs, forks and loaded libraries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Mapping:
    """Executable memory: ``size`` bytes at ``start`` are mapped from ``offset`` in ``path``."""

    start: int
    size: int
    offset: int
    path: str


class AddressSpace:
    """The executable memory of one process while it runs one program. Later mappings replace earlier ones."""

    def __init__(self, inherited: Iterable[Mapping] = ()) -> None:
        self.mappings: list[Mapping] = list(inherited)
        self._starts: list[int] | None = None

    def add(self, mapping: Mapping) -> None:
        """Add a mapping; it replaces those it overlaps."""
        stop = mapping.start + mapping.size
        self.mappings = [
            other
            for other in self.mappings
            if other.start >= stop or other.start + other.size <= mapping.start
        ]
        self.mappings.append(mapping)
        self._starts = None

    def find(self, address: int) -> Mapping | None:
        """The mapping at an address; None if there is none."""
        if self._starts is None:
            self.mappings.sort(key=lambda mapping: mapping.start)
            self._starts = [mapping.start for mapping in self.mappings]
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self.mappings[at].start + self.mappings[at].size:
            return None
        return self.mappings[at]


class AddressSpaces:
    """The address spaces of all processes. Add events in order of time first, then query."""

    def __init__(self) -> None:
        self._by_pid: dict[int, list[tuple[int, AddressSpace]]] = {}

    def begin(self, time_ns: int, pid: int, parent: int) -> None:
        """Start an address space: a copy of ``parent``'s after a fork, empty after an exec (``parent`` is 0)."""
        known = self._by_pid.get(parent)
        inherited = known[-1][1].mappings if parent and known else ()
        self._by_pid.setdefault(pid, []).append((time_ns, AddressSpace(inherited)))

    def add(self, time_ns: int, pid: int, mapping: Mapping) -> None:
        """Add a mapping to the current address space of a process."""
        self._by_pid.setdefault(pid, [(time_ns, AddressSpace())])[-1][1].add(mapping)

    def at(self, pid: int, time_ns: int) -> AddressSpace | None:
        """The address space of a process at a time; None if unknown."""
        known = self._by_pid.get(pid)
        if not known:
            return None
        return known[max(bisect_right(known, time_ns, key=lambda entry: entry[0]) - 1, 0)][1]
