"""Records Paddle's operators. Runs inside the program (see boot.py).

Paddle marks its work for its own profiler, whether that is on or not. The agent is called where these marks begin and
end (paddle/native/events.c), so names and types of events agree and no profiler is needed or disturbed. It is
switched off in forked processes: loader workers run few operators.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # Globals set by boot.py.
    def say(source: str, is_enabled: int, reason: str, remedy: str, /) -> None: ...
    def paddle(what: int, /) -> int: ...


FOLLOW, HAS_SEEN, TELL, END = range(1, 5)
"""Requests to `paddle` (paddle/native/paddle_builtins.c)."""
TYPES = {
    "Operator": 0,
    "UserDefined": 7,
    "OperatorInner": 8,
    "Communication": 12,
    "PythonUserDefined": 14,
    "DygraphKernelLaunch": 15,
    "StaticKernelLaunch": 16,
}
"""Paddle's codes of the event types that are recorded."""
UNKNOWN = "operators are not recorded: this version of Paddle marks them differently"


def is_seen(core: Any) -> bool:
    """Whether the agent sees a test event of Paddle correctly."""
    types = core.TracerEventType
    if any(int(getattr(types, name)) != number for name, number in TYPES.items()) or not paddle(FOLLOW):
        return False
    try:
        core._RecordEvent("warpline", types.PythonUserDefined).end()
    finally:
        has_seen = bool(paddle(HAS_SEEN))
    return has_seen


def begin(core: Any) -> None:
    """Start recording after Paddle's library is loaded."""
    try:
        reason = "" if is_seen(core) else UNKNOWN
    except (AttributeError, TypeError, ValueError) as error:  # another version of Paddle
        reason = f"{UNKNOWN}: {type(error).__name__}: {error}"
    if reason:
        say("paddle", 0, reason, "record this program's steps without --trace paddle, or use Paddle 3")
        return
    paddle(TELL)
    os.register_at_fork(after_in_child=lambda: paddle(END) and None)


HOOKS = {"paddle.base.core": begin}
