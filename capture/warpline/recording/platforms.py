"""Which systems can record."""

from __future__ import annotations

from warpline.i18n import english, tr, translated
from warpline.model.errors import RecordingError
from warpline.platform.systems import can_wait_for_pipes, is_linux, system_name


def linux_only() -> str:
    """The reason why this system cannot record."""
    return english(
        "recording needs Linux (perf events, /proc, preloaded libraries), and this is {system}",
        system=system_name(),
    )


def require_linux() -> None:
    """Raises RecordingError unless this is Linux."""
    if not is_linux():
        reason = translated(linux_only())
        if can_wait_for_pipes():
            raise RecordingError(
                tr("{reason}; record on a Linux machine from here: warpline record --on HOST", reason=reason)
            )
        raise RecordingError(
            tr("{reason}; run warpline record on a Linux machine and open the capture here", reason=reason)
        )
