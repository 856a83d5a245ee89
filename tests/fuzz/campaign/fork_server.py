"""Runs many attempts in one fork with limits and tells how each ended: the base of every campaign here.

An outcome is a dict: state (see CLASSES), message, peak_mib above what the fork had before, seconds. A fork that an
attempt ends, or that holds up, is ended, and the next attempt gets a new one; so is one that has done BATCH of them.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

CLASSES = (
    "ok",
    "refused",
    "two-lines",
    "traceback",
    "warning",
    "crashed",
    "timeout",
    "memory",
    "left behind",
)
SECONDS = int(os.environ.get("CAMPAIGN_SECONDS", "15"))
MIB = int(os.environ.get("CAMPAIGN_MIB", "300"))
BATCH = 1000
_LIMIT_MIB = 3000
Outcome = dict[str, Any]


def _peak_kib() -> int:
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith("VmHWM"):
                return int(line.split()[1])
    return 0


def _reset_peak() -> int:
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return _peak_kib()


def judged(action: Callable[[], Any]) -> Outcome:
    """How an action ended; a `WarplineError` of one line is a clear refusal."""
    from warpline.model import WarplineError

    base, began = _reset_peak(), time.process_time()
    state, message = "ok", ""
    try:
        message = str(action() or "")
    except WarplineError as error:
        state, message = "refused", str(error)
        if "\n" in message or len(message) > 900:
            state = "two-lines"
    except MemoryError:
        state, message = "memory", traceback.format_exc()
    except Warning:
        state, message = "warning", traceback.format_exc()
    except BaseException:
        state, message = "traceback", traceback.format_exc()
    # Of the processor: others may keep the machine busy.
    peak, seconds = (_peak_kib() - base) / 1024, time.process_time() - began
    if peak > MIB:
        message, state = f"{peak:.0f} MiB ({state}): {message}", "memory"
    elif seconds > SECONDS:
        message, state = f"{seconds:.1f} s ({state}): {message}", "timeout"
    return {
        "state": state,
        "message": message[-2500:],
        "peak_mib": round(peak, 1),
        "seconds": round(seconds, 2),
    }


def _serve(writer: int, attempt: Callable[[int], Outcome], first: int, stop: int) -> None:
    """In the fork: a line for each attempt."""
    warnings.simplefilter("error")
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_DATA, (_LIMIT_MIB << 20, _LIMIT_MIB << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(writer, "w") as pipe:
        for number in range(first, stop):
            print(json.dumps(attempt(number)), file=pipe, flush=True)


def _lines(reader: int, child: int) -> Iterator[bytes]:
    """Lines as they come; ends with their writer, or when it says nothing for far longer than an attempt may take."""
    held, used = b"", _processor_seconds(child)
    while True:
        if not select.select([reader], [], [], 8 * SECONDS)[0]:
            # Whoever wants the processor and did not get it is held up by others.
            if _processor_seconds(child) - used > 2 * SECONDS or not _wants_to_run(child):
                return
            continue
        data = os.read(reader, 65536)
        if not data:
            return
        used = _processor_seconds(child)
        *whole, held = (held + data).split(b"\n")
        yield from whole


def _processor_seconds(child: int) -> float:
    fields = Path(f"/proc/{child}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _wants_to_run(child: int) -> bool:
    """Whether a thread of it runs, waits for a core or for a disk."""
    for stat in Path(f"/proc/{child}/task").glob("*/stat"):
        with suppress(OSError):  # the thread has ended
            if stat.read_text().rpartition(") ")[2][:1] in "RD":
                return True
    return False


def judged_in_forks(actions: Sequence[Callable[[], Any]]) -> list[Outcome]:
    """How each action ended; one that crashes ends a fork and not the caller."""
    outcomes = attempts(lambda number: judged(actions[number]), 0, len(actions))
    return [outcome for _number, outcome in outcomes]


def attempts(attempt: Callable[[int], Outcome], first: int, stop: int) -> Iterator[tuple[int, Outcome]]:
    """Number and outcome of each attempt, which are made in forks, BATCH in each."""
    while first < stop:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            try:
                _serve(writer, attempt, first, min(stop, first + BATCH))
            finally:
                os._exit(0)
        os.close(writer)
        until = min(stop, first + BATCH)
        try:
            for line in _lines(reader, child):
                yield first, json.loads(line)
                first += 1
        finally:  # also when nobody wants more
            os.close(reader)
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            with suppress(OSError):
                os.killpg(child, signal.SIGKILL)
        if first < until:
            state = "timeout" if status & 127 == signal.SIGKILL else "crashed"
            yield (
                first,
                {"state": state, "message": f"ended by signal {status & 127}, status {status}", "seconds": 0},
            )
            first += 1
