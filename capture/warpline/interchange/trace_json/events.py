"""Events of the Chrome JSON format, and their decoder."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import msgspec

from warpline.interchange.framework.columns import loses_nanoseconds
from warpline.interchange.trace_json.json_repair import is_json, save_events
from warpline.untrusted import read_json

Scalar = int | float | str | None

NO_ARGS = msgspec.Raw(b"")


class Event(msgspec.Struct, gc=False):
    """The members of an event that are used. All are optional and of any type; ``args`` stays JSON text."""

    ph: Scalar = None
    cat: Scalar = None
    name: Scalar = None
    ts: Scalar = None
    dur: Scalar = None
    pid: Scalar = None
    tid: Scalar = None
    args: msgspec.Raw = NO_ARGS
    id: Scalar = None
    s: Scalar = None
    bp: Scalar = None
    tdur: Scalar = None
    scope: Scalar = None
    sf: Scalar = None
    id2: msgspec.Raw = NO_ARGS


@dataclass(frozen=True)
class DecodeLoss:
    """Counts of what a piece of text did not yield."""

    damaged: int = 0
    """Pieces that are not JSON."""
    foreign: int = 0
    """JSON values that are not events, except empty objects, which end Paddle's list."""


class EventDecoder:
    """Decodes pieces of an `EventStream` into events, and recovers what it can from damaged ones.

    ``event_type`` has the members of `Event`. A piece that does not fit the type is decoded event by event, without the
    members that do not fit.
    """

    def __init__(self, event_type: type[Event] = Event) -> None:
        self._decoder = msgspec.json.Decoder(list[event_type])  # type: ignore[valid-type]  # a type at run time
        self._one = msgspec.json.Decoder(event_type)

    def decode(self, piece: bytes) -> tuple[list[Any], DecodeLoss]:
        """The events of a piece, in order, and what was lost."""
        loss = DecodeLoss()
        try:
            events: list[Any] = self._decoder.decode(piece)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            damaged = 0
            if not is_json(piece):
                piece, damaged = save_events(piece)
            events, loss = self._decode_saved(piece)
            loss = DecodeLoss(damaged + loss.damaged, loss.foreign)
        if loses_nanoseconds([event.ts for event in events[:64]]) or loses_nanoseconds(
            [event.ts for event in events[-8:]]
        ):
            events = self._with_text_times(piece, events)
        return events, loss

    def _with_text_times(self, piece: bytes, events: list[Any]) -> list[Any]:
        """Decodes again, with fractional times as text to keep all digits."""
        try:
            exact: list[Any] = self._decoder.decode(_FRACTIONAL_TIME.sub(rb'\1"\2"', piece))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return events
        return exact if len(exact) == len(events) else events

    def _decode_saved(self, piece: bytes) -> tuple[list[Any], DecodeLoss]:
        try:
            return self._decoder.decode(piece), DecodeLoss()
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return self._decode_singly(piece)

    def _decode_singly(self, piece: bytes) -> tuple[list[Any], DecodeLoss]:
        events: list[Any] = []
        damaged = foreign = 0
        try:
            raws = _RAW_LIST.decode(piece)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return [], DecodeLoss(damaged=1)
        for raw in raws:
            try:
                events.append(self._one.decode(raw))
                continue
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                pass
            plain = _plain(bytes(raw))
            if plain is None:
                foreign += 1
                continue
            try:
                events.append(self._one.decode(plain))
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                damaged += 1
        return events, DecodeLoss(damaged, foreign)


_RAW_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_FRACTIONAL_TIME = re.compile(rb'("ts"\s*:\s*)(-?\d+\.\d+)')
_SCALARS = frozenset(field for field in Event.__struct_fields__ if field not in ("args", "id2"))


def _plain(text: bytes) -> bytes | None:
    """The event as JSON with only scalars as scalar members; None when the value is not an object."""
    try:
        value: Any = read_json(text)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    event: dict[str, Any] = {
        key: _scalar(member) if key in _SCALARS else member
        for key, member in value.items()
        if key in Event.__struct_fields__
    }
    if not isinstance(event.get("args"), dict):
        event.pop("args", None)
    return msgspec.json.encode(event)


def _scalar(value: Any) -> Scalar:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (list, dict)):
        return json.dumps(value)
    return value if value is None or isinstance(value, (int, float, str)) else str(value)
