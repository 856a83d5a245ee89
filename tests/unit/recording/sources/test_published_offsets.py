"""Offsets as CPythons published them: the first 94 words of `_PyRuntime` in Debian's 3.13.18, 3.14.10 and 3.15.2."""

from __future__ import annotations

import struct

import pytest

from warpline.recording.sources.python import remote_layout
from warpline.recording.sources.python.remote_memory import RemoteMemory

WORDS = {
    13: [
        283408, 608, 632, 194984, 7272, 7264, 7344, 7400, 7656, 7640, 7648, 16, 7752, 0, 7768, 7760, 312, 0, 8, 16, 72,
        152, 160, 232, 32, 80, 8, 0, 56, 72, 70, 208, 112, 120, 128, 136, 68, 52, 96, 104, 200, 16, 8, 416, 24, 88,
        168, 32, 24, 16, 40, 24, 16, 48, 32, 40, 24, 16, 32, 16, 24, 40, 16, 32, 64, 32, 16, 40, 240, 200,
    ],
    14: [
        316616, 784, 808, 225864, 7280, 7272, 7344, 7360, 7408, 7688, 7672, 7680, 16, 7784, 0, 7800, 7792, 7992, 0, 832,
        0, 8, 16, 72, 152, 160, 232, 32, 88, 8, 0, 56, 80, 74, 64, 0, 216, 112, 120, 128, 136, 68, 52, 96, 104, 208, 0,
        16, 8, 416, 24, 88, 168, 40, 32, 16, 40, 24, 16, 200, 24, 40, 32, 48, 32, 40, 24, 16, 32, 16, 24, 40, 16, 32,
        64, 32, 16, 40,
    ],
    15: [
        346568, 912, 936, 226240, 7272, 7264, 7336, 7352, 7400, 7592, 7576, 7584, 16, 7736, 0, 7752, 7744, 7944, 0, 888,
        0, 8, 16, 72, 80, 88, 96, 176, 184, 256, 32, 36, 40, 136, 288, 0, 88, 8, 0, 56, 80, 74, 64, 0, 216, 112, 120,
        128, 136, 68, 52, 96, 104, 208, 0, 16, 8, 424, 24, 88, 168, 32, 288, 944, 888, 40, 32, 16, 40, 24, 16, 200, 24,
        40, 32, 48, 32, 40, 24, 16, 32, 16, 24, 40, 16, 32, 64, 32, 16, 40, 56,
    ],
}  # fmt: skip
"""From the word behind version and build on: `_Py_DebugOffsets` of pycore_debug_offsets.h."""
SHARED = {
    "thread_next": 8, "thread_frame": 72, "frame_code": 0, "frame_instruction": 56, "frame_previous": 8,
    "code_filename": 112, "code_qualname": 128, "code_linetable": 136, "code_first_line": 68, "bytes_size": 16,
    "bytes_data": 32, "text_length": 16, "text_state": 32, "text_ascii": 40, "text_compact": 56,
}  # fmt: skip
OWN_NAMES = ("threads_head", "thread_native_id", "thread_chunk", "frame_owner", "code_instructions")
OWN = {13: (7344, 160, 232, 70, 200), 14: (7344, 160, 232, 74, 208), 15: (7336, 184, 256, 74, 208)}


class Published(RemoteMemory):
    """A process whose runtime begins with ``words``."""

    def __init__(self, words: list[int]) -> None:
        self._raw = struct.pack("<96Q", *words, *[0] * (96 - len(words)))

    def read(self, address: int, size: int) -> bytes | None:
        return self._raw[:size]


def published(minor: int, *, free_threaded: int = 0) -> Published:
    cookie = int.from_bytes(b"xdebugpy", "little")
    return Published([cookie, 0x030000F0 | minor << 16, free_threaded, *WORDS[minor]])


@pytest.mark.parametrize("minor", WORDS)
def test_published_offsets_are_found_by_version(minor: int) -> None:
    layouts = remote_layout._layouts(published(minor), 4096, minor)
    expected = {**SHARED, **dict(zip(OWN_NAMES, OWN[minor], strict=True))}
    assert expected in [{name: getattr(layout, name) for name in expected} for layout in layouts]


def test_a_version_to_come_and_a_build_without_the_gil_are_not_guessed() -> None:
    assert remote_layout._layouts(published(15), 4096, 16) == []
    assert remote_layout._layouts(published(14, free_threaded=1), 4096, 14) == []
