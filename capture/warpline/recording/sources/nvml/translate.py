"""NVML's samples become devices and their counters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warpline.i18n import english
from warpline.recording.sources.nvml.collect import METRICS
from warpline.recording.spool import records
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


def with_gaps(
    times: np.ndarray[tuple[int], np.dtype[np.int64]],
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    pauses: np.ndarray[tuple[int, int], np.dtype[np.int64]],
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """The samples with a gap (NaN) at the start of each pause, so that no value is carried across it.

    ``times`` int64 [n] sorted, ``values`` float64 [n], ``pauses`` int64 [m, 2].
    """
    if not len(pauses) or not len(times):
        return times, values
    starts = pauses[:, 0]
    where = np.searchsorted(times, starts, "left")
    inside = where > 0
    return np.insert(times, where[inside], starts[inside]), np.insert(values, where[inside], np.nan)
