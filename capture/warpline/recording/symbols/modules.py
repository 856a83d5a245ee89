"""Names of functions and their rules, file by file: read once, kept in the user's cache by build id."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from warpline.recording.symbols.demangle import demangle
from warpline.recording.symbols.elf import ElfFile, FunctionTable, read_elf
from warpline.recording.symbols.frame_rules import FrameRules
from warpline.recording.symbols.table_cache import cached_table

_INTERPRETER = re.compile(r"^(lib)?python3(\.\d+)?t?d?(\.so[.\d]*|\.dylib)?$")


def is_interpreter(module: str) -> bool:
    """Whether a file of this name is CPython."""
    return _INTERPRETER.match(module) is not None


@dataclass(frozen=True)
class NamedFunction:
    """A function of a library or program: ``name`` is empty where no symbol tells it."""

    name: str
    module: str
    start: int

    @property
    def text(self) -> str:
        """``deflate [libz.so.1.2.13]``, as frames of stacks say it."""
        return f"{self.name or hex(self.start)} [{self.module}]"


class Module:
    """One file. Whatever cannot be read leaves its functions without names, or its frames without rules."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = os.path.basename(path) or path

    @cached_property
    def _elf(self) -> ElfFile | None:
        # Files of any program come here, damaged ones too: none of them is worth a recording.
        with contextlib.suppress(Exception):
            return read_elf(Path(self.path))
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
        """The address that the file is loaded from, as it counts itself."""
        return 0 if self._elf is None else self._elf.first_address

    def address_of(self, offset: int) -> int:
        """The address, as the file counts, of a byte of it."""
        return offset if self._elf is None else self._elf.address_of(offset)

    def function(self, address: int) -> NamedFunction:
        """The function at an address of the file."""
        found = None if self._table is None else self._table.find(address)
        if found is not None:
            return NamedFunction(demangle(found[0]), self.name, found[1])
        start = None if self._rules is None else self._rules.start_of(address)
        return NamedFunction("", self.name, address if start is None else start)

    @property
    def rules(self) -> FrameRules | None:
        """How frames of its functions are found."""
        return self._rules


class Modules:
    """All files that are asked for."""

    def __init__(self) -> None:
        self._known: dict[str, Module] = {}

    def get(self, path: str) -> Module:
        """The module of a path."""
        module = self._known.get(path)
        if module is None:
            module = self._known[path] = Module(path)
        return module
