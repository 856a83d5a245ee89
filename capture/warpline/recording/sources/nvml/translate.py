"""NVML's samples become devices and their counters."""

from __future__ import annotations

from collections.abc import Sequence

from warpline.i18n import english
from warpline.recording.sources.nvml.collect import METRICS
from warpline.recording.spool import records
from warpline.recording.spool.gaps import with_gaps
from warpline.recording.spool.reader import SpoolFile
from warpline.recording.spool.spool_to_tracks import Translation
from warpline.storage import CaptureBuilder

_GPU_SORT = -100


def translate(translation: Translation, spools: Sequence[SpoolFile], builder: CaptureBuilder) -> None:
    """Adds a device and counters for each GPU that was sampled."""
    for spool in spools:
        samples = spool.records(records.NVML_SAMPLE, records.nvml_sample).values
        devices = spool.records(records.NVML_DEVICE, records.nvml_device).values.tolist()
        for _time, index, name, memory_bytes, uuid, _reserved in devices:
            title = spool.text(name)
            properties = {"uuid": spool.text(uuid), "memory_bytes": memory_bytes}
            translation.device_index(index, title, properties)
            gpu = builder.track(
                f"gpu/{index}",
                title=english("GPU {number}", number=index) + f" · {title}",
                role="gpu",
                device=index,
                sort_key=_GPU_SORT + index,
            )
            own = samples[samples["index"] == index]
            for metric in METRICS:
                rows = own[own["metric"] == metric.number]
                if not len(rows):
                    continue
                track = builder.track(
                    f"gpu/{index}/counters/{metric.key}",
                    title=metric.title,
                    role="counter",
                    parent=gpu,
                    device=index,
                    sort_key=1000 + metric.number,
                )
                times = translation.capture_time(rows["time_ns"])
                times, values = with_gaps(times, rows["value"], translation.pauses)
                builder.add_counter(track, metric.title, metric.unit, times, values)
