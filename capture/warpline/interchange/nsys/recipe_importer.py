"""Importer for Parquet tables of Nsight Systems recipes, such as ``nvtx_gpu_proj_trace``. Needs pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from warpline.extras import install_command
from warpline.i18n import english, tr
from warpline.interchange.framework.columns import MAX_TIME_NS, clean_text, real, scalar_text
from warpline.interchange.framework.event_sink import EventSink, Int64Array
from warpline.interchange.framework.importer import CERTAIN, NO, ImportOptions, ImportSummary
from warpline.model import ImportFormatError, links
from warpline.model.progress import IsCancelled, Progress, check_cancelled
from warpline.model.track_factory import TrackSpec
from warpline.model.tracks import Packing

if TYPE_CHECKING:
    from warpline.storage import CaptureBuilder

_BATCH_ROWS = 50_000
_PROJECTED = ("Projected Start", "Projected Duration")
_ORIGINAL = ("Orig Start", "Orig Duration")
_NEEDED = ("Name", "PID", "TID")


class RecipeImporter:
    """Ranges of NVTX, and the GPU work that was launched in them."""

    name = "nsys-recipe"
    title = english("Nsight Systems recipe (Parquet)")
    patterns = ("*.parquet",)
    position = 72

    def recognise(self, head: bytes, path: Path) -> float:
        del path
        return CERTAIN if head.startswith(b"PAR1") else NO

    def convert(
        self,
        path: Path,
        builder: CaptureBuilder,
        options: ImportOptions,
        progress: Progress,
        cancelled: IsCancelled,
    ) -> ImportSummary:
        try:
            import pyarrow as pa
            from pyarrow import parquet
        except ImportError as error:
            raise ImportFormatError(
                tr("{path}: Parquet tables need pyarrow. Install it: {command}", path=path,
                   command=install_command("parquet"))
            ) from error  # fmt: skip
        sink = EventSink(builder, options)
        try:
            with parquet.ParquetFile(path) as table:
                names = set(table.schema_arrow.names)
                spans = [pair for pair in (_ORIGINAL, _PROJECTED) if set(pair) <= names]
                if not (set(_NEEDED) <= names and spans):
                    raise ImportFormatError(
                        tr(
                            "{path}: a Parquet table without ranges. Warpline opens the recipe {recipe}",
                            path=path,
                            recipe="nvtx_gpu_proj_trace",
                        )
                    )
                columns = [*_NEEDED, *(column for pair in spans for column in pair)]
                total = max(1, table.metadata.num_rows)
                for batch in table.iter_batches(_BATCH_ROWS, columns=columns):
                    check_cancelled(cancelled)
                    _add(sink, batch.to_pydict(), spans)
                    progress(min(1.0, sink.events / total), tr("reading {what}", what=path.name))
        except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
            raise ImportFormatError(
                tr(
                    "{path}: the Parquet file is damaged ({error})",
                    path=path,
                    error=str(error).split("\n")[0],
                )
            ) from error
        return sink.summary()


def _add(sink: EventSink, columns: dict[str, list[Any]], spans: list[tuple[str, str]]) -> None:
    builder = sink.builder
    rows = [row for row, name in enumerate(columns["Name"]) if name]
    builder.add_skipped(
        english("rows of whole threads"), len(columns["Name"]) - len(rows), english("they sum up other rows")
    )
    if not rows:
        return
    names = builder.strings([clean_text(scalar_text(columns["Name"][row])) for row in rows])
    threads = [(_id(columns["PID"][row]), _id(columns["TID"][row])) for row in rows]
    ids: dict[tuple[str, str], Int64Array] = {}
    for pair in spans:
        is_projected = pair == _PROJECTED
        start = _times(columns[pair[0]], rows)
        duration = _times(columns[pair[1]], rows)
        tracks = np.array([_track(sink, *thread, is_projected=is_projected) for thread in threads], np.int64)
        kind = "gpu_annotation" if is_projected else "range"
        ids[pair] = sink.add(tracks, kind, start, start + duration, names)
    if len(ids) == 2:
        source, target = ids[_ORIGINAL], ids[_PROJECTED]
        known = (source >= 0) & (target >= 0)
        builder.add_links(links.ANNOTATION, source[known], target[known])


def _track(sink: EventSink, pid: int, tid: int, *, is_projected: bool) -> int:
    thread = sink.thread(pid, tid, is_first=pid == tid)
    if not is_projected:
        return sink.thread_track(thread, "ranges")
    spec = TrackSpec(
        uri=f"{thread.uri}/gpu-projection",
        title=english("GPU work of the ranges"),
        role="ranges",
        sort_key=11,
        packing=Packing.PACK,
    )
    return sink.track(spec, row=thread)


def _id(value: Any) -> int:
    return value if isinstance(value, int) and abs(value) < 1 << 53 else -1


def _times(values: list[Any], rows: list[int]) -> Int64Array:
    """Nanoseconds; times that are missing or beyond 2^61 become impossible ones, which are skipped."""
    numbers = [real(values[row]) for row in rows]
    return np.array(
        [MAX_TIME_NS + 1 if value is None or abs(value) > MAX_TIME_NS else round(value) for value in numbers],
        np.int64,
    )


importer = RecipeImporter()
