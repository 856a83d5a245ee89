"""Programs that tests started and did not come to end: who they are, also when nobody of the family is left."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sys
import time
from pathlib import Path

_MARK = "WARPLINE_TEST_RUN"
_MOST_LOOKS = 100
_INHERITED = ("SIGCHLD", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGCONT")


def be_marked() -> None:
    """Programs that are started from now on can be told from others, whoever their parent is."""
    os.environ[_MARK] = f"{os.getpid()}-{secrets.token_hex(8)}"


def with_usual_signals() -> None:
    """Undo what this process was started with: ignored signals (nohup, ``&`` in a script) and blocked ones.

    Programs that tests run would inherit them, which is not what the tests are about.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            # With a handler that does nothing we still ignore them and the programs do not.
            signal.signal(number, lambda *_: None)
    for name in _INHERITED:
        if signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
            signal.signal(getattr(signal, name), signal.SIG_DFL)


def descendants(pid: int) -> set[int]:
    """Children of a process, their children, and so on; none where there is no /proc."""
    found: set[int] = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, path.read_text().split()):
                found |= {child} | descendants(child)
    return found


def now_s() -> float:
    """The clock that processes' starts are told in."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


def started_here(since_s: float = 0) -> set[int]:
    """Processes since a moment that came from this one: descendants, and those that lost their parents since."""
    mark = f"{_MARK}={os.environ.get(_MARK)}".encode()
    found = descendants(os.getpid())
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (path / "environ").read_bytes().split(b"\0"):
                found.add(int(path.name))
    return {pid for pid in found - {os.getpid()} if _start_s(pid) >= since_s}


def _start_s(pid: int) -> float:
    """When a process began; before everything where it is gone, or nothing but a status for its parent is left."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return -1
    if fields[0] in (b"Z", b"X"):
        return -1
    # Told in whole ticks: up to one too early.
    return (int(fields[19]) + 1) / os.sysconf("SC_CLK_TCK")


def end_all(since_s: float = 0) -> list[str]:
    """Kill what was started here since a moment; returns what each process was. Only Linux tells."""
    if sys.platform != "linux":
        return []
    ended: dict[int, str] = {}
    quiet = 0
    # Who is becoming another program just now has no environment and no arguments for a moment, so looking once is not
    # enough; and who cannot be killed is not waited for.
    for _ in range(_MOST_LOOKS):
        found = started_here(since_s)
        for pid in found:
            told = _name_of(pid)
            ended[pid] = told if told or pid not in ended else ended[pid]
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        quiet = 0 if found else quiet + 1
        if quiet == 2:
            break
        time.sleep(0.02)  # noqa: TID251 - between two looks at what may just be starting
    return [f"{pid}: {ended[pid]}" for pid in sorted(ended)]


def _name_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes() or Path(f"/proc/{pid}/comm").read_bytes()
        return " ".join(arguments.decode("utf-8", "replace").split("\0")).strip()[:300]
    return ""
