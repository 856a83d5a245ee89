"""Directories of captures with right checksums and something else in them: read without HDF5 and by it."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

from tests.fuzz.campaign import small_seeds
from tests.fuzz.guided.target import Differs, Target, scratch
from tests.unit.storage.hostile.directories import Block, blocks_of, differences, mended

_TELLING = (0, 1, 2, 3, 4, 8, 16, 255)


def run(data: bytes) -> None:
    """Read a file's directories twice; one that is as long as a seed has its checksums mended before."""
    blocks = _made().get(len(data))
    path = scratch() / "x.h5"
    path.write_bytes(mended(bytearray(data), blocks[1]) if blocks else data)
    if found := differences(path):
        raise Differs(found[0])


@cache
def _made() -> dict[int, tuple[bytes, list[Block]]]:
    """Small captures and the pieces of their directories, by their length."""
    folder = scratch() / "captures"
    folder.mkdir(exist_ok=True)
    found = {}
    for path in small_seeds.captures(folder):
        content = path.read_bytes()
        found[len(content)] = content, blocks_of(path)
    return found


def _seeds(_data: Path | None) -> list[bytes]:
    return [content for content, _blocks in _made().values()]


def _mutate(data: bytes, rng: random.Random) -> bytes:
    known = _made().get(len(data))
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3)) if data else 0):
        block = rng.choice(known[1]) if known else Block(0, len(data), 0)
        changed[block.offset + rng.randrange(block.size)] = rng.choice((*_TELLING, rng.randrange(256)))
    return bytes(changed)


TARGETS = (Target("directories", run, _seeds, _mutate, most_bytes=1 << 17),)
