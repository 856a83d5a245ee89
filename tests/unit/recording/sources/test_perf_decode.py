"""Taking perf's ring apart: stored bytes of a real ring, and any sequence of records against a one-by-one reader."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.effort import rounds

from warpline.recording.sources.perf import records
from warpline.recording.sources.perf.decode import Decoded, decode

SAMPLE_ID = struct.Struct("<IIQII")


def sample_id(pid: int, tid: int, time_ns: int, cpu: int) -> bytes:
    return SAMPLE_ID.pack(pid, tid, time_ns, cpu, 0)


def record(kind: int, misc: int, body: bytes) -> bytes:
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def switch(misc: int, tid: int, time_ns: int, cpu: int) -> bytes:
    return record(14, misc, sample_id(500, tid, time_ns, cpu))


def comm(tid: int, time_ns: int, name: str, is_exec: bool) -> bytes:
    raw = name.encode() + b"\0"
    raw += bytes(-len(raw) % 8)
    return record(
        3, 0x2000 if is_exec else 0, struct.pack("<II", 500, tid) + raw + sample_id(500, tid, time_ns, 1)
    )


def task(kind: int, pid: int, tid: int, parent: int, parent_tid: int, time_ns: int) -> bytes:
    body = struct.pack("<IIIIQ", pid, parent, tid, parent_tid, time_ns)
    return record(kind, 0, body + sample_id(parent, parent_tid, time_ns, 0))


def lost(count: int, time_ns: int) -> bytes:
    return record(2, 0, struct.pack("<QQ", 77, count) + sample_id(1, 1, time_ns, 1))


def switches_of(decoded: Decoded) -> np.ndarray:
    return np.frombuffer(b"".join(decoded.switches), records.switch)


# The ring of core 1 after `sh -c 'sleep 0.01; true'` ran there alone; x86_64, Linux 6.18.
STORED = bytes.fromhex(
    "03000000002030008d0d00008d0d000073680000000000008d0d00008d0d0000eaf02a48440300000100000000000000"
    "0e000000006020008d0d00008d0d0000cb0b34484403000001000000000000000e000000000020008d0d00008d0d0000"
    "2edd344844030000010000000000000007000000000038008e0d00008d0d00008e0d00008d0d0000341a3a4844030000"
    "8d0d00008d0d0000cb183a484403000001000000000000000e000000002020008d0d00008d0d0000ca4b3a4844030000"
    "01000000000000000e000000000020008e0d00008e0d000073533a484403000001000000000000000300000000203000"
    "8e0d00008e0d0000736c6565700000008e0d00008e0d0000e3643b484403000001000000000000000e00000000602000"
    "8e0d00008e0d00008f853b484403000001000000000000000e000000000020008d0d00008d0d0000658b3b4844030000"
    "01000000000000000e000000002020008d0d00008d0d000013a73b484403000001000000000000000e00000000002000"
    "8e0d00008e0d000082ac3b484403000001000000000000000e000000002020008e0d00008e0d0000afa34a4844030000"
    "01000000000000000e000000000020008e0d00008e0d0000b15fe4484403000001000000000000000400000000003800"
    "8e0d00008d0d00008e0d00008d0d0000e12fe548440300008e0d00008e0d0000e62ce548440300000100000000000000"
    "0e000000000020008d0d00008d0d0000322be84844030000010000000000000004000000000038008d0d00008b0d0000"
    "8d0d00008b0d00004b1fe948440300008d0d00008d0d0000281de948440300000100000000000000"
)


def test_a_stored_ring_decodes_to_the_shells_history() -> None:
    found = decode(STORED)
    shell, sleep = 3469, 3470
    assert [(tid, name, is_exec) for _time, _pid, tid, name, _cpu, is_exec in found.comms] == [
        (shell, "sh", True),
        (sleep, "sleep", True),
    ]
    assert found.forks == [(3_591_804_426_804, sleep, sleep, shell, shell)]
    assert [(pid, tid) for _time, pid, tid in found.exits] == [(sleep, sleep), (shell, shell)]
    switches = switches_of(found)
    assert set(switches["cpu"].tolist()) == {1}
    assert (np.diff(switches["time_ns"].astype(np.int64)) > 0).all()
    out = (switches["misc"] & 0x2000) != 0
    assert switches["tid"][out].tolist() == [shell, shell, sleep, shell, sleep]
    assert ((switches["misc"] & 0x4000) != 0)[out].tolist() == [True, False, True, False, False]
    # It slept for 10 ms and a little.
    asleep = switches["time_ns"][(switches["tid"] == sleep)].astype(np.int64)
    assert 10_000_000 < asleep[4] - asleep[3] < 10_200_000
    assert found.lost == found.damaged == 0


def test_each_kind_of_record() -> None:
    raw = b"".join(
        [
            comm(7, 10, "python", True),
            switch(0, 7, 11, 3),
            switch(0x2000, 7, 12, 3),
            task(7, 600, 601, 500, 7, 13),
            switch(0x6000, 601, 14, 0),
            record(99, 0, bytes(16)),
            lost(41, 15),
            task(4, 600, 601, 500, 7, 16),
            record(9, 0, struct.pack("<IIQII", 500, 7, 17, 2, 0) + struct.pack("<I", 12) + b"abcdefghijkl"),
        ]
    )
    found = decode(raw)
    switches = switches_of(found)
    assert switches["time_ns"].tolist() == [11, 12, 14]
    assert switches["misc"].tolist() == [0, 0x2000, 0x6000]
    assert switches["cpu"].tolist() == [3, 3, 0]
    assert switches["tid"].tolist() == [7, 7, 601]
    assert found.comms == [(10, 500, 7, "python", 1, True)]
    assert found.forks == [(13, 600, 601, 500, 7)]
    assert found.exits == [(16, 600, 601)]
    assert found.losts == [(15, 41, 1)]
    assert found.lost == 41
    assert found.samples == [(17, 500, 7, 2, b"abcdefghijkl")]
    assert found.damaged == 0
    assert found.count == 7


def one_by_one(raw: bytes) -> list[tuple[int, ...]]:
    """(tid, misc, time) of each switch record, read with a plain loop."""
    found: list[tuple[int, ...]] = []
    position = 0
    while position + 8 <= len(raw):
        kind, misc, size = struct.unpack_from("<IHH", raw, position)
        if kind == 14:
            _pid, tid, time_ns, _cpu, _res = SAMPLE_ID.unpack_from(raw, position + 8)
            found.append((tid, misc, time_ns))
        position += size
    return found


PIECES = st.one_of(
    st.builds(
        lambda n, tid, misc: b"".join(switch(misc, tid, 1000 + i, i % 4) for i in range(n)),
        st.integers(0, 200),
        st.integers(1, 1 << 20),
        st.sampled_from([0, 0x2000, 0x6000]),
    ),
    st.builds(comm, st.integers(1, 9), st.integers(0, 1 << 40), st.text("abc", max_size=15), st.booleans()),
    st.builds(lost, st.integers(1, 1000), st.integers(0, 99)),
    st.builds(lambda n: record(12, 5, bytes(8 * n)), st.integers(0, 8)),
)


@pytest.mark.fuzz
@settings(max_examples=rounds(26, 5_000), deadline=None)
@given(st.lists(PIECES, max_size=12))
def test_any_mixture_of_records_decodes_like_single_records(pieces: list[bytes]) -> None:
    raw = b"".join(pieces)
    found = decode(raw)
    rows = [(int(row["tid"]), int(row["misc"]), int(row["time_ns"])) for row in switches_of(found)]
    assert rows == one_by_one(raw)
    assert found.damaged == 0


@pytest.mark.fuzz
@settings(max_examples=rounds(26, 5_000), deadline=None)
@given(st.binary(max_size=400))
def test_garbage_is_counted_as_damage(raw: bytes) -> None:
    found = decode(raw)
    assert 0 <= found.damaged <= len(raw)


def test_a_record_of_size_zero_ends_decoding() -> None:
    raw = switch(0, 1, 1, 1) + record(14, 0, bytes(24))[:6] + b"\0\0" + bytes(24)
    found = decode(raw)
    assert found.count == 1
    assert found.damaged == 32
