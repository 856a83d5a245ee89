"""The source ``python``: stacks of every Python thread, sampled without the GIL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.recording.agent.contribution import Contribution
from warpline.recording.sources.source import Choice, RecordingSource, ScriptedProgram
from warpline.recording.unavailable import Unavailable

if TYPE_CHECKING:
    from warpline.recording.agent.trials import PythonTrial
    from warpline.recording.session import Session
    from warpline.recording.sources.collector import Collector, Watched
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder

OPTIONS_VARIABLE = "WARPLINE_PYTHON"
"""``hz=SAMPLES``: samples per second."""
# Measures CPU time, which does not pass while the program is preempted or stopped.
_TRY_SAMPLER = (
    "import time; end = time.process_time() + 0.15\nwhile time.process_time() < end: sum(range(100))"
)


class PythonSource(RecordingSource):
    """Samples of Python stacks, by a thread of the preloaded agent."""

    name = "python"
    choice = Choice(
        "python",
        english("Python stacks"),
        english("What Python code runs, sampled"),
        is_default=True,
        control_bit=16,
    )
    title = english("Stacks of Python 3.11 to 3.15, sampled (from inside the program)")
    short_title = english("Python stacks")
    position = 80
    record_types = frozenset(range(500, 600))
    timed_records = ((502, 0),)
    passing_records = ((502, 0, 0),)

    def probe(self) -> str:
        from warpline.recording.agent.probing import require_agent

        require_agent()
        return ""

    def trial(self) -> PythonTrial:
        from warpline.recording.agent.probing import bytes_of
        from warpline.recording.agent.trials import PythonTrial

        return PythonTrial(
            _TRY_SAMPLER,
            lambda spools: bytes_of(spools, frozenset({502})) > 0,
            {OPTIONS_VARIABLE: "hz=100"},
            Unavailable(
                english("the stacks of this Python cannot be read"),
                english("use CPython 3.11 to 3.15 with a GIL"),
            ),
        )

    def contribute(self, session: Session, inherited: Mapping[str, str]) -> Contribution:
        from warpline.recording.agent.loading import preload_agent

        loaded = preload_agent(session, inherited, self.name)
        options = f"hz={session.options.python_hz}"
        return Contribution({**loaded.variables, OPTIONS_VARIABLE: options}, loaded.source, loaded.warnings)

    def open(self, watched: Watched) -> Collector | None:
        """Sample from outside if the program was already running."""
        if not watched.is_running:
            return None
        from warpline.recording.sources.python.remote_sampler import RemoteSampler

        return RemoteSampler(watched)

    def joins(self, pid: int) -> str:
        from warpline.recording.sources.python.remote_layout import python_of
        from warpline.recording.sources.python.remote_memory import RemoteMemory

        found = python_of(RemoteMemory(pid))
        if found is None:
            raise Unavailable(english("the process runs no Python 3.11 to 3.15"))
        version, is_known = found
        if not is_known:
            raise Unavailable(
                english("the stacks of Python {version} cannot be read from outside", version=version),
                english("use CPython 3.11 to 3.15 with a GIL"),
            )
        return english("Python {version}", version=version)

    def scripted(self, pid: int) -> ScriptedProgram:
        from warpline.recording.sources.python.remote_exec import ScriptedPython

        return ScriptedPython(pid)

    def prepare(self, translation: Translation, spools: Sequence[SpoolFile]) -> None:
        from warpline.recording.sources.python.translate import name_threads

        name_threads(translation, spools)

    def translate(
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        from warpline.recording.sources.python.translate import translate

        translate(translation, spools, builder)


source = PythonSource()
