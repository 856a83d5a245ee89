"""From a file to a converter: pieces of text, made into columns, handed over in order."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from warpline.i18n import tr_n
from warpline.interchange.trace_json.converter import TraceConverter
from warpline.interchange.trace_json.json_stream import CHUNK_BYTES, EventStream, StreamState
from warpline.interchange.trace_json.pool import pieces
from warpline.interchange.trace_json.scanned_columns import SCANNED
from warpline.interchange.trace_json.scanner import Scanner, library
from warpline.model.progress import IsCancelled, Progress, check_cancelled

SCAN_BYTES = 8 << 20
"""How much is scanned in one go. What it costs to make columns hardly depends on how many events are in them."""


def read_trace(
    path: Path,
    converter: TraceConverter,
    format_name: str,
    progress: Progress,
    cancelled: IsCancelled,
    *,
    workers: int | None = None,
) -> StreamState:
    """Read all events of a file into a converter, which the caller then finishes.

    ``format_name`` is a key of `trace_formats.FORMATS`; ``workers`` as in `trace_pool.pieces`.

    Raises ImportFormatError when the file holds no list of events, Cancelled.
    """
    lib = library()
    scanner = Scanner(lib) if lib is not None and format_name in SCANNED else None
    stream = EventStream(path, SCAN_BYTES if scanner else CHUNK_BYTES, scanner)
    size = max(1, path.stat().st_size)
    with closing(pieces(stream, format_name, workers=workers)) as columns:
        for piece in columns:
            check_cancelled(cancelled)
            converter.absorb(piece)
            text = tr_n(
                "{count:,} event of {name}", "{count:,} events of {name}", converter.events, name=path.name
            )
            progress(stream.position() / size, text)
    return stream.state
