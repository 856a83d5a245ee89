"""The worst finding, as one line at the end of a recording."""

from __future__ import annotations

import time
from pathlib import Path

from warpline.i18n import tr
from warpline.model.errors import Cancelled
from warpline.model.times import format_duration

AT_MOST_EVENTS = 5_000_000
"""Larger captures are not checked: it would take too long."""
AT_MOST_S = 5.0
"""Of work: on a busy machine it may last longer."""


def first_finding_line(path: Path, shown: Path, events: int) -> str:
    """The worst finding of a capture with the command for the rest; empty when nothing is critical or a warning.

    An error becomes the line, since the recording itself is complete. ``shown`` is the path as printed.
    """
    if events > AT_MOST_EVENTS:
        return tr("not checked because the capture is large; to check it: warpline check {path}", path=shown)
    deadline = time.process_time() + AT_MOST_S
    try:
        return _line(path, shown, deadline)
    except Cancelled:
        return tr(
            "check stopped after {time}; to check fully: warpline check {path}",
            time=format_duration(int(AT_MOST_S * 1e9)),
            path=shown,
        )
    except KeyboardInterrupt:
        return ""
    except Exception as error:  # the recording is complete, so the exit status stays the program's
        return tr("{path} could not be checked: {error}", path=shown, error=error)


def _line(path: Path, shown: Path, deadline: float) -> str:
    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.findings.wording import finding_sentence, followed_by
    from warpline.analysis.framework.selection import View
    from warpline.storage import open_capture

    with open_capture(path) as capture:
        diagnosis = diagnose(View(capture, cancelled=lambda: time.process_time() > deadline))
    first = next((finding for finding in diagnosis.findings if finding.severity != "note"), None)
    if first is None:
        return ""
    text = f"[{first.severity}] {finding_sentence(first)}"
    if first.gain_ns:
        gain = tr("Fixing it saves up to {time}.", time=format_duration(first.gain_ns))
        text = followed_by(text, gain)
    return f"{text} (warpline check {shown})".replace("\n", " ")
