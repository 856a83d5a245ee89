"""Reading the Python of another process: lines and frames as the interpreter itself tells them."""

from __future__ import annotations

import ast
import inspect
import os
import sys
import threading
import types
from collections.abc import Iterator

import pytest

from warpline.recording.sources.python.remote_memory import RemoteMemory
from warpline.recording.sources.python.remote_stacks import attach_python, line_at

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="Linux only"),
    pytest.mark.skipif(
        sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info < (3, 16),
        reason="stacks are known of CPython 3.11 to 3.15",
    ),
]


def code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


@pytest.mark.parametrize("module", [ast, inspect, threading])
def test_lines_agree_with_the_interpreter(module: types.ModuleType) -> None:
    source = inspect.getsource(module)
    checked = 0
    for code in code_objects(compile(source, module.__file__ or "", "exec")):
        for start, stop, line in code.co_lines():
            for offset in range(start, stop, 2):
                assert line_at(code.co_linetable, code.co_firstlineno, offset) == (line or 0)
                checked += 1
    assert checked > 1000


def test_a_table_that_is_cut_off_or_nonsense_has_no_line() -> None:
    table = compile("a = 1\nb = 2\n", "x", "exec").co_linetable
    for length in range(len(table)):
        assert line_at(table[:length], 1, 10_000) == 0
    assert line_at(bytes([0xFF] * 4), 1, 0) == 0
    assert line_at(b"", 1, 0) == 0


def test_our_own_stacks_agree_with_the_interpreter() -> None:
    inside, done = threading.Event(), threading.Event()

    def waits_für_uns() -> None:  # noqa: PLC2401  # a name that is no ASCII
        inside.set()
        done.wait()

    thread = threading.Thread(target=waits_für_uns)
    thread.start()
    inside.wait()
    try:
        python = attach_python(os.getpid())
        assert python is not None
        for _attempt in range(1000):
            found = dict(python.stacks()).get(thread.native_id or 0)
            if found and found[0][0].name.endswith("Condition.wait"):
                break
    finally:
        frame: types.FrameType | None = sys._current_frames()[thread.ident or 0]
        expected = []
        while frame is not None:
            expected.append((frame.f_code.co_qualname, frame.f_code.co_filename, frame.f_lineno))
            frame = frame.f_back
        done.set()
        thread.join()
    assert found is not None
    assert [(code.name, code.file, line) for code, line in found] == expected
    assert any(name.endswith("waits_für_uns") for name, _file, _line in expected)


def test_unmapped_memory_is_not_read() -> None:
    memory = RemoteMemory(os.getpid())
    assert memory.read(0, 8) is None
    assert memory.read(8, 8) is None
    assert memory.read(id(memory), 0) is None
    assert memory.read(1 << 63, 8) is None
    assert memory.read(id(memory), 8) is not None
    assert memory.pointer(16) == 0
