"""The source ``nvtx``: ranges and marks that programs set through NVTX or ``warpline.annotate``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.recording.agent.contribution import Contribution
from warpline.recording.sources.facts import StepsOfProgram
from warpline.recording.sources.source import Choice, RecordingSource
from warpline.recording.unavailable import Unavailable

if TYPE_CHECKING:
    from warpline.recording.session import Session
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder

VARIABLE = "NVTX_INJECTION64_PATH"
_TRY_AGENT = "import ctypes, sys; sys.exit(0 if ctypes.CDLL(sys.argv[1]).warpline_attach() else 1)"


class NvtxSource(RecordingSource):
    """Ranges and marks, recorded by the agent."""

    name = "nvtx"
    choice = Choice(
        "nvtx",
        english("NVTX ranges"),
        english("Ranges and marks that the program sets"),
        is_default=True,
        control_bit=2,
    )
    title = english("NVTX ranges and warpline.annotate (from inside the program)")
    short_title = english("NVTX ranges")
    position = 50
    capture_range = "nvtx:NAME"
    needs_start = english("ranges are recorded only under warpline record or with warpline.Profiler")
    record_types = frozenset(range(200, 300))
    passing_records = ((206, 0, 0),)
    passing_in_own_clock = frozenset((202, 203))
    # Domain and level: the last push or pop of each shows which ranges are open.
    lasting_records = ((202, 0, 12, 16), (203, 0, 12, 16))

    def probe(self) -> str:
        from warpline.recording.agent.loading import require_free
        from warpline.recording.agent.probing import require_agent, run_with_agent

        library = require_agent()
        require_free(VARIABLE, os.environ)
        status, _states = run_with_agent(_TRY_AGENT, library, {})
        if status != 0:
            raise Unavailable(
                english("the agent {library} cannot be loaded here", library=library),
                english("install a wheel of warpline for this platform"),
            )
        return ""

    def contribute(self, session: Session, inherited: Mapping[str, str]) -> Contribution:
        from warpline.recording.agent.loading import load_agent

        return load_agent(session, inherited, self.name, VARIABLE)

    def joining(self, inherited: Mapping[str, str]) -> Mapping[str, str]:  # noqa: ARG002  # as every source's
        return {}

    def prepare(self, translation: Translation, spools: Sequence[SpoolFile]) -> None:
        from warpline.recording.sources.nvtx.host_ranges import PushPopReader
        from warpline.recording.sources.nvtx.translate import processes_with_steps

        translation.give(StepsOfProgram(processes_with_steps(spools)))
        translation.give(PushPopReader(translation))

    def translate(
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        from warpline.recording.sources.nvtx.translate import translate

        translate(translation, spools, builder)


source = NvtxSource()
