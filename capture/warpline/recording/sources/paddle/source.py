"""The source ``paddle``: every operator of Paddle, as it marks them for its own profiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.recording.agent.contribution import Contribution
from warpline.recording.sources.source import Choice, RecordingSource

if TYPE_CHECKING:
    from warpline.recording.agent.trials import PythonTrial
    from warpline.recording.session import Session
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder


class PaddleSource(RecordingSource):
    """Operators and what they consist of, as Paddle's own profiler has them."""

    name = "paddle"
    choice = Choice(
        "paddle", english("Operators of Paddle"), english("Every operator of Paddle"), control_bit=512
    )
    title = english("Operators of Paddle (agent)")
    position = 92
    needs_start = english("Paddle is followed from when a program imports it")
    record_types = frozenset((704,))
    timed_records = ((704, 8),)
    passing_records = ((704, 0, 8),)

    def probe(self) -> str:
        from warpline.recording.agent.probing import require_agent

        require_agent()
        return ""

    def trial(self) -> PythonTrial:
        from warpline.recording.sources.steps.probing import HOOKS_TRIAL

        return HOOKS_TRIAL

    def contribute(self, session: Session, inherited: Mapping[str, str]) -> Contribution:
        from warpline.recording.agent.loading import preload_agent
        from warpline.recording.sources.steps.injection import hooking

        loaded = preload_agent(session, inherited, self.name)
        variables = {**loaded.variables, **hooking(self.name, inherited)}
        return Contribution(variables, loaded.source, loaded.warnings)

    def translate(
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        from warpline.recording.sources.paddle.translate import translate

        translate(translation, spools, builder)


source = PaddleSource()
