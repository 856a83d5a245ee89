"""Traces of other profilers: Chrome JSON in its dialects, read by two readers, and Paddle's protobuf."""

from __future__ import annotations

import json
import random
import re
import zlib
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

from tests.fuzz.campaign import mutate_json, mutate_pb, small_seeds
from tests.fuzz.guided.target import Differs, Target, memory_builder, memory_file, settle
from tests.unit.interchange.trace_json.scanned_tools import content

from warpline.interchange.ascend.ascend_importer import importer as ascend
from warpline.interchange.framework.importer import Importer, ImportOptions
from warpline.interchange.paddle.json_importer import importer as paddle
from warpline.interchange.paddle.protobuf_importer import importer as paddle_pb
from warpline.interchange.torch.columns import TORCH
from warpline.interchange.torch.torch_importer import importer as torch
from warpline.interchange.trace_json import reader
from warpline.interchange.trace_json.chrome_importer import importer as chrome
from warpline.interchange.trace_json.decoding import CompiledDecoder, Decoder, TextDecoder
from warpline.interchange.trace_json.json_stream import EventStream
from warpline.interchange.trace_json.scanner import Scanner, library
from warpline.interchange.trace_json.trace_format import CHROME, TraceFormat
from warpline.model import ImportFormatError

_IMPORTERS: tuple[Importer, ...] = (torch, paddle, ascend, chrome)
_CHUNKS = (64, *(1 << 20,) * 6)
_SEED_BYTES = 1500


def _never() -> bool:
    return False


def _untold(fraction: float, text: str) -> None:
    """Nobody looks."""


def _read(file: Any, decoder: Decoder, chunk: int) -> dict[str, Any]:
    stream = EventStream(file, chunk, decoder.scanner)
    found = content(*[decoder.piece(part) for part in stream])
    return {**found, "header": repr(stream.state.header), "cut": stream.state.truncated}


def _compare(file: Any, form: TraceFormat, chunk: int) -> None:
    """What the decoder in Python reads without a loss the scanner reads as well."""
    lib = library()
    if lib is None or not form.scannable:
        return
    decoded: dict[str, Any] | None = None
    problem = ""
    try:
        decoded = _read(file, TextDecoder(form), chunk)
    except ImportFormatError as error:
        problem = str(error)
    try:
        scanned = _read(file, CompiledDecoder(form, Scanner(lib)), chunk)
    except ImportFormatError as error:
        if decoded is not None:
            raise Differs(f"the scanner alone refuses: {error}") from error
        return
    if decoded is None:
        raise Differs(f"the decoder alone refuses: {problem}")
    if not decoded["losses"] and not decoded["cut"] and scanned != decoded:
        keys = [key for key in {*scanned, *decoded} if scanned.get(key) != decoded.get(key)]
        raise Differs(f"in {min(keys)}")


def run_readers(data: bytes) -> None:
    """Both readers of the text, in pieces of any size."""
    file = memory_file(data, "x.json")
    check = zlib.crc32(data)
    _compare(file, (TORCH, CHROME)[check & 1], _CHUNKS[check % len(_CHUNKS)])


def run_events(data: bytes) -> None:
    """Events as a capture would have them, by the importer that is surest of the file."""
    file = memory_file(data, "rank3.json")
    importer = max(_IMPORTERS, key=lambda one: one.recognise(data[:65536], file))
    with memory_builder() as builder, mock.patch.object(reader, "one_ahead", _at_once):
        importer.convert(file, builder, ImportOptions(), _untold, _never)
        settle(builder)


def _at_once(parts: Any) -> Any:
    """`one_ahead` without a thread."""
    yield from parts


