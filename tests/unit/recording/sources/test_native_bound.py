"""Copies of stacks are kept up to a bound; samples beyond it keep where they were."""

from __future__ import annotations

from pathlib import Path

from warpline.recording.sources.native_stacks.chain_store import ChainStore
from warpline.recording.sources.native_stacks.decode import RingContent, Sample
from warpline.recording.sources.native_stacks.records import (
    NATIVE_MEMORY,
    NATIVE_SAMPLE,
    NATIVE_STACK,
    native_sample,
    native_stack,
)
from warpline.recording.spool.reader import read_spools
from warpline.recording.spool.writer import SpoolWriter

KERNEL = 0xFFFFFFFF81000000


def sample(time_ns: int) -> Sample:
    return Sample(
        time_ns=time_ns,
        pid=7,
        tid=8,
        cpu=1,
        kernel=(KERNEL,),
        user=(),
        registers=(10, 20, 0x4000 + time_ns),
        memory=b"x" * 1000,
    )


def test_samples_beyond_the_limit_have_a_place_but_no_callers(tmp_path: Path) -> None:
    writer = SpoolWriter(tmp_path / "native.spool", "native")
    store = ChainStore(writer, most_memory_bytes=2500)
    content = RingContent()
    content.samples.extend(sample(time_ns) for time_ns in range(5))
    store.add(content)
    writer.close()
    assert store.events == 5
    assert store.lost == 0
    assert store.shortened.startswith("3 samples have no callers")
    (spool,), _damaged = read_spools(tmp_path)
    assert sum(chunk.payload.tobytes().count(b"x" * 1000) for chunk in spool.of_type(NATIVE_MEMORY)) == 2
    short = spool.records(NATIVE_SAMPLE, native_sample).values
    assert short["time_ns"].tolist() == [2, 3, 4]
    nodes = spool.records(NATIVE_STACK, native_stack).values
    address = dict(zip(nodes["stack"].tolist(), nodes["address"].tolist(), strict=True))
    parent = dict(zip(nodes["stack"].tolist(), nodes["parent"].tolist(), strict=True))
    for row in short:
        inner = int(row["stack"])
        assert (address[inner], address[parent[inner]]) == (KERNEL, 0x4000 + row["time_ns"])
