"""Sources that have a name and that this version cannot record, and what helps meanwhile.

A package or an entry point of the same name takes the place of one of these.
"""

from __future__ import annotations

from collections.abc import Mapping

from warpline.i18n import english
from warpline.recording.agent.contribution import Contribution
from warpline.recording.session import Session
from warpline.recording.sources.source import Choice, RecordingSource
from warpline.recording.unavailable import Unavailable


class PlannedSource(RecordingSource):
    """A source that says what to do instead."""

    def __init__(self, position: int, choice: Choice, title: str, remedy: str) -> None:
        self.name = choice.name
        self.position = position
        self.choice = choice
        self.title = title
        self.remedy = remedy

    def probe(self) -> str:
        raise self._unavailable()

    def contribute(self, session: Session, inherited: Mapping[str, str]) -> Contribution:  # noqa: ARG002
        raise self._unavailable()

    def _unavailable(self) -> Unavailable:
        return Unavailable(english("this version of Warpline cannot record it"), self.remedy)


PLANNED: tuple[PlannedSource, ...] = (
    PlannedSource(
        90,
        Choice(
            "torch",
            english("Operators"),
            english("Operators of torch and paddle"),
            control_bit=32,
        ),
        english("Operators of PyTorch and Paddle"),
        english("record with the framework's own profiler and open its trace with Warpline"),
    ),
)
