"""Function names and frame rules by file, read once and cached by build id."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

from warpline.recording.symbols.demangle import demangle
from warpline.recording.symbols.elf import ElfFile, FunctionTable, read_elf
from warpline.recording.symbols.frame_rules import FrameRules
from warpline.recording.symbols.machine_files import machine_file
from warpline.recording.symbols.own_programs import is_interpreter
from warpline.recording.symbols.source_lines import SourceLines, has_own_lines
from warpline.recording.symbols.table_cache import cached_table

_KEPT = 32
"""Number of files that stay loaded: a watched recording is translated several times a second."""


@dataclass(frozen=True)
class NamedFunction:
    """A function of a library or program; ``name`` is empty without a symbol.

    ``line`` is ``/src/grid.c:12``, empty when unknown or when the file is not the user's own program.
    """

    name: str
    module: str
    start: int
    line: str = ""

    @property
    def text(self) -> str:
        """``deflate [libz.so.1.2.13]``, or ``blur (/src/blur.c:12)``, as in stack frames."""
        if self.name and self.line:
            return f"{self.name} ({self.line})"
        return f"{self.name or hex(self.start)} [{self.module}]"


class Module:
    """One file. If it cannot be read, its functions have no names and its frames no rules."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = machine_file(path)
        self.name = os.path.basename(path) or path

    @cached_property
    def _elf(self) -> ElfFile | None:
        # Damaged files may raise anything; that must not fail the recording.
        with contextlib.suppress(Exception):
            return read_elf(self._file)
        return None

    @cached_property
    def _table(self) -> FunctionTable | None:
        with contextlib.suppress(Exception):
            return None if self._elf is None else cached_table(self._elf)
        return None

    @cached_property
    def _rules(self) -> FrameRules | None:
        if self._elf is not None:
            with contextlib.suppress(Exception):
                return FrameRules(self._elf)
        return None

    @property
    def first_address(self) -> int:
        """The lowest address in the file's own numbering."""
        return 0 if self._elf is None else self._elf.first_address

    def address_of(self, offset: int) -> int:
        """The address of a file offset in the file's own numbering."""
        return offset if self._elf is None else self._elf.address_of(offset)

    @cached_property
    def _lines(self) -> SourceLines | None:
        if has_own_lines(self.path) and not is_interpreter(self.name):
            with contextlib.suppress(Exception):
                return SourceLines(self._file)
        return None

    def _line(self, address: int) -> str:
        if self._lines is not None:
            with contextlib.suppress(Exception):
                place = self._lines.find(address)
                return "" if place is None else f"{place[0]}:{place[1]}"
        return ""

    def function(self, address: int) -> NamedFunction:
        """The function at an address of the file, with its source line where that is known."""
        symbol = None if self._table is None else self._table.find(address)
        if symbol is not None:
            return NamedFunction(demangle(symbol[0]), self.name, symbol[1], self._line(address))
        start = None if self._rules is None else self._rules.start_of(address)
        return NamedFunction("", self.name, address if start is None else start)

    @property
    def rules(self) -> FrameRules | None:
        """The frame rules of its functions."""
        return self._rules


class Modules:
    """Modules by path, each created once; files that have not changed stay read for the next instance."""

    def __init__(self) -> None:
        self._known: dict[str, Module] = {}

    def get(self, path: str) -> Module:
        """The module of a path."""
        module = self._known.get(path)
        if module is None:
            module = self._known[path] = _module(path, _state(machine_file(path)))
        return module


@lru_cache(maxsize=_KEPT)
def _module(path: str, _state: tuple[str, int, int, int, int]) -> Module:
    return Module(path)


def _state(file: Path) -> tuple[str, int, int, int, int]:
    """Numbers that change when a file is replaced or written; equal for all missing files."""
    try:
        found = file.stat()
    except (OSError, ValueError):
        return str(file), 0, 0, 0, 0
    return str(file), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
