"""Reads function names, addresses and frame information from ELF files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from warpline.recording.symbols.machine_files import is_elsewhere

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

UInt64Array = npt.NDArray[np.uint64]

_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_FUNCTION, _INDIRECT_FUNCTION = 2, 10
_LOCAL = 0
_DAMAGED = (
    KeyError, IndexError, AttributeError, TypeError, AssertionError, UnicodeDecodeError, OverflowError, MemoryError,
    RecursionError, ArithmeticError,
)  # fmt: skip
"""Errors that pyelftools raises for damaged files, besides its own."""
_NO_ADDRESS = 1 << 62
"""Above any load address; differences to addresses below it fit 64 bits."""
_DEBUG_FOLDER = Path("/usr/lib/debug")


@dataclass(frozen=True)
class ElfSection:
    """A section: its address, and its offset and size in the file."""

    address: int
    offset: int
    size: int


@dataclass(frozen=True, kw_only=True)
class ElfFile:
    """The layout of an ELF file. ``segments``: (offset in the file, size there, address) of loaded segments.

    ``tables``: (symbols, their names) as bytes, the larger one first.
    """

    path: Path
    build_id: str
    segments: tuple[tuple[int, int, int], ...]
    tables: tuple[tuple[bytes, bytes], ...]
    frames: ElfSection | None
    frame_index: ElfSection | None

    @property
    def first_address(self) -> int:
        """The lowest address, rounded down to a page."""
        return min((address for _start, _size, address in self.segments), default=0) & ~0xFFF

    def address_of(self, offset: int) -> int:
        """The load address of a file offset; the offset itself if it is not loaded."""
        for start, size, address in self.segments:
            if start <= offset < start + size:
                return address + offset - start
        return offset


def read_elf(path: Path) -> ElfFile:
    """Read the layout of a 64-bit little-endian ELF file, with the symbols of its separate debug file if there is one.

    Raises OSError, and ValueError for other files.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            if elf.elfclass != 64 or not elf.little_endian:
                raise ValueError(f"{path}: not a 64-bit little-endian file")
            build_id = _build_id(elf)
            tables = list(_tables(elf))
            if elf.get_section_by_name(".symtab") is None:
                tables = [*_tables_of_debug_file(path, build_id, elf), *tables]
            return ElfFile(
                path=path,
                build_id=build_id,
                segments=tuple(
                    (segment["p_offset"], segment["p_filesz"], segment["p_vaddr"])
                    for segment in elf.iter_segments("PT_LOAD")
                ),
                tables=tuple(tables),
                frames=_section(elf, ".eh_frame"),
                frame_index=_section(elf, ".eh_frame_hdr"),
            )
    except (*_DAMAGED, ELFError) as error:
        raise ValueError(f"{path}: {error or type(error).__name__}") from error


def _tables(elf: ELFFile) -> Iterator[tuple[bytes, bytes]]:
    for name in (".symtab", ".dynsym"):
        section: Any = elf.get_section_by_name(name)
        if section is not None and section["sh_type"] != "SHT_NOBITS":
            yield section.data(), elf.get_section(section["sh_link"]).data()


def _section(elf: ELFFile, name: str) -> ElfSection | None:
    section = elf.get_section_by_name(name)
    if section is None or section["sh_type"] == "SHT_NOBITS":
        return None
    place = ElfSection(section["sh_addr"], section["sh_offset"], section["sh_size"])
    return None if place.address >= _NO_ADDRESS or place.offset + place.size > elf.stream_len else place


def _build_id(elf: ELFFile) -> str:
    section: Any = elf.get_section_by_name(".note.gnu.build-id")
    if section is None:
        return ""
    return next((str(note["n_desc"]) for note in section.iter_notes()), "")


def _tables_of_debug_file(path: Path, build_id: str, elf: ELFFile) -> list[tuple[bytes, bytes]]:
    """The symbols of a stripped file from its separate debug file."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    if is_elsewhere():
        return []
    for candidate in debug_files(path, build_id, _debug_link(elf)):
        try:
            with candidate.open("rb") as stream:
                other = ELFFile(stream)
                if not build_id or _build_id(other) == build_id:
                    return list(_tables(other))
        except (OSError, ELFError):
            continue
    return []


def _debug_link(elf: ELFFile) -> str:
    section = elf.get_section_by_name(".gnu_debuglink")
    return "" if section is None else os.fsdecode(section.data().split(b"\0")[0])


def debug_files(path: Path, build_id: str, link: str) -> list[Path]:
    """Possible debug files of a library, likeliest first (GDB manual, *Separate Debug Files*)."""
    places: list[Path] = []
    if len(build_id) > 2:
        places.append(_DEBUG_FOLDER / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug")
    if link:
        folder = path.parent
        places += [folder / link, folder / ".debug" / link, _DEBUG_FOLDER / folder.relative_to("/") / link]
    return [place for place in places if place != path]


@dataclass(frozen=True)
class FunctionTable:
    """Functions by address, columns [n]: ``start`` and ``stop`` uint64, ``name`` offset and ``length`` in ``texts``."""

    start: UInt64Array
    stop: UInt64Array
    name: UInt64Array
    texts: bytes

    def find(self, address: int) -> tuple[str, int] | None:
        """The function at an address: its linker name and its start; None if there is none."""
        at = int(np.searchsorted(self.start, np.uint64(address), "right")) - 1
        if at < 0 or address >= int(self.stop[at]):
            return None
        first = int(self.name[at])
        return self.texts[first : self.texts.index(b"\0", first)].decode("utf-8", "replace"), int(
            self.start[at]
        )


def function_table(elf: ElfFile) -> FunctionTable:
    """All named functions; of several names for one address the most public one."""
    columns: list[tuple[npt.NDArray[np.void], int, bytes]] = []
    texts, base = b"", 0
    for symbols, names in elf.tables:
        rows = np.frombuffer(symbols, _SYMBOL, len(symbols) // _SYMBOL.itemsize)
        kind = rows["info"] & 15
        known = ((kind == _FUNCTION) | (kind == _INDIRECT_FUNCTION)) & (rows["section"] != 0)
        known &= (rows["value"] != 0) & (rows["name"] < len(names))
        columns.append((rows[known], base, names))
        texts += names + b"\0"
        base = len(texts)
    if not columns:
        none = np.empty(0, np.uint64)
        return FunctionTable(none, none, none, b"\0")
    start = np.concatenate([rows["value"] for rows, _base, _names in columns])
    size = np.concatenate([rows["size"] for rows, _base, _names in columns])
    name = np.concatenate([rows["name"].astype(np.uint64) + np.uint64(own) for rows, own, _n in columns])
    is_local = np.concatenate([rows["info"] >> 4 == _LOCAL for rows, _base, _names in columns])
    letters = np.frombuffer(texts, np.uint8)
    is_inner = letters[name.astype(np.int64)] == ord("_")
    # All C++ names begin with an underscore.
    is_mangled = is_inner & (letters[np.minimum(name.astype(np.int64) + 1, len(letters) - 1)] == ord("Z"))
    order = np.lexsort((is_inner & ~is_mangled, is_local, size == 0, start))
    start, size, name = start[order], size[order], name[order]
    first = np.r_[True, start[1:] != start[:-1]] if len(start) else np.empty(0, bool)
    start, size, name = start[first], size[first], name[first]
    following = np.r_[start[1:], start[-1:] + np.uint64(4096)]
    # Functions written in assembler have no size: they extend to the next one.
    stop = np.where(
        size == 0, following, np.minimum(start + size, np.maximum(following, start + np.uint64(1)))
    )
    return FunctionTable(start, stop.astype(np.uint64), name, texts)
