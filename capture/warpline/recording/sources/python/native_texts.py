"""Texts about Python in the agent's C code, repeated here for the translators."""

from __future__ import annotations

from warpline.i18n import english

TEXTS = (
    english("free-threaded Python 3.{number}"),
    english("Python {version}: stacks are known of 3.11 to 3.15"),
    english("Python 3.{number}: this build lays out its frames in another way"),
    english("record with CPython 3.11 to 3.15, built with a GIL"),
)
"""All texts, with fields in place of C's conversions."""
