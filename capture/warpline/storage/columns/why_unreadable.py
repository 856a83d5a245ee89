"""Why a file cannot be opened as a capture, from its first bytes: cut off, unfinished, of another program.

The layout is that of the HDF5 File Format Specification, III.A (superblock, versions 0 to 3).
"""

from __future__ import annotations

import shlex
import struct
from dataclasses import dataclass
from pathlib import Path

from warpline.i18n import tr

SIGNATURE = b"\x89HDF\r\n\x1a\n"

_WRITING = 0b101
"""Consistency flags that are set while a file is being written, with or without concurrent readers."""
_END_OF_FILE_AT = {0: 40, 1: 44, 2: 28, 3: 28}
_BYTES_READ = 64
_NAME_SHOWN = 40


@dataclass(frozen=True)
class Superblock:
    """What the beginning of an HDF5 file says of the whole: the length it should have, whether it was closed."""

    stop: int
    is_open: bool


def read_superblock(path: Path) -> Superblock | None:
    """The superblock of a file; None when it has none that is known, or is shorter than one."""
    with path.open("rb") as file:
        head = file.read(_BYTES_READ)
    if not head.startswith(SIGNATURE) or len(head) < _BYTES_READ:
        return None
    version = head[8]
    place = _END_OF_FILE_AT.get(version)
    # Addresses need not be 8 bytes wide, but nobody writes others.
    if place is None or head[9 if version >= 2 else 13] != 8:
        return None
    return Superblock(struct.unpack_from("<Q", head, place)[0], version == 3 and bool(head[11] & _WRITING))


def why_truncated(path: Path, size: int) -> str:
    """How much of an HDF5 file of ``size`` bytes is missing; empty when it is as long as it says."""
    block = read_superblock(path)
    if block is None and size < _BYTES_READ:
        return tr("it is cut off: only the first {size} bytes are there; copy it again", size=f"{size:,}")
    if block is not None and size < block.stop:
        return tr(
            "it is cut off: {size} of {whole} bytes are there; copy or download it again",
            size=f"{size:,}",
            whole=f"{block.stop:,}",
        )
    return ""


def why_unreadable(path: Path, size: int) -> str:
    """What is wrong with a file of ``size`` bytes that HDF5 refuses, and what to do; without HDF5's own words."""
    if why := why_truncated(path, size):
        return why
    block = read_superblock(path)
    if block is not None and block.is_open:
        return tr(
            "it is still being written, or its writer was stopped before the end; record or convert it again"
        )
    return tr("its directory is damaged; copy it again, or record or convert it again")


def why_not_hdf5(path: Path, size: int) -> str:
    """What to do with a file that does not begin like HDF5."""
    if not size:
        return tr("it is empty")
    return tr(
        "it is not a capture of Warpline; if another profiler wrote it: {command}", command=_import_of(path)
    )


def _import_of(path: Path) -> str:
    return f"warpline import {shlex.quote(str(path))} -o OUT.h5"


def why_no_capture(path: Path, names: list[str]) -> str:
    """What an HDF5 file without the mark of a capture is, from the names in its root group."""
    if "StringIds" in names:
        return tr(
            "it is not a capture of Warpline but an export of Nsight Systems; open it in the window, or: {command}",
            command=_import_of(path),
        )
    if not names:
        return tr("it is an HDF5 file but not a capture: it is empty")
    shown = ", ".join(name[:_NAME_SHOWN] for name in names[:4]) + (", …" if len(names) > 4 else "")
    return tr("it is an HDF5 file of another program but not a capture (it holds {names})", names=shown)


def why_other_version(found: object, known: int) -> str:
    """What to do with a capture of another version of the format."""
    if isinstance(found, int) and found > known:
        return tr(
            "it is a capture of format version {found} from a newer Warpline; this one reads version {known}: "
            "install a newer Warpline",
            found=found,
            known=known,
        )
    return tr(
        "it is a capture of format version {found}, from before the format was finished; this Warpline reads version "
        "{known}: record it or convert it again",
        found=repr(found),
        known=known,
    )
