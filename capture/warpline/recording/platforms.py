"""Where recording works."""

from __future__ import annotations

import platform
import sys

from warpline.i18n import english, tr, translated
from warpline.model.errors import RecordingError


def is_linux() -> bool:
    """Whether this is Linux."""
    return sys.platform == "linux"


def linux_only() -> str:
    """Why nothing can be recorded on this system."""
    return english("recording works on Linux only, not on {system}", system=platform.system() or sys.platform)


def require_linux() -> None:
    """Raises RecordingError elsewhere."""
    if not is_linux():
        raise RecordingError(
            tr(
                "{reason}; captures that were recorded elsewhere can be opened here",
                reason=translated(linux_only()),
            )
        )
