"""Turns NVML samples into devices and counters."""

from __future__ import annotations

from collections.abc import Sequence

from warpline.recording.sources.nvml import records
from warpline.recording.sources.nvml.collect import QUANTITIES
from warpline.recording.spool.gaps import with_gaps
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.storage import CaptureBuilder


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Add a device and counters for each sampled GPU."""
    for spool in spools:
        samples = spool.records(records.NVML_SAMPLE, records.nvml_sample).values
        devices = spool.records(records.NVML_DEVICE, records.nvml_device).values.tolist()
        for _time, index, name, memory_bytes, uuid, _reserved in devices:
            title = spool.text(name)
            properties: dict[str, str | int | float] = {"uuid": spool.text(uuid)} if spool.text(uuid) else {}
            if memory_bytes:
                properties["memory_bytes"] = memory_bytes
            translation.device_index(index, title, properties)
            tracks = translation.tracks
            gpu = builder.add_track(tracks.gpu(index, title))
            own = samples[samples["index"] == index]
            for metric in QUANTITIES:
                rows = own[own["metric"] == metric.number]
                if not len(rows):
                    continue
                spec = tracks.gpu_counter(index, metric.key, metric.title, metric.number)
                track = builder.add_track(spec, parent=gpu)
                times = translation.capture_time(rows["time_ns"])
                times, values = with_gaps(times, rows["value"], translation.pauses)
                builder.add_counter(track, metric.title, metric.unit, times, values)
