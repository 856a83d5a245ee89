"""Has a running Python 3.14 or later execute a script: the protocol behind `sys.remote_exec`, for any Python as caller.

The interpreter publishes where the path of the script and the flags go (`_Py_DebugOffsets`, group *debugger_support*).
Steps: https://docs.python.org/3.14/howto/remote_debugging.html.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from warpline.i18n import english
from warpline.recording.sources.python.remote_layout import find_runtime
from warpline.recording.sources.python.remote_memory import RemoteMemory
from warpline.recording.unavailable import Unavailable

_WORDS = struct.Struct("<112Q")
_INT = struct.Struct("<i")
_PLACES = {14: 89, 15: 105}
"""Where the group begins, in fields of 8 bytes: 3.14.0 and 3.15.0 or later, not their betas."""
_INTERPRETERS_HEAD, _THREADS_MAIN = 5, 10
_PATH_BYTES = 512
_STOP_BIT = 1 << 5
"""`_PY_EVAL_PLEASE_STOP_BIT`: the interpreter looks for a script when it next checks for signals."""


class ScriptedPython:
    """The Python of a process, ready to execute scripts in its main thread."""

    def __init__(self, pid: int) -> None:
        """Raises Unavailable when it runs no Python that does this, or its memory may not be read."""
        memory = self._memory = RemoteMemory(pid)
        found = find_runtime(memory)
        if found is None or found[1] not in _PLACES:
            version = english("no Python") if found is None else f"Python 3.{found[1]}"
            raise Unavailable(
                english(
                    "programs of Python 3.14 and 3.15 can load the agent later; this runs {version}",
                    version=version,
                ),
                english("start the program with: warpline record"),
            )
        runtime, minor = found
        raw = memory.read(runtime, _WORDS.size)
        words = _WORDS.unpack(raw) if raw is not None else (0,) * 112
        breaker, support, enabled, pending, path_at, path_bytes = words[_PLACES[minor] : _PLACES[minor] + 6]
        if words[2] or path_bytes != _PATH_BYTES:  # the first: free-threaded
            raise Unavailable(
                english("this build of Python 3.{number} cannot be asked to load the agent", number=minor),
                english("start the program with: warpline record"),
            )
        interpreter = memory.pointer(runtime + words[_INTERPRETERS_HEAD])
        thread = memory.pointer(interpreter + words[_THREADS_MAIN]) if interpreter else 0
        is_allowed = memory.read(interpreter + enabled, _INT.size) if thread else None
        if is_allowed is None or not _INT.unpack(is_allowed)[0]:
            raise Unavailable(
                english("the program's Python refuses scripts from outside"),
                english("start the program without PYTHON_DISABLE_REMOTE_DEBUG and -X disable-remote-debug"),
            )
        self._breaker = thread + breaker
        self._pending = thread + support + pending
        self._path = thread + support + path_at

    def execute(self, script: Path) -> None:
        """Have the main thread execute the file ``script`` between two of its Python instructions.

        Returns at once: a thread that waits in native code executes it when it comes back. Raises Unavailable when the
        memory may not be written.
        """
        path = os.fsencode(script) + b"\0"
        if len(path) > _PATH_BYTES:
            raise Unavailable(
                english("the path {path} is too long", path=script),
                english("set TMPDIR to a folder with a shorter path"),
            )
        self._memory.write(self._path, path)
        self._memory.write(self._pending, _INT.pack(1))
        breaker = self._memory.pointer(self._breaker) | _STOP_BIT
        self._memory.write(self._breaker, struct.pack("<Q", breaker))

    def withdraw(self) -> None:
        """Have a script that was not executed yet stay so."""
        self._memory.write(self._pending, _INT.pack(0))
