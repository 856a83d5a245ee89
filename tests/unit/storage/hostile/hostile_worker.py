"""Opens files in forked processes with limits and says what became of each: `python -m … FILE…`.

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
    from tests.unit.storage.hostile import questions

    from warpline.library.info import describe
    from warpline.storage import open_capture, verify

    with open_capture(path) as capture:
        describe(capture)
        for start, stop in questions.ranges(capture):
            questions.lanes(capture, start, stop)
        n = len(capture.events)
        for row in {0, n // 2, n - 1} if n else ():
            questions.row(capture, row)
        questions.columns(capture)
        questions.names(capture)
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
    from tests.unit.storage.hostile import questions  # noqa: F401

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
