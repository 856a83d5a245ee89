"""Which systems can record."""

from __future__ import annotations

import platform
import sys

from warpline.i18n import english, tr, translated
from warpline.model.errors import RecordingError


def is_linux() -> bool:
    """Whether this is Linux."""
    return sys.platform == "linux"


def linux_only() -> str:
    """The reason why this system cannot record."""
    return english("recording works on Linux only, not on {system}", system=platform.system() or sys.platform)


def require_linux() -> None:
    """Raises RecordingError unless this is Linux."""
    if not is_linux():
        raise RecordingError(
            tr(
                "{reason}; captures from Linux can be opened here",
                reason=translated(linux_only()),
            )
        )
