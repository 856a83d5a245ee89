"""The fields of kernel events as ftrace, trace-cmd and perf print them."""

from __future__ import annotations

import re

from warpline.i18n import english
from warpline.interchange.framework.kernel_events import KernelEvents
from warpline.interchange.framework.scheduling import raw_state, state_of_letters

_SWITCH = re.compile(
    r"prev_comm=(.*?) prev_pid=(\d{1,10}) prev_prio=-?\d+ prev_state=(\S+) (?:==> )?next_comm=(.*?) next_pid=(\d{1,10})"
)
_SHORT_SWITCH = re.compile(r"(.*?):(\d{1,10}) \[-?\d+\] (\S+) ==> (.*?):(\d{1,10}) \[")
_WAKEUP = re.compile(r"comm=(.*?) pid=(\d{1,10})")
_SHORT_WAKEUP = re.compile(r"(.*?):(\d{1,10}) \[-?\d+\]")
_VALUE = re.compile(r"state=(\d{1,18}) cpu_id=(\d{1,6})")
_WAKEUPS = frozenset({"sched_wakeup", "sched_waking", "sched_wakeup_new"})
_NOT_IDLE = 0xFFFF_FFFF
_MARKS = frozenset({"tracing_mark_write", "print", "0"})
_CALLER = re.compile(r"(?:0x)?[0-9a-f]{6,16}s?: |tracing_mark_write: ")
_DEVLIB = re.compile(r"(cpu_frequency|cpu_idle)_devlib: +(.*)")


def add_kernel_event(events: KernelEvents, time: int, cpu: int, tid: int, name: str, fields: str) -> None:
    """Add one event with its printed fields; ``tid`` ran on ``cpu``."""
    if name == "sched_switch" and _add_switch(events, time, cpu, fields):
        return
    if name in _WAKEUPS and (match := _WAKEUP.match(fields) or _SHORT_WAKEUP.match(fields)):
        events.name(int(match[2]), match[1])
        events.wakeup(time, int(match[2]), tid)
        return
    if name in _MARKS:
        text = _CALLER.sub("", fields, count=1) if fields else fields
        devlib = _DEVLIB.match(text)
        if devlib is None:
            events.mark(time, tid, text.strip())
            return
        name, fields = devlib[1], devlib[2]
    if name in ("cpu_frequency", "cpu_idle") and (match := _VALUE.search(fields)):
        value = int(match[1])
        if name == "cpu_frequency":
            events.core_value(english("Frequency"), int(match[2]), time, min(value, 1 << 40) * 1000)
        else:
            events.core_value(english("Idle state"), int(match[2]), time, -1 if value == _NOT_IDLE else value)
        return
    events.other(time, cpu, tid, name, fields)


def _add_switch(events: KernelEvents, time: int, cpu: int, fields: str) -> bool:
    match = _SWITCH.match(fields) or _SHORT_SWITCH.match(fields)
    if match is None:
        return False
    prev, following = int(match[2]), int(match[5])
    events.name(prev, match[1])
    events.name(following, match[4])
    text = match[3]
    if text.isdecimal() and len(text) < 19:
        state = raw_state(int(text))
    else:
        state = state_of_letters(text)
    events.switch(time, cpu, prev, state, following)
    return True


def ns_of_seconds(text: str) -> int:
    """``76.211513`` as ns."""
    whole, _, rest = text.partition(".")
    return int(whole[-10:]) * 1_000_000_000 + int(rest[:9].ljust(9, "0"))
