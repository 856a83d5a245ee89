"""Captures: directories, columns and what a window asks of them."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.fuzz.campaign import small_seeds, values_in_place
from tests.fuzz.guided.image_file import ImageFile, Layout, layout_of
from tests.fuzz.guided.target import Target, scratch
from tests.unit.storage.hostile import questions

from warpline.library.info import describe
from warpline.storage import Capture, open_capture, verify


def _lanes(capture: Capture, chance: random.Random) -> None:
    questions.lanes(capture, *chance.choice(questions.ranges(capture)))


def _rows(capture: Capture, chance: random.Random) -> None:
    if len(capture.events):
        questions.row(capture, chance.randrange(len(capture.events)))


def _columns(capture: Capture, _chance: random.Random) -> None:
    questions.columns(capture)


def _names(capture: Capture, _chance: random.Random) -> None:
    questions.names(capture)


def _description(capture: Capture, _chance: random.Random) -> None:
    describe(capture)


def _soundness(capture: Capture, _chance: random.Random) -> None:
    list(verify(capture))


_ASKED: tuple[Callable[[Capture, random.Random], None], ...] = (
    _lanes, _rows, _columns, _names, _description, _soundness
)  # fmt: skip


def run(data: bytes) -> None:
    """Open a file and ask it one thing, which its bytes decide."""
    path = scratch() / "x.h5"
    path.write_bytes(data)
    chance = random.Random(zlib.crc32(data))
    with open_capture(path) as capture:
        chance.choice(_ASKED)(capture, chance)


def run_columns(data: bytes) -> None:
    """The same of a file whose directories are in memory: an image, and behind it what its directories say."""
    image, _, told = data.partition(_MARK)
    try:
        changes = json.loads(told) if told else {}
    except (ValueError, RecursionError):
        changes = {}
    layouts = _layouts()
    layout = layouts[zlib.crc32(image[:_NAME_BYTES]) % len(layouts)]
    for one in layouts:
        if len(one.content) == len(image):
            layout = one
    chance = random.Random(zlib.crc32(data))
    with Capture(
        ImageFile(layout, image[: len(layout.content)], changes if isinstance(changes, dict) else {})
    ) as capture:
        chance.choice(_ASKED)(capture, chance)


def _mutate_columns(data: bytes, rng: random.Random) -> bytes:
    image, _, told = data.partition(_MARK)
    if rng.random() < 0.7:
        return _mutate(image, rng) + (_MARK + told if told else b"")
    changes = json.loads(told) if told else {}
    layout = next((one for one in _layouts() if len(one.content) == len(image)), _layouts()[0])
    action, path = rng.randrange(3), rng.choice(list(layout.columns))
    if action == 0:
        changes.setdefault("drop", []).append(rng.choice([path, path.partition("/")[0]]))
    elif action == 1:
        n = layout.columns[path][1]
        changes.setdefault("length", {})[path] = rng.choice([0, 1, n - 1, n + 1, 2 * n, 1 << 40])
    else:
        path = rng.choice([path for path, found in layout.attributes.items() if found])
        name = rng.choice(list(layout.attributes[path]))
        changes.setdefault("attributes", {}).setdefault(path, {})[name] = rng.choice(_TOLD)
    return image + _MARK + json.dumps(changes).encode()


@cache
def _layouts() -> tuple[Layout, ...]:
    _made()
    return tuple(layout_of(path) for path in small_seeds.captures(scratch() / "captures"))


_MARK = b"\n#changes"
_NAME_BYTES = 64
_TOLD = (
    0,
    1,
    -1,
    2,
    255,
    1 << 31,
    (1 << 63) - 1,
    "",
    "x",
    "int64",
    "string",
    "stack",
    "%s",
    "{0}",
    "\x1b[2J",
    "\u202e",
    "a\nb",
)


@cache
def _made() -> tuple[tuple[bytes, tuple[values_in_place.Column, ...]], ...]:
    folder = scratch() / "captures"
    folder.mkdir(exist_ok=True)
    return tuple(values_in_place.laid_out(path) for path in small_seeds.captures(folder))


def _seeds(_data: Path | None) -> list[bytes]:
    return [content for content, _columns in _made()]


def _mutate(data: bytes, rng: random.Random) -> bytes:
    """Other values in place; what is as long as a seed is laid out like it, more or less."""
    columns = next((columns for content, columns in _made() if len(content) == len(data)), ())
    columns = values_in_place.mostly_values(columns, rng)
    try:
        return values_in_place.changed(data, columns, rng)[0]
    except (ValueError, TypeError):  # what is no document any more has no values
        meta = [column for column in columns if column.name != "meta"]
        return values_in_place.changed(data, tuple(meta), rng)[0]


TARGETS = (
    Target("capture", run, _seeds, _mutate, most_bytes=1 << 17),
    Target("capture-columns", run_columns, _seeds, _mutate_columns, most_bytes=1 << 17),
)
