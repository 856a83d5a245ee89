"""Sources that have a name and that this version cannot record, and what helps meanwhile."""

from __future__ import annotations

from warpline.i18n import english
from warpline.model import Source


def not_yet(name: str) -> Source:
    """What the doctor, a recording and the window say of such a source."""
    remedies = {
        "osrt": english(
            "--trace cpu shows when each thread was blocked; a Nsight Systems export brings the calls"
        ),
        "python": english("mark functions and blocks with warpline.annotate and record with --trace nvtx"),
        "torch": english("record with the framework's own profiler and open its trace with Warpline"),
    }
    return Source(
        name, False, english("this version of Warpline cannot record it"), remedy=remedies.get(name, "")
    )
