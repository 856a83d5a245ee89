"""Turns parts of a trace into columns, with the compiled scanner or with a decoder in Python."""

from __future__ import annotations

from typing import Protocol

from warpline.i18n import english
from warpline.interchange.trace_json.events import EventDecoder
from warpline.interchange.trace_json.piece_columns import Piece, split_piece
from warpline.interchange.trace_json.scanned_columns import scanned_piece
from warpline.interchange.trace_json.scanner import Scan, Scanner, library
from warpline.interchange.trace_json.trace_format import TraceFormat

DECODED_BYTES = 4 << 20
"""Text decoded at a time: some ten thousand events."""
SCANNED_BYTES = 6 << 20
"""Text scanned at a time. Making columns has a fixed cost, so more events at a time are cheaper."""


class Decoder(Protocol):
    """Turns the parts of an `EventStream` into columns."""

    @property
    def chunk_bytes(self) -> int:
        """How much text to pass at a time."""
        ...

    @property
    def scanner(self) -> Scanner | None:
        """The scanner that finds events in the text; None if `piece` takes whole events."""
        ...

    def piece(self, part: bytes | Scan) -> Piece:
        """The columns of a part (the text of an array, or a scan) and what could not be decoded."""
        ...


def decoder_for(form: TraceFormat) -> Decoder:
    """The fastest decoder available for a format."""
    lib = library() if form.scannable else None
    return TextDecoder(form) if lib is None else CompiledDecoder(form, Scanner(lib))


class TextDecoder:
    """Decodes every event into an object."""

    chunk_bytes = DECODED_BYTES
    scanner = None

    def __init__(self, form: TraceFormat) -> None:
        self._form = form
        self._events = EventDecoder()

    def piece(self, part: bytes | Scan) -> Piece:
        """See `Decoder.piece`; takes text only."""
        assert isinstance(part, bytes), "there is no scanner"
        events, loss = self._events.decode(part)
        piece = split_piece(events, self._form.route, self._form.extractors, claimed=self._form.claimed)
        if loss.damaged:
            piece.losses[
                english("damaged pieces of JSON"), english("text between two events that is not JSON")
            ] += loss.damaged
        if loss.foreign:
            piece.losses[english("values that are not events"), english("found in the list of events")] += (
                loss.foreign
            )
        return piece


class CompiledDecoder:
    """Scans events without decoding them, and passes unusual ones to a `TextDecoder`."""

    chunk_bytes = SCANNED_BYTES

    def __init__(self, form: TraceFormat, scanner: Scanner) -> None:
        self._form = form
        self._text = TextDecoder(form)
        self.scanner = scanner

    def piece(self, part: bytes | Scan) -> Piece:
        """See `Decoder.piece`."""
        if isinstance(part, bytes):
            return self._text.piece(part)
        return scanned_piece(part, self._form, self._text.piece)
