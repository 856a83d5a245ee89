"""The tool that records a program; there only when the user started the server with ``--allow-record``."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from typing import Any

from warpline.agents.session import ToolCall
from warpline.agents.texts import joined
from warpline.agents.tool import Tool, ToolArgument
from warpline.model.errors import Cancelled, RecordingError, UsageError
from warpline.own_python import own_python
from warpline.platform.systems import kill_group

MOST_SECONDS = 600
_GRACE_S = 30
_POLL_S = 0.2
_LINES = 6
_KEPT_BYTES = 64 << 10


def _record(call: ToolCall, given: dict[str, Any]) -> str:
    roots = call.session.roots
    output = roots.checked(given["output"])
    if output.suffix != ".h5" or not output.parent.is_dir() or output.exists():
        raise UsageError("output must be a new .h5 file in a folder that exists")
    folder = roots.checked(given["folder"]) if given["folder"] else output.parent
    if not folder.is_dir():
        raise UsageError(f"{given['folder'][:200]!r} is not a folder")
    options = ["-o", str(output), f"--duration={given['seconds']}s", "--terminate"]
    if given["trace"]:
        options.append(f"--trace={given['trace']}")
    status, text = _run(
        [*own_python("warpline"), "record", *options, "--", *given["command"]], str(folder), call, given
    )
    lines = [line for line in text.splitlines() if line.strip()][-_LINES:]
    if not output.exists():
        raise RecordingError("nothing was recorded: " + (" | ".join(lines) or f"exit status {status}"))
    name = call.session.name(output)
    return joined([f"recorded as: {name}", f"exit status of the program: {status}", *lines])


def _run(command: list[str], folder: str, call: ToolCall, given: dict[str, Any]) -> tuple[int, str]:
    """Run the recorder in a process group of its own, which is ended with all that it started."""
    import tempfile

    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
        left_s = given["seconds"] + _GRACE_S
        try:
            while True:
                try:
                    status = process.wait(_POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    left_s -= _POLL_S
                if call.cancelled.is_set():
                    raise Cancelled("the recording was cancelled")
                if left_s <= 0:
                    raise RecordingError("the recording did not end in time and was ended")
        finally:
            # Also what the program left behind when it ended.
            with suppress(OSError):
                kill_group(process.pid)
            process.wait()
        size = said.seek(0, os.SEEK_END)
        said.seek(max(size - _KEPT_BYTES, 0))
        return status, said.read().decode("utf-8", "replace")


TOOLS = (
    Tool(
        name="record",
        description="Run a program without a shell and record it into a new capture.",
        run=_record,
        arguments={
            "command": ToolArgument("array", "program and arguments"),
            "output": ToolArgument("string", "new .h5 file"),
            "folder": ToolArgument("string", "working folder"),
            "seconds": ToolArgument("integer", default=60, least=1, most=MOST_SECONDS),
            "trace": ToolArgument("string", "what to record, as --trace of warpline record"),
        },
        required=("command", "output"),
        is_read_only=False,
    ),
)
