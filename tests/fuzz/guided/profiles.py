"""Profiles of stacks and samples, a target for each format."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.fuzz.guided.target import Target, memory_builder, memory_file, settle
from tests.unit.interchange.profiles.profile_seeds import SEEDS, damaged

from warpline.interchange.framework.importer import Importer, ImportOptions


def _never() -> bool:
    return False


def _untold(fraction: float, text: str) -> None:
    """Nobody looks."""


def run(importer: Importer, data: bytes) -> None:
    """The file as events."""
    file = memory_file(data, "x.bin")
    importer.recognise(data[:65536], file)
    with memory_builder() as builder:
        importer.convert(file, builder, ImportOptions(), _untold, _never)
        settle(builder)


def _seeds(make: Callable[[], bytes], _data: Path | None) -> list[bytes]:
    return [make()]


TARGETS = tuple(
    Target(
        f"profile-{name}",
        partial(run, importer),
        partial(_seeds, make),
        damaged,
    )
    for name, (importer, make) in SEEDS.items()
)
