"""What a source adds to the environment of the recorded program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from warpline.model.tracks import Source


@dataclass(frozen=True)
class Contribution:
    """What a source needs inside the recorded program.

    ``variables`` are set in its environment. They must keep what the user has set: extend PYTHONPATH, never replace it.
    ``source`` says whether it can record; None when only its collector knows. ``warnings`` are stored and shown.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    source: Source | None = None
    warnings: tuple[str, ...] = ()
