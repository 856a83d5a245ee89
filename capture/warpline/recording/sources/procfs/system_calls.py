"""The kind of wait of a thread in a system call: by the call's number on each architecture, or the kernel's function.

Numbers are those of Linux's include/uapi/asm-generic/unistd.h (aarch64) and arch/x86/entry/syscalls/syscall_64.tbl.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from warpline.model.waits import WaitKind


class Call(NamedTuple):
    """A system call: its name and kind of wait; UNKNOWN if the kind depends on its descriptor."""

    name: str
    kind: WaitKind


_CALLS: tuple[tuple[str, int, int, WaitKind], ...] = (
    # name, x86_64, aarch64 (-1: none)
    ("read", 0, 63, WaitKind.UNKNOWN),
    ("write", 1, 64, WaitKind.UNKNOWN),
    ("pread64", 17, 67, WaitKind.UNKNOWN),
    ("pwrite64", 18, 68, WaitKind.UNKNOWN),
    ("readv", 19, 65, WaitKind.UNKNOWN),
    ("writev", 20, 66, WaitKind.UNKNOWN),
    ("sendfile", 40, 71, WaitKind.UNKNOWN),
    ("splice", 275, 76, WaitKind.UNKNOWN),
    ("poll", 7, -1, WaitKind.POLL),
    ("ppoll", 271, 73, WaitKind.POLL),
    ("select", 23, -1, WaitKind.POLL),
    ("pselect6", 270, 72, WaitKind.POLL),
    ("epoll_wait", 232, -1, WaitKind.POLL),
    ("epoll_pwait", 281, 22, WaitKind.POLL),
    ("epoll_pwait2", 441, 441, WaitKind.POLL),
    ("io_uring_enter", 426, 426, WaitKind.POLL),
    ("connect", 42, 203, WaitKind.NETWORK),
    ("accept", 43, 202, WaitKind.NETWORK),
    ("accept4", 288, 242, WaitKind.NETWORK),
    ("sendto", 44, 206, WaitKind.NETWORK),
    ("recvfrom", 45, 207, WaitKind.NETWORK),
    ("sendmsg", 46, 211, WaitKind.NETWORK),
    ("recvmsg", 47, 212, WaitKind.NETWORK),
    ("recvmmsg", 299, 243, WaitKind.NETWORK),
    ("futex", 202, 98, WaitKind.FUTEX),
    ("futex_wait", 455, 455, WaitKind.FUTEX),
    ("futex_waitv", 449, 449, WaitKind.FUTEX),
    ("flock", 73, 32, WaitKind.LOCK),
    ("fcntl", 72, 25, WaitKind.LOCK),
    ("semop", 65, 193, WaitKind.LOCK),
    ("semtimedop", 220, 192, WaitKind.LOCK),
    ("nanosleep", 35, 101, WaitKind.SLEEP),
    ("clock_nanosleep", 230, 115, WaitKind.SLEEP),
    ("wait4", 61, 260, WaitKind.CHILD),
    ("waitid", 247, 95, WaitKind.CHILD),
    ("clone", 56, 220, WaitKind.CHILD),
    ("vfork", 58, -1, WaitKind.CHILD),
    ("clone3", 435, 435, WaitKind.CHILD),
    ("pause", 34, -1, WaitKind.SIGNAL),
    ("rt_sigsuspend", 130, 133, WaitKind.SIGNAL),
    ("rt_sigtimedwait", 128, 137, WaitKind.SIGNAL),
    ("restart_syscall", 219, 128, WaitKind.OTHER),
    ("open", 2, -1, WaitKind.FILE),
    ("openat", 257, 56, WaitKind.FILE),
    ("fsync", 74, 82, WaitKind.FILE),
    ("fdatasync", 75, 83, WaitKind.FILE),
    ("msync", 26, 227, WaitKind.FILE),
    ("sync_file_range", 277, 84, WaitKind.FILE),
    ("ioctl", 16, 29, WaitKind.OTHER),
)
CALLS: Mapping[str, Mapping[int, Call]] = {
    machine: {row[column]: Call(str(row[0]), row[3]) for row in _CALLS if row[column] != -1}  # type: ignore[misc]
    for machine, column in (("x86_64", 1), ("aarch64", 2))
}
"""System calls by architecture, then number."""

_PLACES: tuple[tuple[str, WaitKind], ...] = (
    # Prefixes of kernel functions, longer ones first.
    ("futex_", WaitKind.FUTEX),
    ("hrtimer_nanosleep", WaitKind.SLEEP),
    ("do_nanosleep", WaitKind.SLEEP),
    ("pipe_", WaitKind.PIPE),
    ("anon_pipe_", WaitKind.PIPE),
    ("fifo_", WaitKind.PIPE),
    ("ep_poll", WaitKind.POLL),
    ("do_poll", WaitKind.POLL),
    ("do_epoll_wait", WaitKind.POLL),
    ("do_select", WaitKind.POLL),
    ("do_sys_poll", WaitKind.POLL),
    ("poll_schedule_timeout", WaitKind.POLL),
    ("unix_", WaitKind.NETWORK),
    ("inet_", WaitKind.NETWORK),
    ("tcp_", WaitKind.NETWORK),
    ("sk_", WaitKind.NETWORK),
    ("__skb_wait", WaitKind.NETWORK),
    ("wait_woken", WaitKind.NETWORK),
    ("do_wait", WaitKind.CHILD),
    ("kernel_clone", WaitKind.CHILD),
    ("kernel_wait", WaitKind.CHILD),
    ("sigsuspend", WaitKind.SIGNAL),
    ("do_sigtimedwait", WaitKind.SIGNAL),
    ("do_signal_stop", WaitKind.SIGNAL),
    ("n_tty_read", WaitKind.TERMINAL),
    ("folio_wait", WaitKind.FILE),
    ("io_schedule", WaitKind.FILE),
    ("jbd2_", WaitKind.FILE),
    ("ext4_", WaitKind.FILE),
    ("wait_on_page", WaitKind.FILE),
    ("blk", WaitKind.FILE),
)


def kind_of_place(function: str) -> WaitKind:
    """The kind of wait of a thread in a kernel function."""
    return next((kind for start, kind in _PLACES if function.startswith(start)), WaitKind.UNKNOWN)
