"""Find events in JSON text exactly, and save what can be saved where the text is damaged."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

EVENT_BORDER = re.compile(rb"\}\s*,\s*\{(?=\s*\")")
"""Where one event probably ends and the next begins: an opening brace that is followed by a key."""

_STRUCTURE = np.zeros(256, bool)
_STRUCTURE[list(b"{}[],")] = True
_STEP = np.zeros(256, np.int64)
_STEP[list(b"{[")] = 1
_STEP[list(b"}]")] = -1
_COMMA = ord(",")

_SPACE = b" \t\r\n"
_RAW = msgspec.json.Decoder(msgspec.Raw)
_RAW_LIST = msgspec.json.Decoder(list[msgspec.Raw])

# A whole string, so that its content is never changed, or what strict JSON forbids outside of strings.
_FORBIDDEN = re.compile(
    rb'"(?:[^"\\]|\\.)*"|(?P<number>-?\b(?:NaN|Infinity|nan|inf)\b)|(?P<comma>,(?=\s*[}\]]))', re.DOTALL
)


@dataclass(frozen=True)
class EventScan:
    """Complete elements at the front of an unfinished JSON array."""

    pieces: tuple[bytes, ...]
    used: int
    """Bytes up to and including the comma or the closing bracket after the last piece."""
    ended: bool
    """The closing bracket of the array was among them."""


def _unescaped_quotes(codes: np.ndarray[Any, np.dtype[np.uint8]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Positions of the quotation marks that open or close a string."""
    quotes = np.flatnonzero(codes == ord('"'))
    if not len(quotes):
        return quotes
    after_backslash = quotes[(codes[quotes - 1] == ord("\\")) & (quotes > 0)]
    if not len(after_backslash):
        return quotes
    # A run of n backslashes escapes the quotation mark when n is odd.
    others = np.flatnonzero(codes != ord("\\"))
    before = np.searchsorted(others, after_backslash) - 1
    last_other = np.where(before >= 0, others[np.maximum(before, 0)], -1)
    escaped = after_backslash[(after_backslash - 1 - last_other) % 2 == 1]
    return np.setdiff1d(quotes, escaped, assume_unique=True)


def scan_events(text: bytes) -> EventScan:
    """The complete elements of an array whose opening bracket has been taken off ``text``.

    Exact for valid JSON, strings with braces and quotation marks included; vectorised, some 5 ns per byte.
    """
    codes = np.frombuffer(text, np.uint8)
    structure = np.flatnonzero(_STRUCTURE[codes])
    outside = np.searchsorted(_unescaped_quotes(codes), structure) % 2 == 0
    structure = structure[outside]
    kinds = codes[structure]
    depth = np.cumsum(_STEP[kinds])
    closing = np.flatnonzero(depth < 0)
    ended = len(closing) > 0
    stop = int(closing[0]) if ended else len(structure)
    borders = structure[:stop][(kinds[:stop] == _COMMA) & (depth[:stop] == 0)]
    cuts = [*borders.tolist(), int(structure[stop])] if ended else borders.tolist()
    pieces: list[bytes] = []
    begin = 0
    for cut in cuts:
        piece = text[begin:cut].strip(_SPACE)
        if piece:
            pieces.append(piece)
        begin = cut + 1
    return EventScan(tuple(pieces), begin, ended)


def value_end(text: bytes) -> int | None:
    """Where the JSON value at the front of ``text`` ends, None when its end is not in ``text``."""
    if not text:
        return None
    first = text[:1]
    if first == b'"':
        quotes = _unescaped_quotes(np.frombuffer(text, np.uint8))
        return int(quotes[1]) + 1 if len(quotes) > 1 else None
    if first in (b"{", b"["):
        codes = np.frombuffer(text, np.uint8)
        structure = np.flatnonzero(_STRUCTURE[codes])
        structure = structure[np.searchsorted(_unescaped_quotes(codes), structure) % 2 == 0]
        closing = np.flatnonzero(np.cumsum(_STEP[codes[structure]]) == 0)
        # Commas before the first bracket cannot be: the value begins with one.
        return int(structure[closing[0]]) + 1 if len(closing) else None
    match = re.match(rb"[^\s,}\]]+(?=[\s,}\]])", text)
    return match.end() if match else None


def mend(text: bytes) -> bytes | None:
    """The JSON value in ``text`` as valid JSON: NaN and infinities become null, surplus commas, raw control characters
    and bytes that are not UTF-8 are replaced. None when it is no JSON even so.
    """
    if is_json(text):
        return text
    clean = text.decode("utf-8", "replace").encode()
    clean = _FORBIDDEN.sub(_allowed, clean)
    if is_json(clean):
        return clean
    try:
        # Accepts control characters inside strings, which some writers leave there.
        return msgspec.json.encode(json.loads(clean, strict=False))
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None


def _allowed(match: re.Match[bytes]) -> bytes:
    if match["number"] is not None:
        return b"null"
    if match["comma"] is not None:
        return b""
    return match[0]


def is_json(text: bytes) -> bool:
    """Whether ``text`` is one JSON value in strict form, valid UTF-8 included."""
    try:
        _RAW.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return False
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def save_events(array: bytes) -> tuple[bytes, int]:
    """What can be saved of a damaged array of events: (a valid array, how many pieces were lost).

    Events are told apart exactly; where that fails (an unbalanced quotation mark), at what looks like the border
    of two events.
    """
    text = array.strip(_SPACE)[1:]
    scan = scan_events(text)
    rest = text[scan.used :] if not scan.ended else b""
    rest = rest.rstrip(_SPACE)
    pieces = list(scan.pieces)
    if rest.removesuffix(b"]").strip(_SPACE):
        pieces.append(rest.removesuffix(b"]").strip(_SPACE))
    good: list[bytes] = []
    lost = 0
    for piece in pieces:
        whole = mend(piece)
        if whole is not None:
            good.append(whole)
            continue
        for part in _split(piece):
            mended = mend(part)
            if mended is None:
                lost += 1
            else:
                good.append(mended)
    return b"[" + b",".join(good) + b"]", lost


def _split(text: bytes) -> list[bytes]:
    parts: list[bytes] = []
    begin = 0
    for match in EVENT_BORDER.finditer(text):
        parts.append(text[begin : match.start() + 1])
        begin = match.end() - 1
    parts.append(text[begin:])
    return parts
