"""The source ``torch``: PyTorch's operators, through the agent's callbacks or ITT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.recording.agent.contribution import Contribution
from warpline.recording.sources.hooked import HookedSource
from warpline.recording.sources.source import Choice

if TYPE_CHECKING:
    from warpline.recording.session import Session
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder

SHAPES_VARIABLE = "WARPLINE_TORCH_SHAPES"
VARIABLE = "INTEL_LIBITTNOTIFY64"


class TorchSource(HookedSource):
    """Operators, as in PyTorch's own profiler."""

    name = "torch"
    choice = Choice("torch", english("Operators"), english("Every operator of PyTorch"), control_bit=32)
    title = english("Operators of PyTorch (from inside the program)")
    short_title = english("Operators of PyTorch")
    position = 90
    needs_start = english("operators can only be recorded from the start of a program")
    record_types = frozenset((702, 703))
    timed_records = ((702, 8), (703, 8))
    passing_records = ((702, 0, 8), (703, 0, 8))

    def probe(self) -> str:
        import os

        from warpline.recording.agent.loading import require_free

        remark = super().probe()
        require_free(VARIABLE, os.environ)
        return remark

    def asked(self, session: Session) -> Mapping[str, str]:
        return {SHAPES_VARIABLE: str(session.options.torch_shapes)}

    def contribute(self, session: Session, inherited: Mapping[str, str]) -> Contribution:
        from warpline.recording.agent.loading import load_agent

        loaded = load_agent(session, inherited, self.name, VARIABLE)
        if loaded.source is None or not loaded.source.enabled:
            return loaded
        hooked = super().contribute(session, inherited)
        return Contribution({**loaded.variables, **hooked.variables}, hooked.source, hooked.warnings)

    def translate(
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        from warpline.recording.sources.torch.translate import translate

        translate(translation, spools, builder)


source = TorchSource()
