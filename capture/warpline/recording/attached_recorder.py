"""The recorder that `warpline.Profiler` starts for its own program; run as a module.

Arguments: process id, capture, comma-separated sources, a descriptor that receives status as JSON lines.
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

_REPORTED = {"started", "done", "failed", "discarded"}
"""Other states come five times a second, and nothing reads them."""


def main(arguments: list[str]) -> int:
    """Record until the program ends or asks to stop."""
    pid, output, trace, descriptor = int(arguments[0]), arguments[1], arguments[2], int(arguments[3])

    def tell(status: dict[str, Any]) -> None:
        if status.get("state") in _REPORTED:
            try:
                os.write(descriptor, json.dumps(status).encode() + b"\n")
            except OSError:
                return  # the program has gone; the capture is still written

    options = RecordingOptions(trace=tuple(trace.split(",")), is_driven=True)
    try:
        attach(pid, Path(output), options, report=tell, loads_agent=True)
    except Exception as error:  # nobody sees our standard error: report any error to the program
        message = str(error) if isinstance(error, WarplineError) else f"{type(error).__name__}: {error}"
        tell({"state": "failed", "message": message})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
