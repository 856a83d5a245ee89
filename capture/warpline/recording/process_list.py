"""The running processes of this machine, and what can be recorded of one: for *Attach* in the window. Linux only."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass

from warpline.i18n import english
from warpline.model.errors import RecordingError
from warpline.model.tracks import Source
from warpline.recording.attach import check_owner
from warpline.recording.platforms import require_linux
from warpline.recording.proc_files import command_line, process_cpu_ns, process_stat, thread_ids
from warpline.recording.sources.registry import asked_sources
from warpline.recording.spool.secrets import masked
from warpline.recording.unavailable import why_unavailable


@dataclass(frozen=True, kw_only=True)
class RunningProcess:
    """A process; values in ``command`` that look like secrets are masked.

    ``cores`` is how many cores it kept busy since the last reading, None at the first.
    """

    pid: int
    user: str
    name: str
    command: str
    threads: int
    cores: float | None


class ProcessList:
    """Reads the processes again and again; the CPU load is that between two readings."""

    def __init__(self) -> None:
        """Raises RecordingError where programs cannot be recorded."""
        require_linux()
        self._used: dict[tuple[int, int], tuple[int, int]] = {}
        self._users: dict[int, str] = {}

    def read(self, without: Iterable[int] = ()) -> list[RunningProcess]:
        """The processes by process id, except ``without``. Kernel threads and zombies are left out."""
        left_out = set(without)
        used: dict[tuple[int, int], tuple[int, int]] = {}
        read = [
            process
            for name in os.listdir("/proc")
            if name.isdigit() and int(name) not in left_out
            if (process := self._process(int(name), used)) is not None
        ]
        self._used = used
        return sorted(read, key=lambda process: process.pid)

    def _process(self, pid: int, used: dict[tuple[int, int], tuple[int, int]]) -> RunningProcess | None:
        stat, words = process_stat(pid), command_line(pid)
        if stat is None or not words or stat.state in b"ZX":
            return None
        try:
            owner = os.stat(f"/proc/{pid}").st_uid
        except OSError:
            return None
        return RunningProcess(
            pid=pid,
            user=self._user(owner),
            name=stat.name,
            command=" ".join(" ".join(masked(words.split("\0"))).split()),
            threads=len(thread_ids(pid)),
            cores=self._cores((pid, stat.start_ns // 1_000_000_000), used),
        )

    def _cores(self, key: tuple[int, int], used: dict[tuple[int, int], tuple[int, int]]) -> float | None:
        cpu = process_cpu_ns(key[0])
        if cpu is None:
            return None
        used[key] = now = (time.monotonic_ns(), cpu[2])
        before = self._used.get(key)
        if before is None or now[0] <= before[0]:
            return None
        return max(0, now[1] - before[1]) / (now[0] - before[0])

    def _user(self, number: int) -> str:
        if number not in self._users:
            import pwd

            try:
                self._users[number] = pwd.getpwuid(number).pw_name
            except KeyError:
                self._users[number] = str(number)
        return self._users[number]


def what_joins(pid: int, trace: Iterable[str]) -> tuple[Source, ...]:
    """For each source that some names of ``--trace`` select: whether it can record a running process; a
    remark or the reason why not, and the remedy.

    Raises RecordingError when the process has ended or belongs to another user.
    """
    check_owner(pid)
    if process_stat(pid) is None:
        raise RecordingError(english("the process has ended"))
    answers = []
    for source in asked_sources(trace):
        try:
            answers.append(Source(source.name, True, source.joins(pid), 0, ""))
        except Exception as error:  # sources of other distributions may raise anything
            reason = why_unavailable(error)
            answers.append(Source(source.name, False, reason.reason, 0, reason.remedy))
    return tuple(answers)
