"""Distinguishes a program that the user has built from those of the system."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from warpline.recording.symbols.source_lines import has_own_lines

_INTERPRETER = re.compile(r"^(lib)?python3(\.\d+)?t?d?(\.so[.\d]*|\.dylib)?$")


def is_interpreter(module: str) -> bool:
    """Whether a file name is that of CPython."""
    return _INTERPRETER.match(module) is not None


def is_own_program(command: str) -> bool:
    """Whether a command is a native program with symbols, outside the system's folders, and not Python."""
    found = shutil.which(command)
    path = os.path.realpath(found) if found is not None else ""
    if not path or not has_own_lines(path) or is_interpreter(os.path.basename(path)):
        return False
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        return False
    try:
        with Path(path).open("rb") as file:
            return ELFFile(file).get_section_by_name(".symtab") is not None
    except (OSError, ELFError):
        return False
