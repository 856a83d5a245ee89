"""All targets, by name."""

from __future__ import annotations

import importlib

from tests.fuzz.guided.target import Target

ROOMS = (
    "traces", "profiles", "formats", "archives", "tables", "spools", "captures", "directories", "texts", "twins",
)  # fmt: skip
"""Modules beside this one, each with its ``TARGETS``."""


def targets() -> dict[str, tuple[str, Target]]:
    """Room and target, by the target's name."""
    found: dict[str, tuple[str, Target]] = {}
    for room in ROOMS:
        for target in importlib.import_module(f"tests.fuzz.guided.{room}").TARGETS:
            found[target.name] = room, target
    return found
