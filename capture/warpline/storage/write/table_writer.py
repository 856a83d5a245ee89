"""Writes the small tables of a capture: lanes, tracks, clocks, stacks and the texts they name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpline.model import Clock, Track
from warpline.storage.columns.events import Lanes
from warpline.storage.columns.schema import (
    CLOCK_COLUMNS,
    LANE_COLUMNS,
    NO_RESIDUAL,
    STACK_COLUMNS,
    TRACK_COLUMNS,
)
from warpline.storage.columns.stored_text import utf8
from warpline.storage.write.outputs import Datasets
from warpline.storage.write.spill import SpillDirectory
from warpline.storage.write.string_ids import StringIds

_PORTION = 1 << 16
"""Texts that are encoded in one go."""


class TextTable:
    """The texts of a capture: those of the builder, and those that tables add while they are written."""

    def __init__(self, texts: StringIds) -> None:
        self._strings = texts

    def id(self, text: str) -> int:
        """Id of a text, which is added when it is new."""
        return self._strings[text]

    def write(self, out: Datasets, spill: SpillDirectory) -> None:
        """Writes `strings`; nothing may be added afterwards."""
        texts = self._strings.texts
        lengths = np.empty(len(texts) + 1, np.int64)
        lengths[0] = 0
        spilled = spill.column("|u1")
        # A portion at a time: all texts together may be as large as the rest of the capture.
        for first in range(0, len(texts), _PORTION):
            portion = texts[first : first + _PORTION]
            data = "".join(portion)
            encoded: Sequence[str | bytes] = portion
            if not data.isascii():  # otherwise a character is a byte
                encoded = [utf8(text) for text in portion]
            stop = first + len(portion)
            lengths[first + 1 : stop + 1] = np.fromiter(map(len, encoded), np.int64, len(encoded))
            spilled.append(np.frombuffer(utf8(data), np.uint8))
        group = out.file.create_group("strings")
        out.put(group, "offset", np.cumsum(lengths), "<u8")
        out.put(group, "data", spilled.read(), "|u1")
        spilled.close()


def write_lanes(out: Datasets, lanes: Lanes) -> None:
    """Writes `lanes`."""
    group = out.file.create_group("lanes")
    for name, dtype in LANE_COLUMNS.items():
        out.put(group, name, getattr(lanes, name), dtype)


def write_tracks(out: Datasets, tracks: Sequence[Track], texts: TextTable) -> None:
    """Writes `tracks`."""
    group = out.file.create_group("tracks")
    for name, dtype in TRACK_COLUMNS.items():
        column = [getattr(track, name) for track in tracks]
        if name in ("uri", "title", "role"):
            column = [texts.id(text) for text in column]
        numbers = np.array([-1 if value is None else value for value in column], np.int64)
        out.put(group, name, numbers, dtype)


def write_clocks(out: Datasets, clocks: Sequence[Clock], texts: TextTable) -> None:
    """Writes `clocks`."""
    group = out.file.create_group("clocks")
    rows = [
        (
            texts.id(clock.name),
            clock.offset_ns,
            texts.id(clock.method),
            NO_RESIDUAL if clock.residual_ns is None else clock.residual_ns,
        )
        for clock in clocks
    ]
    for (name, dtype), values in zip(CLOCK_COLUMNS.items(), zip(*rows, strict=True), strict=True):
        out.put(group, name, np.array(values, np.int64), dtype)


def write_stacks(out: Datasets, stacks: tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]) -> None:
    """Writes `stacks`: frame and parent of each."""
    group = out.file.create_group("stacks")
    for (name, dtype), values in zip(STACK_COLUMNS.items(), stacks, strict=True):
        out.put(group, name, values, dtype)
