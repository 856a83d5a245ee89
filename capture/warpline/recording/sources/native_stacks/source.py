"""The source ``native``: call chains of running threads, sampled by the kernel."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.recording.sources.source import Choice, RecordingSource
from warpline.recording.unavailable import Unavailable

if TYPE_CHECKING:
    from warpline.recording.sources.collector import Collector, Watched
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder


class NativeSource(RecordingSource):
    """The native functions that threads run, with Python's frames spliced in."""

    name = "native"
    choice = Choice(
        "native",
        english("Native stacks"),
        english("Which functions of which libraries run, sampled by the kernel, with Python's frames"),
        control_bit=256,
    )
    title = english("Native stacks of running threads, sampled (perf events)")
    short_title = english("Native stacks")
    position = 90
    record_types = frozenset({130, 131, 132, 133, 134})
    timed_records = ((130, 0), (132, 0), (133, 0))
    passing_records = ((130, 0, 0), (134, 0, 0))

    def is_default_for(self, command: Sequence[str]) -> bool:
        """Programs of the user that are not Python: only these samples show where they run."""
        from warpline.recording.symbols.own_programs import is_own_program

        if not command or not is_own_program(command[0]):
            return False
        try:
            self.probe()
        except Unavailable:
            return False
        return True

    def probe(self) -> str:
        """Open and close the events for our own process; returns what samples can include."""
        from warpline.recording.perf_events.rings import open_rings, paranoid_level
        from warpline.recording.sources.native_stacks.collect import sampling
        from warpline.recording.symbols.library import require_elf_reader

        level = paranoid_level()
        pid = os.getpid()
        try:
            rings = open_rings(pid, enable_on_exec=True, ring_pages=4, event=sampling(100, has_kernel=True))
            text = english("kernel.perf_event_paranoid = {level}; inside the kernel too", level=level)
        except Unavailable:
            rings = open_rings(pid, enable_on_exec=True, ring_pages=4, event=sampling(100, has_kernel=False))
            text = english("kernel.perf_event_paranoid = {level}; not inside the kernel", level=level)
        for ring in rings:
            ring.close()
        require_elf_reader()
        return text

    def open(self, watched: Watched) -> Collector | None:
        from warpline.recording.sources.native_stacks.collect import NativeCollector

        if not watched.options.native_hz:
            return None
        return NativeCollector(watched, watched.options.native_hz)

    def module_paths(self, spools: Sequence[SpoolFile]) -> Iterable[str]:
        from warpline.recording.sources.native_stacks.records import NATIVE_MODULE, native_module

        for spool in spools:
            paths = set(spool.records(NATIVE_MODULE, native_module).values["path"].tolist())
            yield from (path for path in map(spool.text, paths) if path.startswith("/"))

    def translate(
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        from warpline.recording.sources.native_stacks.translate import translate

        translate(translation, spools, builder)


source = NativeSource()
