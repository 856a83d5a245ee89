"""The attributes of events of several parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from warpline.model import AttributeSpec, KindSpec
from warpline.storage.columns.attribute_types import column_type
from warpline.storage.columns.kind_table import KindTable
from warpline.storage.live.pieces import Joint, LanePiece, LivePart

Array = npt.NDArray[Any]


def kind_columns(
    parts: Sequence[LivePart], joint: Joint, count: int, kinds: Mapping[str, tuple[int, KindSpec]]
) -> dict[str, Array | Callable[[], Array]]:
    """The columns of all kinds with events, by their names in a file; each is made when first read.

    ``count`` is the number of all events.
    """
    columns: dict[str, Array | Callable[[], Array]] = {}
    for name, (_code, spec) in kinds.items():
        if not any(name in part.places.capture.kinds for part in parts):
            continue
        kind = _JointKind(parts, joint, name)
        columns[f"kinds/{name}/row"] = partial(kind.rows, np.uint32 if count < 1 << 32 else np.int64)
        for attribute in spec.attributes:
            columns[f"kinds/{name}/attributes/{attribute.name}"] = partial(kind.values, attribute)
            columns[f"kinds/{name}/valid/{attribute.name}"] = partial(kind.valid, attribute)
    return columns


class _JointKind:
    """One kind: its places in the tables of all parts."""

    def __init__(self, parts: Sequence[LivePart], joint: Joint, name: str) -> None:
        self._parts, self._joint, self._name = parts, joint, name
        self._found: list[tuple[LanePiece, KindTable, slice]] | None = None

    def _runs(self) -> list[tuple[LanePiece, KindTable, slice]]:
        if self._found is None:
            found: list[tuple[LanePiece, KindTable, slice]] = []
            for number, part in enumerate(self._parts):
                table = part.places.capture.kinds.get(self._name)
                if table is not None:
                    pieces = [piece for piece in self._joint.pieces if piece.part == number]
                    borders = table.places_of([(piece.first, piece.stop) for piece in pieces]).tolist()
                    found += [
                        (piece, table, slice(*border))
                        for piece, border in zip(pieces, borders, strict=True)
                        if border[1] > border[0]
                    ]
            # The threads of the panels and the window ask at the same time: publish only the complete list.
            self._found = sorted(found, key=lambda run: run[0].row)
        return self._found

    def rows(self, dtype: type[np.uint32 | np.int64]) -> Array:
        """The rows of its events, ascending."""
        parts = [table.rows_at(run) + (piece.row - piece.first) for piece, table, run in self._runs()]
        return np.concatenate([np.empty(0, np.int64), *parts]).astype(dtype)

    def values(self, attribute: AttributeSpec) -> Array:
        """An attribute; 0 where a part does not have it."""
        return self._gather(attribute, self._values_of)

    def valid(self, attribute: AttributeSpec) -> Array:
        """Where the attribute has a value, uint8."""
        return self._gather(attribute, self._valid_of).astype(np.uint8)

    def _gather(
        self, attribute: AttributeSpec, take: Callable[[LanePiece, KindTable, slice, AttributeSpec], Array]
    ) -> Array:
        dtype = column_type(attribute.dtype)
        parts = [take(piece, table, run, attribute) for piece, table, run in self._runs()]
        return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype, copy=False)

    def _values_of(self, piece: LanePiece, table: KindTable, run: slice, attribute: AttributeSpec) -> Array:
        if attribute.name not in table.attributes:
            return np.zeros(run.stop - run.start, column_type(attribute.dtype))
        values = table.column(attribute.name)[0][run]
        places = self._parts[piece.part].places
        if attribute.dtype == "string":
            return places.name.take(values, mode="clip")
        if attribute.dtype == "stack" and len(places.stack):
            return places.stack.take(values, mode="clip")
        return values

    @staticmethod
    def _valid_of(_piece: LanePiece, table: KindTable, run: slice, attribute: AttributeSpec) -> Array:
        if attribute.name not in table.attributes:
            return np.zeros(run.stop - run.start, bool)
        return table.column(attribute.name)[1][run]
