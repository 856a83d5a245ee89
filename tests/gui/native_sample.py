"""A capture of mixed stacks: a thread of Python in a library, one of the library's own, one that only Python saw."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warpline.model import Flag
from warpline.storage import CaptureBuilder

MS = 1_000_000
LINE = "crunch ({source}:2)"
DEFLATE, SERVE, FAULT = "deflate [libz.so.1]", "serve [libwork.so.2]", "clear_page [kernel]"


def write_native_sample(path: Path, source: Path) -> Path:
    """100 ms: thread 81 runs ``crunch`` in ``deflate``, once in the kernel; 82 ``serve``; 83 ``crunch`` alone."""
    with CaptureBuilder(path) as builder:
        builder.set_span(0, 100 * MS)
        process = builder.add_process(81, name="python", command="python pack.py")
        group = builder.track("process/81.1", title="python pack.py", role="process", process=process)
        line = builder.string(LINE.format(source=source))
        python = builder.stack(line)
        deflate = builder.stack(builder.string(DEFLATE), python)
        fault = builder.stack(builder.string(FAULT), deflate)
        serve = builder.stack(builder.string(SERVE))
        for tid, roles in (
            (81, {"samples": [python] * 3, "cpu_samples": [deflate] * 4 + [fault]}),
            (82, {"cpu_samples": [serve] * 2}),
            (83, {"samples": [python] * 2}),
        ):
            thread = builder.add_thread(process, tid, name=f"worker-{tid}")
            uri = f"process/81.1/thread/{tid}.1"
            above = builder.track(
                uri, title=f"worker  {tid}", role="thread", parent=group, process=process, thread=thread
            )
            for role, stacks in roles.items():
                track = builder.track(
                    f"{uri}/{role}", title=role, role=role, parent=above, process=process, thread=thread
                )
                builder.add_events(
                    track,
                    "sample" if role == "samples" else "cpu_sample",
                    np.arange(len(stacks)) * 10 * MS + 5 * MS,
                    np.zeros(len(stacks), np.int64),
                    line if role == "samples" else builder.string(DEFLATE),
                    flags=int(Flag.INSTANT),
                    attributes={"stack": stacks},
                )
        builder.finish()
    return path
