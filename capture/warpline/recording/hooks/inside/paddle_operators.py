"""Has Paddle tell its operators. Runs inside the program (see boot.py).

Paddle marks what it does for its own profiler, whether that is on or not. The agent is called where these marks begin
and end (paddle/native/events.c): the same names and types of events, and nobody's profiler is needed or disturbed. In
forked processes it is switched off: a loader worker has few operators to see.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # What boot.py puts among the globals of this file.
    def say(source: str, is_enabled: int, reason: str, remedy: str, /) -> None: ...
    def paddle(what: int, /) -> int: ...


FOLLOW, HAS_SEEN, TELL, END = range(1, 5)
"""What `paddle` can be asked for (paddle/native/paddle_builtins.c)."""
TYPES = {
    "Operator": 0,
    "UserDefined": 7,
    "OperatorInner": 8,
    "Communication": 12,
    "PythonUserDefined": 14,
    "DygraphKernelLaunch": 15,
    "StaticKernelLaunch": 16,
}
"""Paddle's numbers of its types of events, as far as they are told."""
UNKNOWN = "operators are not recorded: this Paddle marks them in another way"


def is_seen(core: Any) -> bool:
    """Have an event of Paddle's begin and end: the agent must see it as it is."""
    types = core.TracerEventType
    if any(int(getattr(types, name)) != number for name, number in TYPES.items()) or not paddle(FOLLOW):
        return False
    try:
        core._RecordEvent("warpline", types.PythonUserDefined).end()
    finally:
        found = paddle(HAS_SEEN)
    return bool(found)


def begin(core: Any) -> None:
    """When Paddle's library is loaded."""
    try:
        reason = "" if is_seen(core) else UNKNOWN
    except (AttributeError, TypeError, ValueError) as error:  # of another version of Paddle
        reason = f"{UNKNOWN}: {type(error).__name__}: {error}"
    if reason:
        say("paddle", 0, reason, "record this program's steps without --trace paddle, or use Paddle 3")
        return
    paddle(TELL)
    os.register_at_fork(after_in_child=lambda: paddle(END) and None)


HOOKS = {"paddle.base.core": begin}
