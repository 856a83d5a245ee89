"""Adds raw tracepoint events of perf.data and trace.dat to a capture."""

from __future__ import annotations

from warpline.i18n import english
from warpline.interchange.framework.event_formats import EventFormat, Order, printed
from warpline.interchange.framework.kernel_events import KernelEvents
from warpline.interchange.framework.scheduling import raw_state

_WAKEUPS = frozenset({"sched_wakeup", "sched_waking", "sched_wakeup_new"})
_NOT_IDLE = 0xFFFF_FFFF
_SHORT = 1 << 31


def add_raw_event(
    events: KernelEvents, time: int, cpu: int, tid: int, form: EventFormat, raw: bytes, order: Order
) -> None:
    """Add one event of a format; ``tid`` ran on ``cpu``."""
    values = form.values(raw, order)

    def number(name: str) -> int:
        value = values.get(name, 0)
        return value if isinstance(value, int) and abs(value) < 1 << 62 else 0

    if form.name == "sched_switch" and "prev_pid" in values:
        prev, following = number("prev_pid") % _SHORT, number("next_pid") % _SHORT
        events.name(prev, str(values.get("prev_comm", "")))
        events.name(following, str(values.get("next_comm", "")))
        events.old_states = form.has_old_states
        events.switch(time, cpu, prev, raw_state(number("prev_state")), following)
    elif form.name in _WAKEUPS and "pid" in values:
        woken = number("pid") % _SHORT
        events.name(woken, str(values.get("comm", "")))
        events.wakeup(time, woken, tid)
    elif form.name == "cpu_frequency":
        events.core_value(english("Frequency"), number("cpu_id"), time, min(number("state"), 1 << 40) * 1000)
    elif form.name == "cpu_idle":
        state = number("state")
        events.core_value(english("Idle state"), number("cpu_id"), time, -1 if state == _NOT_IDLE else state)
    elif form.name == "print" and "buf" in form.fields:
        text = raw[form.fields["buf"].offset :].split(b"\x00", 1)[0].decode("utf-8", "replace")
        events.mark(time, tid, text.rstrip("\n"))
    else:
        events.other(time, cpu, tid, form.name, printed(values))
