"""A process that turns pieces of JSON text into columns, for files so large that one core is too slow.

Run as ``python -m warpline.interchange.trace_json.worker FORMAT``: reads pieces from standard input and writes columns
to standard output, each preceded by its length. Its parent is `trace_pool`.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from typing import BinaryIO

from warpline.i18n import english
from warpline.interchange.trace_json.events import EventDecoder
from warpline.interchange.trace_json.formats import FORMATS
from warpline.interchange.trace_json.piece_columns import Piece, split_piece
from warpline.interchange.trace_json.scanned_columns import native_piece
from warpline.interchange.trace_json.scanner import Scan

LENGTH = struct.Struct("<Q")


def piece_of(decoder: EventDecoder, part: bytes | Scan, format_name: str) -> Piece:
    """The columns of one part of an `EventStream`; what could not be decoded is among its losses."""
    form = FORMATS[format_name]

    def decoded(text: bytes) -> Piece:
        events, loss = decoder.decode(text)
        piece = split_piece(events, form.route, form.extractors, claimed=form.claimed)
        if loss.damaged:
            piece.losses[
                english("damaged pieces of JSON"), english("the text between two events is no JSON")
            ] += loss.damaged
        if loss.foreign:
            piece.losses[
                english("values that are no events"), english("the list of events holds something else")
            ] += loss.foreign
        return piece

    if isinstance(part, bytes):
        return decoded(part)
    return native_piece(part, format_name, decoded)


def read_message(stream: BinaryIO) -> bytes | None:
    """The next message, None at the end of the stream.

    Raises EOFError when the stream ends inside a message.
    """
    head = stream.read(LENGTH.size)
    if not head:
        return None
    if len(head) == LENGTH.size:
        size = LENGTH.unpack(head)[0]
        body = stream.read(size)
        if len(body) == size:
            return body
    raise EOFError("the other process ended in the middle of a message")


def write_message(stream: BinaryIO, body: bytes) -> None:
    """Send one message."""
    stream.write(LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def main() -> int:
    """Serve until standard input ends."""
    decoder = EventDecoder()
    # What a library prints must not end up between the messages.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while (text := read_message(sys.stdin.buffer)) is not None:
        write_message(answers, pickle.dumps(piece_of(decoder, text, sys.argv[1]), protocol=5))
    return 0


if __name__ == "__main__":
    sys.exit(main())
