"""The source ``steps``: the steps and phases of training, recorded by hooks inside its framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.recording.sources.hooked import HookedSource
from warpline.recording.sources.source import Choice

if TYPE_CHECKING:
    from warpline.recording.session import Session
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder


MEMORY_VARIABLE = "WARPLINE_TORCH_MEMORY"


class StepsSource(HookedSource):
    """Steps, phases and modules of unmodified scripts, recorded by Python hooks of the preloaded agent."""

    name = "steps"
    choice = Choice(
        "steps",
        english("Training steps"),
        english("Steps, phases and modules of PyTorch and Paddle"),
        is_default=True,
        control_bit=128,
    )
    title = english("Steps, phases and modules of PyTorch and Paddle (from inside the program)")
    short_title = english("Steps")
    position = 85
    needs_start = english("hooks can only be installed when a program starts")
    record_types = frozenset((700, 701))
    timed_records = ((700, 8), (701, 8))
    passing_records = ((700, 0, 8), (701, 0, 8))

    def asked(self, session: Session) -> Mapping[str, str]:
        return {MEMORY_VARIABLE: str(int(session.options.torch_memory))}

    def joining(self, inherited: Mapping[str, str]) -> Mapping[str, str]:
        from warpline.recording.hooks.injection import hooking

        return hooking(self.name, inherited)

    def translate(
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        from warpline.recording.sources.steps.translate import translate

        translate(translation, spools, builder)


source = StepsSource()
