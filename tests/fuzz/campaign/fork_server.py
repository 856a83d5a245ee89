"""Runs one attempt per fork with limits and tells how it ended: the base of every campaign here.

An outcome is a dict: state (see CLASSES), message, peak_mib above the fork, seconds, left (files left behind).
"""

from __future__ import annotations

import json
import os
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

CLASSES = ("ok", "refused", "two-lines", "traceback", "warning", "crashed", "timeout", "memory")
SECONDS = int(os.environ.get("CAMPAIGN_SECONDS", "15"))
MIB = int(os.environ.get("CAMPAIGN_MIB", "300"))


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


def attempt(action: Callable[[], Any], limit_mib: int = 3000) -> dict[str, Any]:
    """Call ``action`` in a fork; it raises a WarplineError for a clear refusal."""
    reader, writer = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if not child:
        os.close(reader)
        from warpline.model import WarplineError

        warnings.simplefilter("error")
        os.setpgid(0, 0)
        if not os.environ.get("ASAN_OPTIONS"):
            resource.setrlimit(resource.RLIMIT_DATA, (limit_mib << 20, limit_mib << 20))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        base = _reset_peak()
        signal.alarm(2 * SECONDS)
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
        with suppress(OSError):
            os.write(writer, json.dumps([state, message[-2500:], (_peak_kib() - base) / 1024]).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    status = os.waitpid(child, 0)[1]
    with suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    seconds = time.monotonic() - began
    if data:
        state, message, peak = json.loads(data)
    else:
        number = status & 127
        state = "timeout" if number == signal.SIGALRM else "crashed"
        message, peak = f"ended by signal {number}, status {status}", 0.0
    if state in ("ok", "refused", "two-lines", "traceback", "warning"):
        if peak > MIB and not os.environ.get("ASAN_OPTIONS"):
            message, state = f"{peak:.0f} MiB ({state}): {message}", "memory"
        elif seconds > SECONDS:
            message, state = f"{seconds:.1f} s ({state}): {message}", "timeout"
    return {"state": state, "message": message, "peak_mib": round(peak, 1), "seconds": round(seconds, 2)}
