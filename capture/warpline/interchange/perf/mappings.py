"""Which file an address of a process lies in."""

from __future__ import annotations

from bisect import bisect_right

KERNEL = -1
"""The process number that stands for the kernel's mappings."""


class Mappings:
    """The mapped files of all processes."""

    def __init__(self) -> None:
        self._starts: dict[int, list[int]] = {}
        self._files: dict[int, list[tuple[int, int, str]]] = {}
        self._parents: dict[int, int] = {}
        self._texts: dict[tuple[int, int], str] = {}

    def add(self, process: int, start: int, size: int, offset: int, file: str) -> None:
        """Note that a process mapped a file; it hides earlier mappings there."""
        starts = self._starts.setdefault(process, [])
        files = self._files.setdefault(process, [])
        at = bisect_right(starts, start)
        if at and starts[at - 1] == start:
            files[at - 1] = (start + size, start - offset, file)
        else:
            starts.insert(at, start)
            files.insert(at, (start + size, start - offset, file))
        self._texts.clear()

    def forked(self, process: int, parent: int) -> None:
        """Note that a forked process began with the mappings of another one."""
        if process != parent:
            self._parents[process] = parent
            self._texts.clear()

    def text(self, process: int, address: int) -> str:
        """``0x7f4b0 [libc.so.6]``: the place in the file, or the address if there is none."""
        text = self._texts.get((process, address))
        if text is None:
            text = self._texts[process, address] = self._find(process, address)
        return text

    def _find(self, process: int, address: int) -> str:
        for owner in (*self._line_of(process), KERNEL):
            starts = self._starts.get(owner, [])
            at = bisect_right(starts, address) - 1
            if at >= 0 and address < self._files[owner][at][0]:
                _stop, base, file = self._files[owner][at]
                # The kernel's is called ``[kernel.kallsyms]_text``.
                name = file[1:].partition("]")[0] if file.startswith("[") else file.rpartition("/")[2]
                # The kernel's addresses are those of its symbols.
                return f"0x{address if owner == KERNEL else address - base:x} [{name}]"
        return f"0x{address:x} [kernel]" if address >> 63 else f"0x{address:x} [unknown]"

    def _line_of(self, process: int) -> list[int]:
        line = [process]
        while (parent := self._parents.get(line[-1])) is not None and parent not in line and len(line) < 64:
            line.append(parent)
        return line
