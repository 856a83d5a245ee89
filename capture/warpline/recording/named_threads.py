"""Whether threads live that a program names by their ids, which in a container are not those seen from here."""

from __future__ import annotations

import os

from warpline.recording.proc_files import read_bytes, thread_stat

_ENDED_STATES = b"ZXx"
Thread = tuple[int, int]
"""Process and thread id"""


class NamedThreads:
    """Looks threads up here, and in the PID namespaces below ours."""

    def __init__(self) -> None:
        self._known: dict[Thread, Thread | None] = {}
        """Ids here of threads that a namespace has; None for those that no namespace has any more."""

    def lives(self, pid: int, tid: int) -> bool:
        """Whether a thread has not ended. One of another process with the same ids here counts, too."""
        if _lives(pid, tid):
            return True
        name = pid, tid
        if name not in self._known:
            self._known[name] = _in_a_namespace(pid, tid)
        here = self._known[name]
        if here is not None and not _lives(*here):
            here = self._known[name] = None
        return here is not None


def _lives(pid: int, tid: int) -> bool:
    stat = thread_stat(pid, tid)
    return stat is not None and stat.state not in _ENDED_STATES


def _in_a_namespace(pid: int, tid: int) -> Thread | None:
    """Ids here of the first living thread that has these ids in the innermost namespace it is in."""
    for process in filter(str.isdigit, os.listdir("/proc")):
        if not _is_called(f"/proc/{process}/status", pid):
            continue
        try:
            threads = os.listdir(f"/proc/{process}/task")
        except OSError:
            continue
        for thread in threads:
            if _is_called(f"/proc/{process}/task/{thread}/status", tid) and _lives(int(process), int(thread)):
                return int(process), int(thread)
    return None


def _is_called(status: str, own_id: int) -> bool:
    for line in (read_bytes(status) or b"").splitlines():
        if line.startswith(b"NSpid:"):
            ids = line.split()[1:]
            return len(ids) > 1 and ids[-1] == b"%d" % own_id
    return False
