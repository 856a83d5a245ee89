"""The source ``nvml``: NVIDIA's management library, sampled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from warpline.i18n import english
from warpline.recording.sources.source import Choice, RecordingSource

if TYPE_CHECKING:
    from warpline.recording.sources.collector import Collector, Watched
    from warpline.recording.spool.reader import SpoolFile
    from warpline.recording.spool.spool_to_tracks import Translation
    from warpline.storage import CaptureBuilder


class NvmlSource(RecordingSource):
    """Counters of every GPU of the machine."""

    name = "nvml"
    choice = Choice(
        "nvml",
        english("GPU counters"),
        english("Utilization, memory, power, clocks and temperature"),
        is_default=True,
        control_bit=64,
    )
    title = english("GPU load, memory, power, clocks, temperature (NVML)")
    short_title = english("GPU counters")
    position = 40
    record_types = frozenset({600, 601})
    timed_records = ((601, 0),)
    passing_records = ((601, 0, 0),)

    def probe(self) -> str:
        from warpline.recording.sources.nvml.collect import open_library

        library, gpus, _lost = open_library()
        library.nvmlShutdown()
        return ", ".join(gpu.name for gpu in gpus)

    def open(self, watched: Watched) -> Collector:
        from warpline.recording.sources.nvml.collect import NvmlCollector

        return NvmlCollector(watched)

    def translate(
        self, translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder
    ) -> None:
        from warpline.recording.sources.nvml.translate import translate

        translate(translation, spools, builder)


source = NvmlSource()
