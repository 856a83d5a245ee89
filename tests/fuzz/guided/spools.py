"""What a recording leaves: the files of its spool, and records of every source; its session is in `sessions`."""

from __future__ import annotations

import json
import random
import struct
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
from tests.fuzz.campaign import mutate_spool, small_seeds
from tests.fuzz.guided.sessions import chosen, finalised, run_session, session_seeds, sound_session
from tests.fuzz.guided.target import Target, scratch

from warpline.recording.sources.registry import recording_sources
from warpline.recording.spool import records
from warpline.recording.spool.reader import Chunk, SpoolFile, SpoolHeader

_SECOND = 1_000_000_000
_ENTRY = struct.Struct("<HBHHB")
"""Place in the list of types, thread, bytes of a record, bytes in all, ``free`` of the chunk."""


def run_file(data: bytes) -> None:
    """One file of a spool."""
    path = scratch() / "x.spool"
    path.write_bytes(data)
    spool = SpoolFile(path)
    spool.text(1)
    for number in {chunk.record_type for chunk in spool.chunks[:8]}:
        for dtype in (records.message, records.comm, records.clock_pair):
            spool.records(number, dtype)
            spool.columns(number, dtype, dtype.names or ())
            spool.writers(number, dtype)
            for _piece in spool.pieces(number, dtype, 2):
                pass


@cache
def _whole_spool() -> Path:
    folder = scratch() / "spools"
    folder.mkdir(exist_ok=True)
    return small_seeds.spools(folder)[0]


def _file_seeds(_data: Path | None) -> list[bytes]:
    return [path.read_bytes()[:20480] for path in sorted(_whole_spool().glob("*.spool"))]


def _mutate_file(data: bytes, rng: random.Random) -> bytes:
    path = scratch() / "mutated.spool"
    path.write_bytes(data)
    with suppress(IndexError, ValueError):
        mutate_spool._spool_file(path, rng)
    return path.read_bytes()


@cache
def _types() -> tuple[int, ...]:
    """Every type of record there is."""
    common = {value for name, value in vars(records).items() if name.isupper() and isinstance(value, int)}
    return tuple(sorted(common.union(*(source.record_types for source in recording_sources()))))


def _spool_of(data: bytes) -> SpoolFile:
    """A spool file of chunks that stand behind each other in an input."""
    spool = SpoolFile.__new__(SpoolFile)
    spool.path = Path("agent.7.1.spool")
    spool.header = SpoolHeader(
        pid=7,
        monotonic_ns=_SECOND,
        realtime_ns=100 * _SECOND,
        lost=0,
        parent_pid=1,
        finished=True,
        error=0,
        producer="agent",
    )
    chunks: list[Chunk] = []
    at = 0
    while at + _ENTRY.size <= len(data):
        number, tid, record_bytes, size, free = _ENTRY.unpack_from(data, at)
        at += _ENTRY.size
        payload = np.frombuffer(data[at : at + size], np.uint8)
        types = _types()
        chunks.append(Chunk(types[number % len(types)], record_bytes, tid, free, payload))
        at += size
    spool.chunks = tuple(chunks)
    return spool


def run_records(data: bytes) -> None:
    """Records of any source as events, of a recording of any options: a number, so many choices, and the records."""
    choices = 2 * (data[0] & 7) if data else 0
    spool = _spool_of(data[1 + choices :])
    # The others have nothing to read, and take most of the time.
    present = {chunk.record_type for chunk in spool.chunks}
    wanted = [source for source in recording_sources() if source.record_types & present]
    finalised(json.dumps(chosen(data[1 : 1 + choices], sound_session())).encode(), spool, wanted)


def _record_seeds(_data: Path | None) -> list[bytes]:
    """Some records of each source's types, with names."""
    strings = b"".join(
        struct.pack("<II", number, len(text)) + text.ljust(-(-len(text) // 8) * 8, b"\0")
        for number, text in enumerate((b"main", b"a.py:3 work", b"gemm"), 1)
    )
    named = _entry(1, 8, strings)
    whole = [SpoolFile(path) for path in sorted(_whole_spool().glob("*.spool"))]
    chunks = [chunk for spool in whole for chunk in spool.chunks if chunk.record_type != 1]
    of_type = {chunk.record_type: chunk for chunk in chunks}
    found = []
    kinds = [sorted(source.record_types) for source in recording_sources() if source.record_types]
    for types in ([], *kinds):
        chosen = [of_type[number] for number in types[:12] if number in of_type]
        body = b"".join(
            _entry(chunk.record_type, chunk.record_bytes, chunk.payload[: 2 * chunk.record_bytes].tobytes())
            for chunk in chosen
        )
        found.append(b"\0" + named + body)
    return found


def _entry(number: int, record_bytes: int, payload: bytes) -> bytes:
    return _ENTRY.pack(_types().index(number), 7, record_bytes, len(payload), 7) + payload


_NUMBERS = (0, 1, 2, 7, 255, 2**31, 2**32 - 1, 2**61, 2**63, 2**64 - 1, _SECOND, 2 * _SECOND)


def _mutate_records(data: bytes, rng: random.Random) -> bytes:
    out = bytearray(data or b"\0")
    first = 1 + 2 * (out[0] & 7)
    if rng.random() < 0.3:  # other choices, or one more
        at = rng.randrange(1, first + 1)
        more = out[0] & 7 < 7 and (at == first or rng.random() < 0.3)
        out[0] += more
        out[at : at if more else at + 1] = rng.randbytes(2 if more else 1)
        return bytes(out)
    for _ in range(rng.choice((1, 2, 5))):
        places = []
        at = first
        while at + _ENTRY.size <= len(out):
            places.append(at)
            at += _ENTRY.size + _ENTRY.unpack_from(out, at)[3]
        if not places:
            break
        at = rng.choice(places)
        number, tid, record_bytes, size, free = _ENTRY.unpack_from(out, at)
        body = at + _ENTRY.size
        action = rng.randrange(6)
        if action == 0:
            number = rng.randrange(1 << 16)
            _ENTRY.pack_into(out, at, number, tid, record_bytes, size, free)
        elif action == 1:
            out[at:at] = out[at : body + size]
        elif action == 2:
            del out[at : body + size]
        elif action == 3:
            record_bytes = max(0, min(65535, record_bytes + rng.choice((-8, -1, 1, 8))))
            _ENTRY.pack_into(out, at, number, tid, record_bytes, size, free)
        elif size >= 8 and body + 8 <= len(out):
            place = body + 4 * rng.randrange(max(1, (min(size, len(out) - body) - 4) // 4))
            if place + 8 <= len(out):
                struct.pack_into("<Q", out, place, rng.choice(_NUMBERS))
    return bytes(out)


TARGETS = (
    Target("session", run_session, session_seeds),
    Target("spool-file", run_file, _file_seeds, _mutate_file, (b"CHNK", b"WLSPOOL1"), most_bytes=20480),
    Target("records", run_records, _record_seeds, _mutate_records),
)
