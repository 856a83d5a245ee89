"""Finds the source line of an address in the debug information (DWARF) of a program."""

from __future__ import annotations

import mmap
import os
import re
from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elftools.dwarf.dwarfinfo import DWARFInfo

_SYSTEM = re.compile(r"^/(usr|lib|lib64|bin|sbin)/|/(site|dist)-packages/|/lib(64)?/python\d|/lib-dynload/")
_MOST_UNITS = 5000
"""A file with more compilation units and no index is not searched."""


def has_own_lines(path: str) -> bool:
    """Whether a file may be the user's own program, rather than the system's or an installed package's."""
    return not _SYSTEM.search(path)


class SourceLines:
    """The source lines of one ELF file; those of a compilation unit are read when first needed."""

    def __init__(self, path: Path) -> None:
        """Raises whatever pyelftools does for damaged files."""
        from elftools.elf.elffile import ELFFile

        with path.open("rb") as file:
            # A mapping needs no closing, and large files no memory.
            elf = ELFFile(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        self._dwarf: DWARFInfo | None = (
            elf.get_dwarf_info(follow_links=False) if elf.get_section_by_name(".debug_line") else None
        )
        self._units: list[tuple[int, int, Any]] | None = None
        self._rows: dict[int, tuple[list[int], list[tuple[str, int]]]] = {}

    def find(self, address: int) -> tuple[str, int] | None:
        """The absolute path and line number at an address; None when unknown."""
        unit = self._unit_at(address)
        if unit is None:
            return None
        if unit.cu_offset not in self._rows:
            self._rows[unit.cu_offset] = self._read_rows(unit)
        starts, places = self._rows[unit.cu_offset]
        at = bisect_right(starts, address) - 1
        if at < 0 or not places[at][1]:
            return None
        return places[at]

    def _unit_at(self, address: int) -> Any:
        if self._dwarf is None:
            return None
        index = self._dwarf.get_aranges()
        offset = index.cu_offset_at_addr(address) if index is not None else None
        if offset is not None:
            return self._dwarf.get_CU_at(offset)
        if self._units is None:
            self._units = self._all_units()
        return next((unit for start, stop, unit in self._units if start <= address < stop), None)

    def _all_units(self) -> list[tuple[int, int, Any]]:
        """The address ranges of all compilation units, from their lines: not every compiler writes an index."""
        units: list[tuple[int, int, Any]] = []
        assert self._dwarf is not None
        for number, unit in enumerate(self._dwarf.iter_CUs()):
            if number >= _MOST_UNITS:
                return []
            starts, places = self._rows.setdefault(unit.cu_offset, self._read_rows(unit))
            first = None
            for start, (_file, line) in zip(starts, places, strict=True):
                if line and first is None:
                    first = start
                elif not line and first is not None:
                    units.append((first, start, unit))
                    first = None
        return units

    def _read_rows(self, unit: Any) -> tuple[list[int], list[tuple[str, int]]]:
        """Addresses, ascending, with the place that begins there; line 0 ends a sequence."""
        assert self._dwarf is not None
        program = self._dwarf.line_program_for_CU(unit)
        if program is None:
            return [], []
        folder = _text(unit.get_top_DIE().attributes.get("DW_AT_comp_dir"))
        files: dict[int, str] = {}
        rows: list[tuple[int, bool, str, int]] = []
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if state.file not in files:
                files[state.file] = _file_of(program, state.file, folder)
            rows.append(
                (
                    state.address,
                    not state.end_sequence,
                    files[state.file],
                    0 if state.end_sequence else state.line,
                )
            )
        rows.sort(key=lambda row: (row[0], row[1]))
        starts: list[int] = []
        places: list[tuple[str, int]] = []
        for address, _is_code, file, line in rows:
            if starts and starts[-1] == address:
                places[-1] = (file, line)
            else:
                starts.append(address)
                places.append((file, line))
        return starts, places


def _file_of(program: Any, number: int, folder: str) -> str:
    """The absolute path of a file of a line program; DWARF 5 counts from 0, earlier versions from 1."""
    header = program.header
    is_new = header["version"] >= 5
    entries = header["file_entry"]
    at = number if is_new else number - 1
    if not 0 <= at < len(entries):
        return ""
    entry = entries[at]
    folders = header["include_directory"]
    name = os.fsdecode(entry.name)
    if os.path.isabs(name):
        return os.path.normpath(name)
    place = entry.dir_index
    inner = ""
    if is_new and 0 <= place < len(folders):
        inner = os.fsdecode(folders[place])
    elif not is_new and 0 < place <= len(folders):
        inner = os.fsdecode(folders[place - 1])
    return os.path.normpath(os.path.join(folder, inner, name))


def _text(attribute: Any) -> str:
    return "" if attribute is None else os.fsdecode(attribute.value)
