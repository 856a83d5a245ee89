"""The agent inside a program that was running before: ``warpline attach --inside``."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from warpline.i18n import english, tr
from warpline.model.errors import RecordingError
from warpline.recording.agent.library import agent_library
from warpline.recording.sources.registry import scripted_program
from warpline.recording.unavailable import Unavailable

_FILE = Path(__file__).with_name("hooks") / "inside" / "attached.py"
_LEAVING_S = 5.0
_POLL_S = 0.005


class InsideProgram:
    """The agent's stay in one process, from `begin` to `end`."""

    def __init__(self, pid: int, spool: Path) -> None:
        """The process will load the agent and write to the session in ``spool``.

        Raises RecordingError when it cannot be asked.
        """
        library = agent_library()
        if library.path is None:
            raise RecordingError(f"{library.reason}; {library.remedy}")
        _check_process(pid)
        self._library = library.path
        self._spool = spool
        with _refusals():
            self._program = scripted_program(pid)
        self._folder = tempfile.TemporaryDirectory(prefix="warpline-inside-", ignore_cleanup_errors=True)

    def close(self) -> None:
        """Remove the files that the program was asked to read."""
        self._folder.cleanup()

    def begin(self, variables: Mapping[str, str]) -> None:
        """Ask the program to join; it does when its main thread next runs Python code.

        ``variables`` are the settings of the sources. Raises RecordingError when the program cannot be asked.
        """
        self._execute("begin", str(self._library), str(self._spool), dict(variables))

    def end(self) -> str:
        """Have the program leave the recording, and wait for it; what went wrong, otherwise empty."""
        try:
            return self._leave()
        except RecordingError as error:
            return str(error)

    def _leave(self) -> str:
        joined = self._answer("begin")
        if joined is None:
            with _refusals():
                self._program.withdraw()
            joined = self._answer("begin")  # it may have joined just before
        if joined is None:
            return english("the program's main thread ran no Python code while it was recorded")
        if joined:
            return joined
        self._execute("end")
        deadline = time.monotonic() + _LEAVING_S
        while (left := self._answer("end")) is None and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        if left is None:
            with _refusals():
                self._program.withdraw()
            return english("the program still holds the agent: its main thread runs no Python code")
        return left

    def _execute(self, function: str, *arguments: object) -> None:
        script = Path(self._folder.name, f"{function}.py")
        values = ", ".join(map(repr, (str(script.with_suffix(".answer")), *arguments)))
        script.write_text(
            f"names = {{'__name__': 'warpline_attached'}}\n"
            f"exec(compile(open({str(_FILE)!r}, encoding='utf-8').read(), {str(_FILE)!r}, 'exec'), names)\n"
            f"names[{function!r}]({values})\n",
            encoding="utf-8",
        )
        with _refusals():
            self._program.execute(script)

    def _answer(self, function: str) -> str | None:
        try:
            return Path(self._folder.name, f"{function}.answer").read_text(encoding="utf-8")
        except OSError:
            return None


def _check_process(pid: int) -> None:
    """Raises RecordingError unless the process lives, is ours and sees the files that we see."""
    try:
        is_ours = os.stat(f"/proc/{pid}").st_uid == os.geteuid()
        files = [
            (os.stat(f"/proc/{of}/root").st_dev, os.stat(f"/proc/{of}/root").st_ino) for of in (pid, "self")
        ]
    except FileNotFoundError:
        raise RecordingError(tr("there is no process {pid}", pid=pid)) from None
    except PermissionError:
        is_ours, files = False, []
    if not is_ours:
        raise RecordingError(
            tr("process {pid} belongs to another user: attach as that user, or without --inside", pid=pid)
        )
    if files[0] != files[1]:
        raise RecordingError(
            tr(
                "process {pid} runs in a container, which does not see the agent: attach there, or without --inside",
                pid=pid,
            )
        )


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Turns what the program's memory does not allow into a RecordingError."""
    try:
        yield
    except Unavailable as why:
        raise RecordingError("; ".join(filter(None, (why.reason, why.remedy)))) from why
