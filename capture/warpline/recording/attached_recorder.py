"""The recorder that a program starts for itself (`warpline.Profiler`); run as a module.

Arguments: process id, capture, sources with commas between, a descriptor for what happens as JSON lines.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from warpline.model.errors import WarplineError
from warpline.recording.attach import attach
from warpline.recording.session import RecordingOptions

_TOLD = {"started", "done", "failed", "discarded"}
"""The rest comes five times a second, and nobody reads it."""


def main(arguments: list[str]) -> int:
    """Records until the program ends or says stop."""
    pid, output, trace, descriptor = int(arguments[0]), arguments[1], arguments[2], int(arguments[3])

    def tell(status: dict[str, Any]) -> None:
        if status.get("state") in _TOLD:
            try:
                os.write(descriptor, json.dumps(status).encode() + b"\n")
            except OSError:
                return  # the program has gone; the capture is still written

    options = RecordingOptions(trace=tuple(trace.split(",")), is_driven=True)
    try:
        attach(pid, Path(output), options, report=tell, lets_in=True)
    except Exception as error:  # nobody sees our standard error: whatever it was, the program is told
        message = str(error) if isinstance(error, WarplineError) else f"{type(error).__name__}: {error}"
        tell({"state": "failed", "message": message})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
