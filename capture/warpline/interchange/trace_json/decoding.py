"""How parts of a trace become columns: one interface for the decoder in Python and the compiled scanner."""

from __future__ import annotations

from typing import Protocol

from warpline.i18n import english
from warpline.interchange.trace_json.events import EventDecoder
from warpline.interchange.trace_json.piece_columns import Piece, split_piece
from warpline.interchange.trace_json.scanned_columns import scanned_piece
from warpline.interchange.trace_json.scanner import Scan, Scanner, library
from warpline.interchange.trace_json.trace_format import TraceFormat

DECODED_BYTES = 4 << 20
"""How much is decoded in one go: some ten thousand events."""
SCANNED_BYTES = 6 << 20
"""How much is scanned in one go. What it costs to make columns hardly depends on how many events are in them."""


class Decoder(Protocol):
    """Makes columns of the parts of an `EventStream`, which it helps to find."""

    @property
    def chunk_bytes(self) -> int:
        """How much of the text it wants in one go."""
        ...

    @property
    def scanner(self) -> Scanner | None:
        """Takes apart events of an unfinished array, as far as it can; None to be given whole events."""
        ...

    def piece(self, part: bytes | Scan) -> Piece:
        """The columns of one part, the text of an array or a scan; what could not be decoded is among its losses."""
        ...


def decoder_for(form: TraceFormat) -> Decoder:
    """The quickest there is for a format."""
    lib = library() if form.scannable else None
    return TextDecoder(form) if lib is None else CompiledDecoder(form, Scanner(lib))


class TextDecoder:
    """Makes an object of every event."""

    chunk_bytes = DECODED_BYTES
    scanner = None

    def __init__(self, form: TraceFormat) -> None:
        self._form = form
        self._events = EventDecoder()

    def piece(self, part: bytes | Scan) -> Piece:
        """See `Decoder.piece`; only texts come here."""
        assert isinstance(part, bytes), "nothing has been scanned"
        events, loss = self._events.decode(part)
        piece = split_piece(events, self._form.route, self._form.extractors, claimed=self._form.claimed)
        if loss.damaged:
            piece.losses[
                english("damaged pieces of JSON"), english("the text between two events is no JSON")
            ] += loss.damaged
        if loss.foreign:
            piece.losses[
                english("values that are no events"), english("the list of events holds something else")
            ] += loss.foreign
        return piece


class CompiledDecoder:
    """Finds the members of events in the text, and leaves what is unusual to a `TextDecoder`."""

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
