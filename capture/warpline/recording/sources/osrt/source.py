"""The source ``osrt``: blocking calls of the C library, with their line and what ended them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.recording.agent.contribution import Contribution
from warpline.recording.sources.source import Choice, RecordingSource
from warpline.recording.unavailable import Unavailable

if TYPE_CHECKING:
    from warpline.recording.agent.trials import PythonTrial
    from warpline.recording.session import Session
    from warpline.recording.spool.plain_reader import PlainSpool
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder

OPTIONS_VARIABLE = "WARPLINE_OSRT"
"""Comma-separated options: ``threshold=NANOSECONDS``, ``stacks=0``."""
_TRY_PRELOAD = "import sys, time; time.sleep(0.001); sys.exit(0)"
_TRY_GIL = """
import threading, time
def count():
    end = time.thread_time() + 0.1
    while time.thread_time() < end: sum(range(1000))
thread = threading.Thread(target=count)
thread.start()
count()
thread.join()
time.sleep(0.01)
"""


class OsrtSource(RecordingSource):
    """Blocking calls, locks and the GIL, recorded by the preloaded agent."""

    name = "osrt"
    choice = Choice(
        "osrt",
        english("Waits"),
        english("What blocked threads wait for, on which line, and what ends the wait"),
        is_default=True,
        control_bit=8,
    )
    title = english("Blocking calls, locks and the GIL, with their lines (from inside the program)")
    short_title = english("Waits")
    position = 70  # after perf: it adds rows later, but passes on its waits before
    needs_start = english("calls can only be recorded from the start of a program")
    record_types = frozenset(range(400, 500))
    timed_records = ((400, 8),)
    passing_records = ((400, 0, 8), (401, 0, 0), (403, 0, 0))

    def probe(self) -> str:
        from warpline.recording.agent.probing import count_records, require_agent

        library = require_agent()
        if not count_records(_TRY_PRELOAD, library, self.record_types):
            raise Unavailable(
                english("the dynamic loader does not preload {library}", library=library),
                english("statically linked and set-uid programs cannot be recorded from inside"),
            )
        return ""

    def trial(self) -> PythonTrial:
        from warpline.recording.agent.trials import PythonTrial

        return PythonTrial(_TRY_GIL, _has_lines_and_gil, text=english("lines and the GIL: {pythons}"))

    def contribute(self, session: Session, inherited: Mapping[str, str]) -> Contribution:
        from warpline.recording.agent.loading import preload_agent

        loaded = preload_agent(session, inherited, self.name)
        options = f"threshold={session.options.osrt_threshold_ns}"
        return Contribution({**loaded.variables, OPTIONS_VARIABLE: options}, loaded.source, loaded.warnings)

    def prepare(self, translation: Translation, spools: Sequence[SpoolFile]) -> None:
        from warpline.recording.sources.osrt.states import WaitReasons

        translation.give(WaitReasons(translation, spools))

    def translate(
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        from warpline.recording.sources.osrt.translate import translate

        translate(translation, spools, builder)


def _has_lines_and_gil(spools: Sequence[PlainSpool]) -> bool:
    from warpline.model.waits import Function
    from warpline.recording.agent.records import OSRT_CALL, osrt_call

    rows = (row for spool in spools for row in spool.rows(OSRT_CALL, osrt_call))
    functions = {row["function"] for row in rows if row["stack"]}
    return {Function.SLEEP, Function.GIL} <= functions


source = OsrtSource()