def _json_seeds(data: Path | None) -> list[bytes]:
    """Traces of two events each, which take a tenth of the time of a file's beginning."""
    found: list[bytes] = []
    for _name, raw in small_seeds.own_traces() + (mutate_json.seeds(data, _SEED_BYTES) if data else []):
        try:
            document = json.loads(raw)
        except ValueError:
            found.append(raw[:_SEED_BYTES])
            continue
        events = document if isinstance(document, list) else document.pop("traceEvents", [])
        head = {} if isinstance(document, list) else document
        for first in range(0, min(len(events), 16), 2):
            pair = events[first : first + 2]
            found.append(
                json.dumps(pair if isinstance(document, list) else {**head, "traceEvents": pair}).encode()
            )
    return [one for one in dict.fromkeys(found) if len(one) <= _SEED_BYTES]


def _mutate_json(data: bytes, rng: random.Random) -> bytes:
    return mutate_json.mutate(data, rng)[0]


def run_pb(data: bytes) -> None:
    """The messages as events."""
    file = memory_file(data, "x.pb")
    paddle_pb.recognise(data[:65536], file)
    with memory_builder() as builder:
        paddle_pb.convert(file, builder, ImportOptions(), _untold, _never)
        settle(builder)


def _message(*fields: tuple[int, int | bytes]) -> bytes:
    wired: list[tuple[int, int, int | bytes]] = [
        (number, 0 if isinstance(value, int) else 2, value) for number, value in fields
    ]
    return mutate_pb.pack(wired, random.Random(0), 0)


def own_profile() -> bytes:
    """One thread: an operator with shapes, a call, its kernel and its copy, an allocation."""
    shapes = _message((1, b"X"), (2, _message((1, _message((1, 2), (1, 3))))))
    kernel = _message((1, b"gemm"), (2, 3), (3, 30), (4, 40), (5, 0), (6, 1), (7, 7), (8, 5),
                      (9, _message((1, 32), (4, 8), (7, 512), (9, 16))))  # fmt: skip
    copy = _message((1, b"copy"), (2, 4), (3, 41), (4, 43), (7, 7), (8, 6), (10, _message((1, 64))))
    call = _message((1, _message((1, b"cudaLaunchKernel"), (2, 20), (3, 25), (4, 1), (5, 2), (6, 5))),
                    (2, _message((1, kernel))), (2, _message((1, copy))))  # fmt: skip
    memory = _message(
        (1, _message((1, 22), (2, 0), (3, 4096), (4, 1), (5, 2), (6, 64), (7, b"Place(gpu:0)"), (8, 64)))
    )
    host = _message((1, b"conv2d"), (2, 0), (3, 10), (4, 50), (5, 1), (6, 2))
    more = _message(
        (1, _message((5, shapes), (6, _message((1, b"X"), (2, _message((1, b"float32"))))), (7, b"a")))
    )
    node = _message((1, 1), (2, 0), (3, host), (4, call), (5, memory), (6, more))
    root = _message((1, 0), (3, _message((1, b"root node"), (2, 9))))
    device = _message((1, 0), (2, b"GPU"), (13, 108))
    thread = _message((1, 2), (2, root), (2, node))
    pair = _message((1, b"a"), (2, b"b"))
    return _message((1, b"1.0.2"), (2, 1), (3, thread), (4, pair), (5, device))


def _pb_seeds(data: Path | None) -> list[bytes]:
    profiles = sorted(data.glob("**/paddle*.pb")) if data else []
    pruned = [mutate_pb.pruned(path.read_bytes(), most) for path in islice(profiles, 6) for most in (3, 8)]
    return [own_profile(), *(one for one in pruned if len(one) <= 4 * _SEED_BYTES)]


def _mutate_pb(data: bytes, rng: random.Random) -> bytes:
    return mutate_pb.mutate(data, rng)[0] if data else b"\x0a\x00"


_WORDS = tuple(
    dict.fromkeys(re.findall(rb'"[A-Za-z_ ]{2,20}"', repr(small_seeds._EVENTS).replace("'", '"').encode()))
)

TARGETS = (
    Target("json-readers", run_readers, _json_seeds, _mutate_json, (*_WORDS, *mutate_json.TOKENS)),
    Target("json-events", run_events, _json_seeds, _mutate_json, (*_WORDS, *mutate_json.TOKENS)),
    Target("paddle-pb", run_pb, _pb_seeds, _mutate_pb),
)
