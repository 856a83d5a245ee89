"""Choices of ``--trace`` that several sources share; the others are defined with their source."""

from __future__ import annotations

from warpline.i18n import english
from warpline.recording.sources.source import Choice

CPU = Choice(
    "cpu",
    english("CPU cores and threads"),
    english("Which thread ran on which core, and what each thread waited for"),
    is_default=True,
    control_bit=1,
)
