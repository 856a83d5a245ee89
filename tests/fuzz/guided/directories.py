"""Directories of captures with wrong content under right checksums."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

from tests.fuzz.campaign import small_seeds
from tests.fuzz.guided.target import Target, scratch
from tests.unit.storage.hostile.directories import Block, blocks_of, mended, read_directories

_TELLING = (0, 1, 2, 3, 4, 8, 16, 255)


def run(data: bytes) -> None:
    """Read a file's directories. The checksums of one that is as long as a seed are mended before."""
    blocks = _made().get(len(data))
    path = scratch() / "x.h5"
    path.write_bytes(mended(data, blocks[1]) if blocks else data)
    read_directories(path)


@cache
def _made() -> dict[int, tuple[bytes, list[Block]]]:
    """Small captures and the pieces of their directories, by their length."""
    folder = scratch() / "captures"
    folder.mkdir(exist_ok=True)
    found = {}
    for path in small_seeds.captures(folder):
        content = path.read_bytes()
        found[len(content)] = content, blocks_of(content)
    return found


def _seeds(_data: Path | None) -> list[bytes]:
    return [content for content, _blocks in _made().values()]


def _mutate(data: bytes, rng: random.Random) -> bytes:
    known = _made().get(len(data))
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3)) if data else 0):
        block = rng.choice(known[1]) if known else Block(0, len(data))
        changed[block.offset + rng.randrange(block.size)] = rng.choice((*_TELLING, rng.randrange(256)))
    return bytes(changed)


TARGETS = (Target("directories", run, _seeds, _mutate, most_bytes=1 << 17),)
