"""The source ``paddle``: Paddle's operators, as Paddle marks them for its own profiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.recording.sources.hooked import HookedSource
from warpline.recording.sources.source import Choice

if TYPE_CHECKING:
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder


class PaddleSource(HookedSource):
    """Operators and their parts, as in Paddle's own profiler."""

    name = "paddle"
    choice = Choice(
        "paddle", english("Operators of Paddle"), english("Every operator of Paddle"), control_bit=512
    )
    title = english("Operators of Paddle (from inside the program)")
    short_title = english("Operators of Paddle")
    position = 92
    needs_start = english("Paddle can only be recorded from its import on")
    record_types = frozenset((704, 705, 706))
    timed_records = ((704, 8), (706, 0))
    passing_records = ((704, 0, 8), (705, 0, 0), (706, 0, 0))

    def joining(self, inherited: Mapping[str, str]) -> Mapping[str, str]:
        from warpline.recording.hooks.injection import hooking

        return hooking(self.name, inherited)

    def translate(
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        from warpline.recording.sources.paddle.translate import translate

        translate(translation, spools, builder)


source = PaddleSource()
