"""Opens files in forked processes with limits and says what became of each: `python hostile_worker.py FILE…`.

Prints a line of JSON for each file: how it ended, the message, peak memory above the start, seconds. A crash or
a hang of a library ends one fork, not the test run.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from contextlib import suppress

SECONDS = 15
BYTES = 300 << 20


def exercise(path: str) -> None:
    """Opens a capture and asks it everything a user's first minute asks."""
    import numpy as np

    from warpline.library.info import describe
    from warpline.storage import open_capture, verify

    with open_capture(path) as capture:
        describe(capture)
        n = len(capture.events)
        lanes = np.arange(min(len(capture.lanes), 200))
        low, high = capture.span
        for start, stop in (
            (low, high + 1),
            (low + (high - low) // 3, low + (high - low) // 3 + 1000),
            (high, high + 5),
        ):
            strip = capture.query(lanes, start, stop, 300)
            capture.event_times(strip.rect_row)
            capture.event_times(strip.mark_row[strip.mark_row >= 0])
            capture.count_in(lanes, start, stop)
            capture.union_busy_ns(lanes, start, stop)
            for lane in lanes[:20].tolist():
                capture.busy_ns(lane, start, stop)
                capture.event_at(lane, (start + stop) // 2, 1000)
            for counter in capture.counters:
                counter.query(start, stop, 50)
                counter.value_at(start)
            for track in capture.tracks:
                capture.utilization(track.index, start, stop, 50)
        for row in {0, n // 2, n - 1} if n else ():
            capture.event_span(row)
            capture.parent_of_row(row)
            capture.nested_rows(row)
            capture.next_event(row)
            capture.previous_event(row)
            capture.strings[int(capture.events.name[row])]
            for ends, kinds in (capture.links_from(row), capture.links_to(row)):
                list(map(capture.links.kind_name, kinds.tolist()))
                capture.event_times(ends[ends >= 0])
            for table in capture.kinds.values():
                table.at(row)
        capture.events.start[capture.links.from_row[capture.links.from_row >= 0]]
        capture.events.start[capture.links.to_row[capture.links.to_row >= 0]]
        for table in capture.kinds.values():
            capture.events.start[table.rows]
            for attribute in table.attributes:
                table.column(attribute)
        for stack in range(-1, min(50, len(capture.stacks[0]) + 1)):
            capture.stack_frames(stack)
        index = capture.name_index()
        index.rows(index.totals().name[:9], None, low, high)
        index.totals(None, low + 1, high)
        capture.strings.all()
        capture.strings.find("e")
        for track in capture.tracks:
            capture.children(track.index)
            capture.rows_of_track(track.index)
        list(verify(capture))


def attempt(path: str) -> tuple[str, str]:
    """How it ended: ``open``, ``refused`` with the message, or ``broken`` with a traceback."""
    from warpline.model import CaptureFormatError

    try:
        exercise(path)
    except CaptureFormatError as error:
        return "refused", str(error)
    except BaseException:
        return "broken", traceback.format_exc()
    return "open", ""


def peak_bytes() -> int:
    """The highest anonymous memory of this process so far, sampled by the system as resident size."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    import h5py  # noqa: F401  # forks share what is imported before
    import numpy as np  # noqa: F401

    import warpline.cli.info
    import warpline.storage  # noqa: F401

    for path in sys.argv[1:]:
        reader, writer = os.pipe()
        began = time.monotonic()
        child = os.fork()
        if not child:
            os.close(reader)
            warnings.simplefilter("error")
            signal.alarm(SECONDS)
            resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
            resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30))
            state, message = attempt(path)
            with suppress(OSError):
                os.write(writer, json.dumps([state, message[-3000:], peak_bytes()]).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            data = pipe.read()
        status = os.waitpid(child, 0)[1]
        seconds = time.monotonic() - began
        state, message, peak = json.loads(data) if data else ("crashed", f"ended by signal {status & 127}", 0)
        print(json.dumps([path, state, message, peak, seconds]), flush=True)


if __name__ == "__main__":
    main()
