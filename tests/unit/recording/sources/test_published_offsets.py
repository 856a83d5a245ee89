"""Offsets as CPythons published them: the first 94 words of `_PyRuntime` in Debian's 3.13.18, 3.14.10 and 3.15.2."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest

from warpline.recording.sources.python import remote_exec, remote_layout
from warpline.recording.sources.python.remote_memory import RemoteMemory
from warpline.recording.unavailable import Unavailable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other processes are read on Linux only")

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


DEBUGGER = {14: (89, [24, 304, 8076, 0, 4, 512]), 15: (105, [24, 344, 8028, 0, 4, 512])}
"""Where the words about scripts from outside begin, and they: `eval_breaker`, `remote_debugger_support` …"""
RUNTIME, INTERPRETER, THREAD = 0x1000, 0x100000, 0x200000


class Published(RemoteMemory):
    """A process whose runtime begins with ``words``: one interpreter with one thread."""

    def __init__(self, words: list[int], is_open: int = 1) -> None:
        self.written: list[tuple[int, bytes]] = []
        self._raw = struct.pack("<112Q", *words, *[0] * (112 - len(words)))
        self._words = {RUNTIME + words[5]: INTERPRETER, INTERPRETER + words[10]: THREAD, THREAD + 24: 1 << 32}
        self._is_open = is_open

    def read(self, address: int, size: int) -> bytes | None:
        if address == RUNTIME:
            return self._raw[:size]
        return struct.pack("<q", self._words.get(address, self._is_open))[:size]

    def write(self, address: int, data: bytes) -> None:
        self.written.append((address, data))


def published(minor: int, *, free_threaded: int = 0, is_open: int = 1) -> Published:
    cookie = int.from_bytes(b"xdebugpy", "little")
    words = [cookie, 0x030000F0 | minor << 16, free_threaded, *WORDS[minor]]
    at, scripts = DEBUGGER.get(minor, (len(words), []))
    return Published([*words[:at], *[0] * (at - len(words)), *scripts], is_open)


@pytest.mark.parametrize("minor", WORDS)
def test_published_offsets_are_found_by_version(minor: int) -> None:
    layouts = remote_layout._layouts(published(minor), RUNTIME, minor)
    expected = {**SHARED, **dict(zip(OWN_NAMES, OWN[minor], strict=True))}
    assert expected in [{name: getattr(layout, name) for name in expected} for layout in layouts]


def test_a_version_to_come_and_a_build_without_the_gil_are_not_guessed() -> None:
    assert remote_layout._layouts(published(15), RUNTIME, 16) == []
    assert remote_layout._layouts(published(14, free_threaded=1), RUNTIME, 14) == []


def scripted(monkeypatch: pytest.MonkeyPatch, memory: Published, minor: int) -> remote_exec.ScriptedPython:
    monkeypatch.setattr(remote_exec, "RemoteMemory", lambda _pid: memory)
    monkeypatch.setattr(remote_exec, "find_runtime", lambda _memory: (RUNTIME, minor))
    return remote_exec.ScriptedPython(1)


@pytest.mark.parametrize("minor", DEBUGGER)
def test_a_script_is_handed_over_as_the_protocol_says(monkeypatch: pytest.MonkeyPatch, minor: int) -> None:
    memory = published(minor)
    python = scripted(monkeypatch, memory, minor)
    python.execute(Path("/tmp/script.py"))
    support = THREAD + DEBUGGER[minor][1][1]
    assert memory.written == [
        (support + 4, b"/tmp/script.py\0"),
        (support, struct.pack("<i", 1)),
        (THREAD + 24, struct.pack("<Q", 1 << 32 | 1 << 5)),
    ]
    python.withdraw()
    assert memory.written[3:] == [(support, struct.pack("<i", 0))]
    with pytest.raises(Unavailable, match="too long"):
        python.execute(Path("/" + "x" * 600))


@pytest.mark.parametrize(
    ("memory", "minor", "reason"),
    [
        (published(13), 13, "Python 3.14 and 3.15"),
        (published(14, free_threaded=1), 14, "this build of Python 3.14"),
        (published(15, is_open=0), 15, "refuses scripts from outside"),
    ],
)
def test_a_python_that_executes_no_scripts_says_why(
    monkeypatch: pytest.MonkeyPatch, memory: Published, minor: int, reason: str
) -> None:
    with pytest.raises(Unavailable, match=reason):
        scripted(monkeypatch, memory, minor)
