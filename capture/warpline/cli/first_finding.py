"""The line at the end of a recording that tells the worst that was found."""

from __future__ import annotations

import time
from pathlib import Path

from warpline.i18n import tr
from warpline.model.errors import Cancelled
from warpline.model.times import format_duration

AT_MOST_EVENTS = 5_000_000
"""In larger captures nobody waits for it unasked."""
AT_MOST_S = 5.0


def first_finding_line(path: Path, shown: Path, events: int) -> str:
    """What stands out most in a capture, with the way to the rest; empty when nothing does, or nothing can tell.

    Whatever goes wrong is said in the line: the recording itself is complete. ``shown`` is how it calls the file.
    """
    if events > AT_MOST_EVENTS:
        return tr("not checked, being large: warpline check {path} tells what stands out", path=shown)
    deadline = time.monotonic() + AT_MOST_S
    try:
        return _line(path, shown, deadline)
    except Cancelled:
        return tr(
            "not checked within {time}: warpline check {path} tells what stands out",
            time=format_duration(int(AT_MOST_S * 1e9)),
            path=shown,
        )
    except KeyboardInterrupt:
        return ""
    except Exception as error:  # the recording is there, and its exit status is the program's
        return tr("{path} could not be checked: {error}", path=shown, error=error)


def _line(path: Path, shown: Path, deadline: float) -> str:
    from warpline.analysis.findings.diagnose import diagnose
    from warpline.analysis.findings.wording import finding_says
    from warpline.analysis.framework.selection import View
    from warpline.storage import open_capture

    with open_capture(path) as capture:
        found = diagnose(View(capture, cancelled=lambda: time.monotonic() > deadline))
    first = next((finding for finding in found.findings if finding.severity != "note"), None)
    if first is None:
        return ""
    text = f"[{first.severity}] {finding_says(first)}"
    if first.gain_ns:
        text += " " + tr("Without it: at most {time} less.", time=format_duration(first.gain_ns))
    return f"{text} (warpline check {shown})".replace("\n", " ")
