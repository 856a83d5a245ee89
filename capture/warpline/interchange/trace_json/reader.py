"""Reads a trace file into a converter: splits the text, turns parts into columns, and passes them on in order."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from warpline.i18n import tr_n
from warpline.interchange.trace_json.converter import TraceConverter
from warpline.interchange.trace_json.decoding import decoder_for
from warpline.interchange.trace_json.json_stream import EventStream, StreamState
from warpline.interchange.trace_json.scanner import Scan
from warpline.interchange.trace_json.trace_format import TraceFormat
from warpline.memory_room import require_memory
from warpline.model.progress import IsCancelled, Progress, check_cancelled

_Part = TypeVar("_Part")


def read_trace(
    path: Path, converter: TraceConverter, form: TraceFormat, progress: Progress, cancelled: IsCancelled
) -> StreamState:
    """Read all events of a file into a converter; the caller finishes it.

    Raises ImportFormatError when the file has no list of events, Cancelled.
    """
    decoder = decoder_for(form)
    stream = EventStream(path, decoder.chunk_bytes, decoder.scanner)
    size = max(1, path.stat().st_size)
    before: list[dict[str, Any]] = []

    def parts_of_stream() -> Iterator[bytes | Scan]:
        for part in stream:
            # Copied here, because the reader may be past the events before the first part is used.
            if not before:
                before.append(dict(stream.state.header))
            yield part

    # Three threads: one reads and scans, one makes columns, this one adds them to the capture.
    with (
        closing(one_ahead(parts_of_stream())) as parts,
        closing(one_ahead(map(decoder.piece, parts))) as pieces,
    ):
        for number, piece in enumerate(pieces):
            check_cancelled(cancelled)
            if not number:
                converter.begin(before[0])
            converter.absorb(piece)
            text = tr_n(
                "{count:,} event of {name}", "{count:,} events of {name}", converter.events, name=path.name
            )
            progress(stream.position() / size, text)
    return stream.state


def one_ahead(parts: Iterator[_Part]) -> Generator[_Part, None, None]:
    """Yields the parts while a thread makes the next one, and re-raises its exceptions.

    Unpacking and scanning release the interpreter's lock.
    """
    require_memory()
    with ThreadPoolExecutor(1, thread_name_prefix="trace") as thread:
        coming = thread.submit(next, parts, None)
        while (part := coming.result()) is not None:
            coming = thread.submit(next, parts, None)
            yield part
