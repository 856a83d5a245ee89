"""Words of ``--trace`` that several sources serve; one that is a source's alone stands with that source."""

from __future__ import annotations

from warpline.i18n import english
from warpline.recording.sources.source import Choice

CPU = Choice(
    "cpu",
    english("CPU cores and threads"),
    english("Who ran on which core, and what every thread waited for"),
    is_default=True,
    control_bit=1,
)
