"""The documents of speedscope (https://www.speedscope.app/file-format-schema.json)."""

from __future__ import annotations

from typing import Annotated

import msgspec

Number = int | float


class FunctionFrame(msgspec.Struct, gc=False):
    """A function."""

    name: str = ""
    file: str | None = None
    line: Number | None = None

    @property
    def text(self) -> str:
        """``main (a.py:3)``, as far as it is known."""
        if not self.file:
            return self.name
        return f"{self.name} ({self.file}:{int(self.line)})" if self.line else f"{self.name} ({self.file})"


class FunctionBorder(msgspec.Struct, gc=False):
    """A function begins (``O``) or ends (``C``)."""

    type: str = ""
    frame: Annotated[int, msgspec.Meta(ge=-1, le=1 << 40)] = -1
    at: Number = 0


class Profile(msgspec.Struct, rename="camel"):
    """What one thread did: events, or samples with weights."""

    type: str = ""
    name: str = ""
    unit: str = "none"
    start_value: Number = 0
    end_value: Number = 0
    events: list[FunctionBorder] = []  # msgspec copies it
    samples: list[list[int]] = []
    weights: list[Number] = []


class Shared(msgspec.Struct):
    """What profiles share."""

    frames: list[FunctionFrame] = []


class SpeedscopeDocument(msgspec.Struct):
    """A file."""

    shared: Shared = msgspec.field(default_factory=Shared)
    profiles: list[Profile] = []
    name: str | None = None
    exporter: str | None = None
