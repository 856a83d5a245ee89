"""From a file to a converter: pieces of text, decoded, sorted into columns, handed over in order."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from warpline.i18n import tr
from warpline.interchange.importer import IsCancelled, Progress, check_cancelled
from warpline.interchange.json_stream import EventStream, StreamState
from warpline.interchange.trace_converter import TraceConverter
from warpline.interchange.trace_events import DecodeLoss, EventDecoder
from warpline.interchange.trace_groups import Extractor, Piece, Route, split_piece


def read_trace(
    path: Path,
    converter: TraceConverter,
    route: Route,
    extractors: Mapping[str, Extractor],
    progress: Progress,
    cancelled: IsCancelled,
    *,
    claimed: frozenset[str] = frozenset(),
) -> StreamState:
    """Read all events of a file into a converter, which the caller then finishes.

    Raises ImportFormatError when the file holds no list of events, Cancelled.
    """
    stream = EventStream(path)
    decoder = EventDecoder()
    size = max(1, path.stat().st_size)
    for text in stream:
        check_cancelled(cancelled)
        events, loss = decoder.decode(text)
        piece = split_piece(events, route, extractors, claimed=claimed)
        _count(piece, loss)
        converter.absorb(piece)
        progress(
            stream.position() / size,
            tr("{count} events of {name}", count=f"{converter.events:,}", name=path.name),
        )
    return stream.state


def _count(piece: Piece, loss: DecodeLoss) -> None:
    if loss.damaged:
        piece.losses["damaged pieces of JSON", "the text between two events is no JSON"] += loss.damaged
    if loss.foreign:
        piece.losses["values that are no events", "the list of events holds something else"] += loss.foreign
