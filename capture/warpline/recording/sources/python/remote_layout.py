"""Where things lie inside a CPython of another process: 3.11 and 3.12 by table, 3.13 and later as it publishes them.

The numbers are in `interpreter_offsets`.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from warpline.recording.sources.python.interpreter_offsets import FIELDS, GROUPS, OFFSETS, PUBLISHED
from warpline.recording.sources.python.remote_memory import RemoteMemory

_SYMBOLS = (b"_PyRuntime", b"Py_Version")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLES = (11, 2)  # SHT_DYNSYM, SHT_SYMTAB
_PYTHON = re.compile(r"(lib)?python3[^/]*$")


@dataclass(frozen=True, kw_only=True)
class RemoteLayout:
    """Offsets in bytes; `thread_frame` is 0 where the way to the frames is through the C frame."""

    runtime: int
    interpreters_head: int
    interpreter_next: int
    threads_head: int
    thread_next: int
    thread_native_id: int
    thread_chunk: int
    thread_frame: int
    thread_cframe: int = 0
    cframe_frame: int = 0
    frame_code: int
    frame_instruction: int
    frame_previous: int
    frame_owner: int
    code_filename: int
    code_qualname: int
    code_linetable: int
    code_first_line: int
    code_instructions: int
    text_ascii: int
    text_compact: int
    bytes_size: int
    bytes_data: int
    text_length: int
    text_state: int


_FIELDS = struct.Struct("<96Q")
_COOKIE = int.from_bytes(b"xdebugpy", "little")


def find_layouts(memory: RemoteMemory) -> list[RemoteLayout]:
    """The layouts that the Python of a process may have, none when it runs none that is known.

    Raises Unavailable when its memory may not be read.
    """
    found = find_runtime(memory)
    return _layouts(memory, *found) if found is not None else []


def python_of(memory: RemoteMemory) -> tuple[str, bool] | None:
    """The version of Python in a process, such as ``3.12``, and whether its stacks can be read; None without one.

    Raises Unavailable when its memory may not be read.
    """
    found = find_runtime(memory)
    return (f"3.{found[1]}", bool(_layouts(memory, *found))) if found is not None else None


def find_runtime(memory: RemoteMemory) -> tuple[int, int] | None:
    """Where a process keeps the state of Python 3, and the minor version."""
    for path, base in _python_files(memory.pid):
        symbols = _symbols(f"/proc/{memory.pid}/root{path}")
        if len(symbols) < len(_SYMBOLS):
            continue
        runtime, version_at = (base + symbols[name] for name in _SYMBOLS)
        version = memory.read(version_at, 4)
        if version is None:
            continue
        number = int.from_bytes(version, "little")
        major, minor = number >> 24, number >> 16 & 0xFF
        if major == 3:
            return runtime, minor
    return None


def _layouts(memory: RemoteMemory, runtime: int, minor: int) -> list[RemoteLayout]:
    if minor in OFFSETS:
        return [RemoteLayout(runtime=runtime, **OFFSETS[minor])]
    raw = memory.read(runtime, _FIELDS.size)
    if raw is None:
        return []
    published = _FIELDS.unpack(raw)
    if published[0] != _COOKIE or published[2]:  # the second: free-threaded
        return []
    layouts = []
    for version, begins in PUBLISHED:
        if version == minor:
            group_begin = dict(zip(GROUPS, begins, strict=True))
            offsets = {
                name: published[group_begin[group] + place] + added
                for name, (group, place, added) in FIELDS.items()
            }
            layouts.append(RemoteLayout(runtime=runtime, **offsets))
    return layouts


def _python_files(pid: int) -> list[tuple[str, int]]:
    """Files with a Python in them that a process has mapped, and where each begins in its memory."""
    found: dict[str, int] = {}
    try:
        with open(f"/proc/{pid}/maps") as maps:
            for line in maps:
                words = line.split(maxsplit=5)
                if len(words) == 6 and int(words[2], 16) == 0 and _PYTHON.search(words[5].strip()):
                    found.setdefault(words[5].strip(), int(words[0].partition("-")[0], 16))
    except OSError:
        return []
    return list(found.items())


def _symbols(path: str) -> dict[bytes, int]:
    """Where the symbols lie in a file's memory image, relative to its beginning; those that it has."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return {}
    if data[:6] != b"\x7fELF\x02\x01":
        return {}
    table, size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
    sections = [_SECTION.unpack_from(data, table + place * size) for place in range(count)]
    first = min(
        (segment[3] for segment in _segments(data) if segment[0] == 1),
        default=0,
    )
    found: dict[bytes, int] = {}
    for section in sections:
        if section[1] not in _SYMBOL_TABLES:
            continue
        names = sections[section[6]]
        texts = data[names[4] : names[4] + names[5]]
        places = {texts.find(b"\0" + name + b"\0") + 1: name for name in _SYMBOLS}
        for symbol in _SYMBOL.iter_unpack(data[section[4] : section[4] + section[5] // 24 * 24]):
            name = places.get(symbol[0]) if symbol[0] else None
            if name is not None and symbol[4]:
                found.setdefault(name, symbol[4] - first)
    return found


def _segments(data: bytes) -> list[tuple[int, ...]]:
    table, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    return [struct.unpack_from("<IIQQQQQQ", data, table + place * size) for place in range(count)]
