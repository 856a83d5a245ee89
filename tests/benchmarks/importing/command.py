"""``warpline import IN -o OUT`` as the command does it, then a line of what it took: see ``bench_import.py``."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from warpline.cli import main

if __name__ == "__main__":
    trace, output, *options = sys.argv[1:]
    parts = None
    if options == ["--stages"]:
        sys.path[:0] = [str(Path(__file__).resolve().parents[3])]
        from tests.benchmarks.importing.stages import measured_parts, table

        with measured_parts() as parts:
            status = main(["import", trace, "-o", output])
    else:
        status = main(["import", trace, "-o", output])
    # Not ru_maxrss, which a process inherits from the one that started it: so it tells nothing of children either.
    own_kib = int(re.search(r"^VmHWM:\s*(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)[1])  # type: ignore[index]  # Linux has it
    from warpline.storage import open_capture

    with open_capture(output) as capture:
        # Metadata and the points of arrows are events of the trace, but not of the capture.
        told = [re.search(r"([\d,]+) events", source.reason) for source in capture.sources]
    events = sum(int(match[1].replace(",", "")) for match in told if match)
    print(
        json.dumps(
            {
                "events": events,
                "stages": table(parts, events) if parts else "",
                "cpu": sum(os.times()[:4]),
                "peak_mb": own_kib * 1024 / 1e6,
            }
        )
    )
    sys.exit(status)
